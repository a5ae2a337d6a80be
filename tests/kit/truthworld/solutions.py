"""Reference solutions of truthworld: start and marks of a calculation, and the rules that solutions agree on."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mage_es.engine.briefs import Case
from tests.kit.truthworld.claims import Claim, claims_in
from tests.kit.truthworld.world import Rule

_LINE = re.compile(r"^([a-z]+) means [a-z ]+ \d+: (\d+) ", re.MULTILINE)
_ATLAS = re.compile(r"\b[Aa]tlas \d+")
_NUMBER = re.compile(r"\d+")


class Reckoning(NamedTuple):
    """`line` is the number that a standing compares with, 0 if the answer is a number."""

    start: int
    marks: tuple[str, ...]
    line: int
    answer: str


def read_solution(case: Case) -> Reckoning | None:
    steps = _LINE.findall(case.solution)
    if not steps:
        return None
    numbers = _NUMBER.findall(_ATLAS.sub("", case.question))
    line = 0 if case.answer.isdigit() or not numbers else int(numbers[-1])
    return Reckoning(int(steps[0][1]), tuple(mark for mark, _ in steps), line, case.answer)


def agreed(solutions: Iterable[str]) -> dict[str, Rule]:
    """In alphabetical order of the marks (ties: the least rule)."""
    counts: dict[str, Counter[Rule]] = {}
    for solution in solutions:
        for claim in claims_in(solution):
            counts.setdefault(claim.mark, Counter())[claim.rule] += 1
    return {mark: min(found, key=lambda rule: (-found[rule], rule)) for mark, found in sorted(counts.items())}


def sentences(rules: Mapping[str, Rule], *, length: int | None = None) -> str:
    text = ""
    for mark, rule in rules.items():
        longer = f"{text} {Claim(mark, rule)}.".lstrip()
        if length is not None and len(longer) > length:
            break
        text = longer
    return text
