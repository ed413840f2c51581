"""Compares what the ledger was told about plans, attempts and releases with the rows as they stand, and decides again.

`evaluation.verifiers_sweeps` does so for sweeps.

A release is checked by computing its decision anew from the sealed results, not by comparing two copies of it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator

from annotate.verifiers_belonging import Belonging
from evaluation import records, verifiers_sweeps
from evaluation.bundle_verifier import verify_artefacts
from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import parse_plan, plan_payload
from evaluation.models import Attempt, Cell, Plan, Release, Sweep, SweepReport
from evaluation.services.decide_release import decide_release
from evaluation.services.outcome_table import table_of_results
from evaluation.services.plugins import installed_plugins
from evaluation.services.result_keys import ANSWER, KINDS, ORACLE, OUTCOME, QUERY
from evaluation.services.results import compute_results, report_body, report_recipe
from evaluation.services.sign_release import release_canonical
from evaluation.services.write_plan import plan_value
from evaluation.verifiers_comparing import differs, name_of, sweep_id_of
from ledger import registry
from ledger.domain.canonical import canonical_bytes, digest
from ledger.domain.findings import Finding
from ledger.models import Record, Result

#: Members of results that bear people's text; a text-free export replaces them by keyed digests.
_RESULT_TEXT = {
    QUERY: ("text", "expected_answer", "scope", "qualification", "missing_text"),
    ANSWER: ("text[]",),
    ORACLE: ("text[]",),
}


def register_all() -> None:
    """Register every kind and table of this app; called once, when Django starts."""
    registry.register(records.PLAN_LOCKED, verify_plan)
    verifiers_sweeps.register_all()
    registry.register(records.CELL_ATTEMPT, verify_attempt, text_fields=("problem",))
    registry.register(records.RELEASE_SIGNED, verify_release, text_fields=("override_reason",))
    for kind in KINDS:
        registry.register_plain(kind, text_fields=_RESULT_TEXT.get(kind, ()))
    registry.register_bundle("artefacts", verify_artefacts)
    registry.register_table(Plan._meta.db_table, verify_locked_plans)
    registry.register_table("belonging of evaluation", Belonging(Plan, "fixture_set__study", "study").strays)
    registry.register_table(Attempt._meta.db_table, verify_attempts_recorded)
    registry.register_table(Release._meta.db_table, verify_releases_recorded)
    registry.register_table(Cell._meta.db_table, verify_cells)
    registry.register_table(SweepReport._meta.db_table, verify_reports)


def verify_plan(record: Record) -> Iterator[Finding]:
    """Find the locked plan the record names, with the very payload that was locked."""
    told = record.value
    where = f"plan {told['name']} of {told['study']}"
    if digest(canonical_bytes(told["plan"])) != told["digest"]:
        yield Finding("plan.digest", record.seq, where, "the recorded plan does not have the recorded digest.")
    plans = Plan.objects.select_related("study", "fixture_set", "written_by", "locked_by").filter(
        study__slug=told["study"],
        digest=told["digest"],
        fixture_set__digest=told["fixture_set"],
        locked_at__isnull=False,
    )
    told_again = [{**records.plan_locked_payload(plan), "by": name_of(plan.locked_by)} for plan in plans]
    if told not in told_again:
        yield from differs(told, told_again[0] if told_again else None, record.seq, where)


def verify_attempt(record: Record) -> Iterator[Finding]:
    """Find the report the record copies."""
    told = record.value
    where = f"{record.scope} {told['arm']} phase {told['phase']} block {told['block']} attempt {told['attempt']}"
    attempt = (
        Attempt.objects.select_related("cell")
        .filter(
            cell__sweep_id=sweep_id_of(record.scope),
            cell__arm=told["arm"],
            cell__phase=told["phase"],
            cell__block=told["block"],
            cell__repeat=told["repeat"],
            number=told["attempt"],
            outcome=told["outcome"],
        )
        .first()
    )
    yield from differs(told, records.attempt_payload(attempt) if attempt else None, record.seq, where)


def verify_release(record: Record) -> Iterator[Finding]:
    """Find the release, and compute its decision anew from the sealed results."""
    where = f"release of {record.scope}"
    release = (
        Release.objects.select_related("sweep__plan__fixture_set", "signed_by")
        .filter(sweep_id=sweep_id_of(record.scope))
        .first()
    )
    yield from differs(record.value, records.release_payload(release) if release else None, record.seq, where)
    if release is None:
        return
    if release.ledger_head != record.link:
        yield Finding("release.head", record.seq, where, "it prints another ledger head than its record's.")
    if release.signed_at != record.recorded_at:
        yield Finding("release.time", record.seq, where, "it names another time than its record's.")
    if digest(bytes(release.canonical)) != release.digest:
        yield Finding("release.digest", record.seq, where, "its bytes do not have its digest.")
    decision = decide_release(release.sweep)
    if canonical_bytes(release_canonical(release.sweep, decision)) != bytes(release.canonical):
        yield Finding(
            "release.decision",
            record.seq,
            where,
            f"computed again from the sealed results, “{decision.disposition}” has other readings than were signed.",
        )


def verify_locked_plans() -> Iterator[Finding]:
    """Find locked plans nobody recorded, and plans whose bytes are not those of their digest."""
    told = Counter(
        (one.value["study"], one.value["fixture_set"], one.value["digest"], one.value["locked_at"])
        for one in Record.objects.filter(kind=records.PLAN_LOCKED).iterator()
    )
    for plan in Plan.objects.select_related("study", "fixture_set", "written_by").iterator():
        where = f"plan {plan.name} of {plan.study.slug}"
        if digest(bytes(plan.canonical)) != plan.digest:
            yield Finding("plan.digest", None, where, "its bytes do not have its digest.")
            continue
        if plan.locked_at is None:
            continue
        if not _says(plan):
            yield Finding("plan.text", None, where, "it is locked and its text does not say what was locked.")
        payload = records.plan_locked_payload(plan)
        place = (payload["study"], payload["fixture_set"], payload["digest"], payload["locked_at"])
        told[place] -= 1
        if told[place] < 0:
            yield Finding("row.unrecorded", None, where, "it is locked and no record says so.")


def verify_attempts_recorded() -> Iterator[Finding]:
    """Find reports nobody recorded."""
    told = {
        (one.scope, *(one.value[name] for name in ("arm", "phase", "block", "repeat", "attempt", "outcome")))
        for one in Record.objects.filter(kind=records.CELL_ATTEMPT).iterator()
    }
    rows = Attempt.objects.values_list(
        "cell__sweep_id", "cell__arm", "cell__phase", "cell__block", "cell__repeat", "number", "outcome"
    )
    for sweep_id, *rest in rows.iterator():
        if (Sweep(pk=sweep_id).scope, *rest) not in told:
            yield Finding("row.unrecorded", None, f"attempt {rest} of sweep {sweep_id}", "no record holds it.")


def verify_releases_recorded() -> Iterator[Finding]:
    """Find releases nobody recorded."""
    told = set(Record.objects.filter(kind=records.RELEASE_SIGNED).values_list("scope", flat=True))
    for sweep_id in Release.objects.values_list("sweep_id", flat=True):
        if Sweep(pk=sweep_id).scope not in told:
            yield Finding("row.unrecorded", None, f"release of sweep {sweep_id}", "no record holds it.")


def verify_cells() -> Iterator[Finding]:
    """Compare the cells of every sealed sweep with the outcome records, both ways; name states that are none."""
    for pk, state in Cell.objects.exclude(state__in=Cell.State.values).values_list("pk", "state"):
        yield Finding("cell.state", None, f"cell {pk}", f"{state!r} is no state of a cell.")
    for sweep in Sweep.objects.filter(state=Sweep.State.SEALED):
        told = {
            (value["arm"], value["phase"], value["block"], value["repeat"])
            for value in (one.value for one in Result.objects.filter(scope=sweep.scope, kind=OUTCOME).iterator())
        }
        cells = Cell.objects.filter(sweep=sweep).values_list("arm", "phase", "block", "repeat", "state")
        for arm, phase, block, repeat, state in cells.iterator():
            place = (arm, phase, block, repeat)
            where = f"cell {list(place)} of {sweep.scope}"
            if state not in {Cell.State.DONE, Cell.State.FAILED}:
                yield Finding("sweep.cells", None, where, "its sweep is sealed and it is open.")
            if place not in told:
                yield Finding("row.unrecorded", None, where, "no outcome record holds it.")
            told.discard(place)
        for left in sorted(told):
            where = f"cell {list(left)} of {sweep.scope}"
            yield Finding("row.missing", None, where, "the cell of these outcomes is gone.")


def verify_reports() -> Iterator[Finding]:
    """Compute every kept report anew from the sealed results: pages, files and the API show what it says."""
    for report in SweepReport.objects.select_related("sweep__plan__fixture_set", "sweep__plan__study").iterator():
        sweep = report.sweep
        if sweep.state != Sweep.State.SEALED:
            yield Finding(
                "report.differs", None, f"report of {sweep.scope}", "its sweep is not sealed. Delete the row."
            )
            continue
        if report.recipe != report_recipe(sweep) or not _reads(sweep.plan):
            # Never shown: it is computed anew before anybody reads it, or its plan is one of another version.
            continue
        if report_body(compute_results(sweep, table_of_results(sweep))) != _inflated(bytes(report.body)):
            what = "computed again from the sealed results, its numbers are others. Delete the row; it is only a copy."
            yield Finding("report.differs", None, f"report of {sweep.scope}", what)


def _says(plan: Plan) -> bool:
    """Whether the text of a plan reads as the payload it is kept with, as far as this version reads either."""
    try:
        read = parse_plan(plan.toml, installed_plugins().known_names())
    except PlanRefused:
        # Refused together with its payload, it is a plan of another version and not another text.
        return not _reads(plan)
    return canonical_bytes(plan_payload(read)) == bytes(plan.canonical)


def _reads(plan: Plan) -> bool:
    try:
        plan_value(plan)
    except PlanRefused:
        return False
    return True


def _inflated(body: bytes) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error:
        return b""
