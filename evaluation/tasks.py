"""The one Celery task. Its message names no cell: it only says that there is work."""

from __future__ import annotations

import os
import socket

from celery import shared_task
from django.conf import settings

from evaluation.services.ring import ring
from evaluation.services.work import drain


@shared_task(name="evaluation.tasks.work")
def work() -> int:
    """Drain the queue for a slice of time; ring again where it was not enough. Returns how many cells were done.

    The slice keeps a task far below the hard limit and lets a replaced child give its memory back between slices.
    """
    drained = drain(f"celery:{socket.gethostname()}:{os.getpid()}", seconds=settings.WORK_SLICE_SECONDS)
    if not drained.empty:
        ring()
    return drained.cells
