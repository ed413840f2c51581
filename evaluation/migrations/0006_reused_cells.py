"""Sweeps say whether they may take cells from an earlier one; attempts say what made their results, or where from."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds columns; earlier attempts name no engine, so nothing is ever taken from them."""

    dependencies: ClassVar = [("evaluation", "0005_release_time_of_its_record")]

    operations: ClassVar = [
        migrations.AddField("sweep", "recompute", models.BooleanField(default=False)),
        migrations.AddField(
            "attempt", "engine", models.CharField(blank=True, max_length=64, default=""), preserve_default=False
        ),
        migrations.AddField(
            "attempt",
            "reused_from",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="evaluation.sweep",
            ),
        ),
    ]
