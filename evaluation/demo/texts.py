"""The texts a demo pass quotes from, and how its files refer to them: `document@version`, a span `…:start-end`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from annotate.domain.content import MarkedSpan
from annotate.domain.errors import BadInput
from annotate.domain.spans import ByteSpan, locate_quote


@dataclass(frozen=True)
class Text:
    """One source version: its `sha256` (hex) and its bytes."""

    document: str
    version: str
    sha256: str
    content: bytes


class Texts:
    """The versions of one study, by `document@version` and by digest."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._by_place = {(text.document, text.version): text for text in texts}
        self._by_digest = {text.sha256: text for text in self._by_place.values()}

    def get(self, document: str, version: str) -> Text:
        """Return a version; raises BadInput where the study has none of this name."""
        found = self._by_place.get((document, version))
        if found is None:
            raise BadInput(
                f"{document}@{version}",
                "the study has no such source version",
                "Use a document_id and its version_label from sources.toml.",
            )
        return found

    def locate(self, document: str, version: str, quote: str, occurrence: int | None) -> tuple[str, ByteSpan]:
        """Return (digest, span in bytes) of a quote; raises BadInput for an unknown version or a quote not there."""
        text = self.get(document, version)
        try:
            return text.sha256, locate_quote(text.content, quote, occurrence)
        except BadInput as problem:
            raise problem.inside(f"{document}@{version}") from problem

    def place(self, sha256: str) -> tuple[str, str]:
        """Return (document, version) of a digest; raises KeyError for bytes that are none of the study's."""
        text = self._by_digest[sha256]
        return text.document, text.version

    def reference(self, span: MarkedSpan) -> str:
        """Return how a span is referred to apart from any name: `document@version:start-end`, in bytes."""
        document, version = self.place(span.version)
        return f"{document}@{version}:{span.start}-{span.end}"

    def quote(self, span: MarkedSpan) -> str:
        """Return the text of a span."""
        return self._by_digest[span.version].content[span.start : span.end].decode("utf-8")
