"""The one place that tells Celery there is work."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)


def ring() -> None:
    """Ring the workers' bell once the current transaction is committed; a no-op where no broker is configured.

    Robust: a broker that is away costs a moment and a line in the log, never the caller's work. The embedded worker
    polls and Celery's workers ring for themselves, so a lost ring only means a few seconds.
    """
    if settings.REDIS_URL:
        transaction.on_commit(_publish, robust=True)


def _publish() -> None:
    from kombu.exceptions import OperationalError
    from redis.exceptions import RedisError

    from config.celery import publish

    try:
        publish()
    except (OperationalError, RedisError, OSError) as error:
        logger.warning("The broker is away (%s): workers will find the work by themselves within seconds.", error)
