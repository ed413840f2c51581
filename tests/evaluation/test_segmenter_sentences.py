"""Sentence rules: abbreviations, numbers, initials, list items, quotes, and stops of several scripts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from annotate.domain.sentences import LANGUAGES, sentences
from evaluation.domain.sentence_boundaries import sentence_boundaries
from tests.evaluation.segmenter_texts import texts

CASES = {
    "See Sec. 4 and No. 7. Approx. 5 kg, e.g. sand. Done.": [
        "See Sec. 4 and No. 7.",
        "Approx. 5 kg, e.g. sand.",
        "Done.",
    ],
    "He said no. Then art. Sec. IV stays.": ["He said no.", "Then art.", "Sec. IV stays."],
    "It cost 3.50 euros in v. 2.1.7 of it. Next.": ["It cost 3.50 euros in v. 2.1.7 of it.", "Next."],
    "J. R. Smith of the U.S. Navy left the U.S. The rest stayed.": [
        "J. R. Smith of the U.S. Navy left the U.S.",
        "The rest stayed.",
    ],
    "Pens, ink, etc. are free. Pens, ink, etc. The rest is not.": [
        "Pens, ink, etc. are free.",
        "Pens, ink, etc.",
        "The rest is not.",
    ],
    "“Is it open?” she asked. “Yes!” Good.": ["“Is it open?” she asked.", "“Yes!”", "Good."],
    "(See above.) [Also here.] End.": ["(See above.)", "[Also here.]", "End."],
    "Wait... for it. Wait… Then go.": ["Wait... for it.", "Wait…", "Then go."],
    "1. First item. Still first.\n2. Second item\n\na) third": [
        "1. First item.",
        "Still first.",
        "2. Second item",
        "a) third",
    ],
    "IV. Of loans. They end.": ["IV. Of loans.", "They end."],
    "Line one\rstill one.\r\rNext\r\n\r\nLast": ["Line one\rstill one.", "Next", "Last"],
    "Siehe z.B. Abs. 3 bzw. Nr. 4. Es gilt usw. Ende": ["Siehe z.B. Abs. 3 bzw. Nr. 4.", "Es gilt usw.", "Ende"],
    "他问：“可以吗？”她说可以。结束！": ["他问：“可以吗？”", "她说可以。", "结束！"],
    "返却は三日。料金は別途（税込。）。以上": ["返却は三日。", "料金は別途（税込。）。", "以上"],
    "هل يمكن؟ نعم. قال د. سالم ذلك عام 632 م. وانتهى۔ تم": [
        "هل يمكن؟",
        "نعم.",
        "قال د. سالم ذلك عام 632 م.",
        "وانتهى۔",
        "تم",
    ],
    "यह नियम है।वह अपवाद है॥ डॉ. मेहता आए। क्या? हाँ": ["यह नियम है।", "वह अपवाद है॥", "डॉ. मेहता आए।", "क्या?", "हाँ"],
    "| a. B | c |\n| d | e |": ["| a.", "B | c |", "| d | e |"],
    " \n\t": [],
}


@pytest.mark.parametrize("text", CASES, ids=range(len(CASES)))
def test_text_falls_into_the_sentences_a_reader_sees(text: str) -> None:
    assert [text[start:end] for start, end in sentences(text)] == CASES[text]


def test_language_chooses_the_abbreviations() -> None:
    text = "Der Preis gilt inkl. Mwst. für alle. Ende."
    assert len(sentences("Es gilt inkl. Mehrwertsteuer. Ende.", "de")) == 2
    assert len(sentences("Es gilt inkl. Mehrwertsteuer. Ende.", "en")) == 3
    assert len(sentences(text)) == 2
    with pytest.raises(ValueError, match=r"no sentence rules for 'xx'; known are ar, de"):
        sentences(text, "xx")


@given(text=texts)
def test_sentences_are_ordered_bare_and_lose_nothing_but_blanks(text: str) -> None:
    found = sentences(text)
    assert all(start < end for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))
    assert all(text[start:end] == text[start:end].strip() for start, end in found)
    kept = "".join(text[start:end] for start, end in found)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize("language", ["", *sorted(LANGUAGES)])
@given(text=texts)
def test_boundaries_partition_the_bytes_at_code_points(language: str, text: str) -> None:
    content = text.encode()
    edges = sentence_boundaries(content, language).tolist()
    assert edges[0] == 0
    assert edges[-1] == len(content)
    assert all(before < after for before, after in pairwise(edges))
    for start, end in pairwise(edges):
        content[start:end].decode()


def test_a_million_dots_are_read_once() -> None:
    # Tried from every dot, this would take hours.
    text = "." * 1_000_000 + "x " + "?!" * 200_000 + "。"
    assert [end - start for start, end in sentences(text)] == [len(text)]
