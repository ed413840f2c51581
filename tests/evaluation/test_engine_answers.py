"""Sentences, the extractive baseline, citations and the evidence rubric."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotate.domain.sentences import sentences
from annotate.domain.vocabulary import DependencyType, SpanLabel
from evaluation.domain.analysis import Analyser
from evaluation.domain.citations import resolve
from evaluation.domain.frozen import Interval
from evaluation.domain.generation import EvidenceText, Extract, GeneratedAnswer
from evaluation.domain.outcomes import AnswerClass
from evaluation.domain.verdicts import citation_verdict, covers_a_set, judge
from evaluation.plugins.extractive import ABSTENTION, Extractive
from tests.evaluation.engine_world import document, question, span

GOLDEN = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "chunking_inputs.json").read_text(encoding="utf-8")
)
SOURCE = "Requests may be retained for 30 days. This limit is 7 days for requests marked temporary."
ASKED = "What retention limit applies to requests marked temporary?"


@pytest.mark.parametrize("text", sorted(GOLDEN["sentences"]))
def test_sentences_of_several_languages_and_structures(text: str) -> None:
    assert [text[start:end] for start, end in sentences(text)] == GOLDEN["sentences"][text]


@pytest.mark.parametrize("text", sorted(GOLDEN["citations"]))
def test_citations_resolve_one_by_one_or_are_reported(text: str) -> None:
    visible = [Interval("v", 0, 5), Interval("v", 5, 9)]
    found = resolve(text, visible)
    assert [[c.number, c.resolved] for c in found] == GOLDEN["citations"][text]
    for citation in found:
        assert text[citation.position] in "-0123456789"
        assert citation.interval == (visible[citation.number - 1] if citation.resolved else None)


def evidence(text: str, number: int = 1, start: int = 0) -> EvidenceText:
    return EvidenceText(number, "v", start, text.encode())


def answer(*units: EvidenceText, asked: str = ASKED, threshold: str = "0.4") -> GeneratedAnswer:
    return Extractive(Analyser(), threshold=threshold).answer(asked, units, b"")


def test_answer_quotes_the_best_sentence_with_its_neighbour_and_citation() -> None:
    given = answer(evidence(SOURCE, start=100))
    assert given.text == (
        "Requests may be retained for 30 days. [1] This limit is 7 days for requests marked temporary. [1]"
    )
    assert given.extracts == (Extract(1, "v", 100, 189),)
    assert not given.abstained


def test_answer_from_half_of_the_evidence_quotes_only_that_half() -> None:
    given = answer(evidence("Requests may be retained for 30 days."), threshold="0.1")
    assert given.extracts == (Extract(1, "v", 0, 37),)


def test_weak_overlap_no_evidence_or_no_words_abstain() -> None:
    weak = answer(evidence("Opening hours are posted at the door."), threshold="0.1")
    assert weak == GeneratedAnswer(ABSTENTION, abstained=True)
    assert answer().abstained
    assert answer(evidence(SOURCE), asked="?!").abstained
    assert answer(evidence("Requests may be retained for 30 days."), threshold="0.9").abstained


def test_sentence_two_units_share_is_quoted_once_and_offsets_are_bytes() -> None:
    text = "Gebühren: Die Überziehung kostet 5 €. Ende."
    cut = text.encode().index(b"Die")
    given = answer(
        evidence(text),
        evidence(text.encode()[cut:].decode(), 2, cut),
        asked="Was kostet die Überziehung?",
        threshold="0.1",
    )
    raw = text.encode()
    for extract in given.extracts:
        raw[extract.start : extract.end].decode()
    assert len({(e.start, e.end) for e in given.extracts}) == len(given.extracts)


def test_footnote_marks_of_the_source_are_not_citations() -> None:
    given = answer(
        evidence("The reduced rate is 12 [1] and the fee is 5 [2, 3]."), asked="reduced rate fee", threshold="0.1"
    )
    assert given.text == "The reduced rate is 12 (1) and the fee is 5 (2, 3). [1]"
    assert [c.number for c in resolve(given.text, [Interval("v", 0, 1)])] == [1]


def test_equal_input_gives_equal_answers_whatever_came_before() -> None:
    generator = Extractive(Analyser())
    first = generator.answer(ASKED, (evidence(SOURCE),), b"")
    generator.answer("something else", (evidence("Something else."),), b"")
    assert generator.answer(ASKED, (evidence(SOURCE),), b"") == first


@pytest.mark.parametrize("field", [{"threshold": "1.5"}, {"second": "-0.1"}, {"most": 0}])
def test_settings_outside_their_range_are_refused(field: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="extractive"):
        Extractive(Analyser(), **field)  # type: ignore[arg-type]


DOC = document("d", SOURCE)
SETS = ([span(DOC, SOURCE[:37], SpanLabel.RULE), span(DOC, SOURCE[38:], SpanLabel.QUALIFIER)],)
CONDITIONAL = question(ASKED, *SETS, dependency=DependencyType.EXCEPTION)


def quoting(*pairs: tuple[int, int]) -> GeneratedAnswer:
    return GeneratedAnswer("…", abstained=False, extracts=tuple(Extract(1, DOC.digest, a, b) for a, b in pairs))


@pytest.mark.parametrize(
    ("given", "expected", "condition"),
    [
        (quoting((0, 89)), AnswerClass.CORRECT, "applied"),
        (quoting((0, 37), (38, 89)), AnswerClass.CORRECT, "applied"),
        (quoting((0, 37)), AnswerClass.CONDITION_ERROR, "missing"),
        (quoting((0, 60)), AnswerClass.CONDITION_ERROR, "missing"),
        (quoting((38, 89)), AnswerClass.WRONG, "missing"),
        (quoting((0, 36)), AnswerClass.WRONG, "missing"),
        (GeneratedAnswer("", abstained=True), AnswerClass.ABSTAINED, "not needed"),
    ],
)
def test_rubric_compares_quoted_bytes_with_the_set(
    given: GeneratedAnswer, expected: AnswerClass, condition: str
) -> None:
    verdict = judge(given, CONDITIONAL, CONDITIONAL.support_sets)
    assert (verdict.answer_class, verdict.condition) == (expected, condition)


def test_answer_to_an_unanswerable_question_is_a_false_assertion() -> None:
    assert judge(quoting((0, 89)), question("?"), ()).answer_class is AnswerClass.WRONG


def test_equal_bytes_of_another_version_cover_nothing() -> None:
    other = document("d", SOURCE + " ")
    assert not covers_a_set([Interval(other.digest, 0, 89)], CONDITIONAL.support_sets)


def test_citation_verdict_says_how_much_of_the_evidence_it_holds() -> None:
    def verdict(start: int, end: int) -> str:
        return citation_verdict(Interval(DOC.digest, start, end), CONDITIONAL.support_sets)

    assert [verdict(0, 89), verdict(0, 50), verdict(3, 20), verdict(37, 38)] == ["whole-set", "span", "part", "none"]
    assert citation_verdict(None, CONDITIONAL.support_sets) == "unresolved"
