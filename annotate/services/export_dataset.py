"""Write a study's sources, questions and settled marks as one JSON document."""

from __future__ import annotations

from typing import Any

from annotate.models import Question, SourceVersion, Study
from annotate.permissions import By
from annotate.records import question_payload, source_payload
from annotate.services.authorise import authorise_reading
from ledger.domain.canonical import parse_canonical

FORMAT = "cutline-dataset"
FORMAT_VERSION = 1
#: What this export never holds; stated in every file so that nobody takes it for a backup.
LEFT_OUT = ("passes", "disagreements", "decisions", "fixture sets", "ledger records")


def export_dataset(by: By, study: Study, *, with_text: bool = True) -> dict[str, Any]:
    """Return the study as a JSON value, sorted by document, version and question; offsets are UTF-8 bytes.

    Without text the sources' bytes are left out and named by digest. Raises NotAllowed.
    """
    authorise_reading(by, study, "dataset.export")
    versions = (
        SourceVersion.objects.filter(source__study=study)
        .select_related("source__study", "supersedes")
        .order_by("source__document_id", "version_label")
    )
    questions = Question.objects.filter(study=study).select_related("study").prefetch_related("results").order_by("key")
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "unit": "utf8-byte-half-open",
        "study": {"slug": study.slug, "title": study.title, "kind": study.kind},
        "left_out": list(LEFT_OUT) if with_text else [*LEFT_OUT, "source text"],
        "sources": [_source(version, with_text) for version in versions.iterator(chunk_size=20)],
        "questions": [_question(question) for question in questions],
    }


def _source(version: SourceVersion, with_text: bool) -> dict[str, Any]:
    row = source_payload(version)
    del row["study"]
    return {**row, "text": bytes(version.content).decode("utf-8")} if with_text else row


def _question(question: Question) -> dict[str, Any]:
    row = question_payload(question)
    del row["study"]
    results = sorted(question.results.all(), key=lambda result: result.ordinal)
    if not results:
        return {**row, "settled": None}
    newest = results[-1]
    return {
        **row,
        "settled": {
            "ordinal": newest.ordinal,
            "segment": newest.segment,
            "digest": newest.digest,
            "content": parse_canonical(bytes(newest.content)),
        },
    }
