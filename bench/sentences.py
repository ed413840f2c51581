"""How sentences come out per language, measured on the parallel paragraphs of XQuAD.

    python bench/sentences.py --data ../shared/data/xquad --json sentences.json

The same 240 paragraphs stand in every language, so that one rule can be held against another language and against
the plain rule that cuts after `.`, `!` or `?` before a blank. Columns:

* `sentences`, `per paragraph`: how many there are;
* `as in English`: paragraphs with exactly as many sentences as their English original (translators join and part some);
* `one piece`: paragraphs of two or more English sentences that came out as one;
* `severed`: distinct answer spans that a sentence boundary falls into, of all distinct ones: almost always a wrong
  boundary, since an answer is a phrase;
* `median`, `95 %`, `longest`: characters per sentence; `tokens`: the longest in the plan's tokenizer;
* `split`: sentences above 256 tokens, which sentence packing of that capacity cuts at tokens and counts.

`plain` rows are the plain rule on the same text.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from annotate.domain.sentences import LANGUAGES, sentences
from evaluation.domain.segmenters.ruler import token_ruler
from evaluation.plugins.tokenizers import SHIPPED, load_tokenizer

CAPACITY = 256
_PLAIN = re.compile(r"(?<=[.!?])\s+")

type Splitter = Callable[[str], list[tuple[int, int]]]


@dataclass(frozen=True)
class Row:
    """One language under one rule; lengths in code points unless they say tokens."""

    language: str
    rule: str
    paragraphs: int
    sentences: int
    as_in_english: int
    one_piece: int
    answers: int
    severed: int
    median: int
    percentile_95: int
    longest: int
    longest_tokens: int
    split: int


def plain(text: str) -> list[tuple[int, int]]:
    """Sentences by the rule most splitters start from."""
    edges = [0, *(match.end() for match in _PLAIN.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(edges) if start < end]


def load(path: Path) -> dict[str, tuple[str, set[tuple[int, int]]]]:
    """Paragraphs of one file by the id of their first question: text and distinct answer spans."""
    found = {}
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            answers = [one for asked in paragraph["qas"] for one in asked["answers"]]
            spans = {(one["answer_start"], one["answer_start"] + len(one["text"])) for one in answers}
            found[paragraph["qas"][0]["id"]] = (paragraph["context"], spans)
    return found


def measure(
    language: str,
    rule: str,
    texts: dict[str, tuple[str, set[tuple[int, int]]]],
    split: Splitter,
    english: dict[str, int],
) -> Row:
    """Count what one rule makes of one language."""
    tokenizer = load_tokenizer()
    lengths: list[int] = []
    tokens: list[int] = []
    same = one_piece = severed = answers = 0
    for key, (text, spans) in texts.items():
        found = split(text)
        same += len(found) == english[key]
        one_piece += len(found) == 1 < english[key]
        lengths += [end - start for start, end in found]
        starts = np.array([start for start, _ in found[1:]] + [len(text)])
        ruler = token_ruler(tokenizer.encode(text.encode()))
        places = np.array([0, *(len(text[:start].encode()) for start in starts.tolist())])
        tokens += np.diff(ruler.at_all(places)).tolist()
        for start, end in spans:
            severed += bool(np.any((starts > start) & (starts < end)))
        answers += len(spans)
    return Row(
        language=language,
        rule=rule,
        paragraphs=len(texts),
        sentences=len(lengths),
        as_in_english=same,
        one_piece=one_piece,
        answers=answers,
        severed=severed,
        median=int(np.median(lengths)),
        percentile_95=int(np.percentile(lengths, 95)),
        longest=max(lengths),
        longest_tokens=max(tokens),
        split=sum(count > CAPACITY for count in tokens),
    )


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    head = (
        "| language | rule | sentences | per paragraph | as in English | one piece | severed | median | 95 % | longest "
        "| tokens | split |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    lines = [
        f"| {r.language} | {r.rule} | {r.sentences} | {r.sentences / r.paragraphs:.2f} | {r.as_in_english} "
        f"| {r.one_piece} | {r.severed} of {r.answers} | {r.median} | {r.percentile_95} | {r.longest} "
        f"| {r.longest_tokens} | {r.split} |"
        for r in rows
    ]
    return "\n".join([head, *lines])


def main() -> None:
    """Measure every language there is a file for, print the table and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with xquad.<language>.json files")
    parser.add_argument("--json", type=Path, help="write the rows here as well")
    given = parser.parse_args()
    files = {path.suffixes[0][1:]: path for path in sorted(given.data.glob("xquad.*.json"))}
    if "en" not in files:
        parser.error(f"{given.data} holds no xquad.en.json, which the other languages are compared with")
    english = {key: len(sentences(text, "en")) for key, (text, _) in load(files["en"]).items()}
    rows = []
    for language, path in files.items():
        texts = load(path)
        known = language if language in LANGUAGES else ""
        for rule, split in (("cutline", lambda text, known=known: sentences(text, known)), ("plain", plain)):
            rows.append(measure(language, rule, texts, split, english))
    print(table(rows))
    print(
        f"\ntokens: {SHIPPED}; split: sentences above {CAPACITY} tokens; {rows[0].paragraphs} paragraphs per language"
    )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
