"""Payloads of records that need no cell: what was asked, of which sources, and what would answer it."""

from __future__ import annotations

from evaluation.domain.frozen import Document, FrozenQuestion
from evaluation.domain.pipeline import Payload


def query_payload(question: FrozenQuestion) -> Payload:
    """Query record: the question, its reader, and its answer contract."""
    return {
        "question": question.question_id,
        "text": question.text,
        "answerable": int(question.answerable),
        "segment": str(question.segment),
        "sample": str(question.sample),
        "partition": str(question.partition),
        "cluster": question.cluster,
        "group": question.group,
        "reader_labels": sorted(question.reader_labels),
        "as_of": question.as_of.isoformat(),
        "locale": question.locale,
        "expected_answer": question.expected_answer,
        "scope": question.scope,
        "qualification": question.qualification,
        "dependency": str(question.dependency),
        "missing_behaviour": str(question.missing_behaviour),
        "missing_text": question.missing_text,
        "mandatory": int(question.mandatory),
        "slice_tags": list(question.slice_tags),
    }


def source_payload(document: Document) -> Payload:
    """Source record: identity, dates and access rules of a version; its text stays in the sources."""
    return {
        "document": document.document_id,
        "version_label": document.version_label,
        "version": document.digest,
        "bytes": len(document.content),
        "observation_date": document.observation_date.isoformat(),
        "effective_from": document.effective_from.isoformat() if document.effective_from else "",
        "effective_to": document.effective_to.isoformat() if document.effective_to else "",
        "media_type": document.media_type,
        "locale": document.locale,
        "tenant": document.tenant,
        "supersedes": document.supersedes or "",
        "access_labels": sorted(document.access_labels),
        "access_ranges": [[r.start, r.end, sorted(r.labels)] for r in document.access_ranges],
    }


def support_payload(question: FrozenQuestion) -> Payload:
    """Support record: every alternative set with its spans, and the forbidden intervals."""
    return {
        "question": question.question_id,
        "sets": [
            [
                {
                    "span": span.name,
                    "version": span.interval.version,
                    "start": span.interval.start,
                    "end": span.interval.end,
                    "label": span.label,
                    "necessary": int(span.necessary),
                }
                for span in support
            ]
            for support in question.support_sets
        ],
        "forbidden": [[i.version, i.start, i.end] for i in question.forbidden],
    }
