"""The API of sources, questions, tasks and fixture sets: what it returns, what it refuses, and how."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.domain.content import PassContent
from annotate.domain.content_codec import content_payload
from annotate.domain.vocabulary import Role
from annotate.models import Assignment, Person, RefusedSave, Submission
from annotate.selectors.passes import content_of
from tests.annotate.passes import Desk, make_desk
from tests.factories import make_assignment, make_member, make_question, make_source_version, make_study
from tests.factories.sweeps import make_fixture_set

pytestmark = pytest.mark.django_db
JSON = "application/json"


def client_of(person: Person, **options: Any) -> Client:
    client = Client(raise_request_exception=False, **options)
    client.force_login(person)
    return client


def put(
    client: Client, desk: Desk, content: PassContent | Any, revision: int | str | None, **more: Any
) -> HttpResponse:
    body = {"content": content_payload(content) if isinstance(content, PassContent) else content, **more}
    headers = {} if revision is None else {"If-Match": f'"{revision}"' if isinstance(revision, int) else revision}
    return client.put(reverse("api-task-content", args=[desk.first.pk]), json.dumps(body), JSON, headers=headers)


def problems(answer: HttpResponse) -> list[dict[str, str]]:
    """Return an answer's problems, each of the one shape."""
    body = answer.json()
    assert body["error"]
    assert all(set(problem) == {"where", "what", "mend"} and problem["what"] for problem in body["problems"]), body
    return body["problems"]


def test_pass_saved_and_submitted_by_the_api_is_the_pass_of_the_pages() -> None:
    desk = make_desk()
    client, content = client_of(desk.one), desk.content()
    task = client.get(reverse("api-tasks")).json()["results"][0]
    empty = client.get(task["content"])
    assert (empty["ETag"], empty.json()["revision"]) == ('"0"', 0)
    saved = put(client, desk, content, 0, quotes={"rule": "Requests may be retained for 30 days."})
    assert (saved.status_code, saved["ETag"]) == (200, '"1"')
    assert content_of(desk.first) == (1, content)
    assert client.get(task["content"]).json() == saved.json()
    assert client.get(task["content"], {"revision": 0}).json()["content"] == empty.json()["content"]
    url = reverse("api-task-submissions", args=[desk.first.pk])
    headers = {"If-Match": '"1"', "Idempotency-Key": "once-and-only"}
    first, again = (client.post(url, b"{}", JSON, headers=headers) for _ in range(2))
    assert (first.status_code, first.json()) == (201, again.json())
    assert Submission.objects.count() == 1
    other = client.post(url, b"{}", JSON, headers=headers | {"Idempotency-Key": "another-key"})
    assert other.status_code == 409
    assert put(client, desk, desk.content(answer="Late."), 1).status_code == 409
    assert client.get(task["url"]).json()["submissions"] == [first.json()]


def test_stale_save_answers_409_with_both_texts_and_keeps_what_was_sent() -> None:
    desk = make_desk()
    client = client_of(desk.one)
    assert put(client, desk, desk.content(), 0).status_code == 200
    answer = put(client, desk, desk.content(answer="Thirty."), 0)
    assert answer.status_code == 409
    body = answer.json()
    assert (body["expected_revision"], body["current_revision"]) == (0, 1)
    assert body["theirs"]["contract"]["answer"] == "At most 7 days."
    assert body["mine"]["contract"]["answer"] == "Thirty."
    assert RefusedSave.objects.get(pk=body["refused_save"]).saved_by == desk.one
    assert content_of(desk.first) == (1, desk.content())


@pytest.mark.parametrize(
    ("revision", "status"), [(None, 428), ("*", 422), ("1", 422), ('W/"0"', 422), ('"0", "1"', 422), ('"x"', 422)]
)
def test_save_without_one_revision_is_refused(revision: str | None, status: int) -> None:
    desk = make_desk()
    answer = put(client_of(desk.one), desk, desk.content(), revision)
    assert answer.status_code == status
    assert problems(answer)
    assert content_of(desk.first)[0] == 0


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"start": True}, "start"),
        ({"start": "0"}, "start"),
        ({"start": 0.0}, "start"),
        ({"start": -1}, "start"),
        ({"end": 10**30}, "span"),
        ({"end": 10**400}, "span"),
        ({"start": 37, "end": 37}, "span"),
        ({"version": "f" * 64}, "version"),
        ({"version": "F" * 64}, "version"),
        ({"name": "a b"}, "name"),
        ({"name": "nul\x00"}, "name"),
        ({"label": "nonsense"}, "label"),
        ({"colour": "red"}, "span"),
    ],
)
def test_bad_span_is_refused_with_its_place_and_nothing_is_written(change: dict[str, Any], where: str) -> None:
    desk = make_desk()
    body = content_payload(desk.content())
    body["spans"][0] |= change
    answer = put(client_of(desk.one), desk, body, 0)
    assert answer.status_code == 422
    assert where in problems(answer)[0]["where"]
    assert content_of(desk.first) == (0, PassContent())


