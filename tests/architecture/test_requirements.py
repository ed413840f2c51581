"""requirements.txt, which images install with --require-hashes: complete, within pyproject's ranges, free of hosts.

Make it anew after changing a dependency:
    uv pip compile pyproject.toml --universal --python-version 3.12 --generate-hashes --no-header \
        --no-emit-index-url --quiet --output-file requirements.txt
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import read

TEXT = read(Path("requirements.txt"))
# One entry a package: the pin with its marker, then the hashes as continued lines.
ENTRIES = [entry for entry in re.split(r"\n(?=[A-Za-z0-9])", TEXT.replace("\\\n", "\n")) if entry.strip()]
WANTED = [Requirement(line) for line in tomllib.loads(read(Path("pyproject.toml")))["project"]["dependencies"]]


def _pins() -> dict[str, list[str]]:
    pins: dict[str, list[str]] = {}
    for entry in ENTRIES:
        requirement = Requirement(entry.splitlines()[0])
        (version,) = [found.version for found in requirement.specifier if found.operator == "=="]
        pins.setdefault(canonicalize_name(requirement.name), []).append(version)
    return pins


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_each_dependency_is_pinned_within_its_range(wanted: Requirement) -> None:
    versions = _pins()[canonicalize_name(wanted.name)]
    assert all(wanted.specifier.contains(version) for version in versions), versions
    for extra in wanted.extras:
        assert re.search(rf"(?m)^\s+# +(?:via )?.*\b{wanted.name}\b", TEXT), f"nothing in the file comes from [{extra}]"


def test_every_entry_has_hashes() -> None:
    assert len(ENTRIES) > len(WANTED)
    assert [entry.splitlines()[0] for entry in ENTRIES if "--hash=sha256:" not in entry] == []


def test_no_line_names_a_host_or_an_option() -> None:
    assert re.findall(r"(?m)^.*(?:://|^-|--index|--find-links).*$", TEXT) == []
