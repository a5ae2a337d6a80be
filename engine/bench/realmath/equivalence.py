"""Whether a given answer is the gold answer, as far as that can be decided without a judge.

Texts that differ only in layout are the same. Otherwise both are read, and expressions are compared by their values at
points that are drawn from a hash of the two texts. That subsumes simplifying their difference to zero, and its work is
bounded by counting: the verdict does not depend on the machine's speed, as simplification would.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from mage_es.engine.bench.realmath.answers import formula_in, read_answer, without_left_side
from mage_es.engine.bench.realmath.expressions import (
    Collection,
    Expression,
    RelationChain,
    StatedAnswer,
    StatedItem,
    Unreadable,
    is_known,
    symbols_of,
)
from mage_es.engine.bench.realmath.machine import MachineAnswer, read_machine
from mage_es.engine.bench.realmath.tokens import squeezed
from mage_es.engine.bench.realmath.values import Work, agree

_MOST_ITEMS = 32


class Equivalence(Enum):
    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class MathDecision(NamedTuple):
    """The decision or, if there is none, the reason: its kind and, after a colon, the details."""

    equivalence: Equivalence
    why: str = ""


def decide(gold: str, answer: str, machine: MachineAnswer | None = None) -> MathDecision:
    """Compare a given answer with the gold. Never raises, except for a missing library.

    [section 4, RealMath, the metric] Expressions are equal if their values agree, in all digits that were computed, at
    eight random points that the texts determine; values of exact numbers are exact. Work is counted instead of timed,
    so that the verdict is the same on every machine. Answers that are equal only at whole numbers, have different
    symbols or an unknown function, or cannot be read are undecided. An answer is right if it matches either the gold or
    its machine-readable form, `machine`.
    """
    if not answer.strip():
        return MathDecision(Equivalence.DIFFERENT)
    if _is_same_text(gold, answer):
        return MathDecision(Equivalence.SAME)
    try:
        given = read_answer(answer, is_gold=False)
    except Unreadable as error:
        return MathDecision(Equivalence.UNDECIDED, f"unreadable answer: {error}")
    work, seed = Work(), f"{gold}\n{answer}"
    decisions = {compared(reading, given, seed, work) for reading in readings(gold, machine)}
    if Equivalence.SAME in decisions:
        return MathDecision(Equivalence.SAME)
    if decisions == {Equivalence.DIFFERENT}:
        return MathDecision(Equivalence.DIFFERENT)
    return MathDecision(Equivalence.UNDECIDED, "not told by values" if decisions else "unreadable gold")


def readings(gold: str, machine: MachineAnswer | None) -> list[StatedAnswer]:
    found: list[StatedAnswer] = []
    with suppress(Unreadable):
        found.append(read_answer(gold, is_gold=True))
    if machine is not None:
        with suppress(Unreadable):
            found.append(read_machine(machine))
    return found


def _is_same_text(gold: str, answer: str) -> bool:
    if squeezed(gold) == squeezed(answer):
        return True
    try:
        expected = without_left_side(formula_in(gold, is_gold=True))
        return expected == without_left_side(formula_in(answer, is_gold=False))
    except Unreadable:
        return False


def compared(expected: StatedAnswer, given: StatedAnswer, seed: str, work: Work | None = None) -> Equivalence:
    """Compare two readings: by the names of their items if both use the same names, or else in order."""
    comparison = _Comparison(seed, work or Work())
    if len(expected.items) != len(given.items):
        return comparison.of_list_and_set(expected, given)
    items: Sequence[StatedItem] = given.items
    if len(items) > 1 and "" not in expected.names and set(expected.names) == set(given.names):
        by_name = dict(zip(given.names, given.items, strict=True))
        items = [by_name[name] for name in expected.names]
    return _all(comparison.of_items(one, other) for one, other in zip(expected.items, items, strict=True))


def _opened(stated: StatedAnswer) -> Sequence[StatedItem] | None:
    only = stated.items[0] if len(stated.items) == 1 else None
    return only.items if isinstance(only, Collection) and not only.is_ordered else None


class _Comparison(NamedTuple):
    """Compares items at points that `seed` determines, within a budget of work."""

    seed: str
    work: Work

    def of_list_and_set(self, expected: StatedAnswer, given: StatedAnswer) -> Equivalence:
        """Compare a list with a set, which shows neither order nor repetition."""
        one, other = _opened(expected), _opened(given)
        if one is None and other is None:
            return Equivalence.UNDECIDED
        found = self._of_sets(one or expected.items, other or given.items, is_once=True)
        is_tuple = expected.is_tuple or given.is_tuple
        return Equivalence.UNDECIDED if found is Equivalence.SAME and is_tuple else found

    def of_items(self, expected: StatedItem, given: StatedItem) -> Equivalence:
        if isinstance(expected, Collection) or isinstance(given, Collection):
            if not (isinstance(expected, Collection) and isinstance(given, Collection)):
                return Equivalence.UNDECIDED
            if not (expected.is_ordered or given.is_ordered):
                return self._of_sets(expected.items, given.items)
            if expected.is_ordered != given.is_ordered:
                found = self._of_sets(expected.items, given.items)
                return Equivalence.UNDECIDED if found is Equivalence.SAME else found
            if len(expected.items) != len(given.items):
                return Equivalence.DIFFERENT
            return _all(self.of_items(one, other) for one, other in zip(expected.items, given.items, strict=True))
        if isinstance(expected, RelationChain) or isinstance(given, RelationChain):
            return self._of_relations(expected, given)
        return self._of_expressions(expected, given)

    def _of_relations(self, expected: StatedItem, given: StatedItem) -> Equivalence:
        if not (isinstance(expected, RelationChain) and isinstance(given, RelationChain)):
            return Equivalence.UNDECIDED
        if expected.signs != given.signs:
            return Equivalence.UNDECIDED
        sides = {self.of_items(one, other) for one, other in zip(expected.sides, given.sides, strict=True)}
        return Equivalence.SAME if sides == {Equivalence.SAME} else Equivalence.UNDECIDED

    def _of_sets(
        self, expected: Sequence[StatedItem], given: Sequence[StatedItem], *, is_once: bool = False
    ) -> Equivalence:
        """`is_once`: each item must equal exactly one of the others."""
        if len(expected) > _MOST_ITEMS or len(given) > _MOST_ITEMS:
            return Equivalence.UNDECIDED
        table = [[self.of_items(one, other) for other in given] for one in expected]
        lines = [*table, *([*column] for column in zip(*table, strict=True))]
        if table and given and all(Equivalence.SAME in line for line in lines):
            is_exact = not is_once or all(line.count(Equivalence.SAME) == 1 for line in lines)
            return Equivalence.SAME if is_exact else Equivalence.UNDECIDED
        is_open = any(Equivalence.UNDECIDED in line for line in table)
        return Equivalence.UNDECIDED if is_open else Equivalence.DIFFERENT

    def _of_expressions(self, expected: Expression, given: Expression) -> Equivalence:
        if expected == given:
            return Equivalence.SAME
        names = symbols_of(expected), symbols_of(given)
        free = sorted(names[0] | names[1])
        anywhere = agree(expected, given, free, self.seed, self.work)
        if anywhere is True:
            return Equivalence.SAME
        whole = agree(expected, given, free, self.seed, self.work, is_whole=True) if free else anywhere
        if anywhere is None and whole is True:  # sums have whole limits, so they have no values elsewhere
            return Equivalence.SAME
        if whole is False and names[0] == names[1] and is_known(expected) and is_known(given):
            return Equivalence.DIFFERENT
        return Equivalence.UNDECIDED


def _all(decisions: Iterable[Equivalence]) -> Equivalence:
    found = set(decisions)
    if Equivalence.DIFFERENT in found:
        return Equivalence.DIFFERENT
    return Equivalence.UNDECIDED if Equivalence.UNDECIDED in found else Equivalence.SAME
