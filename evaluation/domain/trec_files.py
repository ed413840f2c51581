"""Runs and judgements as trec_eval, ir_measures and ranx read them.

A run's score is how many hits stand at or behind a hit, not the retriever's: tools order by score, some in single
precision and with tie rules of their own, and only distinct whole numbers bring Cutline's order to all of them.
A judged question without a relevant chunk has one line of grade 0, since the format knows a question by its lines only.
"""

from __future__ import annotations

from evaluation.domain.rank_measures import Judgements, Run


class TrecNameError(ValueError):
    """A name that cannot stand in a file whose columns are parted by blanks."""


def run_text(run: Run, tag: str) -> str:
    """Return the lines `question Q0 chunk rank score tag`, questions by id. Raises TrecNameError for blanks."""
    lines = [
        f"{_name(question)} Q0 {_name(chunk)} {rank} {len(ranked) - rank + 1} {_name(tag)}\n"
        for question, ranked in sorted(run.items())
        for rank, chunk in enumerate(ranked, 1)
    ]
    return "".join(lines)


def qrels_text(judgements: Judgements, unjudged: str) -> str:
    """Return the lines `question 0 chunk grade`, questions by id; `unjudged` is the chunk named where none is
    relevant. Raises TrecNameError for blanks."""
    lines = [
        f"{_name(question)} 0 {_name(chunk)} {grade}\n"
        for question, grades in sorted(judgements.items())
        for chunk, grade in sorted(grades.items() or {unjudged: 0}.items())
    ]
    return "".join(lines)


def _name(text: str) -> str:
    if not text or any(sign.isspace() for sign in text):
        raise TrecNameError(f"{text!r} cannot stand in a TREC file: its columns are parted by blanks; rename it")
    return text
