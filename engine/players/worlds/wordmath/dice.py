"""Draws for one generated question, from a hash of its label.

A question must be the same forever and on every machine, so its draws come from SHAKE-256 and not from a library's
generator, whose methods may change between releases.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
_BLOCK = 96
_LEAST = 1 << 64
"""Below this much entropy a new block is hashed, which keeps the bias of a draw under one in 2**48."""


class Dice:
    def __init__(self, label: str) -> None:
        self._label = label.encode()
        self._blocks = 0
        self._bits = 0

    def below(self, bound: int) -> int:
        if self._bits < _LEAST:
            block = hashlib.shake_256(self._label + b"/%d" % self._blocks).digest(_BLOCK)
            self._bits = int.from_bytes(block, "big")
            self._blocks += 1
        self._bits, drawn = divmod(self._bits, bound)
        return drawn

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def percent(self, chance: int) -> bool:
        return self.below(100) < chance

    def shuffled(self, items: Sequence[T]) -> list[T]:
        rest = list(items)
        return [rest.pop(self.below(left)) for left in range(len(rest), 0, -1)]
