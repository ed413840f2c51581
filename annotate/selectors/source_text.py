"""Parts of a source's text as a page reads them: laid out once per version and reader, and bytes only as needed."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from django.db.models import BinaryField
from django.db.models.functions import Substr

from annotate.domain.source_layout import SourceLayout, lay_out
from annotate.domain.spans import ByteSpan
from annotate.models import SourceVersion

_KEPT = 32
_layouts: OrderedDict[tuple[str, tuple[ByteSpan, ...], str], SourceLayout] = OrderedDict()
_lock = Lock()


def layout_of(version: SourceVersion, hidden: tuple[ByteSpan, ...]) -> SourceLayout:
    """Return the layout of `version` for a reader from whom `hidden` is kept; made once in a process.

    The key holds the hidden ranges: what one reader may see is no other reader's layout.
    """
    key = (version.sha256, hidden, version.locale)
    with _lock:
        found = _layouts.get(key)
        if found is not None:
            _layouts.move_to_end(key)
            return found
    made = lay_out(bytes(version.content), hidden, version.locale)
    with _lock:
        _layouts[key] = made
        while len(_layouts) > _KEPT:
            _layouts.popitem(last=False)
    return made


def bytes_of(version: SourceVersion, start: int, end: int) -> bytes:
    """Return bytes `[start, end)` of `version` without reading the rest. The caller keeps hidden ranges out."""
    window = Substr("content", start + 1, max(0, end - start), output_field=BinaryField())
    return bytes(SourceVersion.objects.filter(pk=version.pk).values_list(window, flat=True)[0])
