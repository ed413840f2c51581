"""The release: computed from sealed results, signed once, and computed again by the verifier."""

from __future__ import annotations

import json
import zlib
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.models import Person
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.decision import Disposition, decision_from_payload
from evaluation.models import Cell, Plan, Release, Sweep, SweepReport
from evaluation.services.decide_release import decide_release
from evaluation.services.lock_plan import lock_plan
from evaluation.services.problems import (
    AlreadySigned,
    CannotAccept,
    Conflict,
    NotSealed,
    ReasonMissing,
    ResultsAltered,
)
from evaluation.services.results import sweep_results
from evaluation.services.sign_release import sign_release
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from evaluation.services.write_plan import write_plan
from ledger import triggers
from ledger.domain.canonical import parse_canonical
from ledger.models import Record, Result
from ledger.services import verify
from tests.evaluation.sweeps import plan_toml, small_study, started
from tests.factories.studies import make_member, make_person, make_study

pytestmark = pytest.mark.django_db
# PostgreSQL alters no table inside a transaction that has written to it.
lifting_triggers = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sealed() -> Sweep:
    sweep = started()
    drain("w")
    sweep.refresh_from_db()
    return sweep


@pytest.fixture
def lead(sealed: Sweep) -> Person:
    return make_member(sealed.plan.study, Role.LEAD)


def other_than(computed: Disposition) -> Disposition:
    return Disposition.REJECT if computed is not Disposition.REJECT else Disposition.COLLECT_MORE


def test_decision_of_a_running_sweep_is_refused() -> None:
    with pytest.raises(NotSealed):
        decide_release(started())


def test_decision_reads_every_gate_and_veto_of_the_plan_and_is_the_same_twice(sealed: Sweep) -> None:
    decision = decide_release(sealed)
    assert [reading.gate for reading in decision.readings] == ["support"]
    assert {veto.veto for veto in decision.vetoes} == {
        "permission-leaks",
        "superseded-evidence",
        "newly-missed-mandatory",
    }
    assert decision.reasons
    assert decide_release(sealed) == decision


def test_signed_release_holds_the_computed_decision_and_the_ledger_verifies(sealed: Sweep, lead: Person) -> None:
    release = sign_release(lead, sealed, idempotency_key="k")
    decision = decide_release(sealed)
    assert release.computed == release.disposition == decision.disposition
    assert decision_from_payload(parse_canonical(bytes(release.canonical))["decision"]) == decision
    record = Record.objects.get(kind="release.signed")
    assert release.ledger_head == record.link
    assert record.value["signed_by"] == lead.username
    assert verify().findings == ()


def test_release_is_signed_once(sealed: Sweep, lead: Person) -> None:
    first = sign_release(lead, sealed, idempotency_key="k")
    assert sign_release(lead, sealed, idempotency_key="k") == first
    with pytest.raises(AlreadySigned, match="signed once"):
        sign_release(lead, sealed, idempotency_key="other")
    assert Record.objects.filter(kind="release.signed").count() == Release.objects.count() == 1


def test_override_needs_a_reason_which_stays_beside_the_computed_disposition(sealed: Sweep, lead: Person) -> None:
    computed = decide_release(sealed).disposition
    other = other_than(computed)
    for reason in ("", "  \n"):
        with pytest.raises(ReasonMissing, match="write down why"):
            sign_release(lead, sealed, idempotency_key="k", disposition=other, override_reason=reason)
    assert not Release.objects.exists()
    release = sign_release(lead, sealed, idempotency_key="k", disposition=other, override_reason="We know better.")
    assert (release.computed, release.disposition) == (computed, other)
    assert release.override_reason == "We know better."
    assert verify().findings == ()


@pytest.mark.parametrize("reason", ["", " \n\t", "\u200b\u2060", "…", "?!"])
def test_override_whose_reason_says_nothing_is_refused(sealed: Sweep, lead: Person, reason: str) -> None:
    other = other_than(decide_release(sealed).disposition)
    with pytest.raises(ReasonMissing, match="write down why"):
        sign_release(lead, sealed, idempotency_key="k", disposition=other, override_reason=reason)
    assert not Release.objects.exists()


def test_key_that_signed_another_sweep_is_refused_and_signs_nothing(sealed: Sweep, lead: Person) -> None:
    sign_release(lead, sealed, idempotency_key="key-of-the-first")
    second = start_sweep(OPERATOR, sealed.plan, idempotency_key="second")
    drain("w")
    second.refresh_from_db()
    with pytest.raises(Conflict, match="signed another release"):
        sign_release(lead, second, idempotency_key="key-of-the-first")
    assert Record.objects.filter(kind="release.signed").count() == Release.objects.count() == 1


def test_key_of_a_signed_release_does_not_sign_another_disposition(sealed: Sweep, lead: Person) -> None:
    computed = decide_release(sealed).disposition
    first = sign_release(lead, sealed, idempotency_key="k")
    with pytest.raises(Conflict, match="cannot sign"):
        sign_release(lead, sealed, idempotency_key="k", disposition=other_than(computed), override_reason="Why not.")
    with pytest.raises(Conflict, match="another reason"):
        sign_release(lead, sealed, idempotency_key="k", disposition=computed, override_reason="Said later.")
    assert sign_release(lead, sealed, idempotency_key="k", disposition=computed) == first
    assert Record.objects.filter(kind="release.signed").count() == 1


