"""The write-ahead codec: frames, each checked by a CRC32C and chained to the one before it by SHA-256.

    magic "MGE1" | codec u8 | flags u8 | length u32 | first u64 | count u32 | previous chain 32 | body | crc32c u32

Rules
    - Little-endian. The CRC covers everything before it and is checked before the body is parsed.
    - chain = SHA-256(previous chain || codec, first, count || body).
    - Bodies are not compressed: that would cost three times what it saves in writing, and sealing compresses them soon
      anyway. What is in a body: bodies.py. It has at most 1 GiB, because a run that continues another, or serves it,
      takes over everything learned there in one append, and memories are mostly vectors.

Why not Arrow IPC: seven in ten single-bit flips in an IPC stream are read back as wrong data, without an error.
"""

import hashlib
import struct
from typing import Literal, NamedTuple

import google_crc32c

MAGIC = b"MGE1"
MAX_BODY = 1 << 30
# The byte is part of the chain, so it keeps its value; another one means a newer release.
_CODEC = 2
_HEADER = struct.Struct("<4sBBIQI32s")
HEADER_SIZE = _HEADER.size
_CHAINED = struct.Struct("<BQI")
_CRC = struct.Struct("<I")


class Frame(NamedTuple):
    """A whole frame in a file: `size` bytes from `offset`."""

    first: int
    events: int
    previous: bytes
    chain: bytes
    body: bytes
    offset: int
    size: int

    @property
    def last(self) -> int:
        return self.first + self.events - 1


class Broken(NamedTuple):
    """Why there is no frame at an offset: an unfinished write leaves a `torn` one; an `alien` one cannot come from a
    crash."""

    offset: int
    problem: str
    kind: Literal["torn", "alien"] = "torn"


def encode(body: bytes, *, first: int, count: int, previous: bytes) -> tuple[bytes, bytes]:
    """Return a frame and its chain value. `body` has at most `MAX_BODY` bytes."""
    header = _HEADER.pack(MAGIC, _CODEC, 0, len(body), first, count, previous)
    # Header and body without joining them first, since bodies can be megabytes.
    crc = google_crc32c.extend(google_crc32c.value(header), body)
    return b"".join((header, body, _CRC.pack(crc))), chain_of(previous, first, count, body)


def chain_of(previous: bytes, first: int, count: int, body: bytes) -> bytes:
    # Length and magic are left out: they follow from the rest.
    chained = hashlib.sha256(previous + _CHAINED.pack(_CODEC, first, count))
    chained.update(body)
    return chained.digest()


def decode(data: bytes, offset: int = 0) -> Frame | Broken:
    """Return the frame that starts at `offset`, or why it cannot be read; whether it belongs there is not checked."""
    if len(data) - offset < HEADER_SIZE:
        return Broken(offset, f"only {len(data) - offset} bytes are left")
    magic, codec, flags, length, first, count, previous = _HEADER.unpack_from(data, offset)
    if magic != MAGIC:
        return Broken(offset, f"a frame cannot begin with {magic!r}")
    # A flipped bit in the length must not make the reader hash gigabytes, or look for the end of the frame behind them.
    if length > MAX_BODY:
        return Broken(offset, f"a body of {length} bytes is above the limit")
    end = offset + HEADER_SIZE + length
    if end + _CRC.size > len(data):
        return Broken(offset, f"{end + _CRC.size - len(data)} bytes of the frame are missing")
    if google_crc32c.value(data[offset:end]) != _CRC.unpack_from(data, end)[0]:
        return Broken(offset, "the checksum does not fit")
    # The checksum is right, so these bytes were written on purpose: this is not damage and must not be repaired away.
    if codec != _CODEC or flags or count < 1:
        return Broken(offset, f"codec {codec}, flags {flags}, count {count}: written by a newer release?", "alien")
    body = data[offset + HEADER_SIZE : end]
    chain = chain_of(previous, first, count, body)
    return Frame(first, count, previous, chain, body, offset, end + _CRC.size - offset)


def previous_in(header: bytes) -> bytes:
    """Return the previous chain value that a frame's header names, unchecked; zeros if the header is too short."""
    return bytes(header[-32:]) if len(header) == HEADER_SIZE else bytes(32)


def scan(data: bytes, *, first: int, previous: bytes | None = None) -> tuple[list[Frame], Broken | None]:
    """Return the consecutive frames, and what stops them before the end of the data. Without `previous` the first of
    them may continue any chain."""
    frames, offset = list[Frame](), 0
    while offset < len(data):
        frame = decode(data, offset)
        if isinstance(frame, Broken):
            return frames, frame
        if frame.first != first:
            return frames, Broken(offset, f"the frame begins with event {frame.first} instead of {first}", "alien")
        # A frame from another log, or from a replaced history, has a correct checksum, but does not continue these.
        if previous not in (None, frame.previous):
            return frames, Broken(offset, f"the frame of event {first} does not continue the chain", "alien")
        frames.append(frame)
        first, previous, offset = frame.last + 1, frame.chain, offset + frame.size
    return frames, None


def frame_after(data: bytes, offset: int) -> Frame | None:
    # A crash only cuts off the end, so a whole frame further on proves damage.
    while (offset := data.find(MAGIC, offset + 1)) >= 0:
        frame = decode(data, offset)
        if isinstance(frame, Frame):
            return frame
    return None
