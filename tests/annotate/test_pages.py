"""The annotate pages as requests: what each button does, what is refused, and with which status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotate.domain.content import MarkedSpan
from annotate.domain.vocabulary import DependencyType, Role, Segment, SpanLabel
from annotate.models import Assignment, Question, SourceVersion
from annotate.selectors.passes import content_of
from annotate.services.export_fixtures import export_fixtures
from annotate.services.freeze_fixtures import freeze_fixtures
from annotate.services.settled_import import settle_imported
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_member, make_person, make_question, make_source_version

pytestmark = pytest.mark.django_db


def client_of(person: object) -> Client:
    client = Client()
    client.force_login(person)
    return client


def form_of(desk: Desk, **fields: object) -> dict[str, object]:
    revision, content = content_of(desk.first)
    return {
        "revision": revision,
        "set_count": len(content.sets),
        "idempotency_key": "key-one",
        "answerable": "yes",
        "answer": "At most 7 days.",
        "dependency": "exception",
        "missing_behaviour": "abstain",
        "missing_text": "Abstain on the temporary-request limit.",
        **{f"set:{i}": list(members) for i, members in enumerate(content.sets)},
        **fields,
    }


def workspace_of(desk: Desk) -> str:
    return reverse("workspace", args=[desk.first.pk])


def mark(client: Client, desk: Desk, **fields: object) -> None:
    response = client.post(workspace_of(desk), form_of(desk, action="add-span", new_set="0", **fields))
    assert response.status_code == 302, response.content.decode()


def test_workspace_marks_by_bytes_and_by_quote_and_submits() -> None:
    desk = make_desk()
    client = client_of(desk.one)
    mark(client, desk, new_start="0", new_end="37", new_label="rule")
    mark(client, desk, new_quote="This limit is 7 days for requests marked temporary.", new_label="qualifier")
    _, content = content_of(desk.first)
    assert [(s.name, s.start, s.end) for s in content.spans] == [("rule", 0, 37), ("qualifier", 38, 89)]
    assert content.sets == (("rule", "qualifier"),)
    response = client.post(workspace_of(desk), form_of(desk, action="submit"))
    assert response.status_code == 302
    desk.first.refresh_from_db()
    assert desk.first.state == Assignment.State.SUBMITTED


def test_workspace_submitted_twice_with_one_key_makes_one_submission() -> None:
    desk = make_desk()
    client = client_of(desk.one)
    mark(client, desk, new_start="0", new_end="37", new_label="rule")
    form = form_of(desk, action="submit")
    assert client.post(workspace_of(desk), form).status_code == 302
    assert client.post(workspace_of(desk), form).status_code == 302
    assert desk.first.work.submissions.count() == 1
    again = client.post(workspace_of(desk), form | {"idempotency_key": "another"})
    assert again.status_code == 409
    assert desk.first.work.submissions.count() == 1


def test_workspace_preview_shows_the_slice_and_stores_no_span() -> None:
    desk = make_desk()
    client = client_of(desk.one)
    response = client.post(workspace_of(desk), form_of(desk, action="preview", new_start="38", new_end="48"))
    assert response.status_code == 200
    assert "<q>This limit</q>" in response.content.decode()
    assert content_of(desk.first)[1].spans == ()


@pytest.mark.parametrize(
    ("text", "fields", "said"),
    [
        ("💩abc", {"new_start": "1", "new_end": "5"}, "inside"),
        ("abc", {"new_start": "0", "new_end": "4"}, "3"),
        ("abc", {"new_start": "2", "new_end": "1"}, "new_start"),
        ("abc", {"new_start": "1", "new_end": "1"}, "new_start"),
        ("abc", {"new_start": "-1", "new_end": "2"}, "new_start"),
        ("abc", {"new_start": "0.0", "new_end": "2"}, "whole number"),
        ("abc", {"new_start": "true", "new_end": "2"}, "whole number"),
        ("abc", {"new_start": "1"}, "only one"),
        ("abc", {"new_quote": "xyz"}, "does not occur"),
        ("No fee. No fee.", {"new_quote": "No fee."}, "2 times"),
        ("No fee. No fee.", {"new_quote": "No fee.", "new_occurrence": "3"}, "2 times"),
        ("abc", {}, "nothing is selected"),
        ("abc", {"new_start": "0", "new_end": "1", "new_label": "nonsense"}, "nonsense"),
    ],
)
def test_workspace_span_refused_says_why_and_keeps_the_form(text: str, fields: dict[str, str], said: str) -> None:
    desk = make_desk(text)
    response = client_of(desk.one).post(workspace_of(desk), form_of(desk, action="add-span", **fields))
    assert response.status_code == 422
    body = response.content.decode()
    assert said in body
    assert "At most 7 days." in body
    assert content_of(desk.first)[1].spans == ()


def test_workspace_unknown_span_in_a_set_is_refused() -> None:
    desk = make_desk()
    form = form_of(desk, action="save") | {"set_count": "1", "set:0": ["ghost"]}
    response = client_of(desk.one).post(workspace_of(desk), form)
    assert response.status_code == 422
    assert "ghost" in response.content.decode()


def test_workspace_answerable_without_a_set_cannot_be_submitted() -> None:
    desk = make_desk()
    response = client_of(desk.one).post(workspace_of(desk), form_of(desk, action="submit"))
    assert response.status_code == 422
    desk.first.refresh_from_db()
    assert desk.first.state == Assignment.State.OPEN


def test_workspace_stale_revision_answers_409_and_keeps_both_texts() -> None:
    desk = make_desk()
    client = client_of(desk.one)
    old = form_of(desk, action="save")
    assert client.post(workspace_of(desk), form_of(desk, action="save", answer="Seven days.")).status_code == 302
    response = client.post(workspace_of(desk), old | {"answer": "Thirty days."})
    assert response.status_code == 409
    body = response.content.decode()
    assert "Seven days." in body
    assert "Thirty days." in body
    assert content_of(desk.first)[1].contract.answer == "Seven days."


def test_workspace_of_the_other_annotator_does_not_exist() -> None:
    desk = make_desk()
    for person in (desk.two, desk.adjudicator, desk.lead, make_person()):
        assert client_of(person).get(workspace_of(desk)).status_code == 404
        assert client_of(person).post(workspace_of(desk), form_of(desk, action="save")).status_code == 404


def test_workspace_shows_the_annotator_nothing_that_hints_at_the_answer() -> None:
    desk = make_desk()
    Question.objects.filter(pk=desk.question.pk).update(
        segment="rule-and-exception", slice_tags=["boundary:rule-then-exception"], group="grp-hint", sample="enriched"
    )
    body = client_of(desk.one).get(workspace_of(desk)).content.decode()
    for hint in ("boundary:rule-then-exception", "grp-hint", "nriched", "Rule and exception"):
        assert hint not in body


def test_workspace_draws_control_characters_as_atoms() -> None:
    desk = make_desk("a\x00b\r\nc\u0085d</pre><script>x</script>")
    body = client_of(desk.one).get(workspace_of(desk)).content.decode()
    assert 'data-atom="NUL"' in body
    assert 'data-atom="CR"' in body
    assert 'data-atom="U+0085"' in body
    assert "<script>x" not in body
    assert "\x00" not in body


def test_adjudication_of_two_passes_ends_in_a_settled_item() -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="Seven days at the most."))
    item = desk.question.items.get()
    client, url = client_of(desk.adjudicator), reverse("adjudicate", args=[item.pk])
    body = client.get(url).content.decode()
    assert desk.one.username not in body
    assert desk.two.username not in body
    difference = item.disagreements.get()
    assert client.post(url, {"action": "reject", "disagreement": difference.pk}).status_code == 422
    assert client.post(url, {"action": "edited", "disagreement": difference.pk, "value": "7 days."}).status_code == 422
    chosen = {"action": "a", "disagreement": difference.pk, "reason_code": "wording-only"}
    assert client.post(url, chosen).status_code == 302
    assert client.post(url, {"action": "confirm"}).status_code == 302
    form = {"action": "settle", "segment": "rule-and-exception"}
    assert client.post(url, form).status_code == 422
    for name in ("rule", "qualifier"):
        form |= {f"necessity:{name}": "necessary", f"reason:{name}": "The answer is wrong without it."}
    assert client.post(url, form).status_code == 302
    assert desk.question.results.get().segment == "rule-and-exception"
    assert "settled" in client.get(url).content.decode()


def test_adjudication_by_the_wrong_person_is_refused() -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content())
    url = reverse("adjudicate", args=[desk.question.items.get().pk])
    make_member(desk.study, Role.ADJUDICATOR, person=desk.one)
    # To who marked the question an item that is there would say that the other pass is in.
    assert client_of(desk.one).get(url).status_code == 404
    assert client_of(desk.two).get(url).status_code == 404
    assert client_of(desk.lead).post(url, {"action": "confirm"}).status_code == 403
    assert client_of(make_person()).get(url).status_code == 404


def test_source_import_refused_names_file_and_byte() -> None:
    desk = make_desk()
    url, client = reverse("sources", args=[desk.study.slug]), client_of(desk.lead)
    before = SourceVersion.objects.count()
    fields = {"document_id": "fees", "version_label": "v1", "observation_date": "2026-01-01"}
    for data in (b"ab\xf0\x9f\x92", b""):
        response = client.post(url, fields | {"file": SimpleUploadedFile("fees.md", data)})
        assert response.status_code == 422
        assert "fees.md" in response.content.decode() or not data
    assert SourceVersion.objects.count() == before
    good = client.post(url, fields | {"file": SimpleUploadedFile("fees.md", "Gebühr: 10 €\r\n".encode())})
    assert good.status_code == 302
    version = SourceVersion.objects.get(source__document_id="fees")
    assert bytes(version.content) == "Gebühr: 10 €\r\n".encode()
    assert client_of(desk.one).post(url, fields).status_code == 403
    response = client.get(reverse("source-download", args=[desk.study.slug, version.pk]))
    assert response.content == "Gebühr: 10 €\r\n".encode()
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"


def test_restricted_range_is_offsets_without_text() -> None:
    desk = make_desk()
    secret = make_source_version(desk.study, "Open part. The secret part.", access_ranges=[(11, 27, ["finance"])])
    page = reverse("source", args=[desk.study.slug, secret.pk])
    body = client_of(desk.one).get(page).content.decode()
    assert "Open part." in body
    assert "secret" not in body
    assert "bytes 11–27" in body
    assert client_of(desk.one).get(page + "bytes/").status_code == 404
    cleared = make_member(desk.study, Role.OBSERVER, clearance=["finance"])
    assert "secret part" in client_of(cleared).get(page).content.decode()


def test_freeze_page_lists_blocks_and_freezes_once() -> None:
    desk = make_desk()
    url, client = reverse("fixtures", args=[desk.study.slug]), client_of(desk.lead)
    assert "not settled" in client.get(url).content.decode() or "settle" in client.get(url).content.decode()
    assert client.post(url, {"name": "first"}).status_code == 422
    assert desk.study.fixture_sets.count() == 0


@pytest.mark.parametrize("rows", [1, 3])
def test_lists_cost_the_same_queries_at_one_and_three_rows(rows: int, django_assert_max_num_queries: object) -> None:
    desk = make_desk()
    for _ in range(rows - 1):
        make_question(desk.study)
    client = client_of(desk.lead)
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        assert client.get(reverse("questions", args=[desk.study.slug])).status_code == 200
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        assert client.get(reverse("sources", args=[desk.study.slug])).status_code == 200


def test_fixture_page_blanks_the_answer_of_evidence_the_reader_may_not_read() -> None:
    desk = make_desk("Open. Paid secretly.", reader_labels=["finance"])
    lead = make_member(desk.study, Role.LEAD, clearance=["finance"])
    version = make_source_version(
        desk.study, "Bonus: 900 euros.", document_id="bonus", access_labels=["finance"], version_label="v1"
    )
    content = desk.content(
        answer="900 euros.",
        dependency=DependencyType.NONE,
        spans=(MarkedSpan(version.sha256, 0, 17, "rule", SpanLabel.RULE),),
        sets=(("rule",),),
    )
    with transaction.atomic():
        settle_imported(lead, desk.question, content, Segment.NUMBER_AND_SCOPE)
    found = freeze_fixtures(lead, desk.study, "one")
    url = reverse("fixture-set", args=[desk.study.slug, found.pk])
    assert "900 euros." in client_of(lead).get(url).content.decode()
    body = client_of(make_member(desk.study, Role.OBSERVER)).get(url).content.decode()
    assert "900 euros." not in body
    assert "bonus" not in body
    assert "your labels do not cover" in body


def test_questions_page_hides_the_segment_from_who_marks_the_question() -> None:
    desk = make_desk(segment=Segment.CROSS_REFERENCE)
    make_member(desk.study, Role.OBSERVER, person=desk.one)
    url = reverse("questions", args=[desk.study.slug])
    body = client_of(desk.one).get(url).content.decode()
    assert "yours to mark" in body
    assert "Cross reference" not in body
    assert "of 2 passes" not in body
    assert "Cross reference" in client_of(desk.lead).get(url).content.decode()


def test_fixture_marked_by_hand_on_the_pages_is_the_published_one_byte_for_byte(tmp_path: Path) -> None:
    published = (Path(__file__).parents[1] / "golden" / "temporary-retention-v1.json").read_bytes()
    key = "temporary-retention-v1"
    desk = make_desk(key=key, document_id=key, text=json.loads(published)["question"])
    for assignment in (desk.first, desk.second):
        client, url = client_of(assignment.annotator), reverse("workspace", args=[assignment.pk])

        def send(client: Client = client, url: str = url, work: Assignment = assignment, **fields: object) -> None:
            revision, content = content_of(work)
            form = form_of(desk, **fields) | {"revision": revision, "set_count": len(content.sets)}
            form |= {f"set:{i}": list(members) for i, members in enumerate(content.sets)}
            form["idempotency_key"] = f"key-{work.pk}"
            assert client.post(url, form).status_code == 302

        send(action="add-span", new_set="0", new_start="0", new_end="37", new_label="rule")
        send(action="add-span", new_set="0", new_start="38", new_end="89", new_label="qualifier")
        send(action="submit")
    item = reverse("adjudicate", args=[desk.question.items.get().pk])
    settle = {"action": "settle", "segment": "rule-and-exception"}
    for name in ("rule", "qualifier"):
        settle |= {f"necessity:{name}": "necessary", f"reason:{name}": "The limit is wrong without it."}
    for form in ({"action": "confirm"}, settle):
        assert client_of(desk.adjudicator).post(item, form).status_code == 302
    frozen = client_of(desk.lead).post(reverse("fixtures", args=[desk.study.slug]), {"name": "one"})
    assert frozen.status_code == 302
    export_fixtures(desk.lead, desk.study.fixture_sets.get(), tmp_path / "out")
    assert (tmp_path / "out" / "published" / f"{key}.json").read_bytes() == published
