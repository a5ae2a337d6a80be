"""The Merkle tree: the reference vectors of RFC 6962, and proofs that hold for one leaf in one place only."""

import hashlib
from base64 import b64encode

import pytest

from mage_es.engine.auditing import check_receipt
from mage_es.events.signing.tree import Tree, inclusion, leaf_hash

# The leaves and roots that the reference implementation of Certificate Transparency is tested with.
LEAVES = [
    bytes.fromhex(each)
    for each in (*("", "00", "10", "2021", "3031", "40414243", "5051525354555657"), "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def test_roots_are_those_of_the_reference_implementation_of_rfc_6962() -> None:
    tree, found = Tree(), [Tree().root.hex()]
    for leaf in LEAVES:
        tree.add(leaf_hash(leaf))
        found.append(tree.root.hex())
    assert found == ROOTS


def test_a_path_is_that_of_the_reference_implementation() -> None:
    leaves = [leaf_hash(leaf) for leaf in LEAVES]
    assert [each.hex() for each in inclusion(leaves, 5)] == [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13, 64, 65])
def test_a_path_proves_its_leaf_in_its_place_and_no_other(size: int) -> None:
    leaves = [hashlib.sha256(bytes([number])).digest() for number in range(size)]
    root = Tree(leaves).root
    for index, leaf in enumerate(leaves):
        path = [b64encode(beside).decode() for beside in inclusion(leaves, index)]
        assert len(path) <= (size - 1).bit_length()
        assert check_receipt.root(leaf, index, size, path) == root, index
        others = {check_receipt.root(leaf, other, size, path) for other in range(size) if other != index}
        assert root not in others, index
        assert check_receipt.root(leaf_hash(leaf), index, size, path) != root
        assert check_receipt.root(leaf, index, size, [*path, path[0] if path else ""]) != root
        assert not path or check_receipt.root(leaf, index, size, path[1:]) != root
