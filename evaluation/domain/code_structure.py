"""Functions and classes of a code file as byte intervals.

Python is read with its own parser (`ast`), whose lines and UTF-8 columns are exact. Python that does not parse, and
every other language, is read by a declared rule:

* A line *declares* a symbol when it starts (after blanks and known modifiers) with a keyword such as `class`, `fn` or
  `func` and a name; in languages of the C family also when it stands unindented, holds `name(` and no `;` or `=`.
* The symbol ends before the next line with text that is indented no deeper than the declaring line. A line of closing
  brackets (or `end`) at the declaring line's own depth still belongs to it, a lone `{` there opens it.

The rule trusts indentation and never counts braces, which strings and comments would make it miscount; code on one
giant line has no symbols.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from evaluation.domain.structure_parts import Symbol, line_starts

LANGUAGE_OF_SUFFIX = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".java": "java", ".kt": "kotlin", ".scala": "scala", ".go": "go",
    ".rs": "rust", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".cs": "csharp",
    ".swift": "swift", ".rb": "ruby", ".php": "php", ".sh": "shell", ".sql": "sql", ".lua": "lua",
}  # fmt: skip

LANGUAGE_OF_MEDIA_TYPE = {
    "text/x-python": "python", "application/x-python-code": "python", "text/javascript": "javascript",
    "application/javascript": "javascript", "text/typescript": "typescript", "application/typescript": "typescript",
    "text/x-java": "java", "text/x-java-source": "java", "text/x-kotlin": "kotlin", "text/x-scala": "scala",
    "text/x-go": "go", "text/x-rust": "rust", "text/rust": "rust", "text/x-c": "c", "text/x-csrc": "c",
    "text/x-chdr": "c", "text/x-c++": "cpp", "text/x-c++src": "cpp", "text/x-csharp": "csharp",
    "text/x-swift": "swift", "text/x-ruby": "ruby", "application/x-ruby": "ruby", "text/x-php": "php",
    "application/x-php": "php", "text/x-sh": "shell", "application/x-sh": "shell", "application/sql": "sql",
    "text/x-sql": "sql", "text/x-lua": "lua",
}  # fmt: skip

#: Languages a plan may name for a code-aware segmenter.
LANGUAGES = frozenset(LANGUAGE_OF_SUFFIX.values()) | frozenset(LANGUAGE_OF_MEDIA_TYPE.values())

_C_FAMILY = frozenset({"c", "cpp", "csharp", "java"})

# Bounded on purpose: a giant line must not be searched from each of its bytes.
_DECLARES = re.compile(
    rb"[ \t]*(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|async"
    rb"|pub(?:\([a-z]+\))?"
    rb"|open|override|virtual|inline|data|local|unsafe|extern|const|partial|suspend|create(?:[ \t]+or[ \t]+replace)?)"
    rb"[ \t]+){0,6}"
    rb"(?:(?P<group>class|interface|struct|enum|trait|impl|module|namespace|object|protocol|extension|record|union|type)"
    rb"|(?P<call>def|function\*?|func|fn|fun|procedure|sub))"
    rb"(?:[ \t]*\([^()\n]{0,80}\)|<[^>\n]{0,80}>)?[ \t]+(?P<name>[A-Za-z_$\x80-\xff][\w$.:\x80-\xff]{0,120})",
    re.IGNORECASE,
)
_C_FUNCTION = re.compile(
    rb"[A-Za-z_][\w \t*&<>:,~\[\]]{0,200}?(?P<name>[A-Za-z_~][\w:~]{0,120})[ \t]*\([^;={\n]{0,400}(?:\{|$)"
)
_CLOSERS = re.compile(rb"[ \t]*(?:[)\]}][)\]};, \t]*|end\b.{0,40}|fi|done|esac)[ \t]*$")


def read_symbols(content: bytes, language: str) -> tuple[Symbol, ...]:
    """Functions and classes of a code file, in source order. Raises `UnicodeDecodeError` on bytes that are not UTF-8.

    Python that cannot be parsed falls back on the declared rule.
    """
    if language == "python":
        tree = _parsed(content)
        if tree is not None:
            return tuple(_python_symbols(tree, content))
    else:
        content.decode("utf-8")
    return tuple(_declared_symbols(content, language))


def _parsed(content: bytes) -> ast.Module | None:
    """The syntax tree, or None where Python refuses the text: a syntax error, a NUL, nesting beyond its limit."""
    # As text, so that a coding cookie cannot make the parser count in another encoding than ours.
    text = content.decode("utf-8").removeprefix("\ufeff")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _python_symbols(tree: ast.Module, content: bytes) -> Iterator[Symbol]:
    lines = line_starts(content)
    mark = 3 if content.startswith(b"\xef\xbb\xbf") else 0

    def place(line: int, column: int) -> int:
        return int(lines[line - 1]) + column + (mark if line == 1 else 0)

    pending: list[tuple[ast.AST, int, str]] = [(tree, -1, "")]
    found: list[tuple[int, int, str, str, int]] = []
    while pending:
        node, parent, path = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                start = place(child.lineno, child.col_offset)
                if child.decorator_list:
                    first = child.decorator_list[0]
                    # The tree knows the decorator's expression; its `@` is the last one before it.
                    start = content.rindex(b"@", 0, place(first.lineno, first.col_offset))
                end = place(child.end_lineno or child.lineno, child.end_col_offset or 0)
                name = f"{path}.{child.name}" if path else child.name
                kind = "class" if isinstance(child, ast.ClassDef) else "function"
                found.append((start, end, name, kind, parent))
                pending.append((child, len(found) - 1, name))
            else:
                pending.append((child, parent, path))
    yield from _in_order(found)


def _in_order(found: list[tuple[int, int, str, str, int]]) -> Iterator[Symbol]:
    order = sorted(range(len(found)), key=lambda i: (found[i][0], -found[i][1]))
    place = {old: new for new, old in enumerate(order)}
    for old in order:
        start, end, name, kind, parent = found[old]
        yield Symbol(name, kind, start, end, place.get(parent, -1))


def _declared_symbols(content: bytes, language: str) -> Iterator[Symbol]:
    lines = line_starts(content)
    found: list[tuple[int, int, str, str, int]] = []
    open_: list[tuple[int, int]] = []  # (indent, index in found)
    last_text = 0
    for number in range(lines.size - 1):
        start, end = int(lines[number]), int(lines[number + 1])
        head = content[start : min(end, start + 1000)].rstrip(b"\r\n")
        body = head.lstrip(b" \t")
        if not body:
            continue
        depth = _depth(head, body)
        if body.rstrip() == b"{" and open_ and open_[-1][0] == depth:
            last_text = end
            continue
        while open_ and open_[-1][0] >= depth:
            indent, index = open_.pop()
            closes = indent == depth and _CLOSERS.match(head) is not None
            found[index] = (found[index][0], end if closes else last_text, *found[index][2:])
            if closes:
                break
        declared = _declaration(head, language, depth)
        if declared is not None:
            kind, name = declared
            parent = open_[-1][1] if open_ else -1
            full = f"{found[parent][2]}.{name}" if parent >= 0 else name
            found.append((start + len(head) - len(body), end, full, kind, parent))
            open_.append((depth, len(found) - 1))
        last_text = end
    for _, index in open_:
        found[index] = (found[index][0], last_text, *found[index][2:])
    yield from _trimmed(found, content)


def _trimmed(found: list[tuple[int, int, str, str, int]], content: bytes) -> Iterator[Symbol]:
    """Ends without the line end behind the last line, as the tree of a Python file gives them."""
    for start, end, name, kind, parent in found:
        stop = end
        while stop > start and content[stop - 1] in b"\r\n":
            stop -= 1
        yield Symbol(name, kind, start, stop, parent)


def _depth(head: bytes, body: bytes) -> int:
    blanks = head[: len(head) - len(body)]
    return len(blanks.expandtabs(4))


def _declaration(head: bytes, language: str, depth: int) -> tuple[str, str] | None:
    match = _DECLARES.match(head)
    if match is not None:
        kind = "class" if match["group"] else "function"
        return kind, match["name"].decode("utf-8", "replace").rstrip(":.")
    if language in _C_FAMILY and depth == 0:
        function = _C_FUNCTION.match(head)
        if function is not None and function["name"] not in (b"if", b"for", b"while", b"switch", b"return"):
            return "function", function["name"].decode("utf-8", "replace")
    return None
