"""The pages say what the code does: links, commands, settings, tables of keys, kinds, columns and metrics."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.urls import reverse

from config import celery, environment
from evaluation.domain import plan, plan_pipeline, plan_release, statistics
from evaluation.domain.decision import read_vetoes
from evaluation.domain.gate_evidence import VetoEvidence
from evaluation.domain.metrics import EMPTY, Figure
from evaluation.domain.outcomes import AnswerClass, Status
from evaluation.domain.permutation import worst_phase_null
from evaluation.domain.plan_toml import parse_plan
from evaluation.domain.plan_words import GateKind, MetricName
from evaluation.management.commands import work
from evaluation.services.planned_cells import BLOCK_SIZE
from evaluation.services.plugins import installed_plugins
from evaluation.services.result_keys import KINDS
from ledger import registry, triggers
from tests.architecture.pages import anchors, code, code_of, links, names, pages, prose, rows
from tests.architecture.tree import APPS, ROOT, read, tracked
from tests.factories.routes import all_routes

FORMATS, NUMBERS, LEDGER, DEPLOYMENT = (
    Path("docs") / name for name in ("file-formats.md", "numbers.md", "ledger.md", "deployment.md")
)
OUR_APPS = {"annotate", "evaluation", "ledger"}
ENVIRONMENT_OF_OTHERS = {"CUTLINE_BIND", "CUTLINE_DB", "CUTLINE_SHARED"}


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_link_leads_to_a_tracked_file_and_heading(page: Path) -> None:
    known = set(tracked())
    folders = {parent for path in known for parent in path.parents}
    broken = []
    for link in links(page):
        target, _, anchor = link.partition("#")
        path = Path(*(page.parent / target).parts) if target else page
        resolved = (ROOT / path).resolve().relative_to(ROOT)
        if resolved not in known | folders or (anchor and anchor not in anchors(resolved)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_path_named_in_code_exists(page: Path) -> None:
    tops = (*APPS, "tests", "docs", "bench", "static", "templates", ".ci")
    paths = [
        piece.rstrip("/")
        for piece in code(prose(page))
        if piece.startswith(tuple(f"{top}/" for top in tops)) and " " not in piece and "*" not in piece
    ]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def _commands(page: Path) -> list[list[str]]:
    """Return every `manage.py …` of a page as words, the name first."""
    found = []
    for piece in code_of(page):
        for _, said in re.findall(r"(^|\s)manage\.py ([a-z_]+[^#;&|]*)", piece):
            found.append(shlex.split(said.split("  ")[0].strip()))
    return found


def _parser(name: str) -> ArgumentParser:
    app = get_commands()[name]
    command = load_command_class(app, name) if isinstance(app, str) else app
    parser: ArgumentParser = command.create_parser("manage.py", name)
    return parser


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_command_named_exists_with_its_options(page: Path) -> None:
    wrong = []
    for name, *words in _commands(page):
        if name not in get_commands():
            wrong.append(name)
            continue
        known = _parser(name)._option_string_actions
        wrong += [f"{name} {word}" for word in words if word.startswith("-") and word != "-" and word not in known]
    assert wrong == []


def test_every_command_of_ours_is_documented() -> None:
    ours = {name for name, app in get_commands().items() if app in OUR_APPS}
    assert ours - {words[0] for page in pages() for words in _commands(page)} == set()


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_variable_named_is_declared(page: Path) -> None:
    said = set(re.findall(r"\bCUTLINE_[A-Z_]+\b", read(page)))
    assert said - set(environment.DECLARED) - ENVIRONMENT_OF_OTHERS == set()


def test_pages_named_in_the_code_exist() -> None:
    named = {
        (name, str(path))
        for path in tracked()
        if path.parts[0] in {*APPS, "templates"} and path.suffix in {".py", ".html"}
        for name in re.findall(r"\bdocs/[\w/.-]+\.md\b", read(path))
    }
    assert [f"{path}: {name}" for name, path in sorted(named) if not (ROOT / name).is_file()] == []


SECTIONS = (
    plan.Plan,
    plan.Hypothesis,
    plan.Population,
    plan_pipeline.Budget,
    plan_pipeline.Retrieval,
    plan_pipeline.Reranking,
    plan_pipeline.Recovery,
    plan_pipeline.Generation,
    plan_pipeline.PhaseRule,
    plan_pipeline.Arm,
    plan_release.StatisticsRule,
    plan_release.DecisionRule,
    plan_release.Gate,
    plan_release.Vetoes,
    plan_release.Resources,
)


def test_every_section_of_a_plan_is_documented() -> None:
    hints = get_type_hints(plan.Plan)
    sections = {hint if is_dataclass(hint) else next(iter(get_args(hint)), None) for hint in hints.values()}
    assert {section for section in sections if is_dataclass(section)} == set(SECTIONS) - {plan.Plan}


@pytest.mark.parametrize("section", SECTIONS)
def test_plan_keys_are_documented_with_their_words_bounds_and_defaults(section: type) -> None:
    documented = {
        key: (values, default)
        for said, values, default, _ in rows(FORMATS, f"plan: {section.__name__}")
        for key in code(said)
    }
    known = {item.name: item for item in fields(section)}
    assert set(documented) == set(known)
    hints = get_type_hints(section)
    for key, item in known.items():
        values, default = documented[key]
        place = f"{section.__name__}.{key}"
        assert default == _default(item), f"{place}: the default"
        words = _words(hints[key], item)
        if words:
            assert set(code(values)) == words, f"{place}: its words"
        for bound, sign in (("at_least", "≥"), ("at_most", "≤"), ("above", ">"), ("below", "<")):
            limit = item.metadata[bound]
            assert (f"{sign} {limit}" in values) is (limit is not None), f"{place}: {bound}"


def _default(item: Field[Any]) -> str:
    value = item.default
    if value is MISSING:
        return "required"
    if is_dataclass(value):
        return "their defaults"
    if value is None:
        return f"`{item.metadata['none']}`" if item.metadata["none"] else "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[]`" if not value else ", ".join(f"`{item}`" for item in value)
    if isinstance(value, Enum | int) or (value and not re.search(r"[\s{]", value)):
        return f"`{value}`"
    return '`"' + value.replace("\n", "\\n") + '"`'


def _words(hint: Any, item: Field[Any]) -> set[str]:
    """Return the words a setting may have; empty where it is no closed list."""
    if item.metadata["known"]:
        return set(getattr(installed_plugins().known_names(), item.metadata["known"]))
    if item.metadata["none"]:
        return {str(item.metadata["none"])}
    kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    if bool in kinds:
        return {"true", "false"}
    return {str(word.value) for kind in kinds if issubclass(kind, Enum) for word in kind}


def test_documented_metrics_are_the_metric_table() -> None:
    assert names(NUMBERS, "Metrics") == [str(metric) for metric in MetricName] == [str(metric) for metric in EMPTY]


def test_documented_gates_vetoes_and_verdict_classes_are_those_there_are() -> None:
    assert [row[0].strip("`") for row in rows(NUMBERS, "Gates")] == list(GateKind)
    assert {row[0].strip("`") for row in rows(NUMBERS, "Verdicts")} == set(AnswerClass)
    counted = VetoEvidence(0, (), 0, (), (), Figure(0, 0, None, Status.UNDEFINED), 1, 1)
    demo = parse_plan(read(Path("evaluation/plans/demo.toml")))
    assert [row[0].strip("`") for row in rows(NUMBERS, "Vetoes")] == [one.veto for one in read_vetoes(demo, counted)]


def test_numbers_in_the_prose_are_the_constants() -> None:
    said = {page: " ".join(prose(page).split()) for page in (NUMBERS, DEPLOYMENT, LEDGER)}
    permutations = worst_phase_null.__defaults__
    assert permutations is not None
    for page, sentence in (
        (NUMBERS, f"fewer than {statistics.SPARSE} clusters"),
        (NUMBERS, f"({permutations[0]} times)"),
        (DEPLOYMENT, f"its lease runs out ({settings.LEASE_SECONDS} s)"),
        (DEPLOYMENT, f"block of {BLOCK_SIZE} questions"),
        (DEPLOYMENT, f"every {celery.RING_SECONDS:g} seconds"),
        (DEPLOYMENT, f"tries again every {work.TROUBLE_SECONDS:g} s"),
        (DEPLOYMENT, f"drains cells for {settings.WORK_SLICE_SECONDS} seconds"),
        (DEPLOYMENT, f"{settings.CELERY_TASK_TIME_LIMIT - settings.CELERY_TASK_SOFT_TIME_LIMIT} s before"),
    ):
        assert sentence in said[page], f"{page}: {sentence}"


def _by_kind(mark: str) -> dict[str, list[str]]:
    return {row[0].strip("`"): row for row in rows(LEDGER, mark)}


def test_documented_ledger_kinds_are_the_registered_ones() -> None:
    documented = _by_kind("kinds: records") | _by_kind("kinds: results")
    assert set(_by_kind("kinds: results")) == set(KINDS)
    assert set(documented) == set(registry.kinds())
    for name, kind in registry.kinds().items():
        assert tuple(code(documented[name][-1])) == kind.text_fields, name
    for name, row in _by_kind("kinds: records").items():
        verified = registry.kinds()[name].verifier is not None or name == "sweep.sealed"
        assert row[2].startswith("yes") is verified, name


def test_every_column_is_said_to_be_compared_or_not() -> None:
    documented = {row[0].strip("`"): row for row in rows(LEDGER, "columns")}
    models = {model._meta.db_table: model for model in apps.get_models() if model._meta.app_label in OUR_APPS}
    assert set(documented) == set(models)
    for table, model in models.items():
        listed = [name for cell in documented[table][1:3] for name in code(cell)]
        assert len(listed) == len(set(listed)), f"{table}: a column stands twice"
        assert set(listed) == {field.name for field in model._meta.concrete_fields} - {"id"}, table


def test_documented_added_rows_are_found_by_table_verifiers() -> None:
    listed = read(LEDGER).split("<!-- added -->")[1].split("<!-- /added -->")[0]
    tables = {model._meta.db_table for model in apps.get_models()}
    assert set(code(listed)) == set(registry.tables()) & tables


def test_documented_protections_are_the_declared_ones() -> None:
    declared = {found.table: found for found in triggers.protections()}
    for table, *_, kept in rows(LEDGER, "columns"):
        found = declared.get(table.strip("`"))
        if found is None:
            assert kept == "", table
        elif found.write_once:
            assert kept == f"but {', '.join(f'`{name}`' for name in found.write_once)}, once", table
        else:
            assert (kept == "always") is (found.update == found.delete == triggers.NEVER), table
            assert kept, table


def test_decisions_are_numbered_without_gap_or_double_and_headed_by_their_number() -> None:
    found = sorted(path for path in tracked() if path.parent == Path("docs/decisions"))
    assert [int(path.name[:4]) for path in found] == list(range(1, len(found) + 1))
    for path in found:
        assert read(path).startswith(f"# {int(path.name[:4])}. "), path


#: How the table of endpoints writes what an address holds.
PLACES = {"slug": "S", "pk": "N", "key": "KEY", "fixture_id": "ID"}


def test_every_endpoint_is_documented_with_its_methods() -> None:
    told = {code(row[0])[0]: set(row[1].split(", ")) for row in rows(Path("docs/api.md"), "Endpoints")}
    known: dict[str, set[str]] = {}
    for route in all_routes():
        if route.name.startswith("api") and route.name != "api-nothing-here":
            address = reverse(route.name, kwargs={part: 0 if part == "pk" else f"zq-{part}" for part in route.holds})
            for part in route.holds:
                address = address.replace("/0/" if part == "pk" else f"/zq-{part}/", f"/{PLACES[part]}/")
            endpoint: type = getattr(route.view, "view_class")  # noqa: B009 - a view is any callable to the type checker
            known[address] = {name.upper() for name in ("get", "post", "put", "delete") if hasattr(endpoint, name)}
    assert told == known
