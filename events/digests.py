"""Digests: one short hash for a state, so that two states can be compared across machines, runs and replays.

Only values that `decide` put into events may enter: no sequence number, time or run id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

# Canonical: mappings sorted, floats by their eight IEEE bytes.
_encoder = msgspec.msgpack.Encoder(order="sorted")


def digest(value: object) -> str:
    """Return the 64-digit hexadecimal digest of any value that msgspec can encode."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()


def digest_of_set(members: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(sorted(members))).hexdigest()


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
