"""The hash chain computed anew from records, so that a head printed long ago can be found in what is sealed since.

Rules
    - The chain covers the bodies of frames, and sealing drops those; but a body is a function of its records, and each
      record knows its commit. So the chain value after every commit can be had again, byte for byte.
    - It can be had only where this release writes events as the one did that recorded them. Whoever asks compares the
      last value with the one that was recorded: if they differ, none of them means anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from mage_es.events import wal
from mage_es.events.documents import Head
from mage_es.events.envelope import Record
from mage_es.events.rows import body_of


def heads(previous: str, records: Iterable[Record]) -> Iterator[Head]:
    """Yield the head after each commit of `records`, which follow one another; `previous` is the chain before them."""
    chain = bytes.fromhex(previous)
    for first, commit in groupby(records, key=attrgetter("commit")):
        batch = list(commit)
        chain = wal.chain_of(chain, first, len(batch), body_of(batch))
        yield Head(batch[-1].seq, chain.hex())
