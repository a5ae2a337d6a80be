"""Analogies: a worked example's chain of operations, carried out on another question.

The score of an analogy is the likeness of the quantities and of what is asked, minus costs: for numbers left over,
irrelevant numbers, implausible results and unexplained constants.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from mage_es.engine.players.arithmetic.casting import Casting
from mage_es.engine.players.arithmetic.chains import OperationChain, parts, without
from mage_es.engine.players.arithmetic.equations import Equation, ExpressionItem, evaluate
from mage_es.engine.players.arithmetic.quantities import Problem, Quantity, likeness, polarity, similarity

FIT = 0.6
"""Weight of the likeness of the quantities."""
ASKED = 0.3
"""Weight of the likeness of what is asked."""
UNUSED = 0.12
"""Cost of each number of the question that the chain does not use, beyond those that it did not use in the example."""
APART = 0.02
"""Cost of each number that is used but seems beside the point."""
CUT = 0.1
"""Cost of a chain that ends at an earlier step than the example's."""
LESS = 0.12
"""Cost of a chain without one of the example's quantities."""
FURTHER = 0.04
"""Cost of a step that the example did not have."""
DOUBT = 0.05
"""Cost of each operand that could have been another number of the example."""
AGAINST = 0.05
"""Cost of each number that is added although the question says that it goes out, or subtracted although it comes in."""
ODD = 0.1
"""Cost of each unexplained constant."""

_MOST_CUTS = 6


class Analogy(NamedTuple):
    """`score` is at most 1, `mapping` leads from parts to quantities."""

    score: float
    equations: list[Equation]
    mapping: Mapping[int, int]
    is_whole: bool
    """Whether the whole chain was carried out, not a lesser one."""

    @property
    def answer(self) -> Fraction:
        return self.equations[-1].value


def transfer(example: Problem, chain: OperationChain, *, to: Problem) -> list[Analogy]:
    """Carry out an example's chain, and lesser chains made from it; return the best first."""
    table = [[likeness(ours, theirs) for theirs in to.quantities] for ours in example.quantities]
    casting = Casting(table, ties=example.ties, to=to)
    asked = similarity(example.question, to.question)
    passed = len(_relevant(example) - set(chain.needed))
    found: list[Analogy] = []
    for part, cost in _chains(chain, is_short=len(_relevant(to)) < len(chain.needed)):
        cast = casting.carry_out(part)
        if cast is None:
            continue
        turned = _turn(part, cast.mapping, example=example, to=to)
        cast = (casting.fit(turned, cast.mapping) if turned is not None else cast) or cast
        players = {cast.mapping[index] for index in part.needed}
        left = _relevant(to) - players
        unused = max(0, len(left) - passed)
        apart = len(players - _relevant(to))
        cost += AGAINST * _against(turned or part, cast.mapping, to=to)
        cost += APART * apart + ODD * part.odd + DOUBT * part.doubtful
        score = FIT * cast.fit + ASKED * asked - cost
        found.append(Analogy(score - UNUSED * unused, cast.equations, cast.mapping, is_whole=part is chain))
        if unused == len(left) == 1:
            used = [to.quantities[player] for player in players]
            further = extend(cast.equations, to.quantities[left.pop()], used=used, to=to)
            if further is not None:
                found.append(Analogy(score - FURTHER, [*cast.equations, further], cast.mapping, is_whole=False))
    return sorted(found, key=lambda analogy: -analogy.score)


def _chains(chain: OperationChain, *, is_short: bool) -> Iterator[tuple[OperationChain, float]]:
    """Yield a chain and the lesser chains made from it, each with its cost; `is_short` means too few numbers."""
    yield chain, 0.0
    for part in parts(chain)[1 : 1 + _MOST_CUTS]:
        yield part, CUT
    for index in chain.needed if is_short else ():
        less = without(chain, index)
        if less is not None:
            yield less, LESS


def _relevant(problem: Problem) -> set[int]:
    return {at for at, quantity in enumerate(problem.quantities) if not quantity.is_apart and quantity.kind != "one"}


def _against(chain: OperationChain, mapping: Mapping[int, int], *, to: Problem) -> int:
    count = 0
    for step in chain.steps:
        for sign, operand in pairwise(step):
            if not isinstance(operand, str) and operand.source == "quantity" and sign in ("+", "-"):
                lean = polarity(to.quantities[mapping[operand.at]])
                count += lean < 0 if sign == "+" else lean > 0
    return count


def _turn(chain: OperationChain, mapping: Mapping[int, int], *, example: Problem, to: Problem) -> OperationChain | None:
    """Swap + and - before quantities that come in where the example's went out, or vice versa; None if there are
    none."""
    is_turned = False
    steps = []
    for step in chain.steps:
        items = list(step)
        for at in range(1, len(items)):
            operand, sign = items[at], items[at - 1]
            if isinstance(operand, str) or operand.source != "quantity" or sign not in ("+", "-"):
                continue
            ours, theirs = polarity(example.quantities[operand.at]), polarity(to.quantities[mapping[operand.at]])
            if ours * theirs < 0 and (ours > 0) == (sign == "+"):
                items[at - 1] = "-" if sign == "+" else "+"
                is_turned = True
        steps.append(tuple(items))
    return chain._replace(steps=tuple(steps)) if is_turned else None


def extend(equations: Sequence[Equation], left: Quantity, *, used: Sequence[Quantity], to: Problem) -> Equation | None:
    """Return another equation, of the last result and the number left over; None if no hint says which."""
    result = equations[-1].value
    expression: tuple[ExpressionItem, ...] | None = None
    is_money = any(quantity.kind == "money" for quantity in used)
    if left.per and left.per in (to.asked | {to.target}) and left.value:
        expression = (result, "/", left.value)
    elif left.kind == "count" and is_money and not left.per:
        expression = (result, "*", left.value)
    elif "asks rest" in to.question or polarity(left) < 0:
        expression = (max(result, left.value), "-", min(result, left.value))
    elif polarity(left) > 0:
        expression = (result, "+", left.value)
    value = evaluate(expression) if expression is not None else None
    if expression is None or value is None or value <= 0 or value.denominator != 1:
        return None
    return Equation(expression, value)
