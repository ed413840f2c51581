"""Freeze the settled questions of a study into a fixture set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.db import transaction

from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.fixture import FrozenBytes, QuestionFacts, fixture_payload, set_manifest
from annotate.domain.partition import document_clusters, nearest_document
from annotate.domain.vocabulary import Partition, Sample, Segment, StudyKind
from annotate.models import Fixture, FixtureSet, Question, SourceVersion, Study
from annotate.permissions import By, person_or_none
from annotate.records import source_payload
from annotate.records_passes import FIXTURES_FROZEN, frozen_payload, record_in_study
from annotate.selectors.fixtures import Survey, survey
from annotate.selectors.frozen_partition import kept_on_one_side
from annotate.services.authorise import authorise
from annotate.services.lock_questions import lock_study

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,80}")


def freeze_fixtures(
    by: By,
    study: Study,
    name: str,
    questions: Sequence[str] | None = None,
    *,
    successor_of: FixtureSet | None = None,
    apart: Sequence[str] = (),
) -> FixtureSet:
    """Freeze the study's settled questions (or those with the keys `questions`) as a set called `name`.

    A question group never crosses the partition; `apart` (of `partition.APART`) asks the same of documents or templates
    and is recorded with the freeze.
    The very same by the same person again (a double click) returns the set there is.
    From then on the database refuses to change them. Raises NotAllowed, BadInputs listing every block
    (`selectors.fixtures.survey`), and BadInput for a name in use or a set that is already frozen under another name;
    nothing is written then.
    """
    authorise(by, study, "fixture.freeze")
    if not _NAME.fullmatch(name):
        raise BadInput("name", f"“{name}” is no short name", "Use 1 to 80 letters, digits, hyphens and underscores.")
    if successor_of is not None and successor_of.study_id != study.pk:
        raise BadInput("predecessor", f"“{successor_of.name}” belongs to another study", "Name a set of this study.")
    with transaction.atomic():
        # Of two leads who freeze at one moment, the second sees the first one's name.
        lock_study(study)
        named = FixtureSet.objects.filter(study=study, name=name).first()
        found = survey(by, study, questions, apart)
        if found.blocks and named is None:
            raise BadInputs("freeze", found.blocks)
        if found.blocks:
            raise _in_use(name)
        frozen = _fixtures(study, found)
        sources = [_source(version) for version in found.versions]
        manifest = set_manifest(
            study.slug, StudyKind(study.kind), {key: one.digest for key, (_, one) in frozen.items()}, sources
        )
        whole = FrozenBytes.of(manifest)
        if named is not None:
            if _is_repeated(named, by, whole, successor_of, apart):
                return named
            raise _in_use(name)
        twin = FixtureSet.objects.filter(study=study, digest=whole.digest).first()
        if twin is not None:
            raise BadInput("set", f"the same questions are frozen as “{twin.name}” already", "Use that one.")
        fixture_set = FixtureSet.objects.create(
            study=study,
            name=name,
            digest=whole.digest,
            canonical=whole.canonical,
            successor_of=successor_of,
            frozen_by=person_or_none(by),
        )
        Fixture.objects.bulk_create(
            (
                Fixture(
                    fixture_set=fixture_set,
                    question=question,
                    fixture_id=key,
                    digest=one.digest,
                    canonical=one.canonical,
                )
                for key, (question, one) in frozen.items()
            ),
            batch_size=200,
        )
        record_in_study(FIXTURES_FROZEN, {**frozen_payload(fixture_set), "apart": sorted(set(apart))}, by=by)
    return fixture_set


def _in_use(name: str) -> BadInput:
    return BadInput("name", f"there is a set called “{name}” already", "Choose another; a set never changes.")


def _is_repeated(
    named: FixtureSet, by: By, whole: FrozenBytes, successor_of: FixtureSet | None, apart: Sequence[str]
) -> bool:
    """Whether the same person freezes the very same again, as the second half of a double click does."""
    author = person_or_none(by)
    asked = (whole.digest, successor_of.pk if successor_of else None, author.pk if author else None)
    kept = kept_on_one_side(named) or ()
    return (named.digest, named.successor_of_id, named.frozen_by_id) == asked and set(kept[1:]) == set(apart)


def question_facts(question: Question) -> QuestionFacts:
    """Return a question as a fixture keeps it."""
    return QuestionFacts(
        key=question.key,
        text=question.text,
        as_of=question.as_of,
        locale=question.locale,
        reader_labels=frozenset(question.reader_labels),
        sample=Sample(question.sample),
        partition=Partition(question.partition),
        group=question.group,
        slice_tags=tuple(question.slice_tags),
        mandatory=question.mandatory,
    )


def _fixtures(study: Study, found: Survey) -> dict[str, tuple[Question, FrozenBytes]]:
    clusters = _clusters(study, found)
    frozen: dict[str, tuple[Question, FrozenBytes]] = {}
    for one in found.settled:
        payload = fixture_payload(
            question_facts(one.question),
            one.content,
            Segment(one.result.segment),
            clusters[one.question.key],
            one.necessity,
        )
        frozen[one.question.key] = (one.question, FrozenBytes.of(payload))
    return frozen


def _clusters(study: Study, found: Survey) -> dict[str, str]:
    """Return each question's cluster; one without support stands with its declared or nearest document."""
    documents = {one.question.key: found.documents(one.content) for one in found.settled}
    known = {version.source.document_id for version in found.versions}
    texts: dict[str, str] = {}
    for one in found.settled:
        key, declared = one.question.key, one.question.cluster_document
        if documents[key]:
            continue
        if declared and declared not in known:
            raise BadInput(f"question {key}", f"its cluster document “{declared}” is no source here", "Correct it.")
        if not declared:
            texts = texts or _texts(study)
            declared = nearest_document(one.question.text, texts) if texts else ""
        documents[key] = [declared] if declared else []
    component = document_clusters(documents)
    return {key: component[names[0]] if names else "" for key, names in documents.items()}


def _texts(study: Study) -> dict[str, str]:
    """Return every document's text, all versions one after the other."""
    parts: dict[str, list[str]] = {}
    rows = SourceVersion.objects.filter(source__study=study).order_by("source__document_id", "pk")
    for document_id, content in rows.values_list("source__document_id", "content").iterator(chunk_size=20):
        parts.setdefault(document_id, []).append(bytes(content).decode("utf-8"))
    return {document_id: "\n".join(texts) for document_id, texts in parts.items()}


def _source(version: SourceVersion) -> dict[str, object]:
    """Return a version as a manifest names it: everything but its bytes, and apart from the study it stands in."""
    payload = source_payload(version)
    payload.pop("study")
    return {**payload, "digest": payload.pop("sha256")}
