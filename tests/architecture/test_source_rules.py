"""Rules a reviewer would otherwise have to remember, read off the syntax tree and the templates."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.architecture.tree import APPS, python_files, read, tracked

SENDS_A_TASK = {"delay", "apply_async", "send_task"}
# The one place that publishes; services reach it through transaction.on_commit (evaluation/services/ring.py).
MAY_PUBLISH = {("config/celery.py", "publish")}
UNSAFE_NAMES = {"mark_safe", "SafeString", "csrf_exempt", "xframe_options_exempt"}
TEMPLATES = [path for path in tracked() if path.parts[0] == "templates"]
MODULES = [path for path in tracked() if path.parts[0] == "static" and path.suffix in {".js", ".mjs"}]


def _calls(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (called attribute, enclosing function, line) for every call of an attribute in a file."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, str, int]]:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute):
                yield child.func.attr, inside, child.lineno
            yield from walk(child, inside)

    yield from walk(ast.parse(read(path)), "")


def test_no_task_starts_before_its_commit() -> None:
    found = [
        f"{path}:{line} {name}"
        for path in python_files(*APPS)
        for name, function, line in _calls(path)
        if name in SENDS_A_TASK and (path.as_posix(), function) not in MAY_PUBLISH
    ]
    assert found == [], "use delay_on_commit or transaction.on_commit"


def test_publishing_happens_only_on_commit() -> None:
    for path in python_files("evaluation", "annotate", "ledger"):
        text = read(path)
        if "config.celery" in text and "publish" in text:
            assert "transaction.on_commit(" in text, f"{path} publishes without waiting for the commit"


def test_no_code_calls_text_safe_or_lifts_a_protection() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path in python_files(*APPS)
        for node in ast.walk(ast.parse(read(path)))
        if (isinstance(node, ast.Name) and node.id in UNSAFE_NAMES)
        or (isinstance(node, ast.Attribute) and node.attr in UNSAFE_NAMES)
    ]
    assert found == []


class _InlineCode(HTMLParser):
    """Collects everything in a template that the content security policy would block."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "style" or (tag == "script" and not names.get("src") and names.get("type") != "application/json"):
            self.found.append(f"line {self.getpos()[0]}: inline <{tag}>")
        for name, value in attrs:
            inline = (
                name == "style" or name.startswith(("on", "hx-on")) or (value or "").strip().startswith("javascript:")
            )
            if inline or (name.startswith("hx-") and (value or "").strip().startswith("js:")):
                self.found.append(f"line {self.getpos()[0]}: {name}= on <{tag}>")

    handle_startendtag = handle_starttag


@pytest.mark.parametrize("path", TEMPLATES, ids=str)
def test_template_carries_no_inline_code_and_escapes_everything(path: Path) -> None:
    text = read(path)
    parser = _InlineCode()
    # A comparison or a quote inside a template tag would confuse the parser: each tag becomes a letter, line ends stay.
    parser.feed(re.sub(r"\{[%{#].*?[%}#]\}", lambda match: "t" + "\n" * match[0].count("\n"), text, flags=re.DOTALL))
    assert parser.found == []
    assert re.findall(r"\|\s*safe(?:seq)?\b|\{%\s*autoescape\s+off", text) == []


def test_inline_code_finder_finds_each_kind() -> None:
    parser = _InlineCode()
    parser.feed(
        '<p style="a">\n<b onclick="x"></b><script>1</script><style></style><a href="javascript:1"></a>'
        '<i hx-vals="js:{}"></i><i hx-on:click="x"></i><script src="/ok.js"></script>'
    )
    assert [line.split(": ")[1] for line in parser.found] == [
        "style= on <p>",
        "onclick= on <b>",
        "inline <script>",
        "inline <style>",
        "href= on <a>",
        "hx-vals= on <i>",
        "hx-on:click= on <i>",
    ]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_script_needs_no_eval_and_writes_no_markup(path: Path) -> None:
    text = read(path)
    wanted = r"\beval\s*\(|\bnew\s+Function\b|\.(?:innerHTML|outerHTML)\s*=|insertAdjacentHTML|document\.write\b"
    assert re.findall(wanted, text) == []


def test_templates_and_scripts_are_seen() -> None:
    assert len(TEMPLATES) > 5
    assert MODULES


# A platform that lacks something, said at the place; never a service, a browser or a package.
MAY_SKIP = {"tests/servers/test_servers.py"}
SKIPS = {"skip", "skipif", "importorskip", "xfail", "skipTest", "expectedFailure"}


def test_no_test_is_skipped_or_talks_to_a_mock() -> None:
    found = []
    for path in python_files("tests"):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.Attribute) and node.attr in SKIPS and path.as_posix() not in MAY_SKIP:
                found.append(f"{path}:{node.lineno} {node.attr}")
            if isinstance(node, ast.ImportFrom) and node.module in {"unittest", "unittest.mock"}:
                found += [
                    f"{path}:{node.lineno} {name.name}" for name in node.names if "mock" in f"{node.module}.{name.name}"
                ]
    assert found == []
