"""How alike two quantities, or two sets of features, are; and whether a quantity comes in or goes out."""

from __future__ import annotations

from mage_es.engine.standins.arithmetic.quantities import Quantity

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
