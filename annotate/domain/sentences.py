"""Sentences of a text, by one declared rule: what a reader's numbers count, what is quoted, and where packing may cut.

A *block* ends at a blank line, and before a line that starts a heading, a list item, a table row, a numbered clause or
a code fence. Lines end at LF, CR LF or a lone CR. Inside a block a sentence ends

* after `。`, `！`, `？`, `।`, `॥`, `؟`, `۔` and their kin, in any position, with the quotes and brackets that close it;
* after `.`, `!`, `?` (with closing quotes or brackets) before a blank, unless a lower-case letter follows;
* after an ellipsis (`…`, `...`) before a blank and an upper-case letter only: without case it rarely ends one.

A full stop ends no sentence after a known abbreviation (`Approx.`, `e.g.`), after one that announces a number when a
number follows (`No. 5`, `Sec. IV`), after an initial (`J. Smith`; in scripts without case any single letter that no
number precedes), inside an acronym (`U.S. patent`) or behind the number of a list item (`1. First`). Decimals hold
no blank and are never looked at. `etc.`, `a.m.` and their kin end a sentence where an upper-case letter follows.

`language` (a primary subtag) chooses the abbreviations; "" takes those of every language together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words before a full stop that never end a sentence (compared in lower case, without the stop). Abbreviations that
#: are ordinary words of a language here (max, es, est) are left out: those do end sentences.
ABBREVIATIONS: dict[str, frozenset[str]] = {
    "en": _words(
        "approx cf co dept dr e.g eds gov hon i.e inc jr lt ltd messrs mr mrs ms mt prof resp rev sgt sr st univ v viz "
        "vs"
    ),
    "de": _words(
        "allg bsp bzgl bzw ca d.h dr evtl frl ggf hr hrsg inkl insb m.e mio mrd o.ä prof resp sog u.a vgl z.b z.t zzgl"
    ),
    "fr": _words("av cf dr env m.m mgr mlle mm mme p.ex prof st ste"),
    "es": _words("av cía dr dra p.ej prof sr sra srta ud uds"),
    "it": _words("avv cfr dott dott.ssa p.es prof sig sig.ra sigg"),
    # Initials in names from English, as Arabic and Hindi spell its letters; in Hindi titles too.
    "ar": _words("إيه بي سي دي إي إف جي إتش آي جيه كيه إل إم إن أو آر إس تي يو دبليو إكس واي"),
    "hi": _words("डॉ डा प्रो श्री सं रु कि मी पं ए बी सी डी ई एफ जी एच आई जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू एक्स वाई"),
    "zh": frozenset(),
    "ja": frozenset(),
}
#: Words that are abbreviations where a number follows, and ordinary words elsewhere.
BEFORE_NUMBERS = _words(
    "abb abs abt anm app art bd cap ch cl eq fig figs kap lit n nr no nos núm op p pág para paras pp pt reg s sec secs "
    "sect sects ss str tab tel tit tome vers vol vols ziff §"
)
#: Abbreviations that may close a sentence: they do where an upper-case letter follows.
MAY_END = _words("a.d a.m al b.c etc et.al m.p.h p.m usw u.s.w")
#: Words that open a sentence far more often than they follow an acronym.
_OPENERS = _words("A An And As At But By For From He However I If In It On She The There These They This We When")

LANGUAGES = frozenset(ABBREVIATIONS)
_EVERY_ABBREVIATION = frozenset().union(*ABBREVIATIONS.values())

_LINE = r"(?:\r\n|\r|\n)"
_NEW_BLOCK = re.compile(
    rf"{_LINE}[ \t]*(?={_LINE})"
    rf"|{_LINE}(?=[ \t]*(?:#{{1,6}}\s|[-*+•]\s|\||\d{{1,3}}[.)]\s|\d{{1,3}}(?:\.\d{{1,3}})+\s|```|~~~))"
)
_WIDE = "。．｡！？।॥؟۔։።‼⁇⁈⁉"
_CLOSERS = r"\"'”’»)\]}）】》〉」』"
# A run of stops is tried once, from its start: what follows a million dots is not searched a million times.
_END = re.compile(rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s|$)|[{_WIDE}][.!?…{_WIDE}{_CLOSERS}]*")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«（]+$")
_NEXT = re.compile(r"\s*([\"'“‘«(\[¿¡]*)([\w§#]*)")
_ITEM = re.compile(r"\s*(?:[-*+•]\s+|#{1,6}\s+)?\(?(?:\d{1,4}|[^\W\d_]|[ivxIVX]{1,6})")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}")
_NUMBER = re.compile(r"\d|[IVXLC]+$|[§#]")
#: Longest word that is looked at before a full stop; no abbreviation comes near it.
_REACH = 40


def sentences(text: str, language: str = "") -> list[tuple[int, int]]:
    """Intervals `[start, end)` of the sentences of `text` in code points, in order, without the blanks around them.

    Raises `ValueError` for a language without rules.
    """
    if language and language not in LANGUAGES:
        raise ValueError(
            f"no sentence rules for {language!r}; known are {', '.join(sorted(LANGUAGES))}, or leave it out"
        )
    never = ABBREVIATIONS[language] if language else _EVERY_ABBREVIATION
    found: list[tuple[int, int]] = []
    for begin, end in _blocks(text):
        found += [pair for pair in _in_block(text, begin, end, never) if pair[0] < pair[1]]
    return found


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for match in _NEW_BLOCK.finditer(text):
        yield at, match.end()
        at = match.end()
    yield at, len(text)


def _in_block(text: str, begin: int, end: int, never: frozenset[str]) -> Iterator[tuple[int, int]]:
    at = begin
    for match in _END.finditer(text, begin, end):
        if _ends(text, begin, match, end, never):
            yield _stripped(text, at, match.end())
            at = match.end()
    yield _stripped(text, at, end)


def _ends(text: str, begin: int, match: re.Match[str], end: int, never: frozenset[str]) -> bool:
    mark, after = match.start(), match.end()
    marks = match.group()
    if any(sign in _WIDE for sign in marks):
        return True
    following = _NEXT.match(text, after, end)
    assert following is not None  # it matches the empty string
    word = following[2]
    if not word and not following[1]:
        return True
    first = word[:1]
    if first.islower() and not following[1]:
        return False
    if "…" in marks or ".." in marks:
        return first.isupper()
    if "." not in marks:
        return True
    return _full_stop_ends(text, begin, mark, word, never)


def _full_stop_ends(text: str, begin: int, mark: int, following: str, never: frozenset[str]) -> bool:
    """Whether the full stop at `mark`, before the word `following`, ends a sentence."""
    if _ITEM.fullmatch(text, begin, mark) is not None:
        return False
    found = _LAST_WORD.search(text, max(begin, mark - _REACH), mark)
    if found is None:
        return True
    last, lower = found.group(), found.group().lower()
    if lower in MAY_END:
        return following[:1].isupper()
    if lower in never or (lower in BEFORE_NUMBERS and _NUMBER.match(following)):
        return False
    if _ACRONYM.fullmatch(last):
        return following in _OPENERS
    initial = len(last) == 1 and last.isalpha() and not last.islower()
    # Without case: `د. محمد` is a title, but in `632 م.` the letter is a unit of the number before it.
    return not initial or (not last.isupper() and _number_before(text, begin, found.start()))


def _number_before(text: str, begin: int, at: int) -> bool:
    return text[max(begin, at - 3) : at].rstrip()[-1:].isdigit()


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
