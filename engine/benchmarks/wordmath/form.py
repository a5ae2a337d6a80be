"""What a task type is made of: numbers, chains of operations, and families of phrasing.

The tables in `sheets/` are written in a small notation:

    steps      `left = packed - gone: What is left` names a result, an operation on two numbers (by name, or
               written out), and what the line of the solution says
    sentences  `{n}` a number, `{n:money}`, `{n:percent}`, `{n:times}` (twice), `{n:part}` (a third);
               `{who}`, `{whose}`, `{whom}` the main person, by name at first and mostly by pronoun then;
               `{other}`, `{third}` further people; `{x}`, `{xs}`, `{a x}` the family's noun, `{y}` its second;
               `{town}` a place; `[packs|fills]` either wording
    `* `       in front of a sentence: it may change places with its neighbours that have the mark too
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

Values = Mapping[str, int]
Rule = range | int | Callable[[Values], int]
"""How a number comes about: drawn from a range, fixed, or derived from the numbers before it."""
Rules = Mapping[str, Rule]


class Step(NamedTuple):
    """One operation of a chain; `left` and `right` are names of numbers, or digits."""

    result: str
    left: str
    operator: str
    right: str
    says: str


class Variant(NamedTuple):
    """A chain of operations, and the numbers that only it needs."""

    steps: tuple[Step, ...]
    numbers: Rules


class Family(NamedTuple):
    """One way of telling a task type: a scene, its sentences, and the question for each variant.

    `asks` maps a variant to further sentences, the last of which asks. `numbers` overrides the type's rules.
    """

    name: str
    says: tuple[str, ...]
    asks: Mapping[str, tuple[str, ...]]
    x: str = ""
    y: str = ""
    numbers: Rules = MappingProxyType({})
    held_out: bool = False
    ask_first: bool = False


class TaskType(NamedTuple):
    """An abstract chain of operations in a few variants, with all its phrasing families."""

    name: str
    numbers: Rules
    variants: Mapping[str, Variant]
    families: tuple[Family, ...]
    avoid: tuple[str, ...] = ()
    """Topics of distractor sentences that would make this type ambiguous."""


def variant(*steps: str, **numbers: Rule) -> Variant:
    """Read a chain written in the notation above."""
    return Variant(tuple(_step(text) for text in steps), numbers)


def _step(text: str) -> Step:
    equation, says = text.split(": ", 1)
    result, operation = equation.split(" = ")
    left, operator, right = operation.split(" ")
    return Step(result, left, operator, right, says)


def family(
    name: str,
    says: Sequence[str],
    *,
    x: str = "",
    y: str = "",
    numbers: Rules | None = None,
    held_out: bool = False,
    ask_first: bool = False,
    **asks: str | Sequence[str],
) -> Family:
    """Write a family down; every further keyword is a variant with its question (or sentences and question)."""
    return Family(
        name=name,
        says=tuple(says),
        asks={key: (ask,) if isinstance(ask, str) else tuple(ask) for key, ask in asks.items()},
        x=x,
        y=y,
        numbers=numbers or {},
        held_out=held_out,
        ask_first=ask_first,
    )
