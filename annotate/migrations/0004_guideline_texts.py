from django.db import migrations


def copy_texts(apps, schema_editor):
    """Make each study's guideline the first version of it; with 0005 the column goes."""
    Guideline = apps.get_model('annotate', 'Guideline')
    for study in apps.get_model('annotate', 'Study').objects.exclude(guideline=''):
        Guideline.objects.create(study=study, number=1, text=study.guideline)


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0003_workspace'),
    ]

    operations = [
        migrations.RunPython(copy_texts, migrations.RunPython.noop),
    ]
