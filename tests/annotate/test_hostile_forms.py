"""What a browser never sends and somebody else does: every form answers it with a 4xx that says why."""

from __future__ import annotations

import json
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import reverse

from annotate.domain.content import MarkedSpan, PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Choice, Role, SpanLabel
from annotate.models import AdjudicationItem, Decision, Question
from annotate.permissions import OPERATOR
from annotate.selectors.passes import content_of
from annotate.services.decide import confirm_agreed, decide
from annotate.services.members import add_member, create_person
from annotate.services.save_pass import save_pass
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_source_version, make_study

pytestmark = pytest.mark.django_db

NOT_NUMBERS = ["²", "٣", "--5", "-", "1e3", "1.0", "0x10", "+3", "1_0", "9" * 13, "9" * 5000, "\x00", "true"]
SECRET = "秘密の給与は九百万円です。"
OPEN = "Anyone may read this. "


def client_of(person: object) -> Client:
    client = Client()
    client.force_login(person)
    return client


def post(desk: Desk, **fields: object) -> tuple[int, str]:
    form = {"revision": content_of(desk.first)[0], "set_count": 0, "answerable": "yes", "action": "save", **fields}
    response = client_of(desk.one).post(reverse("workspace", args=[desk.first.pk]), form)
    return response.status_code, response.content.decode()


def restricted_desk() -> Desk:
    """Return a desk whose source has a section that the annotators may not read."""
    start, end = len(OPEN.encode()), len((OPEN + SECRET).encode())
    study = make_study()
    desk = make_desk(study=study)
    desk.version = make_source_version(
        study, OPEN + SECRET + " Open end.", document_id="pay", access_ranges=[[start, end, ["hr"]]]
    )
    return desk


def on_the_restricted_one(desk: Desk, **fields: object) -> tuple[int, str]:
    form = {"revision": content_of(desk.first)[0], "set_count": 0, "answerable": "yes", **fields}
    address = f"{reverse('workspace', args=[desk.first.pk])}?version={desk.version.pk}"
    response = client_of(desk.one).post(address, form)
    return response.status_code, response.content.decode()


@pytest.mark.parametrize("field", ["revision", "set_count", "new_start", "new_end", "new_occurrence", "new_set"])
def test_workspace_number_not_written_in_ascii_digits(field: str) -> None:
    desk = make_desk()
    for raw in NOT_NUMBERS:
        bytes_given = {"new_start": "0", "new_end": "5"} if field in ("new_start", "new_end") else {"new_quote": "This"}
        status, _ = post(desk, **{"action": "add-span", **bytes_given, field: raw})
        assert status == 422, raw
    assert content_of(desk.first) == (0, PassContent())


@pytest.mark.parametrize("raw", ["²", "9" * 5000, "-1", ""])
def test_workspace_set_dropped_by_no_number(raw: str) -> None:
    assert post(make_desk(), action=f"remove-set:{raw}")[0] == 422


def test_workspace_revision_beyond_an_integer_column() -> None:
    desk = make_desk()
    assert post(desk, revision="999999999999")[0] == 422
    assert post(desk, revision="999999999")[0] == 409


def test_workspace_save_of_more_sets_than_letters() -> None:
    desk = make_desk()
    spans = tuple(desk.span(f"s{i}", i, i + 1) for i in range(40))
    sets = tuple((span.name,) for span in spans)
    save_pass(desk.one, desk.first, 0, desk.content(spans=spans, sets=sets))
    members = {f"set:{i}": [span.name] for i, span in enumerate(spans)}
    status, _ = post(desk, set_count=40, answer="Changed.", **members)
    assert status == 302
    _, kept = content_of(desk.first)
    assert (kept.sets, kept.contract.answer) == (sets, "Changed.")
    assert post(desk, set_count=201)[0] == 422


def test_workspace_form_of_a_pass_with_thousands_of_spans() -> None:
    desk = make_desk()
    fields = {f"{kind}:s{i}": "rule" for i in range(2_000) for kind in ("label", "rename")}
    assert post(desk, answer="Kept.", **fields)[0] == 302
    assert content_of(desk.first)[1].contract.answer == "Kept."


def test_workspace_offset_inside_a_restricted_character() -> None:
    desk = restricted_desk()
    start = len(OPEN.encode())
    for offset in range(start, start + len(SECRET.encode())):
        status, page = on_the_restricted_one(desk, action="preview", new_start=str(offset), new_end=str(offset + 1))
        assert status == 422
        assert not set(SECRET) & set(page), f"the refusal at byte {offset} shows restricted text"


def test_workspace_quote_that_stands_only_in_a_restricted_section() -> None:
    desk = restricted_desk()
    refusals = set()
    for guess in ("九百万円", "八百万円"):
        status, page = on_the_restricted_one(desk, action="preview", new_quote=guess)
        assert status == 422
        refusals.add(page[page.index('role="alert"') :][:400].replace(guess, ""))
    assert len(refusals) == 1, "right and wrong guesses are told apart"


