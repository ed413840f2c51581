"""Exact bounds against SciPy and against their own definition; clusters of shared documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evaluation.domain.bounds import effective_clusters, equal_outcomes_bounds, proportion_bounds, zero_upper_bound
from evaluation.domain.clusters import connected_clusters

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.sampled_from([0.001, 0.025, 0.05, 0.2]))
def test_proportion_bounds_are_clopper_pearson(count: tuple[int, int], alpha: float) -> None:
    events, trials = count
    found = proportion_bounds(events, trials, alpha)
    scipy = binomtest(events, trials).proportion_ci(confidence_level=1 - 2 * alpha, method="exact")
    assert found.lower == pytest.approx(scipy.low, abs=1e-9)
    assert found.upper == pytest.approx(scipy.high, abs=1e-9)


def test_zero_of_twelve_still_allows_22_percent() -> None:
    assert zero_upper_bound(12) == pytest.approx(0.2209, abs=5e-5)
    assert (1 - zero_upper_bound(12)) ** 12 == pytest.approx(0.05)


@given(st.floats(1, 500), st.floats(0, 1))
def test_effective_counts_between_whole_ones_are_monotone(trials: float, share: float) -> None:
    loose, tight = (proportion_bounds(share * n, n, 0.05) for n in (trials, trials + 1))
    assert loose.lower <= tight.lower + 1e-9
    assert tight.upper <= loose.upper + 1e-9


@pytest.mark.parametrize(("events", "trials", "alpha"), [(1, 0, 0.05), (-1, 3, 0.05), (4, 3, 0.05), (1, 3, 0.0)])
def test_impossible_counts_are_refused(events: int, trials: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="no proportion bound"):
        proportion_bounds(events, trials, alpha)


def test_equal_outcomes_bounds_meet_clopper_pearson_at_the_ends() -> None:
    assert equal_outcomes_bounds(1, 0, 1, 12, 0.05) == pytest.approx((0.7791, 1), abs=5e-5)
    assert equal_outcomes_bounds(0, -1, 1, 12, 0.05) == pytest.approx((-0.2209, 0.2209), abs=5e-5)
    assert equal_outcomes_bounds(-1, -1, 1, 12, 0.05) == pytest.approx((-1, -0.5582), abs=5e-5)
    with pytest.raises(ValueError, match="outside"):
        equal_outcomes_bounds(2, 0, 1, 12, 0.05)


def test_effective_clusters_shrink_with_unequal_sizes() -> None:
    assert effective_clusters([2, 2, 2]) == pytest.approx(3)
    assert effective_clusters([10, 1, 1]) == pytest.approx(144 / 102)
    assert effective_clusters([]) == 0


def test_questions_are_joined_through_shared_documents() -> None:
    found = connected_clusters(
        {"q1": ["b", "a"], "q2": ["b", "c"], "q3": ["d"], "q4": ["c"], "q5": [], "q6": ["d", "d"]}
    )
    assert found == {"q1": "a", "q2": "a", "q4": "a", "q3": "d", "q6": "d", "q5": "question:q5"}
    assert connected_clusters({}) == {}
    assert connected_clusters({"q": []}) == {"q": "question:q"}


@given(st.dictionaries(st.text("pqr", min_size=1, max_size=3), st.lists(st.sampled_from("abcdef"), max_size=3)))
def test_clusters_are_the_finest_partition_that_keeps_documents_together(links: dict[str, list[str]]) -> None:
    found = connected_clusters(links)
    for one, documents in links.items():
        for other, theirs in links.items():
            if set(documents) & set(theirs):
                assert found[one] == found[other]
    # Breadth-first search by hand gives the same groups.
    for one in links:
        reached, frontier = {one}, {one}
        while frontier:
            touching = {doc for name in frontier for doc in links[name]}
            frontier = {name for name in links if set(links[name]) & touching} - reached
            reached |= frontier
        assert {name for name in links if found[name] == found[one]} == reached
