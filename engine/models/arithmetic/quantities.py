"""The quantities of a word problem, each with features of its context, and what the problem asks.

A feature is a string with a weight. Features are made from general word classes, the quantity's noun and its
relation to the question asked and to the other quantities, so that they survive another wording and other nouns.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from mage_es.engine.models.arithmetic.words import Token


class Quantity(msgspec.Struct, kw_only=True):
    """A number with its context. `noun` is what it counts, `per` the noun of its "each", both stems or "".

    `is_apart`: nothing else in its sentence is spoken of anywhere else, so it is likely beside the point.
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
        """Return whether the quantity has a feature of either sort."""
        return feature in self.nature or feature in self.context


class Problem(msgspec.Struct, kw_only=True):
    """A word problem as read: its quantities in order and the features of what it asks."""

    tokens: list[Token]
    quantities: list[Quantity]
    asked: frozenset[str]
    target: str
    question: dict[str, float]
    ties: frozenset[tuple[int, int]]
    """Pairs of quantities (in order) in whose clauses a word stands that is beside no third quantity."""
