"""Lock several questions at once, before anything is recorded about the first of them."""

from __future__ import annotations

from collections.abc import Collection

from annotate.models import Question


def lock_questions(pks: Collection[int]) -> None:
    """Lock the questions in the order of their keys until the caller's transaction ends.

    Whoever records anything holds the ledger's head until the end. A second question locked after that could be held by
    somebody who waits for the head, and neither would go on: so all are locked first, and in one order everywhere.
    """
    list(Question.objects.select_for_update(of=("self",)).filter(pk__in=pks).order_by("pk").values_list("pk"))
