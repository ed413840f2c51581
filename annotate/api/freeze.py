"""What a freeze would take of a study, and everything that blocks it."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.endpoint import StudyEndpoint
from annotate.api.listing import name, parameters
from annotate.domain.errors import BadInput
from annotate.domain.partition import APART
from annotate.selectors.fixtures import survey
from annotate.selectors.freeze_preview import cluster_count, freeze_preview, freeze_rows

#: Characters of a list of keys in an address.
MAX_KEYS = 8_000


class Freeze(StudyEndpoint):
    """The state of a study before a freeze; the freeze itself is a POST to its fixture sets."""

    actions = {"GET": "fixture.freeze"}

    def get(self, request: Request, slug: str) -> Response:
        """Return it for `?questions=` (keys, separated by commas; all without it) and `?apart=`."""
        given = parameters(request, {"questions": _keys, "apart": _apart})
        found = survey(self.person, self.study, given.get("questions"), given.get("apart", ()))
        rows = freeze_rows(found, self.person, self.study)
        return Response(
            {
                "study": self.study.slug,
                "questions": len(found.questions),
                "settled": len(found.settled),
                "clusters": cluster_count(found),
                "preview": [
                    {
                        "partition": line.partition.value,
                        "segment": line.segment.value,
                        "sample": line.sample.value,
                        "questions": line.questions,
                    }
                    for line in freeze_preview(found)
                ],
                "blocks": [block.as_dict() for block in found.blocks],
                "rows": [
                    {
                        "question": row.question.key,
                        "partition": row.question.partition,
                        "group": row.question.group,
                        "segment": row.segment,
                        "cluster": row.cluster,
                        "blocked": bool(row.blocks),
                    }
                    for row in rows
                ],
            }
        )


def keys_of(value: Any, where: str) -> list[str] | None:
    """Return question keys as they were sent; None asks for every question. Raises BadInput for no list of keys."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(key, str) for key in value):
        raise BadInput(where, "it is no list of question keys", 'Send a list such as ["late-1", "late-2"].')
    return [name(f"{where}[{place}]", key) for place, key in enumerate(value)]


def apart_of(value: Any, where: str) -> list[str]:
    """Return what is kept on one side of the partition beside groups; raises BadInput for anything else."""
    if not isinstance(value, list) or not all(isinstance(one, str) and one in APART for one in value):
        raise BadInput(where, "it names none of what can be kept apart", f"Send a list of {', '.join(APART)}.")
    return value


def _keys(where: str, value: str) -> list[str] | None:
    if len(value) > MAX_KEYS:
        raise BadInput(where, f"it has {len(value)} characters", f"Send up to {MAX_KEYS}, or ask for all.")
    return keys_of(value.split(","), where)


def _apart(where: str, value: str) -> list[str]:
    return apart_of(value.split(","), where)
