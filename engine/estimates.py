"""What `evolve --dry-run` tells: calls, tokens and dollars of each tier, each as low, expected and high."""

from __future__ import annotations

import msgspec


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate: the least that is likely, what is expected, the most that is likely."""

    low: float
    expected: float
    high: float

    @classmethod
    def of(cls, amount: float) -> Range:
        """Return an amount that is known."""
        return cls(low=amount, expected=amount, high=amount)

    def values(self) -> tuple[float, float, float]:
        """Return the three in order."""
        return self.low, self.expected, self.high

    def times(self, other: Range, factor: float) -> Range:
        """Return the product of two estimates and a factor."""
        low, expected, high = (
            mine * theirs * factor for mine, theirs in zip(self.values(), other.values(), strict=True)
        )
        return Range(low=low, expected=expected, high=high)


class TierEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a tier will take; `usd` is None, and `price` empty, where nobody said what its model costs."""

    tier: str
    model: str
    calls: Range
    input_tokens: Range
    output_tokens: Range
    usd: Range | None
    price: str


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a run will take, told from a rehearsal of its first iterations."""

    benchmark: str
    iterations: int
    rehearsed: int
    tiers: tuple[TierEstimate, ...]
