"""Claims: meanings that a text gives to marks, and worked calculations that make such claims."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.kit.truthworld.world import SIGNS, HiddenWorld, Operation, Rule

_CLAIM = re.compile(rf"\b([a-z]+) means ({'|'.join(SIGNS)}) (\d{{1,6}})\b")
_OPERATIONS: dict[str, Operation] = {str(name): name for name in SIGNS}


class Claim(NamedTuple):
    """The claim that a mark means a rule. Two texts that state the same rule make the same claim."""

    mark: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.mark} means {self.rule}"


class WorkedAccount(NamedTuple):
    text: str
    result: int


def claims_in(text: str) -> frozenset[Claim]:
    return frozenset(Claim(mark, Rule(_OPERATIONS[name], int(number))) for mark, name, number in _CLAIM.findall(text))


def is_true(world: HiddenWorld, claim: Claim) -> bool:
    mark = world.marks.get(claim.mark)
    return mark is not None and mark.rule == claim.rule


def account(start: int, marks: Sequence[str], rule_of: Callable[[str], Rule]) -> WorkedAccount:
    lines, value = [], start
    for mark in marks:
        line, value = _line(mark, rule_of(mark), value)
        lines.append(line)
    return WorkedAccount("\n".join(lines), value)


def true_account(world: HiddenWorld, start: int, marks: Sequence[str]) -> WorkedAccount:
    return account(start, marks, lambda mark: world.marks[mark].rule)


def false_account(world: HiddenWorld, start: int, marks: Sequence[str], *, at: int) -> WorkedAccount:
    """Return a calculation that ends in the right answer and misstates the marks at places `at` and `at` + 1.

    The first gets the commonly believed rule, the second a rule that makes up for it: the result is plausible, and
    wrong.
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
    return WorkedAccount("\n".join(lines), value)


def _bridging(value: int, wanted: int) -> Rule:
    if wanted == value:
        return Rule("multiply by", 1)
    return Rule("add", wanted - value) if wanted > value else Rule("take away", value - wanted)


def _line(mark: str, rule: Rule, value: int) -> tuple[str, int]:
    result = rule.apply(value)
    return f"{Claim(mark, rule)}: {value} {SIGNS[rule.operation]} {rule.number} = {result}", result
