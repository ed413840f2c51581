"""Celery, the doorbell: `celery -A config worker` lets any number of processes on any number of hosts drain the queue.

The database is the queue of record. A message names no cell, it only says that there is work; a message that is lost,
doubled or late therefore means nothing. Every worker also rings for itself every few seconds (no beat is needed), so a
sweep that was started while the broker was down is found too.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, bootsteps, signals
from celery.utils.log import get_logger
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A tokenizer's thread pool used before a fork hangs the child; cells are the unit of parallelism anyway.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

logger = get_logger(__name__)

WORK_TASK = "evaluation.tasks.work"
#: Seconds between two rings of a worker's own bell; also how long a ring is worth anything.
RING_SECONDS = 5.0

app = Celery("cutline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def publish() -> None:
    """Put one ring on the broker at once, without retries. Raises kombu's OperationalError when the broker is away.

    Services never call this: `evaluation.services.ring.ring` does, after the commit. A ring expires, so that those
    heard while every worker is busy do not pile up.
    """
    app.send_task(WORK_TASK, expires=RING_SECONDS * 2, retry=False, ignore_result=True)


class Bell(bootsteps.StartStopStep):
    """Rings from inside every worker.

    A step of the consumer and not of the worker: losing the broker clears the worker's timer, and only the consumer's
    steps are started again when it is back.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self.entry: Any = None

    def start(self, parent: Any) -> None:
        """Start ringing."""
        self.entry = parent.timer.call_repeatedly(RING_SECONDS, self._ring)

    def stop(self, parent: Any) -> None:
        """Stop ringing."""
        if self.entry is not None:
            self.entry.cancel()
            self.entry = None

    def _ring(self) -> None:
        try:
            publish()
        except (OperationalError, RedisError, OSError) as error:
            # The consumer sees the same loss and reconnects; the next ring comes then.
            logger.warning("cutline: no ring, the broker is away (%s)", error)


app.steps["consumer"].add(Bell)


@signals.worker_init.connect
def refuse_without_broker(**_: Any) -> None:
    """Stop a worker that has no broker to listen to. Raises SystemExit: a signal's receiver may raise nothing less."""
    from django.conf import settings

    if not settings.REDIS_URL:
        raise SystemExit(
            "REDIS_URL is not set, so a Celery worker has nothing to listen to. Set it, or run “manage.py work”, "
            "which needs no broker."
        )
