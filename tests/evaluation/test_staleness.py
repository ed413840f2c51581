"""A release is stale when anything its results depend on is another one: corpus, tokenizer, packages, every step."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from evaluation.domain.plan_toml import parse_plan
from evaluation.models import Sweep
from evaluation.plugins.tokenizers import SHIPPED_PATH
from evaluation.selectors.staleness import stale_reasons
from evaluation.services.described_steps import described_steps
from evaluation.services.plugins import installed_plugins
from evaluation.services.result_keys import MANIFEST
from ledger.selectors.records import results as ledger_results
from ledger.services import ResultEntry, put_results
from tests.factories.sweeps import PLAN, make_plan, make_sealed_sweep, make_sweep

STEPS = {"segmenter", "retriever", "reranker", "expansion", "packer", "prompt", "generator", "verdict"}


class TestStaleness(TestCase):
    """Sweeps whose manifests say another version than this installation's, one part at a time."""

    sweep: Sweep

    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()

    def manifests(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return key and manifest of each arm's first build."""
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        for row in ledger_results(scopes=[self.sweep.scope], kinds=[MANIFEST]):
            found.setdefault(row.value["arm"], (row.key, row.value))
        return found

    def recorded(self, *changed: tuple[str, dict[str, Any]]) -> Sweep:
        """Return a sweep that recorded these manifests, by key, and nothing else."""
        count = Sweep.objects.count()
        other = make_sweep(make_plan(self.sweep.plan.fixture_set, PLAN.replace("seed = 7", f"seed = {70 + count}")))
        put_results(other.scope, [ResultEntry(key, MANIFEST, value) for key, value in changed])
        return other

    def test_changed_tokenizer_makes_the_results_stale(self) -> None:
        with TemporaryDirectory() as folder:
            tokenizer = Path(folder) / "tokenizer.json"
            tokenizer.write_bytes(SHIPPED_PATH.read_bytes())
            toml = PLAN.replace('"cutline-bpe-4k"', f'"{tokenizer}"')
            sweep = make_sealed_sweep(make_plan(self.sweep.plan.fixture_set, toml))
            assert stale_reasons(sweep) == []
            tokenizer.write_bytes(SHIPPED_PATH.read_bytes() + b"\n")
            assert "is not the one of the sweep any more" in " ".join(stale_reasons(sweep))
            tokenizer.unlink()
            assert "is not the one of the sweep any more" in " ".join(stale_reasons(sweep))

    def test_changed_package_makes_the_results_stale(self) -> None:
        with TemporaryDirectory() as folder:
            distribution = Path(folder) / "numpy-0.0.1.dist-info"
            distribution.mkdir()
            (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.0.1\n")
            sys.path.insert(0, folder)
            try:
                (reason,) = stale_reasons(self.sweep)
            finally:
                sys.path.remove(folder)
        assert reason.startswith("numpy was ")
        assert reason.endswith(" in the sweep and is 0.0.1 here.")
        assert stale_reasons(self.sweep) == []

    def test_changed_segmenter_and_analyser_make_the_results_stale(self) -> None:
        arm, (key, value) = next(iter(self.manifests().items()))
        segmenter = {**value["segmenter"], "version": "0"}
        other = self.recorded((key, {**value, "segmenter": segmenter, "analyser": {"analyser": "old"}}))
        assert stale_reasons(other) == [
            "Words are not read as they were in the sweep: the analyser is another one.",
            f"The segmenter was version 0 in the sweep and is {value['segmenter']['version']} here (arm {arm}).",
        ]

    def test_manifest_pins_a_version_of_every_step(self) -> None:
        for arm, (_, value) in self.manifests().items():
            assert set(value["steps"]) == STEPS, arm
            for step, pinned in value["steps"].items():
                assert pinned.get("declared", pinned.get("version")), (arm, step)
            assert value["steps"]["retriever"]["plugin"] == "bm25"

    def test_another_version_of_any_step_makes_the_results_stale(self) -> None:
        said = {
            "segmenter": "The segmenter token-window",
            "retriever": "The retriever bm25",
            "reranker": "The reranker none",
            "expansion": "The expansion none",
            "packer": "The packing",
            "prompt": "The prompt",
            "generator": "The generator extractive",
            "verdict": "The rule of verdicts",
        }
        found = self.manifests()
        arm, (key, value) = next(iter(found.items()))
        for step in sorted(STEPS):
            pinned = value["steps"][step]
            version = "declared" if "declared" in pinned else "version"
            steps = {**value["steps"], step: {**pinned, version: "older"}}
            assert stale_reasons(self.recorded((key, {**value, "steps": steps}))) == [
                f"{said[step]} was version older in the sweep and is {pinned[version]} here (arm {arm})."
            ], step

    def test_another_setting_of_equal_version_and_other_instructions_are_told(self) -> None:
        arm, (key, value) = next(iter(self.manifests().items()))
        for step, setting in (("retriever", "score"), ("prompt", "instructions")):
            steps = {**value["steps"], step: {**value["steps"][step], setting: "other"}}
            (reason,) = stale_reasons(self.recorded((key, {**value, "steps": steps})))
            assert reason.endswith(f"is not the one of the sweep any more (arm {arm})."), reason

    def test_arms_that_share_a_changed_step_share_the_reason(self) -> None:
        found = self.manifests()
        changed = [
            (key, {**value, "steps": {**value["steps"], "packer": {"version": "older"}}})
            for key, value in found.values()
        ]
        (reason,) = stale_reasons(self.recorded(*changed))
        assert reason.endswith(f"(arms {', '.join(found)}).")

    def test_manifest_that_names_no_steps_is_no_proof_of_equal_ones(self) -> None:
        arm, (key, value) = next(iter(self.manifests().items()))
        (reason,) = stale_reasons(self.recorded((key, {name: value[name] for name in value if name != "steps"})))
        assert reason == (f"Its manifests do not say with which versions of its steps the sweep was made (arm {arm}).")

    def test_one_manifest_of_each_arm_is_read_however_many_there_are(self) -> None:
        many = {
            key: {**value, "phase": int(key.split("/")[-2])}
            for arm, (first, value) in self.manifests().items()
            for key in (f"{first.rsplit('/', 3)[0]}/{arm}/{phase:06d}/{MANIFEST}" for phase in range(1, 60))
        }
        other = self.recorded(*many.items())
        with CaptureQueriesContext(
            connection,
        ) as seen:
            assert stale_reasons(other) == []
        (asked,) = [one["sql"] for one in seen if "ledger_result" in one["sql"] and '"payload"' in one["sql"]]
        assert asked.count(f"/{MANIFEST}'") == len(self.manifests())


def test_every_plugin_that_ships_has_a_declared_version() -> None:
    for (kind, name), plugin in installed_plugins().plugins.items():
        assert plugin.version, (kind, name)


def test_steps_of_every_shipped_recovery_and_reranker_are_described_with_their_versions() -> None:
    cases = {
        "reranker": '\n[reranking]\nreranker = "mmr"\nrelevance = "0.7"\n',
        "expansion": '\n[recovery]\npolicy = "neighbours"\nreach = 1\n',
    }
    for step, table in cases.items():
        plan = parse_plan(PLAN + table, installed_plugins().known_names())
        found = described_steps(plan, plan.baseline)[step]
        assert found["declared"], step
        assert found["version"], step
        assert found["plugin"] in {"mmr", "neighbours"}
