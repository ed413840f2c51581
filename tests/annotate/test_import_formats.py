"""Whatever bytes a person brings, a reader returns checked values or says what is wrong and where."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotate.domain.errors import BadInput
from annotate.domain.import_formats.chunking_evaluation import read_dataset
from annotate.domain.import_formats.questions_toml import parse_questions_toml
from annotate.domain.import_formats.seed_fixture import parse_seed_fixture
from annotate.domain.import_formats.sources_toml import parse_sources_toml
from ledger.domain.canonical import canonical_bytes

READERS = [
    parse_sources_toml,
    parse_questions_toml,
    parse_seed_fixture,
    lambda data: read_dataset(data, {"c": "text 💩".encode()}),
]
KEYS = st.sampled_from(
    ["source", "question", "key", "text", "as_of", "file", "document_id", "access_ranges", "labels", "spans", "extra"]
)
SCALARS = st.one_of(
    st.integers(), st.booleans(), st.text(st.characters(codec="utf-8", exclude_characters="'"), max_size=8)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


def as_toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return f"'{value}'" if isinstance(value, str) else str(value)


def read(reader, data):
    try:
        reader(data)
    except BadInput as refused:
        for problem in refused.problems:
            assert problem.where
            assert problem.what
            assert problem.mend


@pytest.mark.parametrize("reader", READERS)
@given(st.binary(max_size=60))
@example(b"a = " + b"[" * 5000)
@example(b"[" * 100_000)
@example(b"a = " + b"1" * 5000)
@example(b"1" * 5000)
@example(b"")
@example(b'"')
def test_arbitrary_bytes_are_read_or_refused(reader, data):
    read(reader, data)


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=5), max_size=3))
def test_tables_of_any_shape_are_read_or_refused(tables):
    for name, reader in (("source", parse_sources_toml), ("question", parse_questions_toml)):
        text = "".join(
            f"[[{name}]]\n" + "".join(f"{key} = {as_toml(value)}\n" for key, value in table.items()) for table in tables
        )
        read(reader, text.encode())
        read(reader, f"{name} = {as_toml(tables)}".encode())


@given(
    st.dictionaries(KEYS | st.sampled_from(["fixture_id", "sources", "source_text", "sufficient_support_sets"]), VALUES)
)
def test_objects_of_any_shape_are_read_or_refused(value):
    read(parse_seed_fixture, canonical_bytes(value))
