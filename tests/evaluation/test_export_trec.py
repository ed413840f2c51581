"""Exported runs give ir_measures and ranx the figures Cutline prints, for ties, misses and empty lists too."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotate.domain.errors import BadInput
from evaluation.domain.chunks import ChunkTable, join
from evaluation.domain.relevance import Relevance, chunk_grades
from evaluation.models import Sweep
from evaluation.services.export_trec import trec_export, write_trec
from evaluation.services.problems import NotSealed
from tests.evaluation.engine_world import letters
from tests.evaluation.guarded_study import guarded_sweep, guarded_toml
from tests.evaluation.sweeps import started
from tests.evaluation.trec_tools import NAMES, by_ir_measures, by_ranx

pytestmark = pytest.mark.django_db


def figures_of(folder: Path) -> dict[int, dict[str, float]]:
    about = json.loads((folder / "about.json").read_text())
    return {one["depth"]: one for one in about["figures"]}


def test_both_tools_reproduce_the_figures_of_an_exported_sweep(tmp_path: Path) -> None:
    sweep = guarded_sweep(guarded_toml(capacity=26))
    cases: list[tuple[Path, Path, int]] = []
    ours: list[dict[str, Any]] = []
    for arm in ("overlap", "plain"):
        for label in ("1/2", "1/1"):
            for rule in Relevance:
                folder = tmp_path / arm / label.replace("/", "-") / rule
                export = trec_export(sweep, arm, label, rule)
                write_trec(export, folder)
                for figures in export.figures():
                    cases.append((folder / "run.txt", folder / "qrels.txt", figures.depth))
                    ours.append(asdict(figures))
                assert export.run["unknown"] == []
                assert "unknown" in export.judgements
                assert "nothing" not in export.judgements
                assert not any("~" in question for question in export.judgements)
    assert len({one["denominator"] for one in ours}) == 1
    assert ours[0]["denominator"] == 5
    assert len({one["ndcg"] for one in ours}) > 4
    assert 0 < max(one["recall"] for one in ours) < 1
    for (run, qrels, depth), mine, ranx in zip(cases, ours, by_ranx(cases), strict=True):
        trec = by_ir_measures(run, qrels, depth)
        for name in NAMES:
            assert trec[name] == pytest.approx(mine[name], abs=1e-9), (run, depth, name)
            assert ranx[name] == pytest.approx(mine[name], abs=1e-9), (run, depth, name)


def test_files_say_what_they_hold_and_ties_keep_their_order(tmp_path: Path) -> None:
    sweep = guarded_sweep(guarded_toml(capacity=26))
    call_command("export_trec", str(sweep.pk), arm="overlap", phase="1/1", out=tmp_path, relevance="graded")
    about = json.loads((tmp_path / "about.json").read_text())
    assert (about["format"], about["relevance"], about["phase"]) == ("cutline-trec/1", "graded", 22)
    assert about["ranks"] == "computed again"
    assert about["depth"] > 12
    assert trec_export(sweep, "overlap", "22").run == trec_export(sweep, "overlap", "1/1").run
    assert about["without_hits"] == ["unknown"]
    assert about["sweep_root"] == sweep.root
    assert about["questions"] == 5
    hits = [line.split("\t") for line in (tmp_path / "hits.tsv").read_text().splitlines()[1:]]
    places = dict(line.split("\t", 1) for line in (tmp_path / "chunks.tsv").read_text().splitlines()[1:])
    chairs = [(float(score), places[chunk].split("\t")) for question, _, chunk, score in hits if question == "chairs"]
    tied = [place for score, place in chairs if score == chairs[0][0]]
    assert [place[0] for place in tied[:3]] == ["chairs-1", "chairs-2", "chairs-3"]
    run = [line.split() for line in (tmp_path / "run.txt").read_text().splitlines()]
    for question in {row[0] for row in run}:
        rows = [row for row in run if row[0] == question]
        assert [int(row[3]) for row in rows] == list(range(1, len(rows) + 1))
        assert [int(row[4]) for row in rows] == list(range(len(rows), 0, -1))
    assert {row[2] for row in run} <= set(places)
    qrels = [line.split() for line in (tmp_path / "qrels.txt").read_text().splitlines()]
    assert {row[0] for row in qrels} == {"director", "vault", "late", "chairs", "unknown"}
    cut = {row[0] for row in qrels if row[3] == "0"}
    assert cut == set(about["without_relevant_chunk"])


def test_what_cannot_be_exported_is_refused_with_what_there_is(tmp_path: Path) -> None:
    sweep = guarded_sweep(guarded_toml(capacity=26))
    with pytest.raises(BadInput, match="overlap, plain"):
        trec_export(sweep, "other", "1/1")
    for phase in ("3/8", "5", "x", "-1", "٣", "9" * 5000):
        with pytest.raises(BadInput, match="1/2, 1/1"):
            trec_export(sweep, "plain", phase)
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(CommandError) as refused:
        call_command("export_trec", str(sweep.pk), arm="plain", phase="1/1", out=taken)
    assert refused.value.returncode == 2
    running = started(key="running")
    assert running.state == Sweep.State.RUNNING
    with pytest.raises(NotSealed):
        trec_export(running, "plain", "1/1")


def test_grades_follow_the_declared_rule() -> None:
    def column(*values: int) -> Any:
        return np.array(values, dtype=np.int64)

    table = ChunkTable(
        column(0, 10, 20), column(10, 20, 30), column(14, 24, 30), *(column(0, 1, 2),) * 3, *(column(),) * 3
    )
    chunks = join([table, table], [letters(30)] * 2)
    sets = [((0, 12, 14), (1, 16, 26)), ((1, 29, 30),)]
    # The span at 16 has 8 of its 10 bytes in the second chunk of the other document, and 6 in the third.
    assert chunk_grades(chunks, sets, Relevance.WHOLE, Fraction("0.8")) == {0: 1, 1: 1, 5: 1}
    assert chunk_grades(chunks, sets, Relevance.THRESHOLD, Fraction("0.8")) == {0: 1, 1: 1, 4: 1, 5: 1}
    assert chunk_grades(chunks, sets, Relevance.GRADED, Fraction("0.8")) == {0: 2, 1: 2, 4: 1, 5: 2}
    assert chunk_grades(chunks, sets, Relevance.THRESHOLD, Fraction("0.81")) == {0: 1, 1: 1, 5: 1}
    assert chunk_grades(chunks, [], Relevance.GRADED, Fraction(1)) == {}
