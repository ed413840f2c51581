import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0002_refused_save'),
    ]

    operations = [
        migrations.CreateModel(
            name='Guideline',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('text', models.TextField()),
                ('labels', models.JSONField(blank=True, default=list)),
                ('change_note', models.CharField(blank=True, max_length=300)),
                ('published_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['study_id', 'number', 'pk'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='assignment',
            name='assignment_slot_once',
        ),
        migrations.AddField(
            model_name='assignment',
            name='note',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='assignment',
            name='paused',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='pass',
            name='active_seconds',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='pass',
            name='save_key',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name='person',
            name='keys',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AlterField(
            model_name='assignment',
            name='state',
            field=models.CharField(choices=[('open', 'Open'), ('submitted', 'Submitted'), ('returned', 'Returned'), ('withdrawn', 'Withdrawn')], default='open', max_length=12),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'withdrawn'), _negated=True), fields=('question', 'slot'), name='assignment_slot_once'),
        ),
        migrations.AddField(
            model_name='guideline',
            name='published_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='guideline',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='guidelines', to='annotate.study'),
        ),
        migrations.AddField(
            model_name='pass',
            name='guideline',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotate.guideline'),
        ),
        migrations.AddField(
            model_name='submission',
            name='guideline',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotate.guideline'),
        ),
        migrations.AddConstraint(
            model_name='guideline',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='guideline_number_once'),
        ),
    ]
