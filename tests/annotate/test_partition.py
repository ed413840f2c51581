"""Clusters, nearest documents, groups and stale versions, as pure functions."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.domain.partition import Placed, document_clusters, group_crossings, nearest_document
from annotate.domain.staleness import VersionDates, stale_reason
from annotate.domain.vocabulary import Partition


def test_documents_one_question_needs_hang_together():
    clusters = document_clusters({"q1": ["b", "a"], "q2": ["c"], "q3": ["c", "d"], "q4": ["b", "e"], "q5": []})
    assert clusters == {"a": "a", "b": "a", "e": "a", "c": "c", "d": "c"}
    assert document_clusters({}) == {}
    assert document_clusters({"q": []}) == {}


@given(st.dictionaries(st.text("q0123", min_size=1), st.lists(st.sampled_from("abcdefgh"), max_size=3), max_size=8))
def test_clusters_partition_the_documents_and_no_question_spans_two(documents_of):
    clusters = document_clusters(documents_of)
    assert set(clusters) == {name for names in documents_of.values() for name in names}
    for names in documents_of.values():
        assert len({clusters[name] for name in names}) <= 1
    for name, cluster in clusters.items():
        assert clusters[cluster] == cluster <= name


def test_the_nearest_document_shares_the_rarest_words():
    documents = {
        "fees": "The fee for a parcel is five euros. The fee is due.",
        "loans": "The loan of a parcel lasts thirty days.",
        "about": "The library opens at nine.",
    }
    assert nearest_document("Which FEE is due for a parcel?", documents) == "fees"
    assert nearest_document("How long may a loan be?", documents) == "loans"
    assert nearest_document("xyzzy", documents) == "about", "nothing shared: the first by id"
    with pytest.raises(ValueError, match="no document"):
        nearest_document("x", {})


def test_a_group_on_both_sides_of_the_partition_is_named_with_its_questions():
    questions = [
        Placed("q1", "g", Partition.HELD_OUT),
        Placed("q2", "g", Partition.DEVELOPMENT),
        Placed("q3", "h", Partition.DEVELOPMENT),
        Placed("q4", "", Partition.HELD_OUT),
        Placed("q5", "", Partition.DEVELOPMENT),
    ]
    (problem,) = group_crossings(questions)
    assert problem.where == "group g"
    assert "q1" in problem.what
    assert "q2" in problem.what


KEYS = {"old": 1, "mid": 2, "new": 3, "other": 4, None: None}


def version(name, *, seen=date(2026, 1, 1), start=None, end=None, over=None):
    return VersionDates(KEYS[name], name, seen, start, end, KEYS[over])


@pytest.mark.parametrize(
    ("versions", "as_of", "stale"),
    [
        ([version("old")], date(2026, 6, 1), ""),
        ([version("old", end=date(2026, 6, 1))], date(2026, 6, 1), "not in force"),
        ([version("old", end=date(2026, 6, 1))], date(2026, 5, 31), ""),
        ([version("old", start=date(2026, 7, 1))], date(2026, 6, 1), "not in force"),
        ([version("old"), version("new", start=date(2026, 6, 1), over="old")], date(2026, 6, 1), "superseded"),
        ([version("old"), version("new", start=date(2026, 6, 1), over="old")], date(2026, 5, 31), ""),
        ([version("old"), version("new", seen=date(2026, 3, 1), over="old")], date(2026, 2, 1), ""),
        ([version("old"), version("new", seen=date(2026, 3, 1), over="old")], date(2026, 3, 1), "superseded"),
        (
            [version("old"), version("mid", over="old", end=date(2026, 2, 1)), version("new", over="mid")],
            date(2026, 6, 1),
            "superseded",
        ),
        ([version("old"), version("new", over="other")], date(2026, 6, 1), ""),
        ([version("old", over="new"), version("new", over="old")], date(2026, 6, 1), "superseded"),
    ],
)
def test_marks_are_stale_where_a_successor_is_in_force_on_the_questions_date(versions, as_of, stale):
    reason = stale_reason(KEYS["old"], versions, as_of)
    assert stale in reason
    assert bool(reason) is bool(stale)
