"""What an answer in mathematics is read as: expressions, and the tuples, sets and relations that they stand in.

Trees of three kinds of node and no behaviour: reading makes them, `values` gives them numbers. Nothing is simplified
here, so that building one costs what its text is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

MOST_DIGITS = 200


class Unreadable(ValueError):
    """A text is not, or not surely, the notation that is understood; says what stands in the way."""


class Number(NamedTuple):
    """An exact number."""

    value: Fraction


class Symbol(NamedTuple):
    """A name without a value of its own, with its subscript: `n`, `alpha`, `x_1`."""

    name: str


class Call(NamedTuple):
    """An operation by its head (`add`, `power`, `sum`, `of f`) on expressions."""

    head: str
    args: tuple[Expression, ...]


Expression = Number | Symbol | Call


class Relation(NamedTuple):
    """A chain of expressions and the signs between them, the smaller side first: `a < b <= c`."""

    signs: tuple[str, ...]
    sides: tuple[Expression, ...]


class Collection(NamedTuple):
    """A tuple, which is ordered, or a set."""

    items: tuple[Item, ...]
    is_ordered: bool


Item = Number | Symbol | Call | Relation | Collection


class Answer(NamedTuple):
    """What an answer states: its items in order, and the names `x = 3, y = 2` that it gives them, "" for none."""

    items: tuple[Item, ...]
    names: tuple[str, ...]


PI, EULER, IMAGINARY = Call("pi", ()), Call("e", ()), Call("i", ())


def number(value: int | str) -> Number:
    """Return the number that an integer or a decimal numeral writes. Raises `Unreadable`."""
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise Unreadable(f"a number of {len(value)} digits")
    try:
        return Number(Fraction(value))
    except ValueError as error:
        raise Unreadable(f"{value} is no number") from error


def symbols_of(item: Item) -> set[str]:
    """Return the names in an item that are free: not the index of a sum or product, nor the name of a function."""
    return set(_free(item, frozenset()))


def _free(item: Item, bound: frozenset[str]) -> Iterator[str]:
    if isinstance(item, Symbol):
        if item.name not in bound:
            yield item.name
    elif isinstance(item, Call):
        if item.head in ("sum", "product"):
            index, low, high, body = item.args
            assert isinstance(index, Symbol)
            yield from _free(low, bound)
            yield from _free(high, bound)
            yield from _free(body, bound | {index.name})
        else:
            for part in item.args:
                yield from _free(part, bound)
    elif isinstance(item, (Relation, Collection)):
        for member in item.sides if isinstance(item, Relation) else item.items:
            yield from _free(member, bound)
