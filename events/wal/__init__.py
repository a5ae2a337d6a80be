"""The write-ahead log: frames and their chain, what a frame holds, what can be stored, the active file."""

from mage_es.events.wal.frames import (
    HEADER_SIZE,
    MAGIC,
    MAX_BODY,
    Broken,
    Frame,
    chain_of,
    decode,
    encode,
    frame_after,
    previous_in,
    scan,
)

__all__ = [
    "HEADER_SIZE",
    "MAGIC",
    "MAX_BODY",
    "Broken",
    "Frame",
    "chain_of",
    "decode",
    "encode",
    "frame_after",
    "previous_in",
    "scan",
]
