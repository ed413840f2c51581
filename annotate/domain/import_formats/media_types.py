"""Media types by the ending of a file's name, for files whose entry says none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

#: Code files by the names under which segmenters know their languages; where a language has no registered type, the
#: one in common use.
MEDIA_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".md": "text/markdown",
        ".markdown": "text/markdown",
        ".html": "text/html",
        ".htm": "text/html",
        ".csv": "text/csv",
        ".json": "application/json",
        ".xml": "application/xml",
        ".rst": "text/x-rst",
        ".toml": "application/toml",
        ".yaml": "application/yaml",
        ".yml": "application/yaml",
        ".py": "text/x-python",
        ".pyi": "text/x-python",
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".cjs": "text/javascript",
        ".jsx": "text/javascript",
        ".ts": "text/typescript",
        ".tsx": "text/typescript",
        ".java": "text/x-java",
        ".kt": "text/x-kotlin",
        ".kts": "text/x-kotlin",
        ".scala": "text/x-scala",
        ".go": "text/x-go",
        ".rs": "text/x-rust",
        ".c": "text/x-c",
        ".h": "text/x-c",
        ".cc": "text/x-c++",
        ".cpp": "text/x-c++",
        ".cxx": "text/x-c++",
        ".hh": "text/x-c++",
        ".hpp": "text/x-c++",
        ".cs": "text/x-csharp",
        ".swift": "text/x-swift",
        ".rb": "text/x-ruby",
        ".php": "text/x-php",
        ".sh": "text/x-sh",
        ".bash": "text/x-sh",
        ".sql": "text/x-sql",
        ".lua": "text/x-lua",
    }
)

#: Endings of texts and data: two under one name are one document in two forms. Code is not: a.h and a.c are two.
_DOCUMENTS = frozenset({".md", ".markdown", ".html", ".htm", ".csv", ".json", ".xml", ".rst", ".toml", ".yaml", ".yml"})
_CODE = frozenset(MEDIA_TYPES) - _DOCUMENTS


def is_code(name: str) -> bool:
    """Whether a file's ending is that of a code file."""
    return PurePosixPath(name).suffix.lower() in _CODE


def media_type_of(name: str) -> str:
    """Return the media type of a file name by its ending, whatever its case; `text/plain` for an unknown one."""
    return MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), "text/plain")
