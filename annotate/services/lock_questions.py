"""Lock several questions at once, before anything is recorded about the first of them."""

from __future__ import annotations

from collections.abc import Collection

from annotate.models import Question, Study


def lock_questions(pks: Collection[int]) -> None:
    """Lock the questions in the order of their keys until the caller's transaction ends.

    Whoever records anything holds the ledger's head until the end. A second question locked after that could be held by
    somebody who waits for the head, and neither would go on: so all are locked first, and in one order everywhere.
    """
    list(Question.objects.select_for_update(of=("self",)).filter(pk__in=pks).order_by("pk").values_list("pk"))


def lock_study(study: Study) -> None:
    """Lock a study, then all its questions: for whoever writes or freezes many of them, before the first is recorded.

    Two imports or freezes come one after the other. Who settles, opens again, returns or submits locks the question: it
    happens before, and is seen, or after.
    """
    Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    lock_questions(Question.objects.filter(study=study).values_list("pk", flat=True))
