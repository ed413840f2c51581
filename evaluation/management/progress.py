"""Progress bars for a sweep that is computed in a command."""

from __future__ import annotations

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from evaluation.management.stopping import Stop
from evaluation.models import Cell, Sweep
from evaluation.services.results import SweepResults, sweep_results
from evaluation.services.seal_sweep import OPEN
from evaluation.services.work import drain

#: Seconds between two looks while other workers hold the last cells.
_LOOK_SECONDS = 0.5


def drain_with_progress(sweep: Sweep, worker: str, console: Console) -> None:
    """Compute cells of `sweep` here, beside any other worker, until it is no longer running; refreshes `sweep`.

    Raises CommandError, with 128 + the signal's number, when SIGTERM or Ctrl-C came; the cell in work is finished.
    """
    total = sweep.cells.count()
    with Stop() as stopping, _bar(console) as progress:
        task = progress.add_task(f"Sweep {sweep.pk}", total=total)

        def look() -> None:
            progress.update(task, completed=total - Cell.objects.filter(sweep=sweep, state__in=OPEN).count())

        while sweep.state == Sweep.State.RUNNING:
            drain(worker, sweep_id=sweep.pk, stop=stopping, on_cell=lambda lease: look())
            look()
            sweep.refresh_from_db()
            if sweep.state != Sweep.State.RUNNING:
                break
            if stopping():
                raise CommandError(
                    f"Stopped. Sweep {sweep.pk} is kept with what is done; run the same command again, or "
                    "manage.py work, to go on with it.",
                    returncode=128 + stopping.number,
                )
            stopping.wait(_LOOK_SECONDS)


def results_with_progress(sweep: Sweep, console: Console) -> SweepResults:
    """Return the sweep's results, with a bar while intervals are resampled."""
    with _bar(console) as progress:
        task = progress.add_task("Intervals", total=None)
        return sweep_results(sweep, progress=lambda done, of: progress.update(task, completed=done, total=of))


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )
