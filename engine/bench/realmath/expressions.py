"""The parsed form of a mathematical answer: expressions, and tuples, sets and relations of them.

An expression is a tree of three kinds of node: `reading` builds it, `values` evaluates it. Nothing is simplified, so
the cost of building one is proportional to the length of its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

MOST_DIGITS = 200


class Unreadable(ValueError):
    """A text is not in the supported notation, or is ambiguous; the message says why."""


class Number(NamedTuple):
    value: Fraction


class Variable(NamedTuple):
    name: str


class Application(NamedTuple):
    """An operation, named by its head (`add`, `power`, `sum`, `of f`), applied to expressions."""

    head: str
    args: tuple[Expression, ...]


Expression = Number | Variable | Application


class RelationChain(NamedTuple):
    """A chain of expressions with the signs between them, the smaller side first: `a < b <= c`."""

    signs: tuple[str, ...]
    sides: tuple[Expression, ...]


_TURNED = {">": "<", ">=": "<="}


def relation(signs: Sequence[str], sides: Sequence[Expression]) -> RelationChain:
    if signs[0] in _TURNED:
        signs, sides = signs[::-1], sides[::-1]
    return RelationChain(tuple(_TURNED.get(sign, sign) for sign in signs), tuple(sides))


class Collection(NamedTuple):
    """A tuple, which is ordered, or a set."""

    items: tuple[StatedItem, ...]
    is_ordered: bool


StatedItem = Number | Variable | Application | RelationChain | Collection


class StatedAnswer(NamedTuple):
    """The items of an answer in order, with the names that it gives them (`x = 3, y = 2`), "" for no name."""

    items: tuple[StatedItem, ...]
    names: tuple[str, ...]
    is_tuple: bool = False


def stated(items: Sequence[StatedItem], names: Sequence[str] = ()) -> StatedAnswer:
    """Return an answer of these items; a tuple, if it is the only one, is opened."""
    if len(items) == 1 and isinstance(only := items[0], Collection) and only.is_ordered:
        return StatedAnswer(only.items, ("",) * len(only.items), is_tuple=True)
    return StatedAnswer(tuple(items), tuple(names) or ("",) * len(items))


MAYBE_APPLIED = "maybe applied"
"""The head of a name that is read as a factor, but may be a function of the bracket that follows it."""
PI, EULER, IMAGINARY = Application("pi", ()), Application("e", ()), Application("i", ())


def number(value: int | str) -> Number:
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise Unreadable(f"a number of {len(value)} digits")
    try:
        return Number(Fraction(value))
    except ValueError as error:
        raise Unreadable(f"{value} is not a number") from error


def is_known(expression: Expression) -> bool:
    """Return whether all functions in an expression are known, so that its values can show a difference."""
    if not isinstance(expression, Application):
        return True
    return not expression.head.startswith(("of ", MAYBE_APPLIED)) and all(map(is_known, expression.args))


def symbols_of(item: StatedItem) -> set[str]:
    """Return the free names of an item: not the index of a sum or product, nor the name of a function."""
    return set(_free(item, frozenset()))


def _free(item: StatedItem, bound: frozenset[str]) -> Iterator[str]:
    if isinstance(item, Variable):
        if item.name not in bound:
            yield item.name
    elif isinstance(item, Application):
        if item.head in ("sum", "product"):
            index, low, high, body = item.args
            assert isinstance(index, Variable)
            yield from _free(low, bound)
            yield from _free(high, bound)
            yield from _free(body, bound | {index.name})
        else:
            for part in item.args:
                yield from _free(part, bound)
    elif isinstance(item, (RelationChain, Collection)):
        for member in item.sides if isinstance(item, RelationChain) else item.items:
            yield from _free(member, bound)
