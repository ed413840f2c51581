"""An uncleared twin leaves no restricted byte anywhere, whatever widens its hits; and a search that would find one."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from evaluation.models import Attempt, Cell, Sweep, SweepReport
from evaluation.services.outcome_table import table_of_results
from evaluation.services.problems import NotSealed
from evaluation.services.results import sweep_results
from evaluation.services.search_leaks import LeakSearch, search_leaks
from ledger.selectors.records import results
from tests.evaluation.guarded_study import SECTION, VAULT, guarded_study, guarded_sweep, guarded_toml
from tests.evaluation.sweeps import started

pytestmark = pytest.mark.django_db

POLICIES = {
    "none": "",
    "sentence-window": 'policy = "sentence-window"\nreach = 4',
    "neighbours": 'policy = "neighbours"\nreach = 3',
    "section": 'policy = "parent"\nparent = "section"',
    "larger-chunk": 'policy = "parent"\nparent = "larger-chunk"\nparent_capacity = 60',
    "document": 'policy = "parent"\nparent = "document"',
    "auto-merge": 'policy = "auto-merge"\nparent_capacity = 60\nmerge_share = 0.3',
    "before": 'policy = "neighbours"\nreach = 3\nmoment = "before-reranking"',
}


class Kept(logging.Handler):
    """Keeps every record as the text a file would get, and its arguments."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [self.format(record), repr(record.args), repr(record.__dict__)]


@pytest.fixture
def logs() -> Iterator[Kept]:
    """Everything the process logs, at every level."""
    kept, root = Kept(), logging.getLogger()
    level = root.level
    root.addHandler(kept)
    root.setLevel(logging.DEBUG)
    yield kept
    root.removeHandler(kept)
    root.setLevel(level)


def search(sweep: Sweep, logs: Kept) -> LeakSearch:
    found = search_leaks(sweep, logs.lines)
    assert found.twins == ("director~uncleared", "vault~uncleared")
    assert set(found.guarded) == {*found.twins, "late", "chairs", "unknown", "nothing"}
    assert found.searched["candidates"] > 0
    assert found.searched["whole list"] > 0
    assert found.searched["prompt"] > 0
    assert found.searched["answer"] > 0
    assert found.searched["attempt"] > 0
    assert found.indistinct == ()
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_filtered_twins_leave_nothing_restricted_anywhere(policy: str, logs: Kept) -> None:
    sweep = guarded_sweep(guarded_toml(POLICIES[policy]))
    found = search(sweep, logs)
    assert found.leaks == ()
    table = table_of_results(sweep)
    for (_, _, view, _), outcomes in table.cells.items():
        for question in found.guarded:
            assert not outcomes[question].leaks, (view, question)
    if policy != "none":
        # Else an empty search would prove nothing: every policy proposes restricted text, and the check denies it.
        rows = [row.value for row in results(scopes=[sweep.scope], kinds=["retrieval"])]
        assert sum(sum(row["refused"]) for row in rows) > 0
        assert sum(sum(row["fallbacks"]) for row in rows) > 0


@pytest.mark.parametrize("policy", ["none", "section", "auto-merge", "before"])
def test_without_filters_what_retrieval_showed_is_found_and_no_prompt_has_it(policy: str, logs: Kept) -> None:
    sweep = guarded_sweep(guarded_toml(POLICIES[policy], filters=False))
    found = search(sweep, logs)
    assert {"director~uncleared", "vault~uncleared"} <= {leak.question for leak in found.leaks}
    assert {leak.place.partition(" (")[0] for leak in found.leaks} == {"candidates", "whole list"}
    # The engine's own count says the same of every question.
    table = table_of_results(sweep)
    counted = {q for outcomes in table.cells.values() for q, outcome in outcomes.items() if outcome.leaks}
    assert counted == {leak.question for leak in found.leaks}


