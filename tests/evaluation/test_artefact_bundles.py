"""Artefact bundles: a sweep taken away whole or without text, checked in a folder that knows no database."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import TestCase

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR, NotAllowed
from evaluation.domain.decision import decision_from_payload
from evaluation.models import Sweep
from evaluation.selectors.question_trace import question_trace
from evaluation.services.decide_release import decide_release
from evaluation.services.export_artefacts import export_artefacts
from evaluation.services.problems import NotSealed
from evaluation.services.sign_release import sign_release
from ledger.domain.bundle import manifest_bytes
from ledger.domain.canonical import canonical_bytes, digest, keyed_digest, parse_canonical
from ledger.services import LedgerError, Report, verify_bundle
from tests.factories.studies import make_member
from tests.factories.sweeps import LENDING, STAFF, make_sealed_sweep, make_sweep

KEY = bytes(range(32))


def lines(path: Path) -> list[Any]:
    return [parse_canonical(line) for line in path.read_bytes().splitlines()]


def without_database(folder: Path) -> Report:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the verification asked the database")

    with connection.execute_wrapper(refuse):
        return verify_bundle(folder)


def agreeing(folder: Path) -> None:
    """Make the manifest agree with the files again, as a careful forger would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for name, entry in {**manifest["files"], **manifest["attachments"]}.items():
        if (folder / name).is_file():
            data = (folder / name).read_bytes()
            entry.update(bytes=len(data), sha256=digest(data))
    path.write_bytes(manifest_bytes(manifest))


