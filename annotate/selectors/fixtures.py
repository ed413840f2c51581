"""Fixture sets and what stands in the way of freezing one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import QuerySet

from annotate.domain.access import touches_hidden
from annotate.domain.archive import fixture_changes, set_changes, source_name
from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_from_payload
from annotate.domain.errors import BadInput
from annotate.domain.fixture import fixture_spans
from annotate.domain.partition import (
    APART,
    Placed,
    Shares,
    crossings,
    group_crossings,
    template_of,
)
from annotate.domain.spans import ByteSpan
from annotate.domain.vocabulary import Necessity, Partition
from annotate.models import (
    AdjudicatedResult,
    AdjudicationItem,
    Assignment,
    Fixture,
    FixtureSet,
    HeldOutOpening,
    Question,
    SourceVersion,
    Study,
)
from annotate.permissions import Actor, By, NotAllowed, actor_for, allows, require
from annotate.selectors.adjudication import settled_content
from annotate.selectors.discussion import reopened
from annotate.selectors.freeze_blocks import content_blocks
from annotate.selectors.frozen_shares import shares_of_frozen
from annotate.selectors.sources import hidden_from, versions_visible_to
from ledger.domain.canonical import parse_canonical


@dataclass(frozen=True)
class Settled:
    """A question with its newest result, read."""

    question: Question
    result: AdjudicatedResult
    content: PassContent
    necessity: dict[str, Necessity]


@dataclass(frozen=True)
class Survey:
    """What a freeze would take, and everything that blocks it. `versions` are the study's, without their bytes.

    `questions` are all that were asked for, `own_blocks` what blocks each of them alone, by key.
    """

    settled: tuple[Settled, ...]
    blocks: tuple[BadInput, ...]
    versions: tuple[SourceVersion, ...]
    questions: tuple[Question, ...] = ()
    own_blocks: Mapping[str, tuple[BadInput, ...]] = field(default_factory=dict)

    def documents(self, content: PassContent) -> list[str]:
        """Return the ids of the documents that a content's support lies in."""
        of_version = version_by_digest(self.versions)
        needed = {name for members in content.sets for name in members}
        return sorted({of_version[s.version].source.document_id for s in content.spans if s.name in needed})


def fixture_sets_visible_to(by: By, study: Study) -> QuerySet[FixtureSet]:
    """Return the study's fixture sets for who may see fixtures there; nobody else's exist for them."""
    if not allows(actor_for(by, study), "fixture.view"):
        return FixtureSet.objects.none()
    return FixtureSet.objects.filter(study=study).select_related("study", "successor_of", "frozen_by").order_by("-pk")


class NamesHiddenSources(NotAllowed):
    """A set's manifest names every source by title and digest; it is hashed as it is, so nothing can be left out."""

    def __init__(self, action: str, actor: Actor) -> None:
        super().__init__(action, actor)
        self.args = (f"“{action}”: the manifest names sources whose labels you do not hold. Ask the study's lead.",)


def require_manifest(by: By, fixture_set: FixtureSet) -> None:
    """Raise NotAllowed unless `by` may see fixtures and knows of every source version that the set names."""
    actor = actor_for(by, fixture_set.study)
    require(actor, "fixture.view")
    named = {source["digest"] for source in parse_canonical(bytes(fixture_set.canonical))["sources"]}
    seen = versions_visible_to(by).filter(source__study=fixture_set.study, sha256__in=named).order_by()
    if named - set(seen.values_list("sha256", flat=True)):
        raise NamesHiddenSources("fixture.view", actor)


def corrections(by: By, fixture_set: FixtureSet) -> list[str]:
    """Return what a successor changed against the set it names, a line each; empty for a set that corrects none.

    A source version that is kept from `by` has no line.
    """
    before = fixture_set.successor_of
    if before is None:
        return []
    changes = set_changes(parse_canonical(bytes(before.canonical)), parse_canonical(bytes(fixture_set.canonical)))
    changed = changes["fixtures_changed"]
    old, rows = (
        {row.fixture_id: bytes(row.canonical) for row in one.fixtures.filter(fixture_id__in=changed)}
        for one in (before, fixture_set)
    )
    seen = versions_visible_to(by).filter(source__study=fixture_set.study).order_by()
    sources = {source_name(*named) for named in seen.values_list("source__document_id", "version_label")}
    lines = []
    for what, names in changes.items():
        kind, _, how = what.partition("_")
        for name in names:
            if kind == "sources" and name not in sources:
                continue
            members = ""
            if what == "fixtures_changed":
                parts = fixture_changes(parse_canonical(old[name]), parse_canonical(rows[name]))
                members = f" in {', '.join(parts)}"
            lines.append(f"{kind.removesuffix('s')} {name}: {how}{members}")
    return lines


