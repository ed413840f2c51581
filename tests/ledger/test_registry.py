import pytest

from ledger import registry
from ledger.services import SEALED_KIND


def nothing(*_):
    return []


def test_registry_is_frozen_once_the_apps_are_loaded(test_kinds):
    registry_open = registry._open_for_tests
    try:
        registry._open_for_tests = 0
        for call in (
            lambda: registry.register("x.y", nothing),
            lambda: registry.register_plain("x.y"),
            lambda: registry.register_table("x", nothing),
        ):
            with pytest.raises(registry.RegistryFrozen, match=r"AppConfig\.ready"):
                call()
    finally:
        registry._open_for_tests = registry_open


def test_kind_is_registered_once_with_readable_paths():
    registry.register("x.y", nothing, text_fields=("a[].b",))
    with pytest.raises(ValueError, match="twice"):
        registry.register_plain("x.y")
    with pytest.raises(ValueError, match="text field"):
        registry.register_plain("x.z", text_fields=("a[1]",))
    registry.register("x.y", nothing, text_fields=("a[].b",))
    registry.register_table("x", nothing)
    registry.register_table("x", nothing)
    with pytest.raises(ValueError, match="twice"):
        registry.register_table("x", lambda: [])
    assert registry.find_kind("x.y").text_fields == ("a[].b",)
    assert registry.find_kind("unheard.of") is None


def test_opened_registry_is_restored():
    before = registry.kinds()
    with registry.opened():
        registry.register_plain("only.here")
    assert registry.kinds() == before
    assert SEALED_KIND in before
