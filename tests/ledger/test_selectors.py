import pytest

from ledger.selectors.records import records, results, seals
from ledger.services import ResultEntry, append, put_results, seal


@pytest.fixture
def filled(db):
    append("test.note", 1, "a")
    append("test.note", 2, "a", ["legal"])
    append("test.plain", 3, "a", ["legal", 'Ünïon "x"'])
    append("test.note", 4, "b", ["hr"])
    for scope in ("a", "b"):
        put_results(scope, [ResultEntry("k2", "test.rank", 1), ResultEntry("k1", "test.answer", 2)])
        seal(scope, 2)


def values(queryset):
    return [record.value for record in queryset if record.kind.startswith("test.")]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"scopes": [], "labels": ["legal"]}, []),
        ({"scopes": ["a"], "labels": []}, [1]),
        ({"scopes": ["a"], "labels": ["legal"]}, [1, 2]),
        ({"scopes": ["a"], "labels": {"legal", 'Ünïon "x"', "hr"}}, [1, 2, 3]),
        ({"scopes": ["a", "b"], "labels": ["hr"]}, [1, 4]),
        ({"scopes": ["b"], "labels": ["legal"]}, []),
        ({"scopes": ["a"], "labels": ["legal"], "kinds": ["test.plain"]}, []),
        ({"scopes": ["a"], "labels": ["legal"], "kinds": []}, []),
        ({"scopes": ["a"], "labels": ["legal"], "carrying": ["legal"]}, [2]),
        ({"scopes": ["a"], "labels": ['Ünïon "x"', "legal"], "carrying": ["legal", 'Ünïon "x"']}, [3]),
    ],
)
def test_records_start_from_what_the_caller_may_see(filled, asked, expected):
    assert values(records(**asked)) == expected


def test_results_and_seals_keep_to_the_allowed_scopes(filled):
    assert [row.key for row in results(scopes=["a"])] == ["k1", "k2"]
    assert [row.key for row in results(scopes=["a", "b"], kinds=["test.answer"])] == ["k1", "k1"]
    assert [row.scope for row in seals(scopes=["b"])] == ["b"]
    assert not results(scopes=[]).exists()
    assert not seals(scopes=[]).exists()


def test_one_string_is_no_collection(db):
    with pytest.raises(TypeError, match="collection"):
        records(scopes="a", labels=[])
    with pytest.raises(TypeError, match="collection"):
        records(scopes=["a"], labels="legal")