def test_quote_that_does_not_match_is_refused_with_the_text_that_stands_there() -> None:
    desk = make_desk()
    answer = put(client_of(desk.one), desk, desk.content(), 0, quotes={"rule": "Requests may be retained for 31 days."})
    assert answer.status_code == 422
    assert "30 days" in json.dumps(problems(answer))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff{}", 400),
        (b"\xef\xbb\xbf{}", 400),
        (b"[]", 422),
        (b"null", 422),
        (b"{}", 422),
        (b'{"content": NaN}', 400),
        (b'{"content": {}, "content": {}}', 400),
        (b'{"content": "\\ud800"}', 400),
        (b'{"content": ' + b"1" * 5000 + b"}", 400),
        (b'{"content": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", 400),
        (b'{"content": ' + b"[" * 60 + b"]" * 60 + b"}", 400),
        (b'{"content": {}, "extra": 1}', 422),
        (b'{"content": {}, "quotes": []}', 422),
        (b'{"content": {"contract": 1, "spans": 2, "sets": 3, "forbidden": 4}}', 422),
    ],
)
def test_malformed_body_is_a_clear_4xx_and_never_a_500(body: bytes, status: int) -> None:
    desk = make_desk()
    url = reverse("api-task-content", args=[desk.first.pk])
    answer = client_of(desk.one).put(url, body, JSON, headers={"If-Match": '"0"'})
    assert answer.status_code == status
    assert problems(answer)


def test_other_media_types_and_charsets_are_refused() -> None:
    desk = make_desk()
    client, url = client_of(desk.one), reverse("api-task-content", args=[desk.first.pk])
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/xml"):
        answer = client.put(url, b"a=1", media_type, headers={"If-Match": '"0"'})
        assert answer.status_code == 415
        assert problems(answer)
    assert client.get(url, headers={"Accept": "text/html"})["Content-Type"] == JSON