@pytest.mark.parametrize("reason", ["Because\x00", "Because \ud800", "x" * 5_001])
def test_reason_that_cannot_be_kept_is_refused(sealed: Sweep, lead: Person, reason: str) -> None:
    computed = decide_release(sealed).disposition
    with pytest.raises(BadInput, match="override reason"):
        sign_release(lead, sealed, idempotency_key="k", disposition=other_than(computed), override_reason=reason)
    assert not Release.objects.exists()


def test_reason_without_an_override_is_refused(sealed: Sweep, lead: Person) -> None:
    with pytest.raises(ReasonMissing, match="nothing to override"):
        sign_release(lead, sealed, idempotency_key="k", override_reason="Because.")


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.ADJUDICATOR, Role.OBSERVER])
def test_only_a_lead_signs(sealed: Sweep, role: Role) -> None:
    with pytest.raises(NotAllowed):
        sign_release(make_member(sealed.plan.study, role), sealed, idempotency_key="k")


def test_lead_of_another_study_does_not_sign(sealed: Sweep) -> None:
    with pytest.raises(NotAllowed):
        sign_release(make_member(make_study(), Role.LEAD), sealed, idempotency_key="k")


def test_post_hoc_plan_cannot_accept_not_even_by_override() -> None:
    fixture_set = small_study()
    lead = make_member(fixture_set.study, Role.LEAD)
    for number, key in enumerate(("first", "second")):
        toml = plan_toml(partition="all", openings=1, grid=2 + number)
        plan = lock_plan(OPERATOR, write_plan(OPERATOR, fixture_set=fixture_set, toml=toml))
        sweep = start_sweep(OPERATOR, plan, idempotency_key=key)
        drain("w")
    sweep.refresh_from_db()
    assert sweep.plan.post_hoc
    with pytest.raises(CannotAccept):
        sign_release(lead, sweep, idempotency_key="k", disposition=Disposition.ACCEPT, override_reason="Please.")
    release = sign_release(lead, sweep, idempotency_key="k")
    assert release.disposition != Disposition.ACCEPT
    assert release.held_out_openings == 2


@pytest.mark.parametrize("change", [{"disposition": "accept"}, {"override_reason": "no"}, {"canonical": b"{}"}])
def test_signed_release_cannot_be_changed(sealed: Sweep, lead: Person, change: dict[str, object]) -> None:
    sign_release(lead, sealed, idempotency_key="k")
    with pytest.raises(DatabaseError), transaction.atomic():
        Release.objects.update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        Release.objects.all().delete()


@lifting_triggers
def test_results_changed_under_the_triggers_are_not_signed(sealed: Sweep, lead: Person) -> None:
    row = Result.objects.filter(scope=sealed.scope, kind="outcome").first()
    assert row is not None
    other = Result.objects.filter(scope=sealed.scope, kind="outcome").exclude(pk=row.pk).first()
    assert other is not None
    assert bytes(other.payload) != bytes(row.payload)
    with triggers.lifted(connection):
        Result.objects.filter(pk=row.pk).update(payload=other.payload, encoding=other.encoding)
    with pytest.raises(ResultsAltered, match="run verify_ledger"):
        sign_release(lead, sealed, idempotency_key="k")
    assert not Release.objects.exists()


@lifting_triggers
def test_verifier_finds_a_release_that_was_changed_under_the_triggers(sealed: Sweep, lead: Person) -> None:
    sign_release(lead, sealed, idempotency_key="k")
    with triggers.lifted(connection):
        Release.objects.update(disposition="accept")
    assert "row.differs" in {finding.kind for finding in verify().findings}


@lifting_triggers
def test_verifier_computes_the_decision_again(sealed: Sweep, lead: Person) -> None:
    release = sign_release(lead, sealed, idempotency_key="k")
    forged = bytes(release.canonical).replace(b'"post_hoc":false', b'"post_hoc":true')
    assert forged != bytes(release.canonical)
    with triggers.lifted(connection):
        Release.objects.update(canonical=forged)
    assert {"release.decision", "release.digest"} <= {finding.kind for finding in verify().findings}


def test_verifier_finds_a_cell_whose_outcomes_nobody_recorded(sealed: Sweep) -> None:
    cell = Cell.objects.filter(sweep=sealed).first()
    assert cell is not None
    Cell.objects.filter(pk=cell.pk).update(phase=cell.phase + 1000)
    assert {"row.unrecorded", "row.missing"} <= {finding.kind for finding in verify().findings}


@lifting_triggers
def test_verifier_finds_another_signer_time_starter_or_plan_text(sealed: Sweep, lead: Person) -> None:
    release = sign_release(lead, sealed, idempotency_key="k")
    assert verify().findings == ()
    stranger = make_person()
    with triggers.lifted(connection):
        Release.objects.update(signed_at=release.signed_at - timedelta(days=30))
        Plan.objects.update(locked_by=stranger, toml=sealed.plan.toml.replace("tolerance = 0.10", "tolerance = 0.90"))
        Sweep.objects.update(started_by=stranger)
    found = {(finding.kind, finding.message.split(":")[0]) for finding in verify().findings}
    assert {"release.time", "plan.text"} <= {kind for kind, _ in found}
    assert ("row.differs", "by") in found
    assert sum(finding.message.startswith("by:") for finding in verify().findings) == 2


def test_verifier_finds_a_kept_report_whose_numbers_are_not_the_sealed_ones(sealed: Sweep) -> None:
    data = sweep_results(sealed).data
    assert verify().findings == ()
    data["decision"]["disposition"] = "accept"
    SweepReport.objects.update(body=zlib.compress(json.dumps(data, ensure_ascii=False).encode()))
    assert [finding.kind for finding in verify().findings] == ["report.differs"]
