"""chonkie chunkers, whose offsets are sums of the lengths of what they decoded: right until a decoded text is not the
source's."""

from __future__ import annotations

from typing import Any

from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.reanchor import Piece
from evaluation.domain.segmenters.token_window import SegmenterConfigError
from evaluation.plugins.foreign.loading import (
    OWN,
    allowed_splitters,
    build,
    foreign_module,
    pins,
    read_options,
    splitter_class,
)
from evaluation.plugins.foreign.segmenter import ForeignSegmenter, foreign_segmenter

PACKAGE = "chonkie"

#: Tokenizers that chonkie computes itself; any other name would be fetched from a hub.
OFFLINE = frozenset({"character", "word", "byte", "row"})


def make(arm: Arm) -> ForeignSegmenter:
    """The `BaseChunker` that Arm.splitter names, built from Arm.options.

    `options.cutline.tokenizer` becomes its tokenizer. Raises `SegmenterConfigError`, also for a tokenizer that chonkie
    would have to fetch.
    """
    package = foreign_module(arm, "chonkie", PACKAGE)
    made = splitter_class(arm, package.BaseChunker, allowed_splitters())
    options = read_options(arm)
    arguments: dict[str, Any] = dict(options.given)
    named = arguments.get("tokenizer")
    if named is not None and named not in OFFLINE:
        raise SegmenterConfigError(
            f"{arm.segmenter}: options.tokenizer {named!r} would be fetched from a hub; use one of "
            f"{', '.join(sorted(OFFLINE))}, or name a tokenizer file in options.{OWN}.tokenizer"
        )
    if options.tokenizer is not None:
        arguments["tokenizer"] = options.tokenizer.backend
    chunker = build(arm, made, arguments)
    return foreign_segmenter(
        arm,
        options,
        lambda text: [Piece(chunk.text, chunk.start_index, chunk.end_index) for chunk in chunker.chunk(text)],
        pins(made, PACKAGE),
    )
