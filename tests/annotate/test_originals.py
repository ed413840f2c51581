"""A mark on a transcoded text, and the bytes of the file it was made from."""

from __future__ import annotations

from datetime import date

import pytest
from django.test import Client
from django.urls import reverse

from annotate.domain.import_formats.sources_toml import SourceEntry
from annotate.permissions import OPERATOR
from annotate.services.import_sources import import_source_version
from tests.annotate.passes import make_desk
from tests.factories import make_source_version

pytestmark = pytest.mark.django_db

ORIGINAL = "Gebühr: 10\xa0€, höchstens.\r\n".encode("cp1252")


def test_a_span_of_a_derived_version_names_its_bytes_in_the_original_for_its_annotator_only(client: Client) -> None:
    desk = make_desk()
    entry = SourceEntry("fees.txt", "fees", "1", date(2026, 1, 1), encoding="cp1252")
    version = import_source_version(OPERATOR, desk.study, entry, ORIGINAL).version
    text = bytes(version.content)
    address = reverse("workspace-original", args=[desk.first.pk])
    start = text.index("höchstens".encode())
    asked = {"version": version.pk, "start": start, "end": start + len("höchstens".encode())}
    client.force_login(desk.one)
    said = client.get(address, asked).json()
    assert ORIGINAL[said["start"] : said["end"]] == "höchstens".encode("cp1252")
    assert (said["encoding"], said["parent"]) == ("cp1252", version.derived["parent"])
    # Inside a character, backwards, beyond the end: no span of it.
    for first, last in ((start + 2, start + 5), (9, 3), (0, 10_000), (4, 4)):
        assert client.get(address, asked | {"start": first, "end": last}).status_code == 422, (first, last)
    own = client.get(address, {"version": desk.version.pk, "start": 0, "end": 4}).json()
    assert own == {"start": 0, "end": 4, "parent": desk.version.sha256, "encoding": ""}
    assert client.get(address, asked | {"start": "x"}).status_code == 404
    client.force_login(desk.two)
    assert client.get(address, asked).status_code == 404


def test_hidden_bytes_are_not_placed(client: Client) -> None:
    desk = make_desk()
    hidden = make_source_version(
        desk.study,
        "Open. Secret.",
        access_ranges=[[6, 13, ["board"]]],
        derived={
            "parent": "0" * 64,
            "parent_bytes": "",
            "tool": "transcode",
            "tool_version": "1",
            "map": [[0, 0, 13, 1, 1]],
            "settings": {"encoding": "cp1252"},
        },
    )
    client.force_login(desk.one)
    address = reverse("workspace-original", args=[desk.first.pk])
    assert client.get(address, {"version": hidden.pk, "start": 0, "end": 5}).status_code == 200
    assert client.get(address, {"version": hidden.pk, "start": 4, "end": 8}).status_code == 422
