"""Digests: one short hash for a state, so that two states can be compared across machines, runs and replays.

A digest may cover only values that `decide` put into events: no sequence number, time or run id.
"""

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec


def token_of(value: object) -> str:
    """Return the form in which a private text is encoded (facts/private.py): the `enc_hook` of encoders for what is
    stored."""
    if token := getattr(value, "token", ""):
        return str(token)
    # The value is left out, as it may be private.
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


# Canonical: mappings sorted, floats by their eight IEEE bytes.
_encoder = msgspec.msgpack.Encoder(order="sorted", enc_hook=token_of)


def encoded(value: object) -> bytes:
    """Return the bytes from which a value's digest is computed."""
    return _encoder.encode(value)


def digest(value: object) -> str:
    """Return the 64-digit hexadecimal digest of any value that msgspec can encode."""
    return hashlib.sha256(encoded(value)).hexdigest()


def digest_of_set(members: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(sorted(members))).hexdigest()


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_of_each(pieces: Sequence[bytes | memoryview]) -> list[bytes]:
    """Return the SHA-256 of each piece. Two threads take half of the pieces each, since hashlib releases the GIL."""
    half = len(pieces) // 2
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(_sha256s, pieces[:half])
        rest = _sha256s(pieces[half:])
        return first.result() + rest


def _sha256s(pieces: Sequence[bytes | memoryview]) -> list[bytes]:
    return [hashlib.sha256(piece).digest() for piece in pieces]
