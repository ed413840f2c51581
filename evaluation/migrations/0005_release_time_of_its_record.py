"""A release's time is that of its record, to the microsecond."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """No column changes: only who sets the time."""

    dependencies: ClassVar = [("evaluation", "0004_outcomes_in_results")]

    operations: ClassVar = [migrations.AlterField("release", "signed_at", models.DateTimeField())]