def openings_of(fixture_set: FixtureSet) -> QuerySet[HeldOutOpening]:
    """Return each use of the set's held-out partition, in order."""
    return fixture_set.openings.select_related("opened_by").order_by("pk")


def fixture_values(fixture_set: FixtureSet) -> list[dict[str, Any]]:
    """Return the set's fixtures as parsed canonical values, by id (see domain.fixture.fixture_payload)."""
    return [parse_canonical(bytes(row.canonical)) for row in fixture_set.fixtures.order_by("fixture_id")]


def readable_fixture_values(by: By, fixture_set: FixtureSet) -> list[dict[str, Any]]:
    """Return `fixture_values` with `readable`: whether `by` may read every byte the fixture's answer rests on.

    An answer says what its evidence says, so where it is False the contract, the spans and the cluster's name are
    blanked. Four queries, whatever the number of fixtures.
    """
    clearance = actor_for(by, fixture_set.study).clearance
    versions = versions_visible_to(by).filter(source__study=fixture_set.study)
    hidden = {version.sha256: hidden_from(version, clearance) for version in versions}
    documents = {version.source.document_id for version in versions}
    values = fixture_values(fixture_set)
    for value in values:
        value["readable"] = all(
            span["version"] in hidden
            and not touches_hidden(ByteSpan(span["start"], span["end"]), hidden[span["version"]])
            for span in (*fixture_spans(value), *value["forbidden"])
        )
        if not value["readable"]:
            value |= {"expected_answer": "", "scope": "", "qualification": "", "missing_text": ""}
        if value["cluster"] not in documents:
            value["cluster"] = ""
    return values


def version_by_digest(versions: Iterable[SourceVersion]) -> dict[str, SourceVersion]:
    """Return versions by their bytes' digest; of two documents with equal bytes the first by document id stands."""
    found: dict[str, SourceVersion] = {}
    for version in sorted(versions, key=lambda version: (version.source.document_id, version.pk)):
        found.setdefault(version.sha256, version)
    return found


def result_content(result: AdjudicatedResult) -> PassContent:
    """Return the settled content of a result."""
    return content_from_payload(parse_canonical(bytes(result.content)), f"result {result.pk}")


