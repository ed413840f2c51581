"""The records of a sweep that need no cell: what was asked, of which sources, and what would answer it."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.domain.study_payloads import query_payload, source_payload, support_payload
from evaluation.services.frozen_world import World
from evaluation.services.result_keys import QUERY, SOURCE, SUPPORT, study_key
from ledger.services import ResultEntry


def question_records(world: World) -> Iterator[ResultEntry]:
    """Yield a query and a support record per question asked (twins too) and a source record per version."""
    for document in world.prepared.documents:
        key = study_key(world.plan_digest, SOURCE, document.digest)
        yield ResultEntry(key, SOURCE, source_payload(document))
    for question in world.asked:
        for kind, payload in ((QUERY, query_payload(question)), (SUPPORT, support_payload(question))):
            yield ResultEntry(study_key(world.plan_digest, kind, question.question_id), kind, payload)
