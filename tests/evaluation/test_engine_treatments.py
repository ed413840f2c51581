"""Merging, limits by parents and lineage of whole blocks equal a plain loop over each question's units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from evaluation.domain.cell import build_index, run_block
from evaluation.domain.evidence import origins
from evaluation.domain.hits import Hits, Ranked, StageError, arranged, first, kept_only
from evaluation.domain.outcomes import Stage
from evaluation.domain.pipeline import ArmSettings, BlockResult, IndexBuild, PreparedCorpus, Unit
from evaluation.domain.plan_words import Dedup, RecoveryMoment, TopKUnit
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.domain.stage_protocols import Queries
from evaluation.domain.structural_units import structural_units
from evaluation.domain.tokens import IntArray
from evaluation.domain.treatments import deduplicated, first_different, overlaps_merged
from evaluation.domain.whole_packing import hits_of_units, units_of
from evaluation.plugins.extractive import Extractive
from tests.evaluation.engine_world import Analyser, corpus, document, policies, question, settings, span

BASE = np.array([0, 40, 80], dtype=np.int64)

unit = st.tuples(st.integers(0, 2), st.integers(0, 20), st.sampled_from([5, 8, 20]))
block = st.lists(st.lists(unit, max_size=8), min_size=1, max_size=4)


def units(rows: Sequence[tuple[int, int, int]]) -> list[Unit]:
    """Units in list order whose ranks run backwards, as after a reranking."""
    made = [Unit(d, a, a + n, a, a + n, len(rows) - i, (100 + i,)) for i, (d, a, n) in enumerate(rows)]
    return made


def merged(rows: list[Unit], together: Callable[[Unit, Unit], bool]) -> list[Unit]:
    """Join units that belong together, directly or through others, each group at the place of its first."""
    groups: list[list[Unit]] = []
    for one in rows:
        mine = [group for group in groups if any(together(one, other) for other in group)]
        joined = sorted((u for group in mine for u in group), key=rows.index)
        groups = [group for group in groups if group not in mine] + [[*joined, one]]
    found = []
    for group in sorted(groups, key=lambda group: rows.index(group[0])):
        best = min(group, key=lambda u: u.rank)
        start, end = min(u.start for u in group), max(u.end for u in group)
        found.append(Unit(group[0].document, start, end, start, end, best.rank, best.lineage))
    return found


def same(a: Unit, b: Unit) -> bool:
    return (a.document, a.start, a.end) == (b.document, b.start, b.end)


def overlap(a: Unit, b: Unit) -> bool:
    return a.document == b.document and a.start < b.end and b.start < a.end


@examples(max_examples=150)
@given(block)
def test_identical_and_overlapping_units_merge_as_in_a_plain_loop(rows: list[list[tuple[int, int, int]]]) -> None:
    lists = [units(one) for one in rows]
    hits = hits_of_units(lists)
    for treat, together in ((deduplicated, same), (overlaps_merged, overlap)):
        result = treat(hits, BASE)
        assert units_of(result) == [merged(one, together) for one in lists]
        where = origins([hits, result])
        for q, one in enumerate(lists):
            for column, before in enumerate(one):
                after = units_of(result)[q][int(where[q, column])]
                assert after.document == before.document
                assert after.start <= before.start < before.end <= after.end


def test_list_without_anything_to_merge_is_handed_on_itself() -> None:
    hits = hits_of_units([units([(0, 0, 5), (0, 5, 5), (1, 0, 5)]), []])
    assert deduplicated(hits, BASE) is hits
    # Touching is not overlapping.
    assert overlaps_merged(hits, BASE) is hits


@examples(max_examples=100)
@given(block, st.integers(1, 4))
def test_limit_by_parents_keeps_the_longest_prefix_with_k_different_units(
    rows: list[list[tuple[int, int, int]]], k: int
) -> None:
    lists = [units(one) for one in rows]
    for found, one in zip(units_of(first_different(hits_of_units(lists), k, BASE)), lists, strict=True):
        longest = max(n for n in range(len(one) + 1) if len({(u.document, u.start, u.end) for u in one[:n]}) <= k)
        assert found == one[:longest]


def test_lineage_runs_through_every_list() -> None:
    hits = hits_of_units([units([(0, 0, 5), (0, 9, 5), (0, 0, 5), (1, 0, 5)])])
    turned = arranged(hits, np.array([[3, 2, 1, 0]]), "reranking")
    once = deduplicated(turned, BASE)
    kept = kept_only(once, np.array([[False, True, True]]), "check")
    assert origins([hits, turned, once, once, kept]).tolist() == [[0, 1, 0, -1]]
    assert origins([hits, first(hits, 2)]).tolist() == [[0, 1, -1, -1]]


@pytest.mark.parametrize(
    ("columns", "said"), [([0, 0], "twice"), ([-1, 0], "a gap"), ([0, 2], "was not handed"), ([5, 1], "was not handed")]
)
def test_order_that_is_none_is_refused_by_the_name_of_its_stage(columns: list[int], said: str) -> None:
    hits = hits_of_units([units([(0, 0, 5), (0, 9, 5)])])
    with pytest.raises(StageError, match=f"reranking: .*{said}"):
        arranged(hits, np.array([columns]), "reranking")


FACTS = document("facts", "".join(f"Fact {n}: lamps number {n} burn for {n} hours. " for n in range(40)))
ASKED = [question("How long do lamps burn?", [span(FACTS, "lamps number 7 burn for 7 hours")], question_id="q")]


class Backwards:
    """A reranker that turns every list round."""

    def describe(self) -> dict[str, str | int]:
        return {"reranker": "backwards"}

    def rerank(
        self, texts: Sequence[str], hits: Hits, scores: IntArray, prepared: PreparedCorpus, build: IndexBuild
    ) -> IntArray:
        width = np.arange(hits.document.shape[1])[None, :]
        return np.where(hits.valid, hits.count[:, None] - 1 - width, -1)


class Halves:
    """An expansion to one of the two halves of the source, so that many hits share a parent."""

    def describe(self) -> dict[str, str | int]:
        return {"expansion": "halves"}

    def expand(self, hits: Hits, prepared: PreparedCorpus, build: IndexBuild) -> Hits:
        text = prepared.tokenized[0]
        middle = text.n // 2
        at = int(text.starts_at([middle])[0])
        late, valid = hits.start >= at, hits.valid
        return replace(
            hits,
            start=np.where(valid & late, at, 0),
            end=np.where(valid, np.where(late, text.size, at), 0),
            token_start=np.where(valid & late, middle, 0),
            token_end=np.where(valid, np.where(late, text.n, middle), 0),
            into=np.where(valid, np.arange(valid.shape[1])[None, :], -1),
        )


def recovered(**fields: object) -> BlockResult:
    prepared = corpus(FACTS)
    build = build_index(prepared, ArmSettings("a", TokenWindow(24)), 3)
    steps = policies(reranker=Backwards(), expansion=Halves(), moment=fields.pop("moment", "after-reranking"))
    return run_block(prepared, build, ASKED, settings(top_k=2, evidence_tokens=(2000,), **fields), steps)


@pytest.mark.parametrize(
    ("unit", "dedup", "shown"),
    [
        (TopKUnit.PROMPT_UNITS, Dedup.IDENTICAL, 2),
        (TopKUnit.UNIQUE_PARENTS, Dedup.IDENTICAL, 2),
        # Without merging, repeated parents stand in the prompt and count once.
        (TopKUnit.UNIQUE_PARENTS, Dedup.NONE, 20),
        (TopKUnit.PROMPT_UNITS, Dedup.NONE, 2),
        (TopKUnit.RERANKED_CHILDREN, Dedup.IDENTICAL, 1),
        (TopKUnit.RERANKED_CHILDREN, Dedup.NONE, 2),
    ],
)
def test_k_counts_hits_children_parents_or_units_as_declared(unit: TopKUnit, dedup: Dedup, shown: int) -> None:
    result = recovered(top_k_unit=unit, deduplicate=dedup)
    assert len(result.evidence["top-k:2"][0].units) == shown
    # The rank of completion is over the whole list of candidates, whatever k cuts.
    ranks = {view: rows[0].rank_of_completion for view, rows in result.outcomes.items()}
    assert len(set(ranks.values())) == 1


def test_raw_list_is_recorded_before_units_are_merged() -> None:
    result = recovered()
    (packed,) = result.evidence["budget:2000"]
    assert len(packed.units) == 2
    # Every hit that led to a merged unit is in its lineage.
    record = dict(result.payloads)["retrieval"]
    assert sum(len(u.lineage) for u in packed.units) == record["count"][0] == 20
    assert record["expanded_count"] == [20]
    outcome = result.outcomes["budget:2000"][0]
    assert outcome.complete[Stage.DEDUPLICATED]
    assert outcome.repeated_tokens == 0
    twice = recovered(deduplicate=Dedup.NONE).outcomes["budget:2000"][0]
    assert twice.repeated_tokens > 0
    assert twice.duplicate_pairs > 0


def test_reranking_after_expansion_sees_checked_units_and_says_the_moment() -> None:
    result = recovered(moment=RecoveryMoment.BEFORE_RERANKING)
    assert dict(result.payloads)["retrieval"]["moment"] == "before-reranking"
    outcome = result.outcomes["budget:2000"][0]
    assert outcome.complete[Stage.EXPANDED]
    assert outcome.complete[Stage.PACKED]


def test_merging_overlaps_is_a_treatment_of_its_own() -> None:
    prepared = corpus(FACTS)
    build = build_index(prepared, ArmSettings("a", TokenWindow(24, 12)), 3)
    config = settings(evidence_tokens=(4000,), candidates=200)
    apart, joined = (
        run_block(
            prepared, build, ASKED, replace(config, budget=replace(config.budget, merge_overlaps=merge)), policies()
        )
        for merge in (False, True)
    )
    assert len(joined.evidence["budget:4000"][0].units) < len(apart.evidence["budget:4000"][0].units)
    assert joined.outcomes["budget:4000"][0].repeated_tokens == 0 < apart.outcomes["budget:4000"][0].repeated_tokens
    assert joined.outcomes["budget:4000"][0].unique_tokens == apart.outcomes["budget:4000"][0].unique_tokens


@dataclass(frozen=True)
class FailingIndex:
    """Retrieval that fails for the second question of a block."""

    index: object

    def search(self, queries: Queries, depth: int) -> Ranked:
        found = self.index.search(queries, depth)  # type: ignore[attr-defined]
        count = found.count.copy()
        count[1] = 0
        return replace(found, count=count, failed=("", "timed out"))


def test_failed_retrieval_is_a_labelled_failure_and_never_an_empty_list() -> None:
    prepared = corpus(FACTS)
    build = build_index(prepared, ArmSettings("a", TokenWindow(24)), 3)
    two = [ASKED[0], replace(ASKED[0], question_id="r")]
    steps = policies(generator=Extractive(Analyser(), threshold="0"))
    index = FailingIndex(steps.retriever.index(prepared, build))
    result = run_block(prepared, build, two, settings(), steps, index=index)
    good, bad = result.outcomes["budget:120"]
    assert (good.failed, bad.failed) == ("", "timed out")
    assert bad.complete == {}
    assert not bad.answered
    assert good == run_block(prepared, build, two[:1], settings(), steps).outcomes["budget:120"][0]
    rows = dict(result.payloads)
    assert rows["retrieval"]["failed"] == [[1, "timed out"]]
    assert rows["answer"]["failed"] == ["", "timed out"]
    assert rows["answer"]["prompts"][1] == ""


def test_retriever_that_breaks_its_protocol_is_an_error() -> None:
    prepared = corpus(FACTS)
    build = build_index(prepared, ArmSettings("a", TokenWindow(24)), 3)
    good = policies().retriever.index(prepared, build)

    @dataclass(frozen=True)
    class Changed:
        changes: dict[str, object]

        def search(self, queries: Queries, depth: int) -> Ranked:
            return replace(good.search(queries, depth), **self.changes)

    for changes, said in (
        ({"failed": ("broken",)}, "hits for a question it says it failed"),
        ({"failed": ()}, "every question"),
        ({"chunk": np.full((1, 20), 10**6)}, "not in the index"),
        ({"chunk": np.zeros((1, 3), dtype=np.int64)}, "do not belong together"),
    ):
        with pytest.raises(StageError, match=said):
            run_block(prepared, build, ASKED, settings(), policies(), index=Changed(changes))


def test_structural_units_are_counted_once_however_many_units_touch_them() -> None:
    table, code = "| a | b |\n| - | - |\n| 1 | 2 |\n", "```\ncode\n```\n"
    text = f"# One\n\nFirst words here.\n\n## Two\n\n{table}\n{code}\n# Three\n\nLast."
    doc = document("page.md", text, media_type="text/markdown")
    found = structural_units([doc], np.zeros(1, dtype=np.int64))

    def touched(*spans: tuple[str, str]) -> int:
        pairs = [(text.index(first), text.index(last) + len(last)) for first, last in spans]
        hits = hits_of_units([[Unit(0, a, b, a, b, rank, ()) for rank, (a, b) in enumerate(pairs, 1)], []])
        counted = found.touched(hits).tolist()
        assert counted[1] == 0
        return int(counted[0])

    assert touched(("First", "words")) == 1
    assert touched(("First", "words"), ("words", "here.")) == 1
    assert touched(("First", "## Two")) == 2
    assert touched(("| 1", "| 1")) == 2  # its section and the table
    assert touched(("| 1", "code")) == 3
    assert touched(("# One", "Last.")) == 5
    assert touched(("Last.", "Last."), ("First", "First")) == 2


def test_first_score_stands_where_nothing_can_support_the_question() -> None:
    prepared = corpus(FACTS)
    build = build_index(prepared, ArmSettings("a", TokenWindow(24)), 3)
    spurious = question("Which lamps burn longest?", question_id="r")
    good, bad = run_block(prepared, build, [ASKED[0], spurious], settings(), policies()).outcomes["budget:120"]
    assert good.top_score == 0 < bad.top_score
    assert bad.needed_bytes == bad.relevant_bytes == 0 < bad.shown_bytes
