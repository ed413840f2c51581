"""Kinds of record and result that only these tests write."""

import pytest

from ledger import registry


@pytest.fixture(autouse=True)
def test_kinds():
    """Register `test.note` (text in `quote` and `parts[].text`), `test.plain` and the result kind `test.answer`."""
    with registry.opened():
        registry.register_plain("test.note", text_fields=("quote", "parts[].text"))
        registry.register_plain("test.plain")
        registry.register_plain("test.answer", text_fields=("answer",))
        registry.register_plain("test.rank")
        yield
