"""The quantities of a word problem, each with features of its context, and what the problem asks.

A feature is a string with a weight. Features come from general word classes and from the quantity's relations to the
question and to the other quantities, so that they hold for other words and other nouns too.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from mage_es.engine.standins.arithmetic.words import Token


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
