"""What a checkout may not contain: addresses of registries, paths of somebody's machine, secrets, big files."""

import re

from tests.architecture.tree import ROOT, tracked

# Written in pieces, so that this file passes its own test.
REGISTRIES = [
    "pypi" + ".org",
    "pytho" + "nhosted",
    "npm" + "js.org",
    "npm" + "js.com",
    "deb.deb" + "ian.org",
    "gh" + "cr.io",
    "docker" + ".io/",
    "qu" + "ay.io",
    "crates" + ".io",
]
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:wor" + r"k|roo" + r"t|home/\w+|Users/\w+)/")
PRIVATE_KEY = "PRIVATE" + " KEY-----"
LARGEST = 2 * 1024 * 1024


def test_no_file_names_a_registry_a_machine_path_or_a_key() -> None:
    found = []
    for path in tracked():
        data = (ROOT / path).read_bytes()
        if b"\0" in data[:8192]:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if MACHINE_PATHS.search(line) or PRIVATE_KEY in line or any(host in line for host in REGISTRIES):
                found.append(f"{path}:{number}: {line.strip()[:120]}")
    assert found == []


def test_no_file_is_larger_than_two_megabytes() -> None:
    assert [str(path) for path in tracked() if (ROOT / path).stat().st_size > LARGEST] == []
