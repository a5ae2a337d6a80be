"""The write-ahead codec: frames of records, each checked by a CRC32C and chained to the one before by SHA-256.

    magic "MGE1" | codec u8 | flags u8 | length u32 | first u64 | count u32 | previous chain 32 | body | crc32c u32

Rules
    - Little-endian. The CRC covers everything before it and is checked before the body is looked at.
    - chain = SHA-256(previous chain || codec, first, count || body), over the body before compression.
    - Bodies stand as they are. Compressing one costs three times what it saves in writing, and sealing compresses all
      of them soon; what earlier releases compressed (zstd, flag 1) is read. No body is larger than 64 MiB.
    - The codec says how the body is made, see rows.py: 1 is what earlier releases wrote, 2 what this one writes.

Why not Arrow IPC here: seven in ten single-bit flips of an IPC stream are read back as wrong data without an error.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from typing import Literal, NamedTuple

import google_crc32c
import zstandard

MAGIC = b"MGE1"
MAX_BODY = 64 << 20
ROWS = 1
DRAFTS = 2
_ZSTD = 1
_HEADER = struct.Struct("<4sBBIQI32s")
HEADER_SIZE = _HEADER.size
_CHAINED = struct.Struct("<BQI")
_CRC = struct.Struct("<I")


class Frame(NamedTuple):
    """A whole frame as found in a file: `body` is uncompressed, `size` the bytes it takes from `offset` on.

    `codec` is how the body is made: `ROWS` or `DRAFTS`.
    """

    first: int
    events: int
    previous: bytes
    chain: bytes
    body: bytes
    offset: int
    size: int
    codec: int

    @property
    def last(self) -> int:
        """The sequence number of the frame's last event."""
        return self.first + self.events - 1


class Broken(NamedTuple):
    """Why no frame could be read at an offset.

    An unfinished write leaves a frame that is `torn`; a frame that is whole but does not belong here is `alien`, and no
    crash explains it.
    """

    offset: int
    problem: str
    kind: Literal["torn", "alien"] = "torn"


def encode(body: bytes, *, first: int, count: int, previous: bytes, codec: int = DRAFTS) -> tuple[bytes, bytes]:
    """Return a frame and its chain value. `body` has at most `MAX_BODY` bytes."""
    header = _HEADER.pack(MAGIC, codec, 0, len(body), first, count, previous)
    crc = google_crc32c.extend(google_crc32c.value(header), body)
    return b"".join((header, body, _CRC.pack(crc))), chain_of(previous, first, count, body, codec=codec)


def chain_of(previous: bytes, first: int, count: int, body: bytes, *, codec: int = DRAFTS) -> bytes:
    """Return the 32-byte chain value of a frame with this uncompressed body."""
    chained = hashlib.sha256(previous + _CHAINED.pack(codec, first, count))
    chained.update(body)
    return chained.digest()


def decode(data: bytes, offset: int = 0) -> Frame | Broken:
    """Return the frame that starts at `offset`, or why there is none. Whether it belongs there is not checked."""
    if len(data) - offset < _HEADER.size:
        return Broken(offset, f"only {len(data) - offset} bytes are left")
    magic, codec, flags, length, first, count, previous = _HEADER.unpack_from(data, offset)
    if magic != MAGIC:
        return Broken(offset, f"a frame cannot begin with {magic!r}")
    if length > MAX_BODY:
        return Broken(offset, f"a body of {length} bytes is above the limit")
    end = offset + _HEADER.size + length
    if end + _CRC.size > len(data):
        return Broken(offset, f"{end + _CRC.size - len(data)} bytes of the frame are missing")
    if google_crc32c.value(data[offset:end]) != _CRC.unpack_from(data, end)[0]:
        return Broken(offset, "the checksum does not fit")
    if codec not in (ROWS, DRAFTS) or flags not in (0, _ZSTD) or count < 1:
        return Broken(offset, f"codec {codec}, flags {flags}, count {count}: written by a newer release?", "alien")
    stored = data[offset + _HEADER.size : end]
    body = _decompress(stored) if flags else stored
    if body is None:
        return Broken(offset, "the compressed body cannot be read", "alien")
    chain = chain_of(previous, first, count, body, codec=codec)
    return Frame(first, count, previous, chain, body, offset, end + _CRC.size - offset, codec)


def previous_in(header: bytes) -> bytes:
    """Return the previous chain value that a frame's header names, nothing of it checked; zeros if it is too short."""
    return bytes(header[-32:]) if len(header) == HEADER_SIZE else bytes(32)


def scan(data: bytes, *, first: int, previous: bytes, offset: int = 0) -> tuple[list[Frame], Broken | None]:
    """Return the frames from `offset` on that follow one another, and what is at their end if the data goes on."""
    frames: list[Frame] = []
    while offset < len(data):
        frame = decode(data, offset)
        if isinstance(frame, Broken):
            return frames, frame
        if frame.first != first:
            return frames, Broken(offset, f"the frame begins with event {frame.first} instead of {first}", "alien")
        if frame.previous != previous:
            return frames, Broken(offset, f"the frame of event {first} does not continue the chain", "alien")
        frames.append(frame)
        first, previous, offset = frame.last + 1, frame.chain, offset + frame.size
    return frames, None


def frame_after(data: bytes, offset: int) -> Frame | None:
    """Return the first whole frame that starts after `offset`: with one, bytes before it were lost, not cut off."""
    while (offset := data.find(MAGIC, offset + 1)) >= 0:
        frame = decode(data, offset)
        if isinstance(frame, Frame):
            return frame
    return None


def _decompress(stored: bytes) -> bytes | None:
    try:
        size = zstandard.get_frame_parameters(stored).content_size
        return _zstd.decompressor.decompress(stored) if size <= MAX_BODY else None
    except zstandard.ZstdError:
        return None


class _Zstd(threading.local):
    """A context is dear to make and not safe to share."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_zstd = _Zstd()
