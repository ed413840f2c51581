"""The examples of the pages go through the real readers; docs/file-formats.md tells one study, from text to fixture."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from annotate.domain.content import PassContent
from annotate.domain.content_codec import normalised
from annotate.domain.disagreements import differences
from annotate.domain.errors import BadInput
from annotate.domain.fixture import QuestionFacts, fixture_payload
from annotate.domain.import_formats.questions_toml import parse_questions_toml
from annotate.domain.import_formats.seed_fixture import parse_seed_fixture
from annotate.domain.import_formats.sources_toml import parse_sources_toml
from annotate.domain.published_layout import published_bytes
from annotate.domain.settle import Verdict, settle
from annotate.permissions import OPERATOR
from evaluation.demo.decision_files import read_decisions
from evaluation.demo.orientation import Orientation
from evaluation.demo.pass_files import read_pass
from evaluation.demo.texts import Text, Texts
from evaluation.domain.plan_toml import parse_plan, plan_to_toml
from evaluation.domain.sweep_limits import Prices
from evaluation.services.calibrate import QUESTIONS
from evaluation.services.estimate_plan import estimate_plan
from evaluation.services.operations import results_document
from evaluation.services.results import sweep_results
from ledger.domain.chain import ExternalHead
from tests.architecture.pages import code, examples, names, rows
from tests.architecture.test_docs import FORMATS
from tests.architecture.tree import ROOT
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan, make_sealed_sweep

OURS = [
    Path("docs") / f"{name}.md" for name in ("file-formats", "numbers", "results", "ledger", "deployment", "testing")
]
RESULTS, LEDGER = Path("docs/results.md"), Path("docs/ledger.md")
READERS = {
    "reader: sources.toml",
    "reader: questions.toml",
    "reader: pass 1",
    "reader: pass 2",
    "reader: decisions",
    "reader: published",
    "reader: canonical",
    "reader: plan",
    "reader: head",
}


def example(mark: str, page: Path = FORMATS) -> bytes:
    """Return the one example marked so; raises ValueError for none or several."""
    (found,) = [one for one in examples(page) if one.mark == mark]
    return found.text.encode()


@dataclass(frozen=True)
class Story:
    """The study that docs/file-formats.md tells."""

    texts: Texts
    version: str
    content: bytes

    def passes(self) -> tuple[PassContent, PassContent]:
        one, two = (read_pass(example(f"reader: pass {n}"), f"pass {n}", self.texts) for n in (1, 2))
        return one["camera-loan"], two["camera-loan"]


@pytest.fixture
def story() -> Story:
    (entry,) = parse_sources_toml(example("reader: sources.toml"))
    content = example(f"file: {entry.file}")
    version = hashlib.sha256(content).hexdigest()
    texts = Texts([Text(entry.document_id, entry.version_label, version, content)])
    return Story(texts, version, content)


def test_every_data_example_names_its_reader() -> None:
    found = [one for page in OURS for one in examples(page) if one.language in {"toml", "json"}]
    assert {one.mark for one in found} == READERS
    assert len(found) == len(READERS)


def test_example_range_is_found_in_the_example_text(story: Story) -> None:
    (entry,) = parse_sources_toml(example("reader: sources.toml"))
    assert entry.access_ranges
    found = entry.access_ranges[0].resolve(story.content, "range")
    assert story.content[found.start : found.end] == b"Cameras come back after 3 days."


@pytest.mark.parametrize("one_is_a", [True, False])
def test_example_passes_and_decisions_settle_into_the_canonical_and_published_fixture(
    story: Story, one_is_a: bool
) -> None:
    one, two = story.passes()
    a, b = (one, two) if one_is_a else (two, one)
    found = differences(a, b)
    assert [str(difference.kind) for difference in found] == ["span-boundary"]
    made = read_decisions(example("reader: decisions"), "decisions")["camera-loan"]
    sides = Orientation(a, b, one_is_a, story.texts)
    decided = sides.decisions(found, made.decisions)
    settled = normalised(settle(a, b, {one.position: Verdict(one.choice, one.value) for one in decided}))
    necessity = {name: word for name, (word, _) in sides.necessity(settled, made.spans).items()}
    (asked,) = parse_questions_toml(example("reader: questions.toml"))
    facts = QuestionFacts(
        key=asked.key,
        text=asked.text,
        as_of=asked.as_of,
        locale=asked.locale,
        reader_labels=asked.reader_labels,
        sample=asked.sample,
        partition=asked.partition,
        slice_tags=asked.slice_tags,
    )
    fixture = fixture_payload(facts, settled, made.segment, "lending", necessity)
    assert json.loads(example("reader: canonical")) == fixture
    assert example("reader: published") == published_bytes(fixture, {story.version: story.content})


def test_example_of_the_published_layout_is_read_back(story: Story) -> None:
    fixture = parse_seed_fixture(example("reader: published"))
    assert fixture.sources == {story.version: story.content}
    assert [span.name for span in fixture.content.spans] == ["default", "cameras"]


def test_example_plan_is_read_and_written_back() -> None:
    plan = parse_plan(example("reader: plan").decode())
    assert parse_plan(plan_to_toml(plan)) == plan
    # 8 labels of the grid, of which 3/8 is one.
    assert [str(label) for label in plan.phase_labels][2] == "3/8"


def test_example_head_is_read() -> None:
    text = example("reader: head", LEDGER).decode()
    assert ExternalHead.parse(text).to_text() == text.strip()


def _known_fields(read: Callable[[bytes], object], data: bytes) -> set[str]:
    """Return the fields a reader names when it meets one that nobody knows."""
    with pytest.raises(BadInput) as refused:
        read(data)
    (said,) = set(re.findall(r"Known are ([\w, ]+)\.", str(refused.value)))
    return set(said.split(", "))


@pytest.mark.parametrize("kind", ["source", "question", "pass", "decisions"])
def test_documented_fields_are_those_the_reader_knows(kind: str, story: Story) -> None:
    readers: dict[str, tuple[Callable[[bytes], object], bytes]] = {
        "source": (parse_sources_toml, b"[[source]]\nqqqqqq = 1\n"),
        "question": (parse_questions_toml, b"[[question]]\nqqqqqq = 1\n"),
        "pass": (lambda data: read_pass(data, "pass", story.texts), b'[{"qqqqqq": 1}]'),
        "decisions": (lambda data: read_decisions(data, "decisions"), b'[{"qqqqqq": 1}]'),
    }
    documented = set(names(FORMATS, f"fields: {kind}"))
    assert documented == _known_fields(*readers[kind])


#: A second candidate, of another capacity: only then is there a size-by-phase interaction to tell.
WIDER = """[[arms]]
name = "window-64-16"
role = "candidate"
segmenter = "token-window"
capacity = 64
overlap = 16
factor = "capacity"

