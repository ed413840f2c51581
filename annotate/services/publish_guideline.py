"""Publish a new version of a study's guideline, with the span labels it offers."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models import Max

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import SpanLabel
from annotate.domain.written import written
from annotate.models import Guideline, Study
from annotate.permissions import By, person_or_none
from annotate.records import record_guideline
from annotate.services.authorise import authorise

MAX_TEXT = 200_000


def publish_guideline(by: By, study: Study, text: str, labels: Sequence[str] = (), change_note: str = "") -> Guideline:
    """Store the next version and return it. Work that has begun keeps the version it began with.

    `labels` are offered in this order; empty means all. Raises NotAllowed, and BadInput for an empty or too long text,
    a word that is no span label, or a version somebody else published at the same moment.
    """
    authorise(by, study, "study.manage")
    written(change_note, "change note", MAX_TEXT)
    if not written(text, "guideline", MAX_TEXT).strip():
        raise BadInput("guideline", "its text is empty", f"Write 1 to {MAX_TEXT} characters.")
    known = [label.value for label in SpanLabel]
    if unknown := sorted(set(labels) - set(known)):
        raise BadInput("labels", f"“{unknown[0]}” is no span label", f"Use {', '.join(known)}.")
    try:
        with transaction.atomic():
            last = Guideline.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
            made = Guideline.objects.create(
                study=study,
                number=last + 1,
                text=text.replace("\r\n", "\n"),
                labels=list(dict.fromkeys(labels)),
                change_note=change_note.strip()[:300],
                published_by=person_or_none(by),
            )
            record_guideline(made, by)
            return made
    except IntegrityError as error:
        raise BadInput("guideline", "somebody else published one just now", "Read theirs, then publish.") from error
