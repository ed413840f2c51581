"""Rows of the evaluation app, one file per aggregate."""

from evaluation.models.calibrations import Calibration
from evaluation.models.cells import Attempt, Cell
from evaluation.models.plans import Plan
from evaluation.models.releases import Release
from evaluation.models.summaries import SweepReport
from evaluation.models.sweeps import Sweep

__all__ = ["Attempt", "Calibration", "Cell", "Plan", "Release", "Sweep", "SweepReport"]