class TestBundles(TestCase):
    sweep: Sweep

    @classmethod
    def setUpTestData(cls) -> None:
        cls.sweep = make_sealed_sweep()
        cls.lead = make_member(cls.sweep.plan.study, Role.LEAD, username="lead", clearance=["staff", "keys"])
        cls.release = sign_release(cls.lead, cls.sweep, idempotency_key="k")

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.tmp = tmp_path
        self.out = tmp_path / "out"

    def test_whole_bundle_holds_every_artefact_and_verifies_without_a_database(self) -> None:
        manifest = export_artefacts(self.lead, self.sweep, self.out)
        report = without_database(self.out)
        assert report.ok, [str(one) for one in report.findings]
        assert (report.seals, len(manifest["attachments"])) == (1, 6 + 12 + 3)
        kinds = {line["kind"] for line in lines(self.out / "results.jsonl")}
        assert {
            "query",
            "source",
            "support",
            "boundary",
            "retrieval",
            "budget",
            "answer",
            "citation",
            "manifest",
        } <= kinds
        assert (self.out / "sources" / digest(LENDING.encode())).read_bytes() == LENDING.encode()
        told = parse_canonical((self.out / "decision.json").read_bytes())
        assert decision_from_payload(told["decision"]) == decide_release(self.sweep)
        assert digest((self.out / "decision.json").read_bytes()) == self.release.digest
        assert digest((self.out / "plan.json").read_bytes()) == self.sweep.plan.digest

    def test_visible_context_is_the_evidence_of_the_prompt(self) -> None:
        export_artefacts(OPERATOR, self.sweep, self.out)
        trace = question_trace(self.sweep, "opening", ["window-48-0"], "1/2")
        (arm,) = trace.arms
        evidence = b"".join(part[0] for part in arm.parts[1:])
        contexts = {line["digest"]: line["context"] for line in lines(self.out / "contexts.jsonl")}
        shown = next(
            line
            for line in lines(self.out / "shown.jsonl")
            if (line["arm"], line["phase"], line["view"]) == ("window-48-0", arm.phase, trace.view)
        )
        assert evidence.decode() in {contexts[name] for name in shown["contexts"]}

    def test_two_bundles_are_byte_identical(self) -> None:
        for name in ("one", "two"):
            export_artefacts(OPERATOR, self.sweep, self.tmp / name)
        files = sorted(path.relative_to(self.tmp / "one") for path in (self.tmp / "one").rglob("*") if path.is_file())
        for path in files:
            assert (self.tmp / "one" / path).read_bytes() == (self.tmp / "two" / path).read_bytes(), path

    def test_text_free_bundle_holds_no_text_and_verifies(self) -> None:
        export_artefacts(make_member(self.sweep.plan.study, Role.LEAD), self.sweep, self.out, text_key=KEY)
        report = without_database(self.out)
        assert report.ok, [str(one) for one in report.findings]
        everything = b"".join(path.read_bytes() for path in sorted(self.out.rglob("*")) if path.is_file())
        for secret in ("red dot", "alarm code", "Which insurance", "Sixty euros", "stocktaking"):
            assert secret.encode() not in everything, secret
        content = STAFF.encode()
        quote = b"The alarm code changes on the first day of each quarter."
        (span,) = [line for line in lines(self.out / "spans.jsonl") if line["question"] == "alarm"]
        assert content[span["start"] : span["end"]] == quote
        assert span["keyed_digest"] == keyed_digest(KEY, quote)
        assert digest(quote).encode() not in everything

    def test_any_artefact_changed_missing_or_of_another_sweep_is_found(self) -> None:
        export_artefacts(OPERATOR, self.sweep, self.out)
        names = ["plan.json", "decision.json", "set.json", "canonical/opening.json", "contexts.jsonl", "shown.jsonl"]
        names.append(f"sources/{digest(LENDING.encode())}")
        for name in names:
            for change in ("flipped", "gone"):
                copy = self.tmp / f"{change}-{name.replace('/', '-')}"
                shutil.copytree(self.out, copy)
                path = copy / name
                data = path.read_bytes()
                if change == "gone":
                    path.unlink()
                else:
                    path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
                assert not without_database(copy).ok, (name, change)
                agreeing(copy)
                # The manifest agrees again: what the recorded lines name still does not.
                assert not without_database(copy).ok, (name, change, "with a manifest that agrees")

    def test_forged_context_or_decision_is_found_by_what_the_records_say(self) -> None:
        export_artefacts(OPERATOR, self.sweep, self.out)

        def edited(name: str, edit: Callable[[list[Any]], None]) -> Report:
            copy = self.tmp / f"forged-{name}"
            shutil.copytree(self.out, copy)
            found = lines(copy / name)
            edit(found)
            (copy / name).write_bytes(b"".join(canonical_bytes(line) + b"\n" for line in found))
            agreeing(copy)
            return without_database(copy)

        def another_text(found: list[Any]) -> None:
            found[0]["context"] += " and more"
            found[0]["digest"] = digest(found[0]["context"].encode())

        def swapped(found: list[Any]) -> None:
            names = found[0]["contexts"]
            names[0], names[1] = names[1], names[0]

        assert not edited("contexts.jsonl", another_text).ok
        assert not edited("shown.jsonl", swapped).ok
        path = self.out / "decision.json"
        told = parse_canonical(path.read_bytes())
        told["decision"]["disposition"] = "accept"
        path.write_bytes(canonical_bytes(told))
        agreeing(self.out)
        assert {one.where for one in without_database(self.out).findings} == {"decision.json"}

    def test_only_who_may_export_and_read_every_source_takes_it_away_whole(self) -> None:
        study = self.sweep.plan.study
        with pytest.raises(NotAllowed):
            export_artefacts(make_member(study, Role.OBSERVER), self.sweep, self.out)
        with pytest.raises(BadInput, match="text-free"):
            export_artefacts(make_member(study, Role.LEAD), self.sweep, self.out)
        self.out.mkdir()
        with pytest.raises(LedgerError, match="already"):
            export_artefacts(OPERATOR, self.sweep, self.out)
        assert [path.name for path in self.tmp.iterdir()] == ["out"]

    def test_command_exports_and_the_verifier_ends_with_0(self) -> None:
        (self.tmp / "key").write_text("ab" * 32, encoding="utf-8")
        call_command("export_artefacts", str(self.sweep.pk), str(self.out))
        call_command(
            "export_artefacts", "latest", str(self.tmp / "free"), "--text-free", "--key-file", str(self.tmp / "key")
        )
        for name in ("out", "free"):
            call_command("verify_ledger", "--bundle", str(self.tmp / name))
        for arguments in ([str(self.out)], [str(self.tmp / "x"), "--text-free"]):
            with pytest.raises(CommandError) as caught:
                call_command("export_artefacts", "latest", *arguments)
            assert caught.value.returncode == 2, arguments


@pytest.mark.django_db
def test_sweep_that_is_not_sealed_gives_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(NotSealed):
        export_artefacts(OPERATOR, make_sweep(), tmp_path / "out")