[statistics]
multiplicity = "bonferroni"
"""


def test_documented_members_of_results_are_those_a_sweep_writes(db: None) -> None:
    toml = PLAN.replace("grid = 4", "grid = 4\ntargeted = true").replace("[statistics]\n", WIDER)
    sweep = make_sealed_sweep(make_plan(make_fixture_set(), toml))
    data = results_document(sweep, sweep_results(sweep))
    documented = {row[0]: row[1] for row in rows(RESULTS, "rows")}
    parts = {row[0].strip("`") for row in rows(RESULTS, "parts")}
    assert parts == set(data)

    def told(row: str) -> set[str]:
        members = set(code(documented[row]))
        return members | told("figure") if re.search(r"(^|, )figure(,|$)", documented[row]) else members

    met: set[str] = set()

    def check(row: str, value: dict[str, Any]) -> None:
        met.add(row)
        assert set(value) == told(row), row

    check("`sweep`", data["sweep"])
    check("`operations`", data["operations"])
    for name in ("limits", "used"):
        check(f"`{name}`", data["operations"][name])
    for value in data["operations"]["latency"]:
        check("`latency`", value)
    for part in data.keys() - {"form", "sweep", "operations", "decision"}:
        for value in data[part]:
            special = f"`{part}` of `{value.get('metric')}`"
            check(special if special in documented else f"`{part}`", value)
            for name in ("without_failures", "feasible_only", "across_repeats"):
                if name in value:
                    check("figure", value[name])
            for arm in value["arms"] if part == "frontier" else ():
                check("`arms` of `frontier`", arm)
            if part == "builds":
                check("`measures` of `builds`", value["measures"])
            for name in ("interval", "mean"):
                if isinstance(value.get(name), dict):
                    check("interval", value[name])
                    check("signature", value[name]["signature"])
            if "null" in value:
                check("`null`", value["null"])
    assert met == set(documented)


def test_documented_members_of_an_estimate_are_those_it_has(db: None) -> None:
    estimate = estimate_plan(OPERATOR, make_plan(make_fixture_set()), Prices())
    documented = [name for row in rows(RESULTS, "estimate") for name in code(row[0])]
    assert sorted(documented) == sorted(estimate.data())
    assert f"and {QUESTIONS} questions, run once" in (ROOT / RESULTS).read_text("utf-8")
