"""Strategies in plain English: what tells the numbers apart by their context, then the steps.

It asks: how many; with a word of rest.
A stands for a number: a rate; near a word of pack.
B stands for a number: not a rate; said first.
Step 1: multiply A by B.
Step 2: subtract C from result 1.
"""

from collections.abc import Iterable
from fractions import Fraction
from string import ascii_uppercase

from mage_es.engine.players.arithmetic.chains import Operand, OperationChain, OperationStep
from mage_es.engine.players.arithmetic.equations import reduced, to_text

MOST_ROLES = 12

_FORMS = {
    "hundredths": "in hundredths",
    "rest of hundred": "taken from a hundred",
    "added to hundred": "added to a hundred",
    "rest of hundredths": "in hundredths, taken from one",
    "hundredths added to one": "in hundredths, added to one",
    "inverse": "as one over it",
    "rest of one": "taken from one",
    "added to one": "added to one",
    "numerator": "its upper part",
    "denominator": "its lower part",
    "in thousands": "in thousands",
    "in millions": "in millions",
}
_PHRASES = {
    "rate": "a rate",
    "no rate": "not a rate",
    "per time": "a rate in time",
    "per counted": "a rate whose unit is counted elsewhere",
    "is counted per": "a count of what a rate is for",
    "in question": "said while asking",
    "first": "said first",
    "last": "said last",
    "noun asked": "of a kind that is asked about",
    "noun target": "of the kind whose amount is asked",
}
_PREFIXES = {
    "kind ": "given as ",
    "noun is ": "of a kind of ",
    "near before ": "just after a word of ",
    "near after ": "just before a word of ",
    "around ": "near a word of ",
    "asks ": "with a word of ",
    "how ": "how ",
}
_VERBS = {"+": ("add", "to"), "-": ("subtract", "from"), "*": ("multiply", "by"), "/": ("divide", "by")}


def is_sayable(feature: str) -> bool:
    return feature in _PHRASES or any(feature.startswith(prefix) for prefix in _PREFIXES)


def print_strategy(asks: Iterable[str], roles: Iterable[Iterable[str]], steps: Iterable[OperationStep]) -> str:
    """`asks` are the features of the question, `roles` those of each number; each step has one operation."""
    asked = _described(asks)
    lines = [f"It asks: {asked}."] if asked else []
    lines += [
        f"{letter} stands for a number: {_described(role)}."
        for letter, role in zip(ascii_uppercase, roles, strict=False)
    ]
    for number, (left, sign, right) in enumerate(steps, 1):
        verb, joint = _VERBS[str(sign)]
        first, second = (right, left) if sign == "-" else (left, right)
        lines.append(f"Step {number}: {verb} {_name(first)} {joint} {_name(second)}.")
    return "\n".join(lines)


def _described(features: Iterable[str]) -> str:
    return "; ".join(sorted(map(_say, features)))


def split_steps(chain: OperationChain) -> tuple[OperationStep, ...]:
    steps: list[OperationStep] = []
    results: list[Operand | None] = []

    def one(left: Operand, sign: str, right: Operand) -> Operand:
        steps.append((left, sign, right))
        return Operand("result", len(steps) - 1, "as said", Fraction(0))

    def operand(item: Operand | str) -> Operand | str:
        return results[item.at] or item if isinstance(item, Operand) and item.source == "result" else item

    for step in chain.steps:
        results.append(reduced([operand(item) for item in step], one))
    return tuple(steps)


def _say(feature: str) -> str:
    if feature in _PHRASES:
        return _PHRASES[feature]
    prefix = next(prefix for prefix in _PREFIXES if feature.startswith(prefix))
    return _PREFIXES[prefix] + feature.removeprefix(prefix)


def _name(item: Operand | str) -> str:
    assert isinstance(item, Operand)
    if item.source == "result":
        return f"result {item.at + 1}"
    if item.source in ("constant", "ratio"):
        return to_text(item.value)
    letter = ascii_uppercase[item.at]
    return f"{letter} ({_FORMS[item.form]})" if item.form in _FORMS else letter
