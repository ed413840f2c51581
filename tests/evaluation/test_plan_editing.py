"""Gates, vetoes and limits are changed field by field: what is meant is a draft, what is wrong is told in place."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import TestCase
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.vocabulary import Role
from evaluation.domain.plan_edits import GATE_SETTINGS, TABLES, edited
from evaluation.domain.plan_release import Gate
from evaluation.domain.plan_schema import PlanRefused
from evaluation.domain.plan_toml import parse_plan, plan_from_payload, plan_payload, plan_to_toml
from evaluation.models import Plan
from evaluation.services.write_plan import plan_value
from evaluation.views.gate_editor import gate_editor
from tests.factories.studies import make_member
from tests.factories.sweeps import PLAN, make_fixture_set, make_plan

BASE = parse_plan(PLAN)
NEW_GATE = {
    "name": "errors",
    "kind": "condition-error-increase",
    "tolerance": "0.02",
    "sample": "enriched",
    "minimum_questions": "12",
    "segment": "",
    "statistic": "worst-phase",
    "view": "budget",
}


def as_sent(payload: dict[str, object]) -> dict[str, str]:
    """Return what a browser sends of the form made of `payload`."""
    editor = gate_editor(payload)
    rows = [*(made for _, made in editor.tables), *editor.gates]
    return {one.path: one.value or (one.choices[0][0] if one.choices else "") for row in rows for one in row}


def faults_of(payload: dict[str, object]) -> list[str]:
    try:
        plan_from_payload(payload)
    except PlanRefused as refusal:
        return [problem.where for problem in refusal.problems]
    return []


def test_form_sent_as_it_was_shown_changes_nothing() -> None:
    payload = plan_payload(BASE)
    made = plan_from_payload(edited(payload, as_sent(payload)))
    assert made == BASE
    assert parse_plan(plan_to_toml(made)) == BASE


def test_every_setting_of_gates_vetoes_resources_and_decision_has_a_field() -> None:
    editor = gate_editor(plan_payload(BASE))
    shown = {one.path for _, made in editor.tables for one in made}
    assert shown == {f"{table}.{name}" for table, (_, names) in TABLES.items() for name in names}
    assert len(editor.gates) == len(BASE.gates) + 1
    told = {one.path.rpartition(".")[2] for one in editor.gates[0]}
    assert told == set(GATE_SETTINGS) - {"verdict_source"}
    assert Gate.__dataclass_fields__["verdict_source"].default == "rubric"


def test_gates_are_added_changed_and_removed_and_limits_set_and_lifted() -> None:
    payload = plan_payload(BASE)
    last = len(BASE.gates)
    sent = as_sent(payload) | {f"gates[{last}].{name}": text for name, text in NEW_GATE.items()}
    sent |= {"gates[0].tolerance": " 0.25 ", "vetoes.permission_leaks": "2", "resources.index_expansion": ""}
    sent |= {"decision.crossing": "reject", "decision.insufficient_evidence": "reject", "statistics.confidence": "0.9"}
    if last > 1:
        sent["gates[1].remove"] = "1"
    made = plan_from_payload(edited(payload, sent))
    assert str(made.gates[0].tolerance) == "0.25"
    assert made.gates[-1].name == "errors"
    assert made.gates[-1].segment is None
    assert len(made.gates) == (last if last > 1 else last + 1)
    assert made.vetoes.permission_leaks == 2
    assert made.resources.index_expansion is None
    assert (made.decision.crossing, made.decision.insufficient_evidence) == ("reject", "reject")
    assert plan_payload(BASE) == payload


def test_one_gate_more_than_a_plan_may_have_is_refused_and_never_left_out() -> None:
    gates = tuple(replace(BASE.gates[0], name=f"gate-{number}") for number in range(200))
    payload = plan_payload(replace(BASE, gates=gates))
    assert plan_from_payload(edited(payload, as_sent(payload))).gates == gates
    more = edited(payload, as_sent(payload) | {f"gates[200].{name}": text for name, text in NEW_GATE.items()})
    assert more["gates"][200]["name"] == NEW_GATE["name"]
    assert faults_of(more) == ["gates"]


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=8), st.text(max_size=30))
def test_whatever_is_sent_is_a_plan_or_is_refused_by_its_place(noise: dict[str, str], text: str) -> None:
    payload = plan_payload(BASE)
    for path in ("vetoes.permission_leaks", "gates[0].tolerance", "gates[0].kind", "decision.candidate"):
        assert all(place for place in faults_of(edited(payload, {**as_sent(payload), **noise, path: text})))


class TestEditingPages(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.plan: Plan = make_plan(make_fixture_set(), locked=False)
        cls.lead = make_member(cls.plan.study, Role.LEAD)
        cls.address = reverse("plan", args=[cls.plan.pk])

    def setUp(self) -> None:
        self.client.force_login(self.lead)

    def test_changed_fields_become_another_draft(self) -> None:
        sent = as_sent(plan_payload(plan_value(self.plan)))
        answer = self.client.post(self.address, {**sent, "action": "edit", "gates[0].tolerance": "0.33"})
        assert answer.status_code == 302
        made = Plan.objects.order_by("-pk")[0]
        assert answer.headers["Location"] == reverse("plan", args=[made.pk])
        assert str(plan_value(made).gates[0].tolerance) == "0.33"
        assert plan_value(self.plan).gates[0].tolerance != plan_value(made).gates[0].tolerance

    def test_fault_stands_beside_its_field_and_nothing_is_written(self) -> None:
        sent = as_sent(plan_payload(plan_value(self.plan)))
        wrong = {"gates[0].tolerance": "<b>a lot</b>", "vetoes.permission_leaks": "-1", "decision.crossing": "accept"}
        answer = self.client.post(self.address, {**sent, **wrong, "action": "edit"})
        assert answer.status_code == 422
        page = answer.content.decode()
        for path in wrong:
            assert f'aria-describedby="fault-{path}"' in page, path
        assert "<b>a lot" not in page
        assert "<b>a lot</b>" in unescape(page)
        assert Plan.objects.count() == 1

    def test_another_plan_is_made_of_a_locked_one_and_only_by_a_lead(self) -> None:
        locked = make_plan(self.plan.fixture_set)
        sent = {**as_sent(plan_payload(plan_value(locked))), "action": "edit", "gates[0].minimum_questions": "3"}
        address = reverse("plan", args=[locked.pk])
        assert self.client.post(address, sent).status_code == 302
        assert plan_value(Plan.objects.order_by("-pk")[0]).gates[0].minimum_questions == 3
        self.client.force_login(make_member(self.plan.study, Role.OBSERVER))
        assert self.client.post(address, sent).status_code == 403
        assert "Change gates, vetoes and limits" not in self.client.get(address).content.decode()

    def test_plan_comes_from_a_file_and_a_bad_file_is_told_with_its_line(self) -> None:
        address = reverse("plans", args=[self.plan.study.slug])
        name = self.plan.fixture_set.name

        def sent(data: bytes) -> object:
            return {"fixture_set": name, "toml": "", "file": SimpleUploadedFile("plan.toml", data)}

        made = self.client.post(address, sent(b"\xef\xbb\xbf" + PLAN.replace("\n", "\r\n").encode()))
        assert made.status_code == 302
        assert plan_value(Plan.objects.order_by("-pk")[0]) == plan_value(self.plan)
        count = Plan.objects.count()
        for data, told in (
            (PLAN.encode("utf-16"), "is not UTF-8"),
            (b"a = 1\nb = \n", "Line 2"),
            (b"x" * 2_000_001, "At most 2,000,000"),
            (PLAN.encode() + b"\x00", "is not TOML"),
        ):
            answer = self.client.post(address, sent(data))
            assert answer.status_code == 422, told
            assert told in answer.content.decode().replace("</a>", ""), told
        assert Plan.objects.count() == count
