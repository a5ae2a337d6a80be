"""What a client repeats in each of its requests: the template around a question, which is the same for all questions.
It is detected from the newest turns of each key, in this process alone. The part of a turn that was read without it is
on record."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque

from mage_es.engine.served.wording import shared

_TURNS, _KEYS, _END = 12, 1_000, 1_000
"""How many turns are kept per key, for how many keys, and how many characters of either end of a turn."""
_LEAST = 3
"""How many other turns must begin or end alike."""


class TurnHabits:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._seen = OrderedDict[str, deque[str]]()

    def shared(self, key: str, text: str) -> tuple[int, int]:
        """Return how many characters at its beginning and end a turn shares with others of its key, and keep it."""
        with self._mutex:
            seen = self._seen.setdefault(key, deque(maxlen=_TURNS))
            self._seen.move_to_end(key)
            if len(self._seen) > _KEYS:
                self._seen.popitem(last=False)
            kept = text if len(text) <= 2 * _END else text[:_END] + text[-_END:]
            others = [each for each in seen if each != kept]
            if len(others) == len(seen):
                seen.append(kept)
        return shared(text, others, _LEAST)
