"""Which questions stand or fall together: connected components of shared documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np


def connected_clusters(documents: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Map each question to its cluster, given the documents its evidence comes from.

    Questions that share a document, directly or through others, are one cluster; it is named after its smallest
    document id. A question without documents is a cluster of its own, named "question:<id>"; give unanswerable
    questions their nearest or declared document.
    """
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    questions = sorted(documents)
    names = sorted({name for listed in documents.values() for name in listed})
    column = {name: len(questions) + index for index, name in enumerate(names)}
    pairs = [(row, column[name]) for row, question in enumerate(questions) for name in documents[question]]
    size = len(questions) + len(names)
    if not questions:
        return {}
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    graph = coo_array((np.ones(len(pairs), dtype=np.int8), (rows, columns)), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    first: dict[int, str] = {}
    for index, name in enumerate(names):
        first.setdefault(int(labels[len(questions) + index]), name)
    return {question: first.get(int(labels[row]), f"question:{question}") for row, question in enumerate(questions)}
