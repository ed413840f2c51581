"""The artefact bundle as a download: what `manage.py export_artefacts` writes, packed into one file."""

from __future__ import annotations

import gzip
import secrets
import tarfile
import tempfile
from pathlib import Path
from typing import BinaryIO

from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST

from annotate.domain.errors import BadInput
from annotate.views.study_nav import asker
from evaluation.services.export_artefacts import export_artefacts
from evaluation.views.access import page, sweep_for
from ledger.services import WrongUsage

WHOLE, TEXT_FREE = "whole", "text-free"
#: Bytes of a key nobody chose.
_KEY_BYTES = 32


@require_POST
@page
def bundle(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Download a sealed sweep's bundle; POST `form` = whole or text-free, and with the latter the `key` of its digests.

    By POST: it reads every result of the sweep, which no crawler should do. A key that is not sent is drawn and
    forgotten: the file's short texts can then be guessed by nobody, and compared by nobody either.
    """
    sweep, _ = sweep_for(request, pk, "ledger.export")
    key = _key(request)
    name = f"sweep-{sweep.pk}{'-text-free' if key else ''}"
    packed: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it when it is sent
    try:
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / name
            export_artefacts(asker(request), sweep, folder, text_key=key)
            _pack(folder, packed)
    except WrongUsage as bad:
        packed.close()
        raise BadInput("key", str(bad).rstrip("."), "") from bad
    except BaseException:
        packed.close()
        raise
    packed.seek(0)
    response = FileResponse(packed, as_attachment=True, filename=f"{name}.tar.gz", content_type="application/gzip")
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


def _key(request: HttpRequest) -> bytes | None:
    form = request.POST.get("form")
    if form not in {WHOLE, TEXT_FREE}:
        raise BadInput("form", "it is no form of a bundle", "Choose whole or text-free.")
    if form == WHOLE:
        return None
    return request.POST.get("key", "").encode() or secrets.token_bytes(_KEY_BYTES)


def _pack(folder: Path, out: BinaryIO) -> None:
    """Write `folder` as a gzipped tar that depends on its content only: sorted, without times and owners."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            member = tarfile.TarInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}")
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                tar.addfile(member, file)
