"""Production's static files: collected, hashed, compressed, and served with DEBUG off."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string
from django.test import Client

from tests.architecture.tree import ROOT, tracked

IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder filled by the very command a deployment runs, with production settings."""
    import os

    folder = tmp_path_factory.mktemp("collected")
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "CUTLINE_STATIC": str(folder),
        "CUTLINE_DEBUG": "0",
    }
    command = [sys.executable, "manage.py", "collectstatic", "--noinput"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def hashed_names(collected: Path, settings: Any) -> Path:
    """Serve the collected files as production does."""
    settings.DEBUG = False
    settings.STATIC_ROOT = collected
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": "config.static.HashedStaticFiles"}}
    return collected


def test_every_file_gets_a_hashed_name_and_a_compressed_twin(hashed_names: Path) -> None:
    for path in tracked():
        if path.parts[0] != "static":
            continue
        name = staticfiles_storage.stored_name(path.relative_to("static").as_posix())
        assert re.search(r"\.[0-9a-f]{12}\.", name), f"{path} keeps its plain name"
        assert (hashed_names / name).is_file()


def test_modules_import_each_other_by_hashed_names(hashed_names: Path) -> None:
    for path in tracked():
        if path.parts[0] != "static" or path.suffix != ".js":
            continue
        stored = hashed_names / staticfiles_storage.stored_name(path.relative_to("static").as_posix())
        for imported in IMPORT.findall(stored.read_text()):
            assert re.search(r"\.[0-9a-f]{12}\.js$", imported), f"{path} imports {imported} by its plain name"
            assert (stored.parent / imported).is_file()


def test_page_names_hashed_files_and_the_server_sends_them_for_good(hashed_names: Path) -> None:
    # A page whose static file is missing from the manifest raises here and nowhere in development.
    page = render_to_string("404.html")
    addresses = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert any(address.endswith(".css") for address in addresses), page
    client = Client()
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "immutable" in answer.headers["Cache-Control"], address
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
