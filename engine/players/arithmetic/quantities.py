"""The quantities of a word problem, each with features of its context; what the problem asks; and how alike two
quantities are.

A feature is a string with a weight. Features come from general word classes and from the quantity's relations to the
question and to the other quantities, so that they hold for other words and other nouns too.
"""

from fractions import Fraction

import msgspec

from mage_es.engine.players.arithmetic.words import Token


class Quantity(msgspec.Struct, kw_only=True):
    """`noun` is what the number counts, `per` the noun of its "each", both stems or "".

    `is_apart`: its sentence shares nothing with the others, so it is likely beside the point.
    """

    value: Fraction
    kind: str
    noun: str
    per: str
    start: int
    sentence: int
    clause: int
    is_apart: bool = False
    nature: dict[str, float] = {}
    context: dict[str, float] = {}

    def has(self, feature: str) -> bool:
        return feature in self.nature or feature in self.context


class Problem(msgspec.Struct, kw_only=True):
    tokens: list[Token]
    quantities: list[Quantity]
    asked: frozenset[str]
    target: str
    question: dict[str, float]
    ties: frozenset[tuple[int, int]]
    """Pairs of quantities (in order) whose clauses share a word that no third quantity's clause has."""

    @property
    def relevant(self) -> list[Quantity]:
        return [quantity for quantity in self.quantities if not quantity.is_apart and quantity.kind != "one"]


_KINDS_ALIKE = {
    frozenset({"count", "one"}): 0.25,
    frozenset({"count", "money"}): 0.7,
    frozenset({"count", "factor"}): 0.4,
    frozenset({"fraction", "factor"}): 0.4,
    frozenset({"fraction", "percent"}): 0.4,
}
_OTHER_KIND = 0.15
"""Likeness of unrelated kinds."""
_APART = 0.85
"""Factor if only one of two quantities seems beside the point."""


def polarity(quantity: Quantity) -> float:
    """Above 0 for a quantity that comes in or is more, below 0 for one that goes out or is less."""
    weights = {"gain": 1, "more": 1, "loss": -1, "less": -1}
    return sum(
        sign * quantity.context.get(f"{place} {hint}", 0.0)
        for hint, sign in weights.items()
        for place in ("near before", "near after", "around")
    )


def likeness(one: Quantity, other: Quantity) -> float:
    weight = 1.0 if one.is_apart == other.is_apart else _APART
    kinds = 1.0 if one.kind == other.kind else _KINDS_ALIKE.get(frozenset({one.kind, other.kind}), _OTHER_KIND)
    return weight * kinds * (0.5 * similarity(one.nature, other.nature) + 0.5 * similarity(one.context, other.context))


def similarity(one: dict[str, float], other: dict[str, float]) -> float:
    """Weighted Jaccard, in [0, 1]."""
    if not one or not other:
        return 0.0
    shared = sum(min(weight, other[name]) for name, weight in one.items() if name in other)
    return shared / (sum(one.values()) + sum(other.values()) - shared)
