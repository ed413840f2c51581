"""Files of a fixture archive compared with their published JSON Schemas, before anything of them is believed."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from annotate import archive_files
from annotate.domain.errors import BadInput
from annotate.domain.fixture import FIXTURE_FORMAT, SET_FORMAT

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_SCHEMAS = {SET_FORMAT: "fixture-set.schema.json", FIXTURE_FORMAT: "fixture.schema.json"}


def check_form(value: dict[str, Any], where: str) -> None:
    """Refuse a manifest or fixture (told apart by its `format`) in which a member is missing or of another kind.

    Raises BadInput with the place of the first such member.
    """
    problems = sorted(_validator(value["format"]).iter_errors(value), key=lambda one: list(map(str, one.absolute_path)))
    if problems:
        raise BadInput(
            f"{where}, {problems[0].json_path}",
            f"{problems[0].message[:200]} (schemas/{_SCHEMAS[value['format']]})",
            "Get the archive again.",
        )


@cache
def _validator(form: str) -> Draft202012Validator:
    # Slow to import, and only an import of an archive needs it.
    from jsonschema import Draft202012Validator

    schema = json.loads((files(archive_files) / _SCHEMAS[form]).read_text("utf-8"))
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
