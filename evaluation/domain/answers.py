"""Answers of a block: packed evidence rendered, given to the generator, cited spans resolved, verdicts passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.domain.asking import Asked
from evaluation.domain.citations import Citation, resolve
from evaluation.domain.generation import EvidenceText, GeneratedAnswer, Generator
from evaluation.domain.outcomes import AnswerClass
from evaluation.domain.pipeline import PackedEvidence, PreparedCorpus, intervals
from evaluation.domain.verdicts import citation_verdict, covers_a_set, judge


@dataclass(frozen=True)
class Answered:
    """An answer with its verdict; `verdicts` has one entry per citation, `tokens` counts the prompt in one piece."""

    answer: GeneratedAnswer
    answer_class: AnswerClass
    condition: str
    citations: tuple[Citation, ...]
    verdicts: tuple[str, ...]
    attributed: bool
    prompt: bytes
    tokens: int


def answers(
    prepared: PreparedCorpus,
    generator: Generator,
    asked: Sequence[Asked],
    heads: Sequence[bytes],
    packed: Sequence[PackedEvidence],
    failed: Sequence[str],
) -> tuple[Answered, ...]:
    """Answer every question from its packed evidence; one whose retrieval failed gets that failure and no prompt."""
    prompts = [
        b"" if problem else head + evidence.context
        for head, evidence, problem in zip(heads, packed, failed, strict=True)
    ]
    sizes = prepared.tokenizer.count_many(prompts)
    return tuple(
        _failure(problem) if problem else _answer(prepared, generator, one, evidence, prompt, size)
        for one, evidence, prompt, size, problem in zip(asked, packed, prompts, sizes, failed, strict=True)
    )


def _failure(problem: str) -> Answered:
    given = GeneratedAnswer("", abstained=False, failed=problem)
    return Answered(given, AnswerClass.NONE, "failed", (), (), attributed=False, prompt=b"", tokens=0)


def _answer(
    prepared: PreparedCorpus, generator: Generator, asked: Asked, packed: PackedEvidence, prompt: bytes, tokens: int
) -> Answered:
    """Generate from packed evidence only, resolve the answer's citations, judge it."""
    evidence = tuple(
        EvidenceText(
            number,
            prepared.documents[unit.document].digest,
            unit.start,
            prepared.documents[unit.document].content[unit.start : unit.end],
        )
        for number, unit in enumerate(packed.units, 1)
    )
    given = generator.answer(asked.question.text, evidence, prompt)
    if given.failed:
        return Answered(given, AnswerClass.NONE, "failed", (), (), attributed=False, prompt=prompt, tokens=tokens)
    cited = resolve(given.text, intervals(packed.units, prepared.documents))
    verdict = judge(given, asked.question, asked.sets)
    return Answered(
        given,
        verdict.answer_class,
        verdict.condition,
        cited,
        tuple(citation_verdict(c.interval, asked.sets) for c in cited),
        attributed=not given.abstained and covers_a_set([c.interval for c in cited if c.interval], asked.sets),
        prompt=prompt,
        tokens=tokens,
    )
