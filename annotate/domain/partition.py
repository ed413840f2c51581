"""How questions hang together: document clusters, groups of paraphrases, and the partition no group may cross.

Questions whose support lies in the same document are not independent observations, so an interval resamples whole
clusters: the connected components of the graph that joins two documents whenever one question needs both.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Partition

_WORD = re.compile(r"\w+")
#: What may be kept on one side of the partition beside question groups, which always are.
DOCUMENT, TEMPLATE_RULE = "document", "template"
APART = (DOCUMENT, TEMPLATE_RULE)
#: Slice tags that name the template a question was written from begin so.
TEMPLATE = "template:"


@dataclass(frozen=True)
class Placed:
    """A question as partitioning sees it: its `key`, its `group` (empty: none) and its partition."""

    key: str
    group: str
    partition: Partition


def document_clusters(documents_of: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the cluster of every document named: the first document id of its connected component.

    `documents_of` maps a question to the documents its support lies in (a single one for an unanswerable question: its
    declared or nearest document).
    """
    # Imported here: SciPy takes longer to load than everything else a page or a command needs.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = {key: sorted(set(documents)) for key, documents in documents_of.items()}
    names = sorted({document for documents in joined.values() for document in documents})
    if not names:
        return {}
    index = {name: number for number, name in enumerate(names)}
    edges = [
        (index[documents[0]], index[other]) for documents in joined.values() if documents for other in documents[1:]
    ]
    rows = np.array([one for one, _ in edges], dtype=np.int32)
    columns = np.array([two for _, two in edges], dtype=np.int32)
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (rows, columns)), shape=(len(names), len(names)))
    _, component = connected_components(graph, directed=False)
    first: dict[int, str] = {}
    for name, number in zip(names, component.tolist(), strict=True):
        first.setdefault(number, name)
    return {name: first[number] for name, number in zip(names, component.tolist(), strict=True)}


def nearest_document(question: str, documents: Mapping[str, str]) -> str:
    """Return the id of the document whose words fit a question best, for a question without support of its own.

    Score: the summed inverse document frequency ln(1 + N / n) of the distinct words both have (case folded); ties go to
    the first id. Raises ValueError without documents.
    """
    if not documents:
        raise ValueError("there is no document to be near to")
    wanted = set(_words(question))
    having = {name: wanted & set(_words(text)) for name, text in documents.items()}
    frequency = Counter(word for words in having.values() for word in words)
    scores = {
        name: math.fsum(math.log1p(len(documents) / frequency[word]) for word in sorted(words))
        for name, words in having.items()
    }
    return min(scores, key=lambda name: (-scores[name], name))


def group_crossings(questions: Iterable[Placed]) -> list[BadInput]:
    """Return one problem for each group with questions on both sides of the partition."""
    sides: dict[str, dict[Partition, list[str]]] = {}
    for question in questions:
        if question.group:
            sides.setdefault(question.group, {}).setdefault(question.partition, []).append(question.key)
    problems = []
    for group, parts in sorted(sides.items()):
        if len(parts) > 1:
            shown = "; ".join(f"{part.value}: {', '.join(sorted(keys))}" for part, keys in sorted(parts.items()))
            problems.append(
                BadInput(
                    f"group {group}",
                    f"it has questions on both sides of the partition ({shown})",
                    "Move the whole group to one side: paraphrases of a held-out question must not be tuned on.",
                )
            )
    return problems


@dataclass(frozen=True)
class Shares:
    """What a question may share with others across the partition: the documents of its support, its templates."""

    partition: Partition
    documents: tuple[str, ...]
    templates: tuple[str, ...]


def crossings(
    questions: Mapping[str, Shares], chosen: Container[str], apart: Iterable[str], unnamed: Container[str] = ()
) -> list[BadInput]:
    """Return one problem for each document or template, as far as `apart` asks, whose questions stand on both sides.

    `questions` are by key. What none of the `chosen` ones has is left alone: it was frozen before and stays.
    The documents in `unnamed` are told of without their names.
    """
    problems = []
    for what in (word for word in APART if word in apart):
        found: dict[str, dict[Partition, list[str]]] = {}
        for key, question in questions.items():
            for name in set(question.documents if what == DOCUMENT else question.templates):
                found.setdefault(name, {}).setdefault(question.partition, []).append(key)
        for name, parts in sorted(found.items()):
            if len(parts) < 2 or not any(key in chosen for keys in parts.values() for key in keys):
                continue
            named = {
                part: ", ".join(key if key in chosen else f"{key} (frozen before)" for key in sorted(keys))
                for part, keys in sorted(parts.items())
            }
            shown = "; ".join(f"{part.value}: {keys}" for part, keys in named.items())
            problems.append(
                BadInput(
                    "a document kept from you" if what == DOCUMENT and name in unnamed else f"{what} {name}",
                    f"it has questions on both sides of the partition ({shown})",
                    f"Move them to one side, leave some out, or do not ask to keep every {what} on one side.",
                )
            )
    return problems


def template_of(slice_tags: Iterable[str]) -> list[str]:
    """Return the templates a question was written from: its slice tags `template:NAME`."""
    return [tag.removeprefix(TEMPLATE) for tag in slice_tags if tag.startswith(TEMPLATE) and tag != TEMPLATE]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
