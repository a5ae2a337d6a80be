"""The Merkle tree of RFC 6962: one root for a list of leaves, and a short proof that a leaf is in it.

    leaf    SHA-256(0x00 || data)
    node    SHA-256(0x01 || left || right)

The left side of a tree of n leaves holds the largest power of two below n of them. So the tree of a longer list with
the same beginning contains the full subtrees of the shorter one, and its root vouches for them.
"""

import hashlib
from collections.abc import Iterable, Sequence


def leaf_hash(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A tree that grows at its right end; it keeps only the roots of its full subtrees."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        """Start with the hashes of some leaves."""
        self.size = 0
        self._full: list[bytes] = []
        for leaf in leaves:
            self.add(leaf)

    def add(self, leaf: bytes) -> None:
        """Add the hash of a leaf."""
        self.size, joined = self.size + 1, leaf
        # Like a carry in a binary counter: two full subtrees of one size become one of twice the size.
        for _ in range((self.size & -self.size).bit_length() - 1):
            joined = node_hash(self._full.pop(), joined)
        self._full.append(joined)

    @property
    def root(self) -> bytes:
        if not self._full:
            return hashlib.sha256().digest()
        # From the right: the last subtree is the smallest, and the root joins them the other way round.
        *rest, root = self._full
        for left in reversed(rest):
            root = node_hash(left, root)
        return root


def inclusion(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """Return the hashes, from the leaf's neighbour up, that lead from leaf `index` (from 0) to the root of them all."""
    # The tree of a single leaf has that leaf as its root, and needs no neighbour.
    if len(leaves) <= 1:
        return []
    split = 1 << (len(leaves) - 1).bit_length() - 1
    left, right = leaves[:split], leaves[split:]
    if index < split:
        return [*inclusion(left, index), Tree(right).root]
    return [*inclusion(right, index - split), Tree(left).root]