def test_body_over_the_limit_is_refused(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    desk = make_desk()
    answer = put(client_of(desk.one), desk, desk.content(answer="x" * 2000), 0)
    assert answer.status_code == 413
    assert problems(answer)


@pytest.mark.parametrize("key", ["", "short", "with space in it", "x" * 65, "schlüssel-mit-umlaut"])
def test_submit_without_a_usable_key_is_refused(key: str) -> None:
    desk = make_desk()
    client = client_of(desk.one)
    put(client, desk, desk.content(), 0)
    headers = {"If-Match": '"1"', "Idempotency-Key": key}
    answer = client.post(reverse("api-task-submissions", args=[desk.first.pk]), b"{}", JSON, headers=headers)
    assert answer.status_code == 422
    assert problems(answer)[0]["where"] == "Idempotency-Key"
    assert not Submission.objects.exists()


def test_incomplete_pass_cannot_be_submitted_and_every_gap_is_named() -> None:
    desk = make_desk()
    client = client_of(desk.one)
    put(client, desk, PassContent(desk.content(answer="").contract), 0)
    headers = {"If-Match": '"1"', "Idempotency-Key": "a-good-key"}
    answer = client.post(reverse("api-task-submissions", args=[desk.first.pk]), b"{}", JSON, headers=headers)
    assert answer.status_code == 422
    assert len(problems(answer)) > 1
    assert Assignment.objects.get(pk=desk.first.pk).state == Assignment.State.OPEN


def test_span_in_a_section_that_is_hidden_is_refused_without_its_text() -> None:
    desk = make_desk()
    secret = make_source_version(desk.study, "Open part. The secret part.", access_ranges=[(11, 27, ["finance"])])
    body = content_payload(desk.content())
    body["spans"][0] |= {"version": secret.sha256, "start": 8, "end": 20}
    answer = put(client_of(desk.one), desk, body, 0, quotes={"rule": "guess"})
    assert answer.status_code == 422
    assert "secret" not in answer.content.decode()


def test_bytes_are_exact_and_hidden_ranges_are_offsets() -> None:
    study = make_study()
    data = "\ufeffNaïve 📏\r\nrow\x00\rend. The secret part. After.".encode()
    start = data.index(b"The secret")
    version = make_source_version(study, data, access_ranges=[(start, start + 16, ["finance"])])
    url = reverse("api-version", args=[study.slug, version.pk])
    raw = reverse("api-version-bytes", args=[study.slug, version.pk])
    client, cleared = client_of(make_member(study)), client_of(make_member(study, clearance=["finance"]))
    assert client.get(url).json()["hidden"] == [[start, start + 16]]
    assert cleared.get(url).json()["hidden"] == []
    whole = cleared.get(raw)
    assert hashlib.sha256(whole.content).hexdigest() == version.sha256
    assert whole["Content-Type"] == "application/octet-stream"
    assert whole["Content-Disposition"].startswith("attachment")
    assert client.get(raw, {"end": start}).content == data[:start]
    assert client.get(raw, {"start": start + 16}).content == data[start + 16 :]
    for query in (
        {},
        {"start": start},
        {"start": start - 1, "end": start + 1},
        {"start": start + 15, "end": len(data)},
    ):
        answer = client.get(raw, query)
        assert answer.status_code == 422
        assert "secret" not in answer.content.decode()
    for query in ({"start": 5, "end": 4}, {"end": len(data) + 1}, {"start": "-1"}, {"start": "true"}, {"start": "1e3"}):
        assert client.get(raw, query).status_code == 422
    assert client.get(raw, {"start": "9" * 400}).status_code == 422


def test_labelled_version_does_not_exist_for_who_lacks_the_label() -> None:
    study = make_study()
    old = make_source_version(study, "Old.", document_id="hr", access_labels=["hr"])
    new = make_source_version(study, "New.", source=old.source, supersedes=old)
    client, cleared = client_of(make_member(study)), client_of(make_member(study, clearance=["hr"]))
    listed = client.get(reverse("api-versions", args=[study.slug])).json()["results"]
    assert [(row["id"], row["supersedes"]) for row in listed] == [(new.pk, None)]
    assert client.get(reverse("api-version", args=[study.slug, old.pk])).status_code == 404
    assert client.get(reverse("api-version-bytes", args=[study.slug, old.pk])).status_code == 404
    answer = cleared.get(reverse("api-version", args=[study.slug, new.pk]))
    assert answer.json()["supersedes"] == old.sha256


def test_annotator_sees_own_questions_and_no_hint() -> None:
    desk = make_desk(segment="rule-and-exception", slice_tags=["boundary:cut"], group="g1")
    make_question(desk.study)
    url = reverse("api-questions", args=[desk.study.slug])
    mine = client_of(desk.one).get(url).json()["results"]
    assert [set(row) for row in mine] == [{"key", "text", "reader_labels", "as_of", "locale", "url"}]
    rows = client_of(desk.lead).get(url).json()["results"]
    assert len(rows) == 2
    assert {row["key"]: row["segment"] for row in rows}[desk.question.key] == "rule-and-exception"
    assert client_of(desk.one).get(mine[0]["url"]).json() == mine[0]


def test_canonical_bytes_have_the_digest_that_is_listed() -> None:
    fixture_set = make_fixture_set()
    study = fixture_set.study
    lead = client_of(make_member(study, Role.LEAD, clearance=["staff"]))
    detail = lead.get(reverse("api-fixture-set", args=[study.slug, fixture_set.pk])).json()
    assert detail["fixtures"] == 12
    assert hashlib.sha256(lead.get(detail["canonical"]).content).hexdigest() == detail["digest"] == fixture_set.digest
    rows = lead.get(reverse("api-fixtures", args=[study.slug, fixture_set.pk])).json()["results"]
    assert len(rows) == 12
    for row in rows[:3]:
        answer = lead.get(row["canonical"])
        assert hashlib.sha256(answer.content).hexdigest() == row["digest"]
        assert answer["ETag"] == f'"{row["digest"]}"'
    uncleared = client_of(make_member(study, Role.LEAD)).get(detail["canonical"])
    assert uncleared.status_code == 403
    assert "labels you do not hold" in problems(uncleared)[0]["what"]


@pytest.mark.parametrize(
    "query",
    ["unknown=1", "password=x", "question__study__memberships__person__password=x", "limit=0", "limit=501", "limit=x",
     "limit=1&limit=2", "after=999999", "after=-1", "after=true", "after=9e9", "after=" + "9" * 5000, "state=done",
     "state=%00", "study=%00", "study=", "format=xml", "page=2"],
)  # fmt: skip
def test_parameters_that_are_not_listed_or_not_read_are_422(query: str) -> None:
    desk = make_desk()
    answer = client_of(desk.one).get(f"{reverse('api-tasks')}?{query}")
    assert answer.status_code == 422
    assert problems(answer)


def test_every_endpoint_refuses_an_unknown_parameter() -> None:
    desk = make_desk()
    for name, args in (
        ("api", []),
        ("api-study", [desk.study.slug]),
        ("api-version", [desk.study.slug, desk.version.pk]),
    ):
        assert client_of(desk.lead).get(reverse(name, args=args), {"x": "1"}).status_code == 422


def test_pages_follow_one_another_without_gap_or_repeat_and_survive_new_rows() -> None:
    study = make_study()
    lead = make_member(study, Role.LEAD)
    for name in ("a", "b", "c", "d", "e"):
        make_source_version(study, document_id=name)
        make_source_version(study, f"{name} two", source=study.sources.get(document_id=name))
    client, url = client_of(lead), f"{reverse('api-versions', args=[study.slug])}?limit=3"
    seen: list[int] = []
    while url:
        body = client.get(url).json()
        assert len(body["results"]) <= 3
        seen += [row["id"] for row in body["results"]]
        url = body["next"]
        make_source_version(study, f"late {len(seen)}", document_id=f"0{len(seen)}")
    whole = [row["id"] for row in client.get(reverse("api-versions", args=[study.slug])).json()["results"]]
    assert len(seen) == len(set(seen)) == 10
    assert seen == [pk for pk in whole if pk in seen]
    only = client.get(reverse("api-versions", args=[study.slug]), {"document": "c"}).json()["results"]
    assert [row["document_id"] for row in only] == ["c", "c"]


@pytest.mark.parametrize(
    "name", ["api-studies", "api-sources", "api-versions", "api-questions", "api-tasks", "api-fixture-sets"]
)
def test_list_asks_as_often_for_three_rows_as_for_one(name: str) -> None:
    study = make_study()
    person = make_member(study, *Role, clearance=["hr"])
    client = client_of(person)
    url = reverse(name, args=[study.slug] if name not in {"api-studies", "api-tasks"} else [])

    def add() -> None:
        old = make_source_version(study, access_labels=["hr"])
        make_source_version(study, "Newer.", source=old.source, supersedes=old)
        make_assignment(make_question(study), person)
        make_member(make_study(), person=person)
        study.fixture_sets.create(name=f"s{study.fixture_sets.count()}", digest=f"{study.fixture_sets.count():064}")

    def count() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(url)
        return len(captured), len(answer.json()["results"])

    add()
    at_one, rows = count()
    add()
    add()
    at_three, more = count()
    assert more > rows > 0
    assert at_three == at_one <= 12


def test_answers_are_never_stored_and_vary_by_who_asks() -> None:
    desk = make_desk()
    for client, url in (
        (client_of(desk.one), reverse("api-task-content", args=[desk.first.pk])),
        (client_of(desk.one), reverse("api-task", args=[desk.second.pk])),
        (client_of(desk.lead), reverse("api-version-bytes", args=[desk.study.slug, desk.version.pk])),
        (Client(), reverse("api-studies")),
    ):
        answer = client.get(url)
        assert answer["Cache-Control"] == "no-store"
        assert "Cookie" in answer["Vary"]


def test_huge_keys_in_addresses_are_404() -> None:
    desk = make_desk()
    client = client_of(desk.lead)
    for key in (2**31, 2**63 - 1, 2**63, 10**30, int("9" * 4000)):
        for url in (f"/api/tasks/{key}/", f"/tasks/{key}/", f"/api/plans/{key}/", f"/plans/{key}/", f"/sweeps/{key}/",
                    f"/api/studies/{desk.study.slug}/versions/{key}/", f"/studies/{desk.study.slug}/sources/{key}/",
                    f"/adjudication/{key}/", f"/studies/{desk.study.slug}/fixtures/{key}/"):  # fmt: skip
            assert client.get(url).status_code == 404, url[:60]


def test_archived_study_can_be_read_and_not_written() -> None:
    from django.utils import timezone

    desk = make_desk()
    desk.study.archived_at = timezone.now()
    desk.study.save()
    client = client_of(desk.one)
    assert client.get(reverse("api-task-content", args=[desk.first.pk])).status_code == 200
    answer = put(client, desk, desk.content(), 0)
    assert answer.status_code == 422
    assert "archived" in problems(answer)[0]["what"]
