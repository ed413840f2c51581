"""A fixture as it is published: the member order and formatting of the specification's own example.

With one source: its digest and its text, and spans as `[start, end]`. With more than one: a list of sources, and spans
as `[digest, start, end]`. This form is for people and for other tools; it says less than the canonical form, and
`not_carried` lists what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from annotate.domain.errors import BadInput
from annotate.domain.fixture import fixture_spans

COORDINATES = "utf8-byte-half-open"
_PREFIX = "sha256:"


def published_bytes(fixture: Mapping[str, Any], texts: Mapping[str, bytes]) -> bytes:
    """Return the published form of a fixture (a parsed canonical one), UTF-8 with a final line end.

    `texts` maps the SHA-256 of every version its spans name to its bytes; raises BadInput where one is missing.
    """
    spans = fixture_spans(fixture)
    versions = sorted({span["version"] for span in spans})
    missing = [version for version in versions if version not in texts]
    if missing:
        raise BadInput(
            f"fixture {fixture['question_id']}",
            f"the text of version {missing[0][:12]}… is not there",
            "Export from the database that froze the set.",
        )
    several = len(versions) != 1
    lines = [_member("fixture_id", fixture["question_id"])]
    if several:
        lines.append(
            _block(
                "sources",
                "[]",
                [
                    f"    {{\n      {_json('source_version')}: {_json(_PREFIX + version)},\n"
                    f"      {_json('source_text')}: {_json(texts[version].decode('utf-8'))}\n    }}"
                    for version in versions
                ],
            )
        )
    else:
        lines.append(_member("source_version", _PREFIX + versions[0]))
        lines.append(_member("source_text", texts[versions[0]].decode("utf-8")))
    lines.append(_member("coordinate_system", COORDINATES))
    lines.append(
        _block("spans", "{}", [f"    {_json(span['name'])}: {_json(_place(span, several))}" for span in spans])
    )
    lines.append(_member("question", fixture["text"]))
    lines.append(
        _member("sufficient_support_sets", [[span["name"] for span in members] for members in fixture["support_sets"]])
    )
    lines.append(_member("expected_answer", fixture["expected_answer"]))
    lines.append(_member("if_qualifier_missing", fixture["missing_text"]))
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8")


def not_carried(fixture: Mapping[str, Any]) -> list[str]:
    """Return the members of a fixture that say something and that its published form leaves out."""
    plain: dict[str, Any] = {
        "answerable": True,
        "scope": "",
        "qualification": "",
        "reader_labels": [],
        "group": "",
        "slice_tags": [],
        "mandatory": False,
        "forbidden": [],
    }
    lost = [name for name, nothing in plain.items() if fixture[name] != nothing]
    if not all(span["necessary"] for members in fixture["support_sets"] for span in members):
        lost.append("necessity")
    always = [
        "as_of",
        "locale",
        "segment",
        "cluster",
        "sample",
        "partition",
        "dependency",
        "missing_behaviour",
        "labels",
    ]
    return [*lost, *always]


def _place(span: Mapping[str, Any], several: bool) -> list[Any]:
    place = [span["start"], span["end"]]
    return [_PREFIX + span["version"], *place] if several else place


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _member(name: str, value: Any) -> str:
    return f"  {_json(name)}: {_json(value)}"


def _block(name: str, empty: str, items: list[str]) -> str:
    if not items:
        return f"  {_json(name)}: {empty}"
    return f"  {_json(name)}: {empty[0]}\n" + ",\n".join(items) + f"\n  {empty[1]}"
