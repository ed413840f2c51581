"""Finds text in an uploaded form that is no UTF-8, as the form streams by.

Django would store U+FFFD in place of a bad byte in a value, and drop the whole part, without a word, where a field's or
a file's name has one. The contents of files are not text to a form: whoever reads them checks them.
"""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from email.message import Message
from typing import IO, Any

from django.http import QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.datastructures import MultiValueDict
from django.utils.http import parse_header_parameters

from annotate.domain.errors import BadInput

#: Where a request's META names the first problem found; no client can set a key of this form.
NOT_UTF8 = "cutline.not_utf8"
MEND = "Send the form as UTF-8, whole characters only."
_END = b"\r\n\r\n"
#: Django refuses a part whose headers are longer than a small part of this.
_MOST_HEADERS = 65_536


class Utf8MultiPartParser(MultiPartParser):
    """Django's parser, beside which a `_Watch` reads; what it finds stands in the request's META under NOT_UTF8."""

    def __init__(self, META: dict[str, Any], input_data: Any, *rest: Any) -> None:
        super().__init__(META, input_data, *rest)
        boundary: str = parse_header_parameters(META["CONTENT_TYPE"])[1]["boundary"]
        self._watch = _Watch(input_data, f"--{boundary}".encode("ascii"))
        self._input_data: Any = self._watch
        self._told = META

    def parse(self) -> tuple[QueryDict, MultiValueDict[str, Any]]:
        """Return the fields and files. Raises what Django's parser does; text that is no UTF-8 is told in META."""
        try:
            found: tuple[QueryDict, MultiValueDict[str, Any]] = super().parse()
        except TypeError as error:
            # email.message sorts the pieces of a parameter (RFC 2231), and cannot where only some are numbered.
            raise MultiPartParserError("A part's header has a parameter in pieces that do not fit together.") from error
        if problem := self._watch.finish():
            self._told[NOT_UTF8] = problem
        return found


def not_utf8(raw: bytes, where: str, charset: str = "utf-8") -> BadInput | None:
    """Return what is wrong with a text that a form sent, None where it is text in `charset`."""
    try:
        raw.decode(charset)
    except UnicodeDecodeError as error:
        name = "UTF-8" if charset == "utf-8" else charset[:40]
        return BadInput(where, f"its byte {error.start} (0x{raw[error.start]:02x}) is not {name}", MEND)
    except LookupError:
        return BadInput(where, f"{charset[:40]!r} is no encoding", MEND)
    return None


class _Watch:
    """A stream of multipart/form-data that remembers the first text in it that is no UTF-8.

    It cuts the stream where Django does: whatever stands before the first separator is a part as well.
    """

    def __init__(self, stream: IO[bytes], separator: bytes) -> None:
        self._stream = stream
        self._separator = separator
        self._pending = b""
        self._in_headers = True
        #: What the part is called, its encoding for transfer, and its bytes so far; None in a file and in no part.
        self._field: tuple[str, str, list[bytes]] | None = None
        self._problem: BadInput | None = None

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        if self._problem is None:
            self._pending += data
            while self._problem is None and (self._head() if self._in_headers else self._body()):
                pass
        return data

    def finish(self) -> BadInput | None:
        """Return the first problem; what is pending without a separator is the end of a stream that broke off."""
        if self._problem is None and not self._in_headers:
            self._take(self._pending)
            self._close()
        return self._problem

    def _head(self) -> bool:
        """Read a part's headers; False where more of the stream is needed."""
        end, separator = self._pending.find(_END), self._pending.find(self._separator)
        if separator >= 0 and not 0 <= end < separator:
            self._pending = self._pending[separator + len(self._separator) :]
            return True
        if end < 0:
            # Django has given up on it by now; a search of ever more bytes would take ever longer.
            self._pending = self._pending[:_MOST_HEADERS]
            return False
        self._open(self._pending[:end])
        self._pending = self._pending[end + len(_END) :]
        self._in_headers = False
        return True

    def _body(self) -> bool:
        """Read on in a part up to its separator; False where more of the stream is needed."""
        separator = self._pending.find(self._separator)
        if separator < 0:
            # The separator may have begun, with the line end before it.
            kept = len(self._separator) + 2
            self._take(self._pending[:-kept])
            self._pending = self._pending[-kept:]
            return False
        self._take(self._pending[:separator].removesuffix(b"\n").removesuffix(b"\r"))
        self._close()
        self._pending = self._pending[separator + len(self._separator) :]
        self._in_headers = True
        return True

    def _open(self, headers: bytes) -> None:
        name, transfer, is_file = None, "", False
        for line in headers.split(b"\r\n"):
            # One character a byte, so that nothing is lost before it is looked at.
            kind, colon, value = line.decode("latin-1").partition(":")
            match kind.lower().rstrip(" ") if colon else "":
                case "content-disposition":
                    given = _parameters(value)
                    name = given["name"][0].decode("utf-8", "replace").strip()[:80] if "name" in given else None
                    is_file = bool(given.get("filename", (b"", ""))[0])
                    for what, where in (("name", name or ""), ("filename", f"{name}, file name")):
                        if what in given and self._problem is None:
                            self._problem = not_utf8(given[what][0], where, given[what][1])
                case "content-transfer-encoding":
                    transfer = parse_header_parameters(value.lstrip(" "))[0]
        self._field = None if name is None or is_file else (name, transfer, [])

    def _take(self, data: bytes) -> None:
        if self._field is not None:
            self._field[2].append(data)

    def _close(self) -> None:
        if self._field is not None and self._problem is None:
            name, transfer, parts = self._field
            raw = b"".join(parts)
            if transfer == "base64":
                # What is no base64 Django takes as it stands.
                with suppress(binascii.Error):
                    raw = base64.b64decode(raw, validate=True)
            self._problem = not_utf8(raw, name)
        self._field = None


def _parameters(value: str) -> dict[str, tuple[bytes, str]]:
    """Return a header's parameters as the bytes they stand for and the charset these are said to be in."""
    message = Message()
    message["content-type"] = value.lstrip(" ")
    found: dict[str, tuple[bytes, str]] = {}
    params: list[tuple[str, Any]] = [*(message.get_params() or [])[1:]]
    for name, given in params:
        if isinstance(given, tuple):
            charset, _, text = given
            found[name] = (text.encode("latin-1", "replace"), charset or "us-ascii")
        else:
            found[name] = (given.encode("latin-1", "replace"), "utf-8")
    return found
