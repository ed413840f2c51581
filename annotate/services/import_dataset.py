"""Import a public data set as a retrieval-only study: no answer contract, segment unclassified, one joint set each."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from annotate.domain.content import AnswerContract, MarkedSpan, PassContent
from annotate.domain.errors import BadInput, BadInputs
from annotate.domain.import_formats.chunking_evaluation import (
    CORPORA_FOLDER,
    QUESTIONS_FILE,
    UNIT,
    Dataset,
    Row,
    read_dataset,
)
from annotate.domain.import_formats.questions_toml import QuestionEntry
from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.domain.scopes import study_scope
from annotate.domain.spans import accept_text
from annotate.domain.vocabulary import Partition, Segment, StudyKind
from annotate.models import Study
from annotate.permissions import By
from annotate.records import DATASET_IMPORTED
from annotate.services.authorise import authorise
from annotate.services.import_questions import write_questions
from annotate.services.import_sources import import_versions
from annotate.services.lock_questions import lock_study
from annotate.services.settled_import import settle_imported
from ledger.services import append

FORMATS = ("chunking-evaluation",)
#: The published state of the data set: its observation date and the date its questions are asked as of.
PUBLISHED = datetime.date(2025, 3, 14)
VERSION_LABEL = "2025-03-14"
AMBIGUOUS = "ambiguous"


@dataclass(frozen=True)
class DatasetReport:
    """What an import found and wrote; `as_json` is what the command prints and the ledger keeps (without `lines`)."""

    format: str
    documents: int
    questions: int
    references: int
    mismatches: tuple[str, ...]
    repeated: tuple[str, ...]
    doubled: tuple[str, ...]
    wrong_if_read_as_bytes: int
    written: int
    dry_run: bool

    def counts(self) -> dict[str, Any]:
        """Return the figures, canonical-ready."""
        return {
            "format": self.format,
            "unit": UNIT,
            "documents": self.documents,
            "questions": self.questions,
            "references": self.references,
            "mismatches_as_code_points": len(self.mismatches),
            "wrong_if_read_as_bytes": self.wrong_if_read_as_bytes,
            "quotes_occurring_more_than_once": len(self.repeated),
            "references_given_twice": len(self.doubled),
        }


def import_dataset(
    by: By,
    study: Study,
    path: Path,
    dataset_format: str,
    *,
    dry_run: bool = False,
    partition: Partition = Partition.HELD_OUT,
    progress: Callable[[int, int, str], None] | None = None,
) -> DatasetReport:
    """Import the data set in the folder `path`, whole or not at all; with `dry_run` read and check it only.

    Each reference is verified against the bytes. A mismatch refuses the import with its row (nothing is dropped); a
    quote that occurs more than once is imported at its labelled place, reported, and its question tagged ambiguous.
    Importing the same again changes nothing. Raises NotAllowed, or BadInput(s).
    """
    authorise(by, study, "question.import")
    if dataset_format not in FORMATS:
        raise BadInput(f"format {dataset_format}", "it is not known", f"Use one of {', '.join(FORMATS)}.")
    if study.kind != StudyKind.RETRIEVAL_ONLY:
        raise BadInput(
            f"study {study.slug}",
            "it is a full study; this data set has no answer contracts",
            "Import it into a retrieval-only study.",
        )
    questions, corpora = _read(path)
    dataset = read_dataset(questions, corpora)
    report = _report(dataset, dataset_format, dry_run)
    if dry_run:
        return report
    if dataset.mismatches:
        raise BadInputs(str(path), dataset.mismatches)
    with transaction.atomic():
        lock_study(study)
        written = _write(by, study, dataset, partition, progress)
        files = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(corpora.items())}
        if written:
            payload = {
                **report.counts(),
                "study": study.slug,
                "files": {**files, QUESTIONS_FILE: hashlib.sha256(questions).hexdigest()},
                "by": by.username,
            }
            append(DATASET_IMPORTED, payload, study_scope(study.slug))
    return DatasetReport(**{**report.__dict__, "written": written})


def _read(path: Path) -> tuple[bytes, dict[str, bytes]]:
    file, folder = path / QUESTIONS_FILE, path / CORPORA_FOLDER
    if not file.is_file() or not folder.is_dir():
        raise BadInput(
            str(path), f"it holds no {QUESTIONS_FILE} beside a folder {CORPORA_FOLDER}", "Name the data set's folder."
        )
    corpora = {corpus.stem: corpus.read_bytes() for corpus in sorted(folder.glob("*.md"))}
    problems = []
    for name, content in corpora.items():
        try:
            accept_text(content, f"{CORPORA_FOLDER}/{name}.md", settings.MAX_SOURCE_BYTES)
        except BadInput as problem:
            problems.append(problem)
    if problems:
        raise BadInputs(str(path), problems)
    return file.read_bytes(), corpora


def _report(dataset: Dataset, dataset_format: str, dry_run: bool) -> DatasetReport:
    repeated, doubled = [], []
    wrong = len(dataset.mismatches)
    for row in dataset.rows:
        seen = set()
        for number, reference in enumerate(row.references, 1):
            where = f"row {row.number}, reference {number} ({row.corpus_id}, bytes {reference.start}–{reference.end})"
            if reference.ambiguous:
                repeated.append(
                    f"{where}: the quote occurs {reference.occurrences} times, labelled is no. {reference.occurrence}"
                )
            if (reference.start, reference.end) in seen:
                doubled.append(f"{where}: the same place is given twice for this question; it is kept once")
            seen.add((reference.start, reference.end))
            wrong += not reference.right_as_bytes
    return DatasetReport(
        format=dataset_format,
        documents=len(dataset.corpora),
        questions=len(dataset.rows),
        references=dataset.references,
        mismatches=tuple(str(problem) for problem in dataset.mismatches),
        repeated=tuple(repeated),
        doubled=tuple(doubled),
        wrong_if_read_as_bytes=wrong,
        written=0,
        dry_run=dry_run,
    )


def _write(
    by: By,
    study: Study,
    dataset: Dataset,
    partition: Partition,
    progress: Callable[[int, int, str], None] | None,
) -> int:
    """Write sources, questions and results; return how many rows are new."""
    imported = import_versions(
        by,
        study,
        [
            (
                SourceEntry(
                    file=f"{CORPORA_FOLDER}/{name}.md",
                    document_id=name,
                    version_label=VERSION_LABEL,
                    observation_date=PUBLISHED,
                    title=name.replace("_", " ").capitalize(),
                    media_type="text/markdown",
                ),
                content,
            )
            for name, content in sorted(dataset.corpora.items())
        ],
    )
    digests = {item.version.source.document_id: item.version.sha256 for item in imported}
    written = write_questions(by, study, [_entry(row, partition) for row in dataset.rows], QUESTIONS_FILE)
    new = sum(item.created for item in imported) + sum(item.outcome != "unchanged" for item in written)
    for number, (row, item) in enumerate(zip(dataset.rows, written, strict=True), 1):
        content = _content(row, digests[row.corpus_id])
        new += settle_imported(by, item.question, content, Segment.UNCLASSIFIED)[1]
        if progress:
            progress(number, len(dataset.rows), item.question.key)
    return new


def _entry(row: Row, partition: Partition) -> QuestionEntry:
    return QuestionEntry(
        key=f"{row.corpus_id.replace('_', '-')}-{row.number:04d}",
        text=row.text,
        as_of=PUBLISHED,
        slice_tags=(AMBIGUOUS,) if any(reference.ambiguous for reference in row.references) else (),
        partition=partition,
        cluster_document=row.corpus_id,
    )


def _content(row: Row, version: str) -> PassContent:
    places = list(dict.fromkeys((reference.start, reference.end) for reference in row.references))
    spans = tuple(
        MarkedSpan(version, start, end, f"reference-{number}") for number, (start, end) in enumerate(places, 1)
    )
    return PassContent(AnswerContract(answerable=True), spans, (tuple(span.name for span in spans),))
