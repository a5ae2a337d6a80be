"""Claims: what a text says that a mark means, and the accounts of a reckoning in which such claims are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.truthworld.world import SIGNS, Operation, Rule, World

_CLAIM = re.compile(rf"\b([a-z]+) means ({'|'.join(SIGNS)}) (\d{{1,6}})\b")
_OPERATIONS: dict[str, Operation] = {str(name): name for name in SIGNS}


class Claim(NamedTuple):
    """A statement that a mark means a rule. Two texts that state the same are the same claim."""

    mark: str
    rule: Rule

    def __str__(self) -> str:
        """Return the claim in the words by which it is found again."""
        return f"{self.mark} means {self.rule}"


class Account(NamedTuple):
    """A worked reckoning: its text, one line for each mark, and where it ends."""

    text: str
    result: int


def claims_in(text: str) -> frozenset[Claim]:
    """Return every claim that a text makes."""
    return frozenset(Claim(mark, Rule(_OPERATIONS[name], int(number))) for mark, name, number in _CLAIM.findall(text))


def is_true(world: World, claim: Claim) -> bool:
    """Return whether a claim is right in a world."""
    mark = world.marks.get(claim.mark)
    return mark is not None and mark.rule == claim.rule


def account(start: int, marks: Sequence[str], rule_of: Callable[[str], Rule]) -> Account:
    """Return the reckoning by some rules, true or not."""
    lines, value = [], start
    for mark in marks:
        line, value = _line(mark, rule_of(mark), value)
        lines.append(line)
    return Account("\n".join(lines), value)


def true_account(world: World, start: int, marks: Sequence[str]) -> Account:
    """Return the reckoning by the true rules."""
    return account(start, marks, lambda mark: world.marks[mark].rule)


def false_account(world: World, start: int, marks: Sequence[str], *, at: int) -> Account:
    """Return a reckoning that ends in the right answer and misstates the marks at places `at` and `at` + 1.

    The first gets the rule that is commonly believed, the second whatever makes up for it: plausible, and wrong.
    """
    lines, value, right = [], start, start
    for place, mark in enumerate(marks):
        rule = world.marks[mark].rule
        right = rule.apply(right)
        if place == at:
            rule = world.marks[mark].decoy
        elif place == at + 1:
            rule = _bridging(value, right)
        line, value = _line(mark, rule, value)
        lines.append(line)
    return Account("\n".join(lines), value)


def _bridging(value: int, wanted: int) -> Rule:
    if wanted == value:
        return Rule("multiply by", 1)
    return Rule("add", wanted - value) if wanted > value else Rule("take away", value - wanted)


def _line(mark: str, rule: Rule, value: int) -> tuple[str, int]:
    result = rule.apply(value)
    return f"{Claim(mark, rule)}: {value} {SIGNS[rule.operation]} {rule.number} = {result}", result