def test_candidates_below_the_recorded_ranks_are_searched_too() -> None:
    """Records keep eight ranks; a list is searched to its end."""
    public = "".join(f"The director keeps projector {n} for many nights. " for n in range(60))
    fixture_set = guarded_study(restricted={"minutes": public})
    sweep = guarded_sweep(guarded_toml(filters=False, candidates=200, capacity=12, overlap=3), fixture_set)
    found = search_leaks(sweep)
    assert found.recorded_only == ()
    deep = {(leak.question, one) for leak in found.leaks if leak.place.startswith("whole") for one in leak.restricted}
    kept = {(leak.question, one) for leak in found.leaks if leak.place.startswith("cand") for one in leak.restricted}
    assert kept < deep


def test_text_planted_in_rows_and_logs_is_found_with_its_place(logs: Kept) -> None:
    sweep = guarded_sweep(guarded_toml())
    sweep_results(sweep)
    assert search_leaks(sweep, logs.lines).leaks == ()
    cell = sweep.cells.order_by("pk")[0]
    assert cell.state == Cell.State.DONE
    Attempt.objects.create(
        cell=cell,
        number=9,
        worker="w",
        outcome=Attempt.Outcome.LATE,
        problem=f"ValueError: cannot read {SECTION[:60]!r}",
        started_at=timezone.now(),
    )
    report = SweepReport.objects.get(sweep=sweep)
    report.body = zlib.compress(zlib.decompress(report.body) + VAULT[20:50].encode())
    report.save()
    logging.getLogger("evaluation").warning("prompt was %s", {"evidence": VAULT[9:90].encode()})
    found = search_leaks(sweep, logs.lines).leaks
    assert {leak.place.partition(",")[0] for leak in found} == {"attempt", "sweep report", "log"}
    assert {leak.question for leak in found} == {""}
    kept = {leak.place.partition(",")[0]: leak.restricted for leak in found}
    # The first words stand in a question too, so that they tell nothing.
    assert 24 <= kept["sweep report"][0].end - kept["sweep report"][0].start <= 30


def test_texts_of_a_cleared_reader_are_no_leak(logs: Kept) -> None:
    """The cleared question is answered from the restricted text in the same records its twin stands in."""
    sweep = guarded_sweep(guarded_toml(capacity=40), guarded_study())
    table = table_of_results(sweep)
    assert any(
        outcomes["director"].answered and not outcomes["director~uncleared"].leaks for outcomes in table.cells.values()
    )
    assert search_leaks(sweep, logs.lines).leaks == ()


def test_sweep_that_still_runs_is_not_searched() -> None:
    with pytest.raises(NotSealed, match="sealed"):
        search_leaks(started(guarded_study(), toml=guarded_toml()))


def test_command_names_places_and_prints_no_text(tmp_path: Path) -> None:
    sweep = guarded_sweep(guarded_toml())
    out = StringIO()
    call_command("search_leaks", str(sweep.pk), stdout=out)
    assert "2 uncleared twins" in out.getvalue()
    log = tmp_path / "worker.log"
    log.write_text("INFO prompt " + VAULT)
    with pytest.raises(CommandError) as found:
        call_command("search_leaks", "latest", "--log", str(log), stdout=out)
    assert found.value.returncode == 1
    assert "LEAK (any reader), log, entry 1: " in out.getvalue()
    assert "kitchen" not in out.getvalue()
    with pytest.raises(CommandError) as missing:
        call_command("search_leaks", "latest", "--log", str(tmp_path / "none.log"), stdout=out)
    assert missing.value.returncode == 2


def test_restricted_heading_in_a_questions_own_words_is_no_leak_of_its_prompt() -> None:
    asked = "When are the folding chairs counted?"
    answers = f"# Answers\n\nQuestion: {asked}\n\nEvidence:\nOnly the treasurer's ledger of brass tokens says so.\n"
    sweep = guarded_sweep(guarded_toml(), guarded_study(restricted={"answers": answers}))
    assert search_leaks(sweep).leaks == ()
    planted = search_leaks(sweep, ["printed: treasurer's ledger of brass tokens"])
    assert {one.place for one in planted.leaks} == {"log, entry 1"}
