"""Write questions, from a file or a form. A question is never edited once a pass on it was submitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef

from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.questions_toml import QuestionEntry, check_together, parse_questions_toml
from annotate.domain.vocabulary import Partition
from annotate.models import AdjudicatedResult, Question, Source, Study, Submission
from annotate.permissions import By, person_or_none
from annotate.records import record_question
from annotate.services.authorise import authorise
from annotate.services.lock_questions import lock_study


@dataclass(frozen=True)
class Written:
    """What became of one question: `written`, `rewritten` (nobody had submitted a pass yet) or `unchanged`."""

    question: Question
    outcome: str


def import_questions(by: By, study: Study, data: bytes, where: str = "questions.toml") -> list[Written]:
    """Import a `questions.toml`, whole or not at all. Raises NotAllowed, or BadInput(s) naming each question."""
    authorise(by, study, "question.import")
    return write_questions(by, study, parse_questions_toml(data, where), where)


def write_questions(by: By, study: Study, entries: Sequence[QuestionEntry], where: str = "questions") -> list[Written]:
    """Write questions in one transaction and return what became of each, in the order given.

    Raises NotAllowed, or BadInputs for a changed question that is settled or that somebody has submitted a pass on, a
    nearest document the study does not have, and a group on both sides of the partition.
    """
    authorise(by, study, "question.import")
    with transaction.atomic():
        lock_study(study)
        stored = {
            question.key: question
            for question in Question.objects.filter(study=study)
            .select_related("study")
            .annotate(
                submitted=Exists(Submission.objects.filter(work__assignment__question=OuterRef("pk"))),
                settled=Exists(AdjudicatedResult.objects.filter(question=OuterRef("pk"))),
            )
        }
        problems = [problem for entry in entries for problem in entry.problems(f"{where} ({entry.key})")]
        problems += check_together(_with_stored(entries, stored.values()), where)
        problems += _unknown_documents(study, entries, where)
        for entry in entries:
            old = stored.get(entry.key)
            if old and not _same(entry, old) and (old.submitted or old.settled):
                what = "a pass on it was submitted" if old.submitted else "it is settled"
                problems.append(
                    BadInput(
                        f"{where} ({entry.key})", f"{what}, and it differs from this", "Write it under another key."
                    )
                )
        if problems:
            raise problems[0] if len(problems) == 1 else BadInputs(where, problems)
        return [_write(by, study, entry, stored.get(entry.key)) for entry in entries]


def _write(by: By, study: Study, entry: QuestionEntry, old: Question | None) -> Written:
    if old and _same(entry, old):
        return Written(old, "unchanged")
    question = old or Question(study=study, key=entry.key, written_by=person_or_none(by))
    for name, value in _fields(entry).items():
        setattr(question, name, value)
    question.save()
    record_question(question, by)
    return Written(question, "rewritten" if old else "written")


def _fields(entry: QuestionEntry) -> dict[str, object]:
    return {**entry.as_payload(), "as_of": entry.as_of}


def _same(entry: QuestionEntry, question: Question) -> bool:
    return all(getattr(question, name) == value for name, value in _fields(entry).items())


def _with_stored(entries: Sequence[QuestionEntry], stored: Iterable[Question]) -> list[QuestionEntry]:
    """Return the entries after those stored questions that share a group with one of them and are not replaced."""
    groups = {entry.group for entry in entries if entry.group}
    keys = {entry.key for entry in entries}
    others = [
        QuestionEntry(
            key=question.key,
            text=question.text,
            as_of=question.as_of,
            group=question.group,
            partition=Partition(question.partition),
        )
        for question in stored
        if question.group in groups and question.key not in keys
    ]
    return [*others, *entries]


def _unknown_documents(study: Study, entries: Sequence[QuestionEntry], where: str) -> list[BadInput]:
    named = {entry.cluster_document for entry in entries if entry.cluster_document}
    known = set(Source.objects.filter(study=study, document_id__in=named).values_list("document_id", flat=True))
    return [
        BadInput(
            f"{where} ({entry.key})",
            f"its nearest document “{entry.cluster_document}” is none of the study's",
            "Import the sources first, or name one of theirs.",
        )
        for entry in entries
        if entry.cluster_document and entry.cluster_document not in known
    ]
