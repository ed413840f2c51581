"""LangChain text splitters.

`split_text` is asked, never `create_documents(add_start_index=True)`: its start index is found by searching from the
chunk before minus the overlap *in characters*, which is another place for splitters that measure tokens or strip white
space (bench/segmentation.py counts how often), and −1 where the search fails.
"""

from __future__ import annotations

from typing import Any

from evaluation.domain.plan_pipeline import Arm
from evaluation.domain.reanchor import Piece
from evaluation.plugins.foreign.loading import (
    allowed_splitters,
    build,
    foreign_module,
    pins,
    read_options,
    splitter_class,
)
from evaluation.plugins.foreign.segmenter import ForeignSegmenter, foreign_segmenter

PACKAGE = "langchain-text-splitters"


def make(arm: Arm) -> ForeignSegmenter:
    """The `TextSplitter` that Arm.splitter names, built from Arm.options.

    `options.cutline.tokenizer` becomes its length function. Raises `SegmenterConfigError`.
    """
    package = foreign_module(arm, "langchain_text_splitters", PACKAGE)
    made = splitter_class(arm, package.TextSplitter, allowed_splitters())
    options = read_options(arm)
    arguments: dict[str, Any] = dict(options.given)
    if options.tokenizer is not None:
        tokenizer = options.tokenizer
        arguments["length_function"] = lambda text: tokenizer.count(text.encode("utf-8"))
    splitter = build(arm, made, arguments)
    return foreign_segmenter(
        arm, options, lambda text: [Piece(piece) for piece in splitter.split_text(text)], pins(made, PACKAGE)
    )
