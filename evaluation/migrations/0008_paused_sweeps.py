"""A sweep that a person paused has a state of its own; until now it stood as capped, told apart by its note."""

from __future__ import annotations

from typing import ClassVar

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

#: How the note of a pause began; that of a cap began with “The cap was reached”.
_NOTE = "Paused by "


def _pause(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    sweeps = apps.get_model("evaluation", "Sweep").objects.using(editor.connection.alias)
    sweeps.filter(state="capped", problem__startswith=_NOTE).update(state="paused")


def _cap(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    sweeps = apps.get_model("evaluation", "Sweep").objects.using(editor.connection.alias)
    sweeps.filter(state="paused").update(state="capped")


class Migration(migrations.Migration):
    """Moves the rows; their records stay as they were written, and `evaluation.records.standing` reads both."""

    dependencies: ClassVar = [("evaluation", "0007_calls_of_attempts")]

    operations: ClassVar = [
        migrations.AlterField(
            "sweep",
            "state",
            models.CharField(
                choices=[
                    ("running", "Running"),
                    ("capped", "Capped"),
                    ("paused", "Paused"),
                    ("sealed", "Sealed"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="running",
                max_length=12,
            ),
        ),
        migrations.RunPython(_pause, _cap),
    ]