def test_workspace_quote_of_a_span_whose_label_was_taken_away() -> None:
    desk = restricted_desk()
    add_member(OPERATOR, desk.study, desk.one, Role.ANNOTATOR, ["hr"])
    start, end = len(OPEN.encode()), len((OPEN + SECRET).encode())
    span = MarkedSpan(desk.version.sha256, start, end, "pay", SpanLabel.RULE)
    save_pass(desk.one, desk.first, 0, PassContent(spans=(span,)))
    address = f"{reverse('workspace', args=[desk.first.pk])}?version={desk.version.pk}"
    assert SECRET in client_of(desk.one).get(address).content.decode()
    add_member(OPERATOR, desk.study, desk.one, Role.ANNOTATOR, [])
    page = client_of(desk.one).get(address).content.decode()
    assert "pay" in page
    assert SECRET not in page


def test_api_quote_of_a_span_that_is_not_sent() -> None:
    desk = make_desk()
    body = {"content": content_payload(desk.content()), "quotes": {"ruel": "Requests"}}
    response = client_of(desk.one).put(
        reverse("api-task-content", args=[desk.first.pk]),
        json.dumps(body),
        content_type="application/json",
        headers={"If-Match": '"0"'},
    )
    assert (response.status_code, "ruel" in response.content.decode()) == (422, True)
    assert content_of(desk.first)[0] == 0


def unanswered_item() -> tuple[Desk, AdjudicationItem]:
    """Return an item whose passes differ on whether the sources answer the question."""
    desk = make_desk()
    desk.submit_both(desk.content(), PassContent(desk.content(answerable=False, answer="").contract))
    return desk, AdjudicationItem.objects.get(question=desk.question)


@pytest.mark.parametrize(
    "value",
    ["[" * 100_000, '{"a":1,"a":2}', '{"\\ud800":1}', '{"contract":NaN}', "9" * 5000, "\ufeff", ""],
)
def test_adjudicated_json_that_is_none(value: str) -> None:
    desk, item = unanswered_item()
    difference = item.disagreements.get(kind="answerability")
    client = client_of(desk.adjudicator)
    form = {"action": "edited", "disagreement": difference.pk, "reason": "Both are wrong.", "value": value}
    assert client.post(reverse("adjudicate", args=[item.pk]), form).status_code == 422
    assert not Decision.objects.filter(item=item).exists()


def test_adjudicated_json_with_half_a_character_in_a_name() -> None:
    desk, item = unanswered_item()
    difference = item.disagreements.get(kind="answerability")
    value = json.dumps({**content_payload(desk.content()), "\ud800": 1})
    form = {"action": "edited", "disagreement": difference.pk, "reason": "Both are wrong.", "value": value}
    response = client_of(desk.adjudicator).post(reverse("adjudicate", args=[item.pk]), form)
    assert response.status_code == 422


def test_decision_sent_twice() -> None:
    desk = make_desk()
    desk.submit_both(desk.content(), desk.content(answer="7 days."))
    item = AdjudicationItem.objects.get(question=desk.question)
    difference = item.disagreements.get(kind="answer")
    client = client_of(desk.adjudicator)
    form = {"action": "a", "disagreement": difference.pk}
    for _ in range(2):
        assert client.post(reverse("adjudicate", args=[item.pk]), form).status_code == 302
        assert client.post(reverse("adjudicate", args=[item.pk]), {"action": "confirm"}).status_code == 302
    assert item.decisions.count() == 2
    other = decide(desk.adjudicator, item, difference, Choice.B)
    again = decide(desk.adjudicator, item, difference, Choice.A)
    assert [other.ordinal, again.ordinal, confirm_agreed(desk.adjudicator, item).ordinal] == [3, 4, 2]


def test_set_edit_naming_no_text() -> None:
    desk = make_desk()
    three = (*desk.content().spans, desk.span("more", 0, 4))
    desk.submit_both(desk.content(spans=three), desk.content(spans=three, sets=(("rule", "qualifier"), ("more",))))
    item = AdjudicationItem.objects.get(question=desk.question)
    difference = item.disagreements.get(kind="set-missing")
    with pytest.raises(BadInput, match="there is no span called"):
        decide(desk.adjudicator, item, difference, Choice.EDITED, [["rule"]], reason="Neither.")


def test_person_named_with_a_ligature_signs_in() -> None:
    study = make_study()
    password = uuid.uuid4().hex
    create_person(OPERATOR, study, "ﬁona", password=password)
    response = Client().post(reverse("sign-in"), {"username": "ﬁona", "password": password})
    assert response.status_code == 302


@override_settings(MAX_SOURCE_BYTES=1024)
def test_questions_upload_larger_than_a_source_may_be() -> None:
    desk = make_desk()
    upload = SimpleUploadedFile("questions.toml", b"#" * 1025)
    response = client_of(desk.lead).post(reverse("questions", args=[desk.study.slug]), {"file": upload})
    assert response.status_code == 422
    assert "1025 bytes" in response.content.decode()
    assert Question.objects.filter(study=desk.study).count() == 1
