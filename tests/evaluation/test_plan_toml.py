"""Plans: what is read, what is refused with its place and mend, and the round trips that locking relies on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.domain.plan import Plan
from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import parse_plan, plan_from_payload, plan_payload, plan_to_toml
from evaluation.plugins.registry import build_registry
from ledger.domain.canonical import canonical_bytes

PLANS = Path(__file__).resolve().parents[2] / "evaluation" / "plans"
KNOWN = build_registry(offered=()).known_names()
DEMO = (PLANS / "demo.toml").read_text("utf-8")
RETRIEVAL_ONLY = (PLANS / "chunking-evaluation.toml").read_text("utf-8")


def refused(text: str) -> dict[str, str]:
    with pytest.raises(PlanRefused) as refusal:
        parse_plan(text, KNOWN)
    assert all(problem.what and problem.mend and problem.where for problem in refusal.value.problems)
    return {problem.where: f"{problem.what} {problem.mend}" for problem in refusal.value.problems}


def changed(old: str, new: str, text: str = DEMO, count: int = -1) -> str:
    assert old in text
    return text.replace(old, new, count)


@pytest.mark.parametrize("path", sorted(PLANS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_plan_survives_toml_and_payload(path: Path) -> None:
    plan = parse_plan(path.read_text("utf-8"), KNOWN)
    assert parse_plan(plan_to_toml(plan)) == plan
    stored = json.loads(canonical_bytes(plan_payload(plan)))
    assert plan_from_payload(stored) == plan


def test_payload_holds_no_float_and_equal_numbers_are_equal_text() -> None:
    spelled = changed("k1 = 1.5", 'k1 = "1.500"')
    assert plan_payload(parse_plan(spelled)) == plan_payload(parse_plan(DEMO))
    assert plan_payload(parse_plan(DEMO))["retrieval"]["k1"] == "1.5"


def test_any_changed_setting_changes_the_canonical_bytes() -> None:
    base = canonical_bytes(plan_payload(parse_plan(DEMO)))
    for old, new in (("grid = 8", "grid = 9"), ("tolerance = 0.10", "tolerance = 0.11"), ("b = 0.75", "b = 0.7")):
        assert canonical_bytes(plan_payload(parse_plan(changed(old, new, count=1)))) != base


@pytest.mark.parametrize(
    ("old", "new", "where", "says"),
    [
        ("overlap = 40", "overlap = 160", "arms[0].overlap", "not below the capacity 160"),
        ("overlap = 40", "overlap = true", "arms[0].overlap", "is true, not a whole number"),
        ("overlap = 40", "overlap = 40.5", "arms[0].overlap", "not a whole number"),
        ("capacity = 160", "capacity = 0", "arms[0].capacity", "at least 1"),
        ("grid = 8", 'labels = ["9/8"]', "phases.labels[0]", "outside the stride"),
        ("grid = 8", 'labels = ["0/8"]', "phases.labels[0]", "outside the stride"),
        ("grid = 8", 'labels = ["3/0"]', "phases.labels[0]", "exact fraction"),
        ("grid = 8", "labels = [0.375]", "phases.labels[0]", "exact fraction"),
        ("grid = 8", 'labels = ["1/2", "2/4"]', "phases.labels[1]", "repeats phases.labels[0]"),
        ("grid = 8", "grid = true", "phases.grid", "is true"),
        ("grid = 8", "targeted = true", "phases", "share no phase"),
        ("grid = 8", "every = true", "phases", "strides differ (120, 160)"),
        ("grid = 8", "grid = 1", "phases", "no answer can reverse"),
        ('role = "baseline"', 'role = "candidate"', "arms", "no baseline"),
        ('role = "candidate"', 'role = "baseline"', "arms", "2 baselines"),
        ('factor = "overlap"', 'factor = "capacity"', "arms[1].factor", 'Write "overlap"'),
        ("overlap = 0\n", "overlap = 40\n", "arms[1]", "same as the baseline"),
        ('name = "candidate-160-0"', 'name = "baseline-160-40"', "arms[1].name", "repeats"),
        ('retriever = "bm25"', 'retriever = "psychic"', "retrieval.retriever", "Known: bm25"),
        ('segmenter = "token-window"', 'segmenter = "magic"', "arms[0].segmenter", "token-window"),
        ('generator = "extractive"', 'generator = "oracle"', "generation.generator", "Known: extractive, none"),
        ('analyser = "words"', 'analyser = "runes"', "retrieval.analyser", "Known: words"),
        ("k1 = 1.5", 'k1 = "NaN"', "retrieval.k1", "not a plain decimal"),
        ("k1 = 1.5", "k1 = inf", "retrieval.k1", "not a plain decimal"),
        ("k1 = 1.5", "k1 = -1", "retrieval.k1", "at least 0"),
        ("b = 0.75", "b = 1.5", "retrieval.b", "at most 1"),
        ("k1 = 1.5", "k_1 = 1.5", "retrieval.k_1", "Did you mean “k1”"),
        ("seed = 20261021\n", "", "statistics.seed", "is missing"),
        ("confidence = 0.95", "confidence = 1", "statistics.confidence", "below 1"),
        ("primary_evidence_tokens = 400", "primary_evidence_tokens = 300", "budget.primary_evidence_tokens", "Use one"),
        ("candidates = 50", "candidates = 4", "budget.top_k", "deeper than the 4"),
        ('label_format = "[{rank}] "', 'label_format = "[{rank"', "budget.label_format", "braces"),
        ('label_format = "[{rank}] "', 'label_format = "{rang}"', "budget.label_format", "unknown part {rang}"),
        ("held_out_openings = 1", "held_out_openings = 0", "population.held_out_openings", "opens the held-out"),
        ('candidate = "candidate-160-0"', 'candidate = "nobody"', "decision.candidate", "no candidate arm"),
        ("index_expansion = 1.5", "latency_ms = 20", "resources.latency_state", "cold or warm"),
        ('boundary_hypothesis = "', 'boundary_hypothesis = "" # ', "hypothesis.boundary_hypothesis", "is blank"),
        ('kind = "support-loss"', 'kind = "false-assertion-increase"', "gates[0].segment", "have an answer"),
        ('kind = "false-assertion-increase"', 'kind = "support-loss"', "gates[5].kind", "this segment has none"),
        ('name = "false-assertions"', 'name = "attribution"', "gates[8].name", "repeats"),
        ('sample = "representative"', 'sample = "both"', "gates[0].sample", "representative, enriched"),
        (
            'kind = "support-loss"',
            'kind = "support-loss"\nverdict_source = "people"',
            "gates[0].verdict_source",
            "rubric",
        ),
    ],
)
def test_faulty_setting_is_refused_at_its_place(old: str, new: str, where: str, says: str) -> None:
    found = refused(changed(old, new, count=1))
    assert says in found[where], found


def test_every_phase_of_equal_strides_is_shared_by_name() -> None:
    text = changed("grid = 8", "every = true", changed("overlap = 0\n", "overlap = 60\n", count=1))
    text = text.replace("capacity = 160\noverlap = 60", "capacity = 180\noverlap = 60")
    plan = parse_plan(text.replace('factor = "overlap"', 'factor = "combined"'))
    assert {arm.stride for arm in plan.arms} == {120}
    assert [label.phase(120) for label in plan.phase_labels] == list(range(1, 121))


def test_all_faults_are_told_together_with_their_lines() -> None:
    text = changed(
        "overlap = 40", "overlap = 160", changed("k1 = 1.5", "k1 = false", changed("grid = 8", "grid = 0.5"))
    )
    with pytest.raises(PlanRefused) as refusal:
        parse_plan(text)
    lines = text.splitlines()
    told = {problem.where: lines[problem.line - 1] for problem in refusal.value.problems}
    assert told == {
        "retrieval.k1": "k1 = false",
        "phases.grid": "grid = 0.5",
        "arms[0].overlap": "overlap = 160",
    }


def test_broken_toml_names_its_line() -> None:
    with pytest.raises(PlanRefused) as refusal:
        parse_plan('name = "x"\nmetrics = [\n"a"\n[budget')
    assert refusal.value.problems[0].line == 4


def test_empty_text_lists_every_missing_table() -> None:
    found = refused("")
    assert {"name", "arms", "budget", "hypothesis", "decision", "statistics"} <= set(found)


def test_retrieval_only_plan_refuses_what_needs_answers() -> None:
    text = RETRIEVAL_ONLY.replace('"single-unit-support"]', '"attribution"]')
    text = text.replace("[resources]", "[vetoes]\nunresolved_attribution = 0.1\n[resources]")
    found = refused(text.replace('kind = "support-loss"', 'kind = "attribution"', 1))
    assert set(found) == {"metrics[1]", "gates[0].kind", "vetoes.unresolved_attribution"}


def test_several_candidates_without_correction_are_refused() -> None:
    arm = '[[arms]]\nname = "third"\nrole = "candidate"\nsegmenter = "token-window"\ncapacity = 160\noverlap = 20\n'
    text = changed("[statistics]", f'{arm}factor = "overlap"\n\n[statistics]')
    assert "bonferroni" in refused(text)["statistics.multiplicity"]
    assert parse_plan(text.replace("[statistics]", '[statistics]\nmultiplicity = "bonferroni"')).candidates


def test_stride_on_which_all_labels_fall_together_is_refused() -> None:
    text = changed("overlap = 0\n", "overlap = 159\n")
    assert "are one cut" in refused(text)["arms[1].overlap"]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
    tolerance=st.decimals(0, 1, places=6),
    words=st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True, max_size=4),
)
def test_round_trip_holds_for_any_text(text: str, tolerance: object, words: list[str]) -> None:
    payload = plan_payload(parse_plan(DEMO))
    payload["hypothesis"]["counter_cost"] = text
    payload["budget"]["separator"] = text
    payload["retrieval"]["stop_words"] = words
    payload["gates"][0]["tolerance"] = str(tolerance)
    plan: Plan = plan_from_payload(payload)
    assert parse_plan(plan_to_toml(plan)) == plan


@pytest.mark.parametrize("value", ["0x" + "f" * 5_000, "9" * 5_000, "[" * 100_000, "[{a = 0x8000000000000000}]"])
def test_plan_with_a_value_no_plan_can_hold(value: str) -> None:
    for name in ("name", "capacity", "arms", "unknown"):
        with pytest.raises(PlanRefused) as refused:
            parse_plan(f"{name} = {value}")
        assert all(len(str(problem)) < 1_000 for problem in refused.value.problems)
