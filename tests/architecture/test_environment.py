"""Every variable is declared in one place, documented, and every system check too."""

import ast
import re
from pathlib import Path

from config import environment
from tests.architecture.tree import APPS, python_files, read

READS_THE_ENVIRONMENT = Path("config/environment.py")
# Variables that belong to other programs and are set, never read, by ours.
SET_FOR_OTHERS = {
    "DJANGO_SETTINGS_MODULE",
    "TOKENIZERS_PARALLELISM",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
}
DOCUMENT = Path("docs/settings.md")


def test_declared_variables_are_the_documented_ones() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", read(DOCUMENT), flags=re.MULTILINE))
    assert documented == set(environment.DECLARED)


def test_only_one_module_reads_the_environment() -> None:
    found = []
    for path in python_files(*APPS):
        if path == READS_THE_ENVIRONMENT:
            continue
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                line = read(path).splitlines()[node.lineno - 1]
                if not any(f'"{name}"' in line for name in SET_FOR_OTHERS):
                    found.append(f"{path}:{node.lineno}")
    assert found == [], "declare the variable through config.environment"


def test_numbered_checks_are_documented_and_used_once() -> None:
    in_code: list[str] = []
    for path in python_files(*APPS):
        in_code += [
            node.value
            for node in ast.walk(ast.parse(read(path)))
            if isinstance(node, ast.Constant) and re.fullmatch(r"cutline\.[EW]\d{3}", str(node.value))
        ]
    assert len(in_code) == len(set(in_code)), "two checks share a number"
    documented = set(re.findall(r"^\| `(cutline\.[EW]\d{3})` \|", read(DOCUMENT), flags=re.MULTILINE))
    assert documented == set(in_code)


def test_container_files_set_only_declared_variables() -> None:
    text = read(Path("docker-compose.yml")) + read(Path("Dockerfile"))
    named = set(re.findall(r"\b(CUTLINE_[A-Z_]+|DATABASE_URL|REDIS_URL)\b", text))
    for_compose_itself = {"CUTLINE_BIND"}
    assert named - for_compose_itself <= set(environment.DECLARED)
