"""Strategies in plain English, written by the reference tier and read by the analogist: numbers by context, then steps.

It asks: how many; with a word of rest.
A stands for a number: a rate; near a word of pack.
B stands for a number: not a rate; said first.
Step 1: multiply A by B.
Step 2: subtract C from result 1.
"""

from __future__ import annotations

import re
from fractions import Fraction
from string import ascii_uppercase

import msgspec

from mage_es.engine.players.arithmetic.chains import Operand, OperationChain, OperationStep
from mage_es.engine.players.arithmetic.equations import reduced, to_text

MOST_ROLES = 12
MOST_STEPS = 24

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
_ASKS = re.compile(r"^It asks: (.*)\.$")
_ROLE = re.compile(r"^([A-L]) stands for a number: (.*)\.$")
_STEP = re.compile(r"^Step [0-9]+: (add|subtract|multiply|divide) (.+?) (to|from|by) (.+)\.$")
_VERBS = {"+": ("add", "to"), "-": ("subtract", "from"), "*": ("multiply", "by"), "/": ("divide", "by")}
_SIGNS = {verb: sign for sign, (verb, _) in _VERBS.items()}
_OPERAND = re.compile(
    r"^(?:(?P<role>[A-L])(?: \((?P<form>[^)]*)\))?"
    r"|result (?P<result>[0-9]{1,2})"
    r"|(?P<constant>[0-9]{1,9}(?:\.[0-9]{1,6})?))$"
)


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """`roles` describe the numbers by sets of features, `asks` the question; each step has one operation."""

    roles: tuple[frozenset[str], ...]
    steps: tuple[OperationStep, ...]
    asks: frozenset[str] = frozenset()

    def to_chain(self) -> OperationChain:
        return OperationChain(
            steps=self.steps, needed=tuple(range(len(self.roles))), odd=0, doubtful=0, whole=(True,) * len(self.steps)
        )


def is_sayable(feature: str) -> bool:
    return feature in _PHRASES or any(feature.startswith(prefix) for prefix in _PREFIXES)


def print_strategy(strategy: Strategy) -> str:
    lines = [f"It asks: {'; '.join(sorted(map(_say, strategy.asks)))}."] if strategy.asks else []
    lines += [
        f"{ascii_uppercase[at]} stands for a number: {print_role(role)}." for at, role in enumerate(strategy.roles)
    ]
    for number, (left, sign, right) in enumerate(strategy.steps, 1):
        verb, joint = _VERBS[str(sign)]
        first, second = (right, left) if sign == "-" else (left, right)
        lines.append(f"Step {number}: {verb} {_name(first)} {joint} {_name(second)}.")
    return "\n".join(lines)


def print_role(role: frozenset[str]) -> str:
    return "; ".join(sorted(map(_say, role)))


def parse_role(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(_unsay, text.split("; "))))


def parse(text: str) -> Strategy | None:
    roles: list[frozenset[str]] = []
    steps: list[OperationStep] = []
    asks: frozenset[str] = frozenset()
    for line in text.splitlines()[: MOST_ROLES + MOST_STEPS]:
        if asked := _ASKS.match(line.strip()):
            asks = frozenset(filter(None, map(_unsay, asked.group(1).split("; "))))
        elif (role := _ROLE.match(line.strip())) and role.group(1) == ascii_uppercase[len(roles)]:
            roles.append(parse_role(role.group(2)))
        elif match := _STEP.match(line.strip()):
            verb, one, _, other = match.groups()
            operands = [_operand(name, roles=len(roles), results=len(steps)) for name in (one, other)]
            if None in operands:
                return None
            first, second = reversed(operands) if verb == "subtract" else operands
            steps.append((first, _SIGNS[verb], second))  # type: ignore[arg-type]
    return Strategy(roles=tuple(roles), steps=tuple(steps), asks=asks) if roles and steps else None


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


def _unsay(phrase: str) -> str:
    for feature, words in _PHRASES.items():
        if phrase == words:
            return feature
    for prefix, words in _PREFIXES.items():
        if phrase.startswith(words):
            return prefix + phrase.removeprefix(words)
    return ""


def _name(item: Operand | str) -> str:
    assert isinstance(item, Operand)
    if item.source == "result":
        return f"result {item.at + 1}"
    if item.source in ("constant", "ratio"):
        return to_text(item.value)
    letter = ascii_uppercase[item.at]
    return f"{letter} ({_FORMS[item.form]})" if item.form in _FORMS else letter


def _operand(name: str, *, roles: int, results: int) -> Operand | None:
    match = _OPERAND.match(name)
    if not match:
        return None
    if match.group("constant"):
        return Operand("constant", 0, "as said", Fraction(match.group("constant")))
    if match.group("result"):
        index = int(match.group("result")) - 1
        return Operand("result", index, "as said", Fraction(0)) if 0 <= index < results else None
    form = next((form for form, words in _FORMS.items() if words == match.group("form")), "as said")
    index = ascii_uppercase.index(match.group("role"))
    return Operand("quantity", index, form, Fraction(0)) if index < roles else None
