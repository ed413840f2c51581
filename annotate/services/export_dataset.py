"""Write a study's sources, questions and settled marks as one JSON document."""

from __future__ import annotations

from typing import Any

from annotate.models import Question, SourceVersion, Study
from annotate.permissions import By, Operator
from annotate.records import question_payload, source_payload
from annotate.selectors.sources import hidden_from, versions_visible_to
from annotate.services.authorise import authorise_reading
from ledger.domain.canonical import parse_canonical

FORMAT = "cutline-dataset"
FORMAT_VERSION = 1
#: What this export never holds; stated in every file so that nobody takes it for a backup.
LEFT_OUT = ("passes", "disagreements", "decisions", "fixture sets", "ledger records")


def export_dataset(by: By, study: Study, *, with_text: bool = True) -> dict[str, Any]:
    """Return the study as a JSON value, sorted by document, version and question; offsets are UTF-8 bytes.

    Versions whose labels a person does not hold are left out, and so is the text of those with ranges they may not
    read; `left_out` counts both. Without text the sources' bytes are named by digest only. Raises NotAllowed.
    """
    actor = authorise_reading(by, study, "dataset.export")
    all_versions = SourceVersion.objects.filter(source__study=study).count()
    versions = (
        versions_visible_to(by)
        .filter(source__study=study)
        .defer(None)
        .select_related("source__study", "supersedes")
        .order_by("source__document_id", "version_label")
    )
    sources, withheld = [], 0
    for version in versions.iterator(chunk_size=20):
        row = source_payload(version)
        del row["study"]
        if with_text and not isinstance(by, Operator) and hidden_from(version, actor.clearance):
            withheld += 1
        elif with_text:
            row["text"] = bytes(version.content).decode("utf-8")
        sources.append(row)
    left_out = list(LEFT_OUT)
    if not with_text:
        left_out.append("source text")
    if all_versions > len(sources):
        left_out.append(f"{all_versions - len(sources)} source versions you may not read")
    if withheld:
        left_out.append(f"the text of {withheld} source versions with ranges you may not read")
    questions = Question.objects.filter(study=study).select_related("study").prefetch_related("results").order_by("key")
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "unit": "utf8-byte-half-open",
        "study": {"slug": study.slug, "title": study.title, "kind": study.kind},
        "left_out": left_out,
        "sources": sources,
        "questions": [_question(question) for question in questions],
    }


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
