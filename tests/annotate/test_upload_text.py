"""Text that comes with an upload and is no UTF-8: refused with its field and byte, and nothing is stored."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.files.uploadhandler import MemoryFileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.vocabulary import Role
from annotate.models import Person, Question, Source, SourceVersion
from annotate.multipart_text import NOT_UTF8, Utf8MultiPartParser, _Watch
from evaluation.models import Plan
from ledger.models import Record
from tests.annotate.passes import make_desk
from tests.factories.studies import make_member
from tests.factories.sweeps import make_fixture_set

pytestmark = pytest.mark.django_db

BOUNDARY = b"zq7bound"
UPLOAD = f"multipart/form-data; boundary={BOUNDARY.decode()}"
BAD = [
    (b"\xed\xa0\x80", "byte 0 (0xed)"),
    (b"ab\xff", "byte 2 (0xff)"),
    (b"\xc3", "byte 0 (0xc3)"),
    ("é".encode() + b"\x80", "byte 2 (0x80)"),
]
FIELDS = {
    "document_id": b"notice",
    "title": b"Notice",
    "version_label": b"v1",
    "observation_date": b"2026-11-30",
    "locale": b"en",
    "access_labels": b"",
}


def part(name: bytes, value: bytes, *, filename: bytes | None = None, more: bytes = b"") -> bytes:
    """Return one part of an upload, a file's where it has a `filename`; `more` are further header lines."""
    named = b"" if filename is None else b'; filename="' + filename + b'"'
    disposition = b'Content-Disposition: form-data; name="' + name + b'"' + named
    return b"--" + BOUNDARY + b"\r\n" + disposition + b"\r\n" + more + b"\r\n" + value + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--" + BOUNDARY + b"--\r\n"


def source_form(file: bytes = b"Text.", filename: bytes = b"notice.txt", **changes: bytes) -> bytes:
    fields = FIELDS | changes
    return form(*(part(k.encode(), v) for k, v in fields.items()), part(b"file", file, filename=filename))


def send(person: Person, url: str, body: bytes, content_type: str = UPLOAD) -> HttpResponse:
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client.post(url, body, content_type=content_type)


def refused(answer: HttpResponse, where: str, what: str) -> bool:
    page = answer.content.decode()
    assert answer.status_code == 400, page[-600:]
    assert answer["Cache-Control"] == "no-store"
    return f"<code>{where}</code>: its {what} is not UTF-8" in page


@pytest.mark.parametrize(("bad", "byte"), BAD)
def test_source_text_field_that_is_no_utf8_is_refused_and_nothing_is_stored(bad: bytes, byte: str) -> None:
    desk = make_desk()
    url = reverse("sources", args=[desk.study.slug])
    before = (Source.objects.count(), SourceVersion.objects.count(), Record.objects.count())
    for field in FIELDS:
        assert refused(send(desk.lead, url, source_form(**{field: bad})), field, byte)
    assert refused(send(desk.lead, url, source_form(filename=bad + b".txt")), "file, file name", byte)
    assert (Source.objects.count(), SourceVersion.objects.count(), Record.objects.count()) == before
    # The very same form in UTF-8 is taken, U+FFFD in it as the character it is.
    assert send(desk.lead, url, source_form(title="a \ufffd é".encode(), filename="é.txt".encode())).status_code == 302
    assert Source.objects.get(document_id="notice").title == "a \ufffd é"


def test_file_contents_are_the_business_of_who_reads_them() -> None:
    desk = make_desk()
    answer = send(desk.lead, reverse("sources", args=[desk.study.slug]), source_form(file=b"Text \xff."))
    assert answer.status_code == 422
    assert "0xff" in answer.content.decode()
    assert not Source.objects.filter(document_id="notice").exists()


def test_questions_and_plans_are_refused_likewise() -> None:
    desk = make_desk()
    url = reverse("questions", args=[desk.study.slug])
    body = form(part(b"file", b"", filename=b"q\xe9.toml"))
    assert refused(send(desk.lead, url, body), "file, file name", "byte 1 (0xe9)")
    assert Question.objects.filter(study=desk.study).count() == 1
    fixture_set = make_fixture_set()
    lead = make_member(fixture_set.study, Role.LEAD)
    url = reverse("plans", args=[fixture_set.study.slug])
    body = form(part(b"fixture_set", fixture_set.name.encode()), part(b"toml", b'name = "caf\xe9"'))
    assert refused(send(lead, url, body), "toml", "byte 11 (0xe9)")
    assert not Plan.objects.exists()


@pytest.mark.parametrize("bad", [bad for bad, _ in BAD])
def test_bad_field_name_is_refused_and_not_dropped_in_silence(bad: bytes) -> None:
    desk = make_desk()
    body = form(part(b"title" + bad, b"x"), part(b"file", b"Text.", filename=b"a.txt"))
    answer = send(desk.lead, reverse("sources", args=[desk.study.slug]), body)
    assert answer.status_code == 400
    assert "is not UTF-8" in answer.content.decode()


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (b"filename*=UTF-8''a%ff.txt", "its byte 1 (0xff) is not UTF-8"),
        (b"filename*=us-ascii''%e9.txt", "its byte 0 (0xe9) is not us-ascii"),
        (b"filename*=no-such-code''a.txt", "&#x27;no-such-code&#x27; is no encoding"),
    ],
)
def test_extended_file_names_are_read_as_they_say(header: bytes, what: str) -> None:
    desk = make_desk()
    disposition = b'Content-Disposition: form-data; name="file"; ' + header
    body = form(b"--" + BOUNDARY + b"\r\n" + disposition + b"\r\n\r\nText.\r\n")
    answer = send(desk.lead, reverse("sources", args=[desk.study.slug]), body)
    assert (answer.status_code, what in answer.content.decode()) == (400, True)


