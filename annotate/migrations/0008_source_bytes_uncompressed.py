"""Sources' bytes uncompressed on PostgreSQL: a span near the end of a compressed text costs unpacking all of it.

Every save re-slices its span from the stored bytes. PostgreSQL reads a slice of an uncompressed value from the pages
that hold it. Texts stored before this migration stay compressed and correct; their rows are immutable.
"""

from django.db import migrations


def _store(how):
    def change(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(f"ALTER TABLE annotate_sourceversion ALTER COLUMN content SET STORAGE {how}")

    return change


class Migration(migrations.Migration):
    dependencies = [("annotate", "0007_discussion_notes")]

    operations = [migrations.RunPython(_store("EXTERNAL"), _store("EXTENDED"))]