def survey(by: By, study: Study, keys: Sequence[str] | None = None, apart: Sequence[str] = ()) -> Survey:
    """Return what a freeze of `keys` (all of the study's questions by default) would take, and every block.

    Blocks: an unknown key, a question that is not (or no longer) settled, a settled content that lacks something, a
    segment outside the six in a full study, stale evidence, evidence the question's reader may not read, a group on
    both sides of the partition, and what `apart` (of `partition.APART`) asks to keep on one side as well; questions
    frozen before count for both. No block names a text that is kept from `by`. A handful of queries, whatever the
    number of questions.
    """
    if unknown := sorted(set(apart) - set(APART)):
        raise BadInput("apart", f"“{unknown[0]}” is none", f"Use {', '.join(APART)}.")
    questions = study_questions = list(Question.objects.filter(study=study).order_by("key"))
    blocks: list[BadInput] = []
    if keys is not None:
        wanted = set(keys)
        blocks += [
            BadInput(f"question {key}", "there is none with this key in the study", "Correct the list of questions.")
            for key in sorted(wanted - {question.key for question in questions})
        ]
        questions = [question for question in questions if question.key in wanted]
    if not questions:
        blocks.append(BadInput("questions", "there is none to freeze", "Import questions and settle them first."))
    versions = tuple(
        SourceVersion.objects.filter(source__study=study)
        .select_related("source", "supersedes")
        .defer("content", "supersedes__content")
        .order_by("source__document_id", "version_label", "pk")
    )
    seen = set(versions_visible_to(by).filter(source__study=study).order_by().values_list("pk", flat=True))
    # Sets of a study are used side by side: half a group in each would cross as it would within one.
    before = _frozen_before(study)
    frozen = [q for q in study_questions if q.pk in before]
    together, groups = {q.key: q for q in (*frozen, *questions)}.values(), {q.group for q in questions}
    blocks += group_crossings(Placed(q.key, q.group, Partition(q.partition)) for q in together if q.group in groups)
    newest = _newest_results(questions)
    items = _newest_items(questions)
    opened_again = set(AdjudicationItem.objects.filter(reopened(), question__in=questions).values_list("pk", flat=True))
    states = _states(questions)
    settled: list[Settled] = []
    own_blocks: dict[str, tuple[BadInput, ...]] = {}
    for question in questions:
        result, item = newest.get(question.pk), items.get(question.pk)
        why = _unsettled(result, item, states[question.pk])
        if item is not None and item.pk in opened_again:
            why = why or "it was opened again and is not settled since"
        if result is None or why:
            block = BadInput(f"question {question.key}", why, "Adjudicate and settle it, or leave it out.")
            own_blocks[question.key] = (block,)
            blocks.append(block)
            continue
        content = result_content(result)
        one = Settled(
            question, result, content, {row.span_name: Necessity(row.necessity) for row in result.span_decisions.all()}
        )
        settled.append(one)
        found = tuple(
            block.inside(f"question {question.key}")
            for block in content_blocks(study, one.question, one.result, content, versions, seen)
        )
        if found:
            own_blocks[question.key] = found
        blocks += found
    whole = Survey(tuple(settled), tuple(blocks), versions, tuple(questions), own_blocks)
    if not apart:
        return whole
    shares = {
        one.question.key: Shares(
            Partition(one.question.partition),
            # A question without support counts for the document it declares to be nearest to.
            tuple(whole.documents(one.content) or filter(None, [one.question.cluster_document])),
            tuple(template_of(one.question.slice_tags)),
        )
        for one in settled
    }
    hidden = {v.source.document_id for v in versions} - {v.source.document_id for v in versions if v.pk in seen}
    crossed = crossings(shares_of_frozen(study) | shares, set(shares), apart, hidden)
    return replace(whole, blocks=(*blocks, *crossed))


def _frozen_before(study: Study) -> frozenset[int]:
    return frozenset(Fixture.objects.filter(fixture_set__study=study).values_list("question_id", flat=True))


def _newest_results(questions: Sequence[Question]) -> dict[int, AdjudicatedResult]:
    rows = AdjudicatedResult.objects.filter(question__in=questions).prefetch_related("span_decisions")
    return {row.question_id: row for row in rows.order_by("question_id", "ordinal")}


def _newest_items(questions: Sequence[Question]) -> dict[int, AdjudicationItem]:
    rows = AdjudicationItem.objects.filter(question__in=questions).select_related("submission_a", "submission_b")
    return {row.question_id: row for row in rows.prefetch_related("decisions").order_by("question_id", "round")}


def _states(questions: Sequence[Question]) -> dict[int, list[str]]:
    states: dict[int, list[str]] = {question.pk: [] for question in questions}
    for pk, state in (
        Assignment.objects.filter(question__in=questions)
        .exclude(state=Assignment.State.WITHDRAWN)
        .values_list("question_id", "state")
    ):
        states[pk].append(state)
    return states


def _unsettled(result: AdjudicatedResult | None, item: AdjudicationItem | None, states: Sequence[str]) -> str:
    """Return why a question has no result that stands, or an empty string; `states` are its assignments'."""
    submitted = sum(state == Assignment.State.SUBMITTED for state in states)
    if result is None:
        missing = f"{submitted} of 2 passes are submitted" if item is None else "its item is not settled"
        return f"it is not adjudicated: {missing}"
    if item is None:
        return ""
    if result.item_id != item.pk:
        return f"round {item.round} is not settled; the result is from before it"
    if submitted < len(states):
        return "it was re-opened: a pass was returned and is not submitted again yet"
    if any(decision.decided_at > result.settled_at for decision in item.decisions.all()):
        content = settled_content(item)
        if content != result_content(result):
            return "decisions were made after it was settled, and they change the result"
    return ""
