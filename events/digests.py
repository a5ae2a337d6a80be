"""Digests: one short hash for a state, so that two states can be compared across machines, runs and replays.

A digest is SHA-256 over the canonical msgpack of a value whose mappings are sorted; floats enter by their
eight IEEE bytes. Only values that `decide` put into events may enter: no sequence number, time or run id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

_encoder = msgspec.msgpack.Encoder(order="sorted")


def digest(value: object) -> str:
    """Return the 64-digit hexadecimal digest of any value that msgspec can encode."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()


def digest_of_set(members: Iterable[bytes]) -> str:
    """Return the digest of a set of 32-byte member hashes, whatever their order."""
    return hashlib.sha256(b"".join(sorted(members))).hexdigest()


def sha256_text(text: str) -> str:
    """Return the hexadecimal SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()
