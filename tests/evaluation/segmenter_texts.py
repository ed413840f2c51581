"""Hard texts, tokenizers and drawn windows for the tests of segmenters. The sentences are this project's own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from evaluation.domain.chunks import ChunkTable
from evaluation.domain.frozen import Document
from evaluation.plugins.tokenizers import load_tokenizer
from tests.evaluation.engine_world import byte_tokenizer, document, word_tokenizer

#: A trained byte-level BPE, one that splits every code point above ASCII, and one that lower-cases and drops blanks.
TOKENIZERS = {"shipped": load_tokenizer(), "bytes": byte_tokenizer(), "words": word_tokenizer()}

LANGUAGES = {
    "zh": "图书馆的借期为三周。逾期每天收费两角！“续借两次”以后必须归还。读者可以在哪里归还？前台或者还书箱。",
    "ja": "貸出期間は三週間です。「延長は二回まで」と定めています。返却はどこでできますか？窓口です。",
    "ar": "مدة الإعارة ثلاثة أسابيع. هل يمكن التمديد؟ نعم، مرتين فقط. يستثنى ما حجزه د. سالم قبل 632 م. وبعده.",
    "hi": "पुस्तकें तीन सप्ताह के लिए दी जाती हैं। क्या अवधि बढ़ सकती है? हाँ, दो बार। डॉ. मेहता की पुस्तकें इसका अपवाद हैं॥",
    "de": "Die Leihfrist beträgt z. B. drei Wochen. Siehe Abs. 2 und Nr. 7. Ausnahmen regelt Dr. Weiß am Schalter.",
}

HARD = [
    "\ufeffBOM first. Dépenses of 3 € — naïve.",
    "\ufeff",
    "a\r\nb\rc\n\n\n  trailing   ",
    "\n\n \r\n\t\r",
    "nul\x00 and \x1b control \x7f\x85 \u2028end",
    "De\u0301partement de Me\u0301decine. Une re\u0300gle.",
    "👩‍👩‍👧‍👦👍🏽🇩🇪 family and flags 🏳️‍🌈",
    "one giant line " * 40,
    "x",
    *LANGUAGES.values(),
]
MARKDOWN = [
    "# Loans\n\n",
    "Loans last three weeks. Two renewals are free.\n\n",
    "## Exceptions\r\n",
    "Rare\n====\n",
    "Short-loan\r-----\r",
    "# Empty\n## Below\n",
    "| item | days |\n|---|---:|\n",
    "| book | 21 |\n| film \\| disc | 7 |\n",
    "a | b\n--|--\n1 | 2\n3 | 👩‍👩‍👧\n\n",
    "```python\n# no heading\nx = 1\n\ny = 2\n```\n",
    "~~~\nunclosed\n",
    "    indented code\n",
    "def lend(book: str) -> int:\n    return 21\n\n\n",
    "class Desk:\n    # counts\n    def open(self):\n        return True\n",
    "> # quoted\n> | x | y |\n> |---|---|\n> | 1 | 2 |\n",
    "- item one. Item two\n",
    "\n",
    " ",
]

texts = st.one_of(
    st.sampled_from(HARD),
    st.text(min_size=1, max_size=120),
    st.lists(st.sampled_from(HARD + MARKDOWN), min_size=1, max_size=8).map("".join),
    st.lists(st.sampled_from(MARKDOWN), min_size=1, max_size=14).map("".join),
)
#: Capacity and overlap so that none, one and several contained tails occur.
sizes = st.integers(1, 40).flatmap(lambda c: st.tuples(st.just(c), st.integers(0, c - 1)))
media_types = st.sampled_from(["text/markdown", "text/plain", "text/x-python", "text/x-java"])


def source(text: str, media_type: str = "text/markdown") -> Document:
    """A document of `text`."""
    return document("d", text, media_type=media_type)


def cores(table: ChunkTable) -> list[tuple[int, int]]:
    """Core intervals in bytes."""
    return list(zip(table.core_start.tolist(), table.core_end.tolist(), strict=True))


def shown(doc: Document, table: ChunkTable) -> list[str]:
    """The text of every chunk."""
    return [
        doc.content[start:end].decode("utf-8")
        for start, end in zip(table.starts.tolist(), table.end.tolist(), strict=True)
    ]


def check_partition(doc: Document, table: ChunkTable, tokens: int) -> None:
    """Every byte lies in exactly one core, every token in exactly one chunk's core, every place on a code point."""
    found = cores(table)
    assert found[0][0] == 0
    assert found[-1][1] == len(doc.content)
    assert all(before[1] == after[0] for before, after in pairwise(found))
    assert all(start < end for start, end in found)
    assert [end for _, end in found[:-1]] == table.cut_bytes.tolist()
    assert np.all(table.end >= table.core_end)
    assert np.all(np.diff(table.end) >= 0)
    assert int((table.token_core_end - table.token_start).sum()) == tokens
    assert np.all(table.token_end >= table.token_core_end)
    shown(doc, table)


def check_union(doc: Document, table: ChunkTable) -> None:
    """Every byte lies in a chunk."""
    reach = 0
    for start, end in zip(table.starts.tolist(), table.end.tolist(), strict=True):
        assert start <= reach
        reach = max(reach, end)
    assert reach == len(doc.content)
