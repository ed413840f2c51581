"""Do one thing with several tasks: with all of them or, where one is refused, with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction

from annotate.domain.errors import BadInput
from annotate.models import Assignment
from annotate.services.lock_questions import lock_questions


def all_or_none(tasks: Sequence[Assignment], do: Callable[[Assignment], object]) -> int:
    """Call `do` for each task in one transaction; returns how many there were.

    Raises the refusal of the first task that cannot, naming its question and annotator; nothing is changed then.
    """
    with transaction.atomic():
        lock_questions({task.question_id for task in tasks})
        for task in tasks:
            try:
                do(task)
            except BadInput as refusal:
                raise refusal.inside(f"{task.question.key}, {task.annotator}") from refusal
    return len(tasks)
