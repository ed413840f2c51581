"""One arm at one phase as TREC files."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotate.permissions import OPERATOR
from evaluation.domain.relevance import Relevance
from evaluation.management.command import USAGE, ExampleCommand, refusals
from evaluation.management.commands.results import find_sweep
from evaluation.services.count_reading import count_reading
from evaluation.services.export_trec import trec_export, write_trec


class Command(ExampleCommand):
    """Writes a run and its judgements."""

    help = "Write what one arm ranked at one phase as a TREC run, with judgements, for ir_measures, ranx and trec_eval."
    examples = """
Examples:
  manage.py export_trec 3 --arm production --phase 3/8 --out trec/
  manage.py export_trec latest --arm production --phase 1/1 --relevance graded --out trec/
  ir_measures trec/qrels.txt trec/run.txt R@10 Success@10 RR@10 nDCG@10

Files: run.txt, qrels.txt, hits.tsv (the retriever's scores), chunks.tsv (where each chunk lies), about.json (the rule,
what was found for no question, and Cutline's own figures). docs/file-formats.md says what they mean.

Exit code: 0; 1 when the sweep is not sealed or its index comes out differently here; 2 for a sweep, arm, phase or
folder that is not there.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("sweep", help="number of the sweep, or “latest”")
        parser.add_argument("--arm", required=True, help="name of the arm in the plan")
        parser.add_argument("--phase", required=True, help="a shared phase label, like 3/8, or a first cut, like 96")
        parser.add_argument("--out", required=True, metavar="DIR", type=Path, help="folder for the files")
        parser.add_argument(
            "--relevance",
            choices=[str(rule) for rule in Relevance],
            default=str(Relevance.WHOLE),
            help="which chunks are relevant (default: whole)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Export."""
        sweep = find_sweep(options["sweep"])
        with refusals():
            export = trec_export(sweep, options["arm"], options["phase"], Relevance(options["relevance"]))
            try:
                written = write_trec(export, options["out"])
            except OSError as error:
                raise CommandError(
                    f"{options['out']} cannot be written: {error.strerror}.", returncode=USAGE
                ) from error
        count_reading(OPERATOR, sweep, "manage.py export_trec")
        for path in written:
            self.stdout.write(str(path))
