"""Which foreign class a plan may name, and how it is imported, configured and pinned."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from django.conf import settings

from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.reanchor import Newlines
from evaluation.domain.segmenters.token_window import SegmenterConfigError
from evaluation.plugins.tokenizers import HuggingFaceTokenizer, TokenizerUnavailable, load_tokenizer

#: Classes any plan may name: they compute from the text alone and load nothing. The setting FOREIGN_SPLITTERS_ALLOWED
#: adds to them.
WELL_KNOWN = frozenset(
    {
        *(
            f"langchain_text_splitters:{name}"
            for name in (
                "CharacterTextSplitter",
                "RecursiveCharacterTextSplitter",
                "TokenTextSplitter",
                "MarkdownTextSplitter",
                "PythonCodeTextSplitter",
                "LatexTextSplitter",
            )
        ),
        *(
            f"llama_index.core.node_parser:{name}"
            for name in ("SentenceSplitter", "TokenTextSplitter", "MarkdownNodeParser", "SentenceWindowNodeParser")
        ),
        *(
            f"chonkie:{name}"
            for name in ("TokenChunker", "SentenceChunker", "RecursiveChunker", "FastChunker", "TableChunker")
        ),
    }
)

#: The member of Arm.options that is read here; everything else goes to the class.
OWN = "cutline"
_OWN_KEYS = frozenset({"tokenizer", "newlines"})


@dataclass(frozen=True)
class ForeignOptions:
    """Arm.options, read: `given` are the class's own arguments; `tokenizer` measures lengths for it, None leaves it
    its own measure."""

    given: Mapping[str, Any]
    tokenizer: HuggingFaceTokenizer | None = None
    newlines: Newlines = Newlines.EXACT
    text: str = field(default="{}")


def read_object(arm: Arm) -> dict[str, Any]:
    """Arm.options as a JSON object. Raises `SegmenterConfigError` for anything else, doubled members included."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"member {name!r} stands twice")
            found[name] = value
        return found

    try:
        value = json.loads(arm.options or "{}", object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise SegmenterConfigError(
            f"{arm.segmenter}: options of arm {arm.name!r} are no JSON object ({error}); write them like "
            '{"chunk_size": 400}'
        ) from error
    if not isinstance(value, dict):
        raise SegmenterConfigError(f"{arm.segmenter}: options of arm {arm.name!r} must be a JSON object, got {value!r}")
    return value


def read_options(arm: Arm) -> ForeignOptions:
    """Options of a splitter arm.

    Raises `SegmenterConfigError` for options that are no JSON object, unknown own members, sizes that are no whole
    numbers, an overlap not below its size, and a tokenizer that cannot be loaded.
    """
    given = read_object(arm)
    own = given.pop(OWN, {})
    if not isinstance(own, dict) or not set(own) <= _OWN_KEYS:
        raise SegmenterConfigError(
            f"{arm.segmenter}: options.{OWN} may hold {', '.join(sorted(_OWN_KEYS))}, got {own!r}"
        )
    for name, value in given.items():
        sized = name.endswith(("size", "overlap", "length", "tokens"))
        if sized and (isinstance(value, bool) or not isinstance(value, (int, type(None)))):
            raise SegmenterConfigError(f"{arm.segmenter}: options.{name} must be a whole number, got {value!r}")
    check_overlap(arm, given.get("chunk_size"), given.get("chunk_overlap"))
    tokenizer = None
    if "tokenizer" in own:
        try:
            tokenizer = load_tokenizer(str(own["tokenizer"]))
        except TokenizerUnavailable as error:
            raise SegmenterConfigError(f"{arm.segmenter}: options.{OWN}.tokenizer: {error}") from error
    return ForeignOptions(
        given, tokenizer, newlines_of(arm, own), json.dumps(given, sort_keys=True, ensure_ascii=False)
    )


def newlines_of(arm: Arm, own: Mapping[str, Any]) -> Newlines:
    """The declared newlines. Raises `SegmenterConfigError` for an unknown word."""
    word = own.get("newlines", Newlines.EXACT)
    try:
        return Newlines(word)
    except ValueError as error:
        raise SegmenterConfigError(
            f"{arm.segmenter}: newlines must be one of {', '.join(Newlines)}, got {word!r}"
        ) from error


def check_overlap(arm: Arm, size: object, overlap: object) -> None:
    """Raise `SegmenterConfigError` for an overlap that is not below its size: the cuts would never advance."""
    if isinstance(size, int) and isinstance(overlap, int) and overlap >= size:
        raise SegmenterConfigError(
            f"{arm.segmenter}: the overlap {overlap} must be smaller than the size {size}; "
            "lower chunk_overlap or raise chunk_size in the options"
        )


def allowed_splitters() -> frozenset[str]:
    """Classes that plans may name here, as `package.module:Class`."""
    return WELL_KNOWN | frozenset(settings.FOREIGN_SPLITTERS_ALLOWED)


def splitter_class(arm: Arm, base: type, allowed: Iterable[str]) -> type:
    """The class Arm.splitter names: allow-listed before anything is imported, then checked to be a `base`.

    Raises `SegmenterConfigError` saying which of these it is not.
    """
    path, listed = arm.splitter, sorted(allowed)
    if path not in listed:
        ours = [
            name for name in listed if name.partition(":")[0].partition(".")[0] == base.__module__.partition(".")[0]
        ]
        raise SegmenterConfigError(
            f"{arm.segmenter}: the splitter {path!r} is not allow-listed. Write one of {', '.join(ours)}, or have your "
            "administrator add package.module:Class to CUTLINE_FOREIGN_SPLITTERS"
        )
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SegmenterConfigError(f"{arm.segmenter}: {path!r} cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise SegmenterConfigError(
            f"{arm.segmenter}: {path!r} is no {base.__module__}.{base.__qualname__}; this adapter runs only those"
        )
    return found


def foreign_module(arm: Arm, module: str, package: str) -> Any:
    """Import an optional package. Raises `SegmenterConfigError` saying what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SegmenterConfigError(
            f"{arm.segmenter}: the package {package} is not here ({error}); install it with the extra `adapters`, or "
            f"with: uv pip install {package}"
        ) from error


def build(arm: Arm, made: type, arguments: Mapping[str, Any]) -> Any:
    """An instance of the class. Raises `SegmenterConfigError` with what the class said against its arguments."""
    try:
        instance = made(**arguments)
    except Exception as error:  # whatever a foreign constructor raises says that these options cannot be used
        raise SegmenterConfigError(
            f"{arm.segmenter}: {arm.splitter} cannot be built from its options: {type(error).__name__}: {error}"
        ) from error
    for names in (("chunk_size", "chunk_overlap"), ("_chunk_size", "_chunk_overlap")):
        check_overlap(arm, *(getattr(instance, name, None) for name in names))
    return instance


def pins(made: type, package: str) -> dict[str, str | int]:
    """What identifies a foreign class: package and version, and the digest of the file that defines it."""
    owners = sorted(set(_owners().get(made.__module__.partition(".")[0], [])))
    named = [package, *(owner for owner in owners if len(owners) == 1 and owner != package)]
    source = inspect.getsourcefile(made)
    return {
        "package": ", ".join(f"{name} {_version(name)}" for name in named),
        "class_digest": hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else "no source file",
    }


@cache
def _owners() -> Mapping[str, list[str]]:
    """Distributions by top-level package; looked up once, since it reads every installed package's list of files."""
    return packages_distributions()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of no installed package"
