"""Take a fixture archive into a study: sources, questions, settled content, and the very set frozen elsewhere."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotate.domain import archive
from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_from_payload
from annotate.domain.errors import BadInput
from annotate.domain.fixture import FIXTURE_FORMAT, SET_FORMAT
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import RangeRule, SourceEntry
from annotate.domain.vocabulary import Necessity, Partition, Sample, Segment
from annotate.models import FixtureSet, Study
from annotate.permissions import By
from annotate.published_form import check_form
from annotate.services.authorise import authorise
from annotate.services.export_fixtures import frozen_fixtures
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.lock_questions import lock_study
from annotate.services.settled_import import settle_imported
from ledger.domain.canonical import CanonicalError, digest, parse_canonical

_AGAIN = "Get the archive again."


@dataclass(frozen=True)
class ImportedArchive:
    """The frozen set and how many source versions and questions were new to the study."""

    fixture_set: FixtureSet
    new_sources: int
    new_questions: int


def import_archive(by: By, study: Study, data: bytes, name: str, *, where: str = "archive") -> ImportedArchive:
    """Import an archive that carries its source texts and freeze its fixtures as the set `name`, whole or not at all.

    The set gets the digest it had where it was exported; everything is checked against the digests on the way in.
    Raises NotAllowed, and BadInput(s) for a damaged archive, one without source texts, one of a study with another
    short name (which the set's digest covers) or kind, content that disagrees with what the study holds, and a study
    whose other sources or questions would make the set another one.
    """
    authorise(by, study, "fixture.import")
    files = archive.unpack(data, where)
    manifest = _canonical(files, archive.SET, SET_FORMAT, where)
    for told, ours, mend in (
        (
            manifest["study"],
            study.slug,
            f"Import it with --study {manifest['study']} (the set's digest covers it).",
        ),
        (manifest["kind"], study.kind, "Create the study with the archive's kind."),
    ):
        if told != ours:
            raise BadInput(f"{where}, {archive.SET}", f"it belongs to “{told}”, the study is “{ours}”", mend)
    _check_named(files, manifest, where)
    fixtures = [_fixture(files, one, where) for one in manifest["fixtures"]]
    texts = [_source(files, one, manifest["sources"], where) for one in manifest["sources"]]
    asked = [_question(one) for one in fixtures]
    settled = [_settled(one, f"{where}, {one['question_id']}") for one in fixtures]
    with transaction.atomic():
        lock_study(study)
        sources = import_versions(by, study, texts, where=where)
        written = write_questions(by, study, asked, where)
        for row, question, (content, necessity) in zip(written, asked, settled, strict=True):
            settle_imported(by, row.question, content, question.segment, necessity)
        frozen = freeze_fixtures(by, study, name, [one.key for one in asked])
        wanted = digest(files[archive.SET])
        if frozen.digest != wanted:
            raise BadInput(
                where,
                f"the study has sources or clusters of its own, so the set would be {frozen.digest[:12]}…, "
                f"not {wanted[:12]}…",
                "Import it into an empty study with the same short name.",
            )
        for key, _, _, published in frozen_fixtures(frozen, published=True):
            path = f"{archive.PUBLISHED}/{key}.json"
            if path in files and files[path] != published:
                raise BadInput(f"{where}, {path}", "does not say what its canonical file and its sources say", _AGAIN)
    return ImportedArchive(
        frozen, sum(one.created for one in sources), sum(one.outcome != "unchanged" for one in written)
    )


def _check_named(files: Mapping[str, bytes], manifest: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for a fixture or a text that the manifest does not name: nobody has vouched for it."""
    keys = {f"{one['fixture_id']}.json" for one in manifest["fixtures"]}
    derived = [one["derived"] for one in manifest["sources"] if one["derived"]]
    named = {
        archive.CANONICAL: keys,
        archive.PUBLISHED: keys,
        archive.SOURCES: {one["digest"] for one in manifest["sources"]},
        archive.ORIGINALS: {one["parent"] for one in derived},
    }
    for path in sorted(files):
        folder, _, name = path.rpartition("/")
        if folder in named and name not in named[folder]:
            raise BadInput(f"{where}, {path}", f"is there, and {archive.SET} does not name it", _AGAIN)


def _canonical(files: Mapping[str, bytes], name: str, form: str, where: str) -> dict[str, Any]:
    if name not in files:
        raise BadInput(f"{where}, {name}", "is missing", _AGAIN)
    try:
        value = parse_canonical(files[name])
    except CanonicalError as error:
        raise BadInput(f"{where}, {name}", f"is not canonical: {error}", _AGAIN) from error
    if not isinstance(value, dict) or value.get("format") != form:
        raise BadInput(f"{where}, {name}", f"is not of the form {form}", "Export it again with this version.")
    check_form(value, f"{where}, {name}")
    return value


def _fixture(files: Mapping[str, bytes], told: Mapping[str, Any], where: str) -> dict[str, Any]:
    name = f"{archive.CANONICAL}/{told['fixture_id']}.json"
    value = _canonical(files, name, FIXTURE_FORMAT, where)
    if digest(files[name]) != told["digest"] or value["question_id"] != told["fixture_id"]:
        raise BadInput(f"{where}, {name}", "is not the fixture the manifest names", _AGAIN)
    return value


def _source(
    files: Mapping[str, bytes], told: Mapping[str, Any], every: Sequence[Mapping[str, Any]], where: str
) -> tuple[SourceEntry, bytes]:
    """Return a version as an import takes it: a derived one by its original bytes, to be transcoded again."""
    derived = told["derived"]
    name = f"{archive.ORIGINALS}/{derived['parent']}" if derived else f"{archive.SOURCES}/{told['digest']}"
    if name not in files:
        raise BadInput(
            f"{where}, {name}", "is not there: the archive carries no source texts", "Export it with --sources."
        )
    entry = SourceEntry(
        file=f"{where}, {told['document_id']} {told['version_label']}",
        document_id=told["document_id"],
        version_label=told["version_label"],
        observation_date=datetime.date.fromisoformat(told["observation_date"]),
        title=told["title"],
        effective_from=_day(told["effective_from"]),
        effective_to=_day(told["effective_to"]),
        media_type=told["media_type"],
        locale=told["locale"],
        tenant=told["tenant"],
        supersedes=_superseded(told, every, where),
        access_labels=frozenset(told["access_labels"]),
        access_ranges=tuple(
            RangeRule(frozenset(labels), start=start, end=end) for start, end, labels in told["access_ranges"]
        ),
        encoding=derived["settings"]["encoding"] if derived else None,
    )
    return entry, files[name]


def _superseded(told: Mapping[str, Any], every: Sequence[Mapping[str, Any]], where: str) -> str | None:
    """Return the superseded version as an import names it; equal bytes in two documents mean the own document."""
    if told["supersedes"] is None:
        return None
    named = [one for one in every if one["digest"] == told["supersedes"]]
    own = [one for one in named if one["document_id"] == told["document_id"]]
    if not named:
        raise BadInput(
            f"{where}, {archive.SET}", f"{told['document_id']} supersedes a version that is not in it", _AGAIN
        )
    one = (own or named)[0]
    return f"{one['document_id']}@{one['version_label']}"


def _question(fixture: Mapping[str, Any]) -> QuestionEntry:
    return QuestionEntry(
        key=fixture["question_id"],
        text=fixture["text"],
        as_of=datetime.date.fromisoformat(fixture["as_of"]),
        segment=Segment(fixture["segment"]),
        reader_labels=frozenset(fixture["reader_labels"]),
        locale=fixture["locale"],
        slice_tags=tuple(fixture["slice_tags"]),
        group=fixture["group"],
        sample=Sample(fixture["sample"]),
        partition=Partition(fixture["partition"]),
        mandatory=fixture["mandatory"],
        cluster_document="" if fixture["support_sets"] else fixture["cluster"],
    )


def _settled(fixture: Mapping[str, Any], where: str) -> tuple[PassContent, dict[str, Necessity]]:
    """Return a fixture's content and what was judged of its spans. Raises BadInput for what is no content."""
    members = [span for one in fixture["support_sets"] for span in one]
    spans = {span["name"]: span for span in (*members, *fixture["other_spans"], *fixture["forbidden"])}
    content = content_from_payload(
        {
            "contract": {
                "answerable": fixture["answerable"],
                "answer": fixture["expected_answer"],
                "notes": "",
                **{
                    name: fixture[name]
                    for name in ("scope", "qualification", "dependency", "missing_behaviour", "missing_text")
                },
            },
            "spans": [
                {name: span[name] for name in ("version", "start", "end", "name", "label")} for span in spans.values()
            ],
            "sets": [[span["name"] for span in one] for one in fixture["support_sets"]],
            "forbidden": [span["name"] for span in fixture["forbidden"]],
        },
        where,
    )
    words = {True: Necessity.NECESSARY, False: Necessity.TOPICAL}
    return content, {span["name"]: words[span["necessary"]] for span in members}


def _day(text: str | None) -> datetime.date | None:
    return datetime.date.fromisoformat(text) if text else None
