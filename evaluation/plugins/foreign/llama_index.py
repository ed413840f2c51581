"""LlamaIndex node parsers.

A node's start is found by LlamaIndex searching from one character after the last node's start: it can only settle what
is ambiguous, and is counted where it is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
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

PACKAGE = "llama-index-core"


def make(arm: Arm) -> ForeignSegmenter:
    """The `NodeParser` that Arm.splitter names, built from Arm.options.

    `options.cutline.tokenizer` becomes its tokenizer. Raises `SegmenterConfigError`.
    """
    parsers = foreign_module(arm, "llama_index.core.node_parser", PACKAGE)
    schema = foreign_module(arm, "llama_index.core.schema", PACKAGE)
    made = splitter_class(arm, parsers.NodeParser, allowed_splitters())
    options = read_options(arm)
    arguments: dict[str, Any] = dict(options.given)
    if options.tokenizer is not None:
        arguments["tokenizer"] = options.tokenizer.ids
    parser = build(arm, made, arguments)

    def split(text: str) -> Sequence[Piece]:
        nodes = parser.get_nodes_from_documents([schema.Document(text=text)])
        none = schema.MetadataMode.NONE
        return [
            Piece(
                node.get_content(metadata_mode=none),
                getattr(node, "start_char_idx", None),
                getattr(node, "end_char_idx", None),
            )
            for node in nodes
        ]

    return foreign_segmenter(arm, options, split, pins(made, PACKAGE))
