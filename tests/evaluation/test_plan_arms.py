"""Arms that change more than a window: which settings they may have, what they are said to change, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.domain.plan_factors import changed_factors
from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.plan_words import Factor
from evaluation.plugins.registry import SHIPPED, Kind, build_registry
from evaluation.views import plan_reading

PLANS = Path(__file__).resolve().parents[2] / "evaluation" / "plans"
KNOWN = build_registry(offered=()).known_names()
BASE = (PLANS / "chunking-evaluation.toml").read_text("utf-8")
WINDOW = 'segmenter = "token-window"\ncapacity = 256\noverlap = 64\nfactor = "overlap"\n'
DIGEST = "a" * 64


def plan_with(arm: str, *, unit: str = "splitter", more: str = "") -> str:
    """Return the plan whose candidate has these settings instead of its window."""
    assert WINDOW in BASE
    text = BASE.replace(WINDOW, arm).replace('unit_under_test = "splitter"', f'unit_under_test = "{unit}"')
    return text.replace("[generation]", f"{more}\n[generation]")


def refused(text: str) -> dict[str, str]:
    with pytest.raises(PlanRefused) as refusal:
        parse_plan(text, KNOWN)
    return {problem.where: f"{problem.what} {problem.mend}" for problem in refusal.value.problems}


@pytest.mark.parametrize(
    ("arm", "where", "says"),
    [
        ('segmenter = "token-window"\ncapacity = 9\noverlap = 9', "overlap", "would never advance"),
        ('segmenter = "token-window"\ncapacity = true\noverlap = 0', "capacity", "is true, not a whole number"),
        ('segmenter = "sentences"\ncapacity = 9\noverlap = false', "overlap", "is false, not a whole number"),
        ('segmenter = "token-window"\ncapacity = 9\nseparators = [" "]', "separators", "does not read it"),
        ('segmenter = "token-window"\ncapacity = 9\nlanguage = "en"', "language", "does not read it"),
        ('segmenter = "token-window"\ncapacity = 9\nunit = "words"', "unit", 'Write "tokens"'),
        ('segmenter = "words"\ncapacity = 9\nunit = "tokens"', "unit", 'Write "words"'),
        ('segmenter = "recursive"\ncapacity = 9\nunit = "sentences"', "unit", 'Write "characters" or "tokens"'),
        ('segmenter = "recursive"\ncapacity = 9\nchunks = "x.jsonl"', "chunks", "does not read it"),
        ('segmenter = "recursive"\ncapacity = 9\nsplitter = "a:B"', "splitter", "does not read it"),
        ('segmenter = "langchain"', "splitter", "needs it"),
        ('segmenter = "langchain"\nsplitter = "CharacterTextSplitter"', "splitter", "package.module:Class"),
        ('segmenter = "langchain"\nsplitter = "a.b:C"\ncapacity = 9', "capacity", "does not read it"),
        ('segmenter = "chonkie"\nsplitter = "a.b:C"\nchunks = "x"', "chunks", "does not read it"),
        ('segmenter = "chunk-dump"\nchunks = "x.jsonl"', "chunks_digest", "needs it"),
        (f'segmenter = "chunk-dump"\nchunks_digest = "{DIGEST}"', "chunks", "needs it"),
        ('segmenter = "chunk-dump"\nchunks = "x.jsonl"\nchunks_digest = "abc"', "chunks_digest", "no SHA-256"),
        ('segmenter = "sentense"\ncapacity = 9', "segmenter", "Did you mean “sentences”?"),
        ('segmenter = "mine"\ncapacity = 9', "segmenter", "must be installed and named in CUTLINE_PLUGINS"),
    ],
)
def test_setting_without_effect_or_missing_is_refused_at_its_place(arm: str, where: str, says: str) -> None:
    assert says in refused(plan_with(f'{arm}\nfactor = "segmenter"\n'))[f"arms[1].{where}"]


@pytest.mark.parametrize(
    ("table", "where", "says"),
    [
        ('retriever = "bm25"\ncandidates = 50\ndimensions = 64', "retrieval.dimensions", "does not read it"),
        ('retriever = "lsa"\ncandidates = 50\nk1 = 0.9', "retrieval.k1", "does not read it"),
        ('retriever = "lsa"\ncandidates = 50\ndimensions = 1', "retrieval.dimensions", "at least 2"),
        ('retriever = "hybrid"\ncandidates = 50', "retrieval.fuse", "fewer than two"),
        ('retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25"]', "retrieval.fuse", "fewer than two"),
        ('retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25", "hybrid"]', "retrieval.fuse", "fuses itself"),
        ('retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25", "bm25"]', "retrieval.fuse[1]", "repeats"),
        ('retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25", "x"]', "retrieval.fuse[1]", "unknown retriever"),
        (
            'retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25", "lsa"]\nendpoint = "http://a"',
            "retrieval.endpoint",
            "does not read it",
        ),
        ('retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25", "http"]', "retrieval.endpoint", "needs it"),
        ('retriever = "http"\ncandidates = 50', "retrieval.endpoint", "needs it"),
        ('retriever = "bm25"\ncandidates = 4', "budget.top_k", "deeper than the 4"),
    ],
)
def test_retrieval_of_an_arm_is_held_to_its_retriever(table: str, where: str, says: str) -> None:
    arm = f'segmenter = "token-window"\ncapacity = 256\noverlap = 0\nfactor = "retrieval"\n[arms.retrieval]\n{table}\n'
    found = refused(plan_with(arm, unit="indexing-policy"))
    place = where if where.startswith("budget") else f"arms[1].{where}"
    assert says in found[place], found


@pytest.mark.parametrize(
    ("table", "where", "says"),
    [
        ('policy = "none"\nreach = 2', "reach", "does not read it"),
        ('policy = "neighbours"\nparent = "document"', "parent", "does not read it"),
        ('policy = "neighbours"\nreach = 0', "reach", "at least 1"),
        ('policy = "parent"\nparent = "larger-chunk"', "parent_capacity", "needs it"),
        ('policy = "parent"\nparent_capacity = 512', "parent_capacity", "does not read it"),
        ('policy = "auto-merge"', "parent_capacity", "needs it"),
        ('policy = "auto-merge"\nparent_capacity = 256', "parent_capacity", "no larger than the 256 tokens"),
        ('policy = "auto-merge"\nparent_capacity = 512\nreach = 2', "reach", "does not read it"),
        ('policy = "sentence-window"\nmerge_share = 0.4', "merge_share", "does not read it"),
    ],
)
def test_recovery_of_an_arm_is_held_to_its_policy(table: str, where: str, says: str) -> None:
    arm = f'segmenter = "token-window"\ncapacity = 256\noverlap = 0\nfactor = "recovery"\n[arms.recovery]\n{table}\n'
    assert says in refused(plan_with(arm, unit="indexing-policy"))[f"arms[1].recovery.{where}"]


def test_reranker_is_held_to_its_settings() -> None:
    found = refused(BASE.replace("[generation]", "[reranking]\nrelevance = 0.4\n[generation]"))
    assert "does not read it" in found["reranking.relevance"]


LSA = 'retriever = "lsa"\ncandidates = 50\n'
CHANGES = {
    Factor.SEGMENTER: 'segmenter = "recursive"\ncapacity = 256\noverlap = 0\n',
    Factor.OVERLAP: 'segmenter = "token-window"\ncapacity = 256\noverlap = 9\n',
    Factor.RETRIEVAL: 'segmenter = "token-window"\ncapacity = 256\n{}[arms.retrieval]\n' + LSA,
    Factor.RERANKING: 'segmenter = "token-window"\ncapacity = 256\n{}[arms.reranking]\nreranker = "mmr"\n',
    Factor.RECOVERY: 'segmenter = "token-window"\ncapacity = 256\n{}[arms.recovery]\npolicy = "neighbours"\n',
}


@pytest.mark.parametrize("factor", CHANGES)
def test_each_change_has_its_word_and_no_other(factor: Factor) -> None:
    text = CHANGES[factor]
    text = text if "{}" in text else f"{text}{{}}"
    plan = parse_plan(plan_with(text.format(f'factor = "{factor}"\n'), unit="indexing-policy"), KNOWN)
    assert changed_factors(plan, plan.candidates[0]) == (factor,)
    wrong = refused(plan_with(text.format('factor = "tails"\n'), unit="indexing-policy"))
    assert f'Write "{factor}"' in wrong["arms[1].factor"]


@pytest.mark.parametrize("factor", [Factor.RETRIEVAL, Factor.RERANKING, Factor.RECOVERY])
def test_study_of_the_splitter_alone_changes_nothing_beyond_it(factor: Factor) -> None:
    found = refused(plan_with(CHANGES[factor].format(f'factor = "{factor}"\n')))
    assert "the unit under test is the splitter alone" in found[f"arms[1].{factor}"]


def test_several_changes_are_combined() -> None:
    arm = 'segmenter = "sentences"\ncapacity = 200\nfactor = "combined"\n[arms.recovery]\npolicy = "neighbours"\n'
    plan = parse_plan(plan_with(arm, unit="indexing-policy"), KNOWN)
    assert changed_factors(plan, plan.candidates[0]) == (Factor.SEGMENTER, Factor.CAPACITY, Factor.RECOVERY)


def test_foreign_splitter_changes_the_segmenter_and_has_no_phase() -> None:
    arm = 'segmenter = "langchain"\nsplitter = "langchain_text_splitters:CharacterTextSplitter"\nfactor = "segmenter"\n'
    plan = parse_plan(plan_with(arm), KNOWN)
    assert changed_factors(plan, plan.candidates[0]) == (Factor.SEGMENTER,)
    assert plan.stride_of(plan.candidates[0]) == 0


def test_system_we_do_not_own_is_unshifted_unless_it_indexes_our_chunks() -> None:
    http = 'retriever = "http"\ncandidates = 50\nendpoint = "http://search.example/query"\n'
    arm = f'segmenter = "token-window"\ncapacity = 256\nfactor = "retrieval"\n[arms.retrieval]\n{http}'
    fixed = parse_plan(plan_with(arm, unit="indexing-policy"), KNOWN)
    assert [fixed.stride_of(one) for one in fixed.arms] == [256, 0]
    hook = f'{arm}reindex_hook = "http://search.example/index"\n'
    followed = parse_plan(plan_with(hook, unit="indexing-policy"), KNOWN)
    assert [followed.stride_of(one) for one in followed.arms] == [256, 256]


def test_fusion_with_a_system_that_keeps_its_own_index_has_one_observation() -> None:
    fused = 'retriever = "hybrid"\ncandidates = 50\nfuse = ["bm25", "http"]\nendpoint = "http://search.example/query"\n'
    arm = f'segmenter = "token-window"\ncapacity = 256\nfactor = "retrieval"\n[arms.retrieval]\n{fused}'
    plan = parse_plan(plan_with(arm, unit="indexing-policy"), KNOWN)
    assert plan.stride_of(plan.candidates[0]) == 0
    plan = parse_plan(plan_with(f'{arm}reindex_hook = "http://search.example/index"\n', unit="indexing-policy"), KNOWN)
    assert plan.stride_of(plan.candidates[0]) == 256
    own = arm.replace('["bm25", "http"]\nendpoint = "http://search.example/query"', '["bm25", "lsa"]')
    plan = parse_plan(plan_with(own, unit="indexing-policy"), KNOWN)
    assert plan.stride_of(plan.candidates[0]) == 256


def test_every_shipped_plugin_of_a_plan_says_what_it_reads() -> None:
    declared = {(kind, name) for kind, name in SHIPPED if kind in {Kind.SEGMENTER, Kind.RETRIEVER, Kind.RERANKER}}
    said = {(Kind(kind.removesuffix("s")), name) for kind, names in KNOWN.uses.items() for name in names}
    assert said == declared


def test_arms_are_shown_in_words_with_what_differs_from_the_baseline() -> None:
    plan = parse_plan((PLANS / "chunking-evaluation-arms.toml").read_text("utf-8"), KNOWN)
    rows = {row.name: row.cells for row in plan_reading.arm_rows(plan, KNOWN)}
    assert list(rows)[:3] == ["Role", "Changes", "Segmenter"]
    assert [differs for _, differs in rows["Segmenter"]] == [False, False, True, True, False]
    said, differs = rows["Recovery"][4]
    assert (said, differs) == ("neighbouring chunks; When: after reranking; Reach on each side: 1", True)
    assert "Chunk dump" not in rows
    shown = {section.title: dict(section.rows) for section in plan_reading.sections(plan, KNOWN)}
    assert "Dimensions" not in shown["Retrieval"]
    assert shown["Recovery"] == {"Hits are widened by": "nothing: hits stay as they are"}
