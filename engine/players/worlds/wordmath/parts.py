"""The parts of a task type: numbers, chains of operations, and families of phrasing.

The sheets in `sheets/` are TOML tables in a small notation:

    numbers    `"3 to 14"` or `"20 to 400 by 10"` (both ends included), a list to draw from, a fixed number, or a
               formula of the numbers before it, such as `"small + wider"`
    steps      `left = packed - gone: What is left` names a result, an operation on two numbers (by name, or
               written out), and what the line of the solution says
    sentences  `{n}` a number, `{n:money}`, `{n:percent}`, `{n:times}` (twice), `{n:part}` (a third);
               `{who}`, `{whose}`, `{whom}` the main person, first by name, later mostly by pronoun;
               `{other}`, `{third}` further people; `{x}`, `{xs}`, `{a x}` the family's noun, `{y}` its second;
               `{town}` a place; `[packs|fills]` either wording
    `* `       in front of a sentence: it may swap places with neighbours that have the mark too
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

Values = Mapping[str, int]
NumberRule = Sequence[int] | int | Callable[[Values], int]
"""A number is drawn from a sequence, fixed, or derived from the numbers before it."""
NumberRules = Mapping[str, NumberRule]

_RANGE = re.compile(r"(\d+) to (\d+)(?: by (\d+))?")


class ProblemStep(NamedTuple):
    """`left` and `right` are names of numbers, or digits."""

    result: str
    left: str
    operator: str
    right: str
    says: str


class Variant(NamedTuple):
    steps: tuple[ProblemStep, ...]
    numbers: NumberRules


class Family(NamedTuple):
    """One way of wording a task type. `asks` maps a variant to its additional sentences, the last of which is the
    question."""

    name: str
    says: tuple[str, ...]
    asks: Mapping[str, tuple[str, ...]]
    x: str = ""
    y: str = ""
    numbers: NumberRules = MappingProxyType({})
    held_out: bool = False
    ask_first: bool = False


class ProblemType(NamedTuple):
    """`avoid` lists topics of distractor sentences that would make this type ambiguous."""

    name: str
    numbers: NumberRules
    variants: Mapping[str, Variant]
    families: tuple[Family, ...]
    avoid: tuple[str, ...] = ()


def problem_type(
    name: str,
    *,
    numbers: Mapping[str, Any],
    variants: Mapping[str, Mapping[str, Any]],
    families: Sequence[Mapping[str, Any]],
    avoid: Sequence[str] = (),
) -> ProblemType:
    chains = {key: variant(*table["steps"], **table.get("numbers", {})) for key, table in variants.items()}
    return ProblemType(name, _rules(numbers), chains, tuple(family(**table) for table in families), tuple(avoid))


def variant(*steps: str, **numbers: Any) -> Variant:
    return Variant(tuple(_step(text) for text in steps), _rules(numbers))


def family(
    name: str,
    says: Sequence[str],
    *,
    x: str = "",
    y: str = "",
    numbers: Mapping[str, Any] = MappingProxyType({}),
    held_out: bool = False,
    ask_first: bool = False,
    **asks: str | Sequence[str],
) -> Family:
    """Read a family; every other key is a variant: its question, or sentences that end with the question."""
    asked = {key: (ask,) if isinstance(ask, str) else tuple(ask) for key, ask in asks.items()}
    return Family(name, tuple(says), asked, x, y, _rules(numbers), held_out, ask_first)


def _step(text: str) -> ProblemStep:
    equation, says = text.split(": ", 1)
    result, operation = equation.split(" = ")
    left, operator, right = operation.split(" ")
    return ProblemStep(result, left, operator, right, says)


def _rules(table: Mapping[str, Any]) -> dict[str, NumberRule]:
    return {name: _rule(written) if isinstance(written, str) else written for name, written in table.items()}


def _rule(written: str) -> NumberRule:
    if found := _RANGE.fullmatch(written):
        first, last, step = (int(part or 1) for part in found.groups())
        return range(first, last + 1, step)
    formula = compile(written, "<sheet>", "eval")
    # The sheets are part of this package, so a formula is trusted like the code around it.
    return lambda values: int(eval(formula, {"__builtins__": {}}, dict(values)))


# The order of the sheets, and of the types in them, must never change: every draw depends on it.
_SHEETS = ("sharing", "paying", "going", "comparing", "working")


def _read(sheet: str) -> list[ProblemType]:
    text = files("mage_es.engine.players.worlds.wordmath").joinpath(f"sheets/{sheet}.toml").read_text(encoding="utf-8")
    return [problem_type(name, **table) for name, table in tomllib.loads(text).items()]


TASK_TYPES: tuple[ProblemType, ...] = tuple(found for sheet in _SHEETS for found in _read(sheet))
