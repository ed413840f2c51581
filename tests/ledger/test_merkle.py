import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.domain.merkle import (
    EMPTY_ROOT,
    Accumulator,
    InclusionProof,
    inclusion_proof,
    leaf_hash,
    merkle_root,
    verify_inclusion,
)

LEAVES = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.binary(max_size=5), max_size=40
)


def reference(hashes):
    """MTH of RFC 6962, section 2.1, as written there."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while k * 2 < len(hashes):
        k *= 2
    return hashlib.sha256(b"\x01" + reference(hashes[:k]) + reference(hashes[k:])).digest()


def test_empty_root_is_the_hash_of_nothing():
    assert merkle_root([]) == EMPTY_ROOT == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(LEAVES, st.randoms())
def test_root_follows_the_rfc_and_not_the_order(leaves, random):
    items = list(leaves.items())
    ordered = sorted(items, key=lambda item: item[0].encode())
    random.shuffle(items)
    expected = reference([leaf_hash(key, content) for key, content in ordered]).hex()
    assert merkle_root(items) == merkle_root(ordered) == expected


@given(LEAVES.filter(bool), st.data())
def test_every_leaf_has_a_proof_and_no_other_content_does(leaves, data):
    items = list(leaves.items())
    root = merkle_root(items)
    key = data.draw(st.sampled_from(sorted(leaves)))
    proof = inclusion_proof(items, key)
    assert verify_inclusion(key, leaves[key], proof, root)
    assert not verify_inclusion(key, leaves[key] + b"!", proof, root)
    assert not verify_inclusion(key + "!", leaves[key], proof, root)
    shorter = InclusionProof(proof.index, proof.size, proof.path[:-1])
    assert not proof.path or not verify_inclusion(key, leaves[key], shorter, root)
    longer = InclusionProof(proof.index, proof.size, (*proof.path, root))
    assert not verify_inclusion(key, leaves[key], longer, root)


@given(LEAVES.filter(bool), st.data())
def test_any_change_changes_the_root(leaves, data):
    root = merkle_root(leaves.items())
    key = data.draw(st.sampled_from(sorted(leaves)))
    assert merkle_root({**leaves, key: leaves[key] + b"!"}.items()) != root
    assert merkle_root({k: v for k, v in leaves.items() if k != key}.items()) != root


def test_key_and_content_cannot_run_into_each_other():
    assert merkle_root([("ab", b"c")]) != merkle_root([("a", b"bc")])


def test_keys_that_repeat_or_fall_back_are_refused():
    with pytest.raises(ValueError, match="unique"):
        merkle_root([("a", b"1"), ("a", b"2")])
    accumulator = Accumulator()
    accumulator.add("b", b"")
    with pytest.raises(ValueError, match="in order"):
        accumulator.add("a", b"")


def test_proof_for_an_unknown_key_is_refused():
    with pytest.raises(KeyError):
        inclusion_proof([("a", b"")], "b")
    assert not verify_inclusion("a", b"", InclusionProof(1, 1, ()), merkle_root([("a", b"")]))
