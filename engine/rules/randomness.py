"""Every random draw of a run: counter-based streams, each keyed by what it is for.

Rules
    - A draw depends on (seed, purpose, iteration, subject) and on nothing else: not on the order in which
      questions are answered, not on the number of workers, not on what was drawn before.
    - `shuffled` uses the raw Philox bits, which numpy keeps stable forever, so every release of numpy makes the same
      splits. `stream` returns a Generator, whose methods numpy may change between releases.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def _bits(seed: int, purpose: str, iteration: int, subject: str) -> np.random.Philox:
    # Hashed, not added up, so that keys that differ in one digit give unrelated streams.
    label = "\x00".join((str(seed), purpose, str(iteration), subject))
    key = hashlib.sha256(label.encode()).digest()[:16]
    return np.random.Philox(key=np.frombuffer(key, dtype="<u8"))


def stream(seed: int, purpose: str, iteration: int = -1, subject: str = "") -> np.random.Generator:
    """Return a fresh generator; the same arguments give the same draws. `iteration` is -1 outside of any.

    [beyond the paper, concurrency] Every draw is keyed by its purpose, so that any number of workers, and any crash,
    give the same digests.
    """
    return np.random.Generator(_bits(seed, purpose, iteration, subject))


def ranked(names: Iterable[str], seed: int, *, purpose: str) -> list[str]:
    """Return names in a random order in which the relative order of two names does not depend on the others: the first
    stay first if some are left out or added."""
    return sorted(names, key=lambda name: hashlib.sha256("\x00".join((str(seed), purpose, name)).encode()).digest())


def shuffled(items: Sequence[T], seed: int, *, purpose: str, iteration: int = -1, subject: str = "") -> list[T]:
    """Return the items in a uniformly random order that depends on the key and on their number only."""
    # Stable: of two equal keys (one in 2^64) the order of the items decides, which is part of the run.
    keys = _bits(seed, purpose, iteration, subject).random_raw(len(items))
    return [items[place] for place in np.argsort(keys, kind="stable")]
