"""Merkle trees over keyed results, in the shape of RFC 6962 section 2.1.

Leaves are ordered by their key's UTF-8 bytes, so the root depends on what was found and on nothing else: not on time,
order of arrival or worker. Leaf and node hashes carry different prefixes, so a node can never pass for a leaf.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

_LEAF = b"\x00"
_NODE = b"\x01"
EMPTY_ROOT = hashlib.sha256(b"").hexdigest()


def leaf_hash(key: str, content: bytes) -> bytes:
    """Return SHA-256(0x00 ‖ length of key (8 bytes, big-endian) ‖ key ‖ content)."""
    name = key.encode("utf-8")
    return hashlib.sha256(_LEAF + len(name).to_bytes(8, "big") + name + content).digest()


def _node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()


class Accumulator:
    """Computes a root from leaves that come in key order, holding O(log n) hashes."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, bytes]] = []
        self._last: bytes | None = None
        self.count = 0

    def add(self, key: str, content: bytes) -> None:
        """Add the next leaf; raises ValueError unless its key sorts (by UTF-8 bytes) after the one before."""
        name = key.encode("utf-8")
        if self._last is not None and name <= self._last:
            raise ValueError(f"leaf {key!r} does not sort after the one before: keys must be unique and in order.")
        self._last = name
        size, node = 1, leaf_hash(key, content)
        while self._stack and self._stack[-1][0] == size:
            _, left = self._stack.pop()
            size, node = size * 2, _node_hash(left, node)
        self._stack.append((size, node))
        self.count += 1

    def root(self) -> str:
        """Return the hex root of the leaves so far (`EMPTY_ROOT`, SHA-256 of nothing, for none)."""
        if not self._stack:
            return EMPTY_ROOT
        node = self._stack[-1][1]
        for _, left in reversed(self._stack[:-1]):
            node = _node_hash(left, node)
        return node.hex()


def _in_order(leaves: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return sorted(leaves, key=lambda leaf: leaf[0].encode("utf-8"))


def merkle_root(leaves: Iterable[tuple[str, bytes]]) -> str:
    """Return the hex root of (key, content) leaves given in any order; raises ValueError for a key given twice."""
    accumulator = Accumulator()
    for key, content in _in_order(leaves):
        accumulator.add(key, content)
    return accumulator.root()


@dataclass(frozen=True)
class InclusionProof:
    """Audit path of one leaf (RFC 6962, section 2.1.1): its index, the tree's size, sibling hashes from the leaf up."""

    index: int
    size: int
    path: tuple[str, ...]


def inclusion_proof(leaves: Iterable[tuple[str, bytes]], key: str) -> InclusionProof:
    """Return the proof that `key` is among `leaves`; raises KeyError where it is not."""
    ordered = _in_order(leaves)
    hashes = [leaf_hash(name, content) for name, content in ordered]
    index = next((i for i, (name, _) in enumerate(ordered) if name == key), None)
    if index is None:
        raise KeyError(key)
    return InclusionProof(index, len(hashes), tuple(item.hex() for item in _path(index, hashes)))


def _subtree(hashes: list[bytes]) -> bytes:
    if len(hashes) == 1:
        return hashes[0]
    split = _split(len(hashes))
    return _node_hash(_subtree(hashes[:split]), _subtree(hashes[split:]))


def _split(size: int) -> int:
    """Return the largest power of two smaller than `size`."""
    return 1 << (size - 1).bit_length() - 1


def _path(index: int, hashes: list[bytes]) -> list[bytes]:
    if len(hashes) == 1:
        return []
    split = _split(len(hashes))
    if index < split:
        return [*_path(index, hashes[:split]), _subtree(hashes[split:])]
    return [*_path(index - split, hashes[split:]), _subtree(hashes[:split])]


def verify_inclusion(key: str, content: bytes, proof: InclusionProof, root: str) -> bool:
    """Return whether `proof` shows that the leaf (key, content) is under the hex `root` (RFC 9162, section 2.1.3.2)."""
    if not 0 <= proof.index < proof.size:
        return False
    index, last = proof.index, proof.size - 1
    node = leaf_hash(key, content)
    for sibling in (bytes.fromhex(item) for item in proof.path):
        if last == 0:
            return False
        if index & 1 or index == last:
            node = _node_hash(sibling, node)
            while not index & 1 and index != 0:
                index >>= 1
                last >>= 1
        else:
            node = _node_hash(node, sibling)
        index >>= 1
        last >>= 1
    return last == 0 and node.hex() == root
