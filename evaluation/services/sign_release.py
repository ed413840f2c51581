"""A lead signs a release: once, as the rule says, or otherwise with a reason that stays visible."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from annotate.domain.written import written
from annotate.models import HeldOutOpening, Person
from annotate.services.authorise import authorise
from evaluation.domain.decision import Decision, Disposition, decision_payload
from evaluation.models import Release, Sweep
from evaluation.records import RELEASE_SIGNED, release_payload
from evaluation.services.decide_release import decide_release
from evaluation.services.problems import AlreadySigned, CannotAccept, Conflict, ReasonMissing, ResultsAltered
from ledger.domain.canonical import canonical_bytes, digest
from ledger.services import LedgerError, append, check_sealed


def sign_release(
    by: Person,
    sweep: Sweep,
    *,
    idempotency_key: str,
    disposition: Disposition | None = None,
    override_reason: str = "",
) -> Release:
    """Sign the release of `sweep` and record it. The same request with the same key returns the release that is there.

    Without `disposition` (or with the computed one) the computed decision is signed as it is; another one is an
    override and needs `override_reason`. The disposition is computed here from the sealed results, never taken from a
    form. Permission `release.sign`.

    Raises NotSealed, ResultsAltered where a stored result is not what was sealed, AlreadySigned for a second release of
    the sweep, Conflict for a key that signed another sweep's release or another disposition or reason, ReasonMissing
    for an override without a reason (or a reason without an override), CannotAccept for accepting under a post-hoc
    plan, NotAllowed, BadInput for a reason that cannot be kept (`written`).
    """
    authorise(by, sweep.plan.study, "release.sign")
    written(override_reason, "override reason")
    if found := _signed(sweep, idempotency_key, disposition, override_reason.strip()):
        return found
    decision = decide_release(sweep)
    _check_results(sweep)
    chosen = _chosen(sweep, decision, disposition, override_reason.strip())
    try:
        with transaction.atomic():
            return _sign(by, sweep, decision, chosen, override_reason.strip(), idempotency_key)
    except IntegrityError:
        # Two leads at the same moment, or one who pressed twice.
        if found := _signed(sweep, idempotency_key, disposition, override_reason.strip()):
            return found
        raise


def release_canonical(sweep: Sweep, decision: Decision) -> dict[str, Any]:
    """Return what a release's digest covers: the decision and the sealed results it was computed from."""
    return {
        "plan": sweep.plan.digest,
        "fixture_set": sweep.plan.fixture_set.digest,
        "root": sweep.root,
        "decision": decision_payload(decision),
    }


def _check_results(sweep: Sweep) -> None:
    # Triggers keep results as they are, but not from whoever owns the database: a signature is worth this reading.
    try:
        check_sealed(sweep.scope, sweep.root)
    except LedgerError as error:
        raise ResultsAltered(
            f"Nothing was signed: {error} Restore the results from a backup, or sweep again under a new plan."
        ) from error


def _signed(sweep: Sweep, key: str, wanted: Disposition | None, reason: str) -> Release | None:
    """Return the release this key signed, None when nothing is signed yet; refuse whatever is not the same request."""
    found = Release.objects.filter(sweep=sweep).first()
    if found is not None and found.idempotency_key != key:
        raise AlreadySigned(
            f"{found.signed_by} signed “{found.disposition}” for this sweep on {found.signed_at:%Y-%m-%d}. A release "
            "is signed once; a new decision needs a new plan and a new sweep."
        )
    if found is None and Release.objects.filter(idempotency_key=key).exists():
        raise Conflict(f"The key {key!r} signed another release. Use a new key for each signature.")
    if found is not None and (str(wanted or found.computed), reason) != (found.disposition, found.override_reason):
        # Answering with the release that is there would tell somebody that their rejection stands as an acceptance.
        raise Conflict(
            f"This key signed “{found.disposition}” for this sweep; it cannot sign “{wanted or found.computed}”"
            f"{' with another reason' if str(wanted or found.computed) == found.disposition else ''}. A release is "
            "signed once; a new decision needs a new plan and a new sweep."
        )
    return found


def _chosen(sweep: Sweep, decision: Decision, wanted: Disposition | None, reason: str) -> Disposition:
    chosen = wanted or decision.disposition
    if chosen is Disposition.ACCEPT and sweep.plan.post_hoc:
        raise CannotAccept(
            "The plan was locked after results of the held-out questions were seen. It can reject or ask for more "
            "evidence; it cannot accept, not even by override."
        )
    # Neither blanks nor marks say why, whether they can be seen or not.
    if chosen is not decision.disposition and not any(sign.isalnum() for sign in reason):
        raise ReasonMissing(
            f"The plan's rule says “{decision.disposition}”. To sign “{chosen}” instead, write down why; the reason "
            "stays visible beside the computed disposition."
        )
    if chosen is decision.disposition and reason:
        raise ReasonMissing(
            f"“{chosen}” is what the plan's rule says, so there is nothing to override. Leave the reason empty."
        )
    return chosen


def _sign(by: Person, sweep: Sweep, decision: Decision, chosen: Disposition, reason: str, key: str) -> Release:
    canonical = canonical_bytes(release_canonical(sweep, decision))
    release = Release(
        sweep=sweep,
        computed=str(decision.disposition),
        disposition=str(chosen),
        override_reason=reason,
        canonical=canonical,
        digest=digest(canonical),
        held_out_openings=HeldOutOpening.objects.filter(fixture_set=sweep.plan.fixture_set).count(),
        idempotency_key=key,
        signed_by=by,
    )
    # The row is never changed, so it is written after the record whose link and time it prints.
    record = append(RELEASE_SIGNED, release_payload(release), sweep.scope)
    release.ledger_head, release.signed_at = record.link, record.recorded_at
    release.save(force_insert=True)
    return release
