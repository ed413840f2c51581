"""The discussion of a question: why a pass was returned, why an item was re-opened, and what was said about it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0006_alternatives_reason"),
    ]

    operations = [
        migrations.CreateModel(
            name="DiscussionNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("round", models.PositiveSmallIntegerField()),
                ("ordinal", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("note", "Note"), ("returned", "Returned"), ("reopened", "Reopened")], max_length=12
                    ),
                ),
                ("text", models.TextField()),
                ("written_at", models.DateTimeField(auto_now_add=True)),
                (
                    "assignment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notes",
                        to="annotate.assignment",
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="notes", to="annotate.question"
                    ),
                ),
                (
                    "written_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["question_id", "ordinal", "pk"]},
        ),
        migrations.AddConstraint(
            model_name="discussionnote",
            constraint=models.UniqueConstraint(fields=("question", "ordinal"), name="note_ordinal_once"),
        ),
    ]
