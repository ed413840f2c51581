"""Each try at a cell names the requests over HTTP it made."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column more; attempts from before made no such request that was kept."""

    dependencies: ClassVar = [("evaluation", "0006_reused_cells")]

    operations: ClassVar = [migrations.AddField("attempt", "calls", models.JSONField(blank=True, default=list))]