@pytest.mark.parametrize(
    "before", [b"", b'Content-Disposition: form-data; name="\xff"\r\n\r\nx\r\n--' + BOUNDARY + b"\r\n"]
)
def test_a_name_in_pieces_that_do_not_fit_together_is_refused(before: bytes) -> None:
    desk = make_desk()
    pieces = b"Content-Disposition: form-data; name*=utf-8''a; name*0=b\r\n\r\nx\r\n--" + BOUNDARY + b"--\r\n"
    url = reverse("sources", args=[desk.study.slug])
    assert send(desk.lead, url, b"--" + BOUNDARY + b"\r\n" + before + pieces).status_code == 400
    with pytest.raises(MultiPartParserError, match="do not fit together"):
        parsed(b"--" + BOUNDARY + b"\r\n" + pieces, 7)


def test_a_form_in_another_encoding_is_refused() -> None:
    desk = make_desk()
    url = reverse("sources", args=[desk.study.slug])
    for charset in ("latin-1", "utf-7", "utf-16"):
        answer = send(desk.lead, url, source_form(), f"{UPLOAD}; charset={charset}")
        assert (answer.status_code, charset in answer.content.decode()) == (400, True)
    assert send(desk.lead, url, source_form(), f"{UPLOAD}; charset=UTF-8").status_code == 302


def test_text_sent_as_base64_is_looked_at_as_it_is_stored() -> None:
    desk = make_desk()
    url = reverse("sources", args=[desk.study.slug])
    coded = b"Content-Transfer-Encoding: base64\r\n"
    fields = [part(k.encode(), v) for k, v in FIELDS.items() if k != "title"]
    file = part(b"file", b"Text.", filename=b"a.txt")
    bad = form(*fields, part(b"title", b"YWL/", more=coded), file)
    assert refused(send(desk.lead, url, bad), "title", "byte 2 (0xff)")
    assert send(desk.lead, url, form(*fields, part(b"title", b"w6k=", more=coded), file)).status_code == 302
    assert Source.objects.get(document_id="notice").title == "é"


def test_the_token_is_asked_for_first_and_the_api_takes_no_uploads() -> None:
    desk = make_desk()
    url = reverse("sources", args=[desk.study.slug])
    client = Client(enforce_csrf_checks=True)
    client.force_login(desk.lead)
    assert client.post(url, source_form(title=b"\xff"), content_type=UPLOAD).status_code == 403
    task = reverse("api-task-time", args=[desk.first.pk])
    for body in (source_form(), source_form(title=b"\xff")):
        answer = send(desk.one, task, body)
        assert answer.status_code == 415
        assert answer.json()["problems"]


class Trickle(io.BytesIO):
    """A stream that gives as many bytes at once as the test says."""

    step = 1

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.step if size is None or size < 0 else min(self.step, size))


def parsed(body: bytes, step: int) -> tuple[Any, str | None]:
    stream = Trickle(body)
    stream.step = step
    meta = {"CONTENT_TYPE": UPLOAD, "CONTENT_LENGTH": str(len(body))}
    fields, _ = Utf8MultiPartParser(meta, stream, [MemoryFileUploadHandler(), TemporaryFileUploadHandler()]).parse()
    problem = meta.get(NOT_UTF8)
    return fields, problem.where if problem else None  # type: ignore[attr-defined]


TEXTS = st.one_of(
    st.binary(max_size=12),
    st.text(max_size=6).map(str.encode),
    st.sampled_from([b"\r\n", b"\n", b"\r\n--zq7", b"--zq7bounc", b"\r\n\r\n", b"-" * 30, b"\r"]),
).map(lambda raw: raw.replace(b"--" + BOUNDARY, b""))


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=4), st.integers(1, 40))
def test_exactly_what_is_no_utf8_is_told_however_the_stream_is_cut(parts: list[tuple[bytes, bool]], step: int) -> None:
    body = form(
        *(part(f"f{i}".encode(), raw, filename=b"a.bin" if is_file else None) for i, (raw, is_file) in enumerate(parts))
    )
    fields, where = parsed(body, step)
    texts = {i: raw for i, (raw, is_file) in enumerate(parts) if not is_file}
    bad = [i for i, raw in texts.items() if raw.decode("utf-8", "ignore").encode() != raw]
    assert where == (f"f{bad[0]}" if bad else None)
    if not bad:
        assert {name: fields[name].encode() for name in fields} == {f"f{i}": raw for i, raw in texts.items()}


@pytest.mark.parametrize("step", [1, 7, 65_536])
def test_a_stream_that_breaks_off_is_looked_at_to_its_end(step: int) -> None:
    whole = part(b"a", b"fine") + part(b"b", b"half \xff of it")
    assert parsed(whole[:-4], step)[1] == "b"
    # Django takes what stands before the first separator for a part as well.
    assert parsed(b'content-disposition: form-data; name="c"\r\n\r\n\xff\r\n' + form(part(b"a", b"x")), step)[1] == "c"


def test_a_large_file_is_not_kept_by_the_watch() -> None:
    watch = _Watch(io.BytesIO(part(b"file", b"\xff" * 3_000_000, filename=b"a.bin")), b"--" + BOUNDARY)
    while watch.read(65_536):
        assert len(watch._pending) <= 65_536 + 100
    assert watch.finish() is None
