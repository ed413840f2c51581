from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0004_guideline_texts'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='study',
            name='guideline',
        ),
    ]
