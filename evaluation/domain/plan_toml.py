"""Plans as TOML: what a person writes, reviews in a pull request and hands to `sweep`."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from decimal import Decimal
from typing import Any

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.fields import refuse_wide_numbers
from evaluation.domain.plan import Plan
from evaluation.domain.plan_checks import plan_problems
from evaluation.domain.plan_schema import KnownNames, PlanProblem, PlanRefused, Reader, payload_of

MAX_CHARACTERS = 500_000
"""Longer texts are no plan a person reviews."""

# Blanks beside the name are stripped afterwards: three ways to match one blank take cubic time on a line of blanks.
_HEADER = re.compile(r"\s*(\[\[?)([^\]]+)\]\]?\s*(?:#.*)?\Z")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_SYNTAX_LINE = re.compile(r"at line (\d+)")
# A plan's paths have two parts; tomllib's time grows with the square of a key's parts.
_LONG_PATH = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")


def parse_plan(toml_text: str, known: KnownNames | None = None) -> Plan:
    """Read a plan. Raises `PlanRefused` with every problem found: place, mend and, if known, line.

    `known` holds the plug-in names that exist in this installation; without it no name of a plug-in is checked.
    """
    _refuse_endless(toml_text)
    try:
        data = tomllib.loads(toml_text, parse_float=Decimal)
        refuse_wide_numbers(data, "plan")
    except tomllib.TOMLDecodeError as error:
        found = _SYNTAX_LINE.search(str(error))
        line = int(found[1]) if found else 0
        problem = PlanProblem("plan", f"is not TOML: {error}.", "Mend the syntax at this place.", line)
        raise PlanRefused((problem,)) from error
    except BadInput as error:
        raise PlanRefused(
            (PlanProblem(error.where, f"is no number a plan can hold: {error.what}.", error.mend),)
        ) from error
    except (ValueError, RecursionError) as error:
        # What tomllib lets through: a number Python will not read, and arrays without end.
        problem = PlanProblem("plan", "is not TOML: it nests too deeply or holds too long a number.", "Mend it.")
        raise PlanRefused((problem,)) from error
    try:
        return plan_from_payload(data, known)
    except PlanRefused as refusal:
        lines = _lines(toml_text)
        raise PlanRefused(
            tuple(replace(problem, line=_line_of(problem.where, lines)) for problem in refusal.problems)
        ) from None


def _refuse_endless(toml_text: str) -> None:
    """Refuse what would take minutes to read before anything could be said about it."""
    if len(toml_text) > MAX_CHARACTERS:
        what = f"has {len(toml_text):,} characters."
        raise PlanRefused((PlanProblem("plan", what, f"At most {MAX_CHARACTERS:,} are read."),))
    if found := _LONG_PATH.search(toml_text):
        line = toml_text.count("\n", 0, found.start()) + 1
        raise PlanRefused((PlanProblem("plan", "holds a name of more than 32 parts.", "Shorten it.", line),))


def plan_from_payload(data: object, known: KnownNames | None = None) -> Plan:
    """Rebuild a plan from `plan_payload` (or parsed TOML). Raises `PlanRefused` with every problem found."""
    known = known or KnownNames()
    reader = Reader(known)
    plan = reader.table(Plan, data, "")
    problems = reader.problems
    if plan is not None:
        problems += plan_problems(plan, known)
    if problems or plan is None:
        raise PlanRefused(problems)
    return plan


def plan_payload(plan: Plan) -> dict[str, Any]:
    """Return the plan as dict, list, str, int, bool and None only: what is digested and locked."""
    payload: dict[str, Any] = payload_of(plan)
    return payload


def plan_to_toml(plan: Plan) -> str:
    """Write a plan so that `parse_plan` gives it back equal; settings that are None are left out."""
    payload = plan_payload(plan)
    lines = [f"{key} = {_literal(value)}" for key, value in payload.items() if _plain(value)]
    for key, value in payload.items():
        if isinstance(value, dict):
            lines += _section(f"[{key}]", value)
        elif isinstance(value, list) and not _plain(value):
            for item in value:
                lines += _section(f"[[{key}]]", item)
    return "\n".join(lines) + "\n"


def _plain(value: object) -> bool:
    if isinstance(value, list):
        return not any(isinstance(item, dict) for item in value)
    return not isinstance(value, dict)


def _section(header: str, table: dict[str, Any]) -> list[str]:
    """One table; a table inside it (an arm's own retrieval) follows under its own header, as TOML wants it."""
    lines = ["", header, *(f"{key} = {_literal(value)}" for key, value in table.items() if _written(value))]
    name = header.strip("[]")
    for key, value in table.items():
        if isinstance(value, dict):
            lines += _section(f"[{name}.{key}]", value)
    return lines


def _written(value: object) -> bool:
    return value is not None and not isinstance(value, dict)


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    # A JSON string is a TOML basic string once DEL is escaped; surrogates cannot occur in text read from UTF-8.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(text: str) -> dict[str, int]:
    """Map setting paths to 1-based lines, as far as a line scan can see (inline tables have their parent's line)."""
    places: dict[str, int] = {}
    counts: dict[str, int] = {}
    prefix, fence = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence:
            fence = "" if line.count(fence) % 2 else fence
            continue
        header = _HEADER.match(line)
        if header and "=" not in header[2]:
            prefix = header[2].strip().replace('"', "").replace(" ", "")
            if header[1] == "[[":
                counts[prefix] = counts.get(prefix, -1) + 1
                places.setdefault(prefix, number)
                prefix = f"{prefix}[{counts[prefix]}]"
            elif (owner := prefix.partition("."))[0] in counts and owner[2]:
                # [arms.recovery] belongs to the last [[arms]] above it.
                prefix = f"{owner[0]}[{counts[owner[0]]}].{owner[2]}"
            places.setdefault(prefix, number)
            continue
        key = _KEY.match(line)
        if key:
            places.setdefault(f"{prefix}.{key[1]}" if prefix else key[1], number)
            fence = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
    return places


def _line_of(where: str, places: dict[str, int]) -> int:
    """Return the line of a path or of its nearest known parent; 0 when there is none."""
    while where:
        if where in places:
            return places[where]
        where = where[: max(where.rfind("."), where.rfind("["), 0)]
    return 0
