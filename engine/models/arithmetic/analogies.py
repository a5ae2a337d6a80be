"""Analogies: a worked example's chain of operations, or a strategy's, carried out on another question.

Rules
    - An analogy is only as good as its score: likeness of the quantities and of what is asked, less what speaks
      against it (numbers left over, numbers beside the point, implausible results, constants out of nowhere).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from mage_es.engine.models.arithmetic.casting import Casting
from mage_es.engine.models.arithmetic.chains import Chain, parts, without
from mage_es.engine.models.arithmetic.equations import Equation
from mage_es.engine.models.arithmetic.extending import extend
from mage_es.engine.models.arithmetic.likeness import likeness, polarity, similarity
from mage_es.engine.models.arithmetic.quantities import Problem
from mage_es.engine.models.arithmetic.strategies import Strategy

FIT = 0.6
"""Weight of the likeness of the quantities."""
FOLLOWED = 0.3
"""Weight of how well the numbers answer a strategy's descriptions, which say less than an example."""
ASKED = 0.3
"""Weight of the likeness of what is asked."""
UNUSED = 0.12
"""Cost of each number of the question that the chain leaves over, beyond what it left over in the example."""
APART = 0.02
"""Cost of each number used that seems to be beside the point."""
CUT = 0.1
"""Cost of a chain that ends at an earlier step than the example's."""
LESS = 0.12
"""Cost of a chain without one of the example's quantities."""
FURTHER = 0.04
"""Cost of a step that the example did not have."""
DOUBT = 0.05
"""Cost of each operand that could have been another number of the example."""
AGAINST = 0.05
"""Cost of each number added though it is said to go out, or taken though it is said to come in."""
ODD = 0.1
"""Cost of each constant that nobody mentioned."""


_MOST_CUTS = 6


class Analogy(NamedTuple):
    """A chain carried out on another question: a score of at most 1, its equations, who plays whom."""

    score: float
    equations: list[Equation]
    mapping: Mapping[int, int]
    is_whole: bool
    """Whether the whole chain was carried out, not a lesser one."""

    @property
    def answer(self) -> Fraction:
        """The last equation's value."""
        return self.equations[-1].value


def transfer(example: Problem, chain: Chain, *, to: Problem) -> list[Analogy]:
    """Carry an example's chain, and lesser chains made of it, out on another question, best first.

    Empty where the example's quantities find no counterparts.
    """
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


def follow(strategy: Strategy, *, to: Problem) -> Analogy | None:
    """Carry a strategy out on a question; None where there are too few numbers, or no result."""
    table = [
        [sum(quantity.has(name) for name in role) / max(1, len(role)) for quantity in to.quantities]
        for role in strategy.roles
    ]
    cast = Casting(table, ties=frozenset(), to=to).carry_out(strategy.to_chain())
    if cast is None:
        return None
    unused = len(_relevant(to) - set(cast.mapping.values()))
    asked = sum(name in to.question for name in strategy.asks) / max(1, len(strategy.asks))
    return Analogy(FOLLOWED * (cast.fit + asked) / 2 - UNUSED * unused, cast.equations, cast.mapping, is_whole=True)


def _chains(chain: Chain, *, is_short: bool) -> Iterator[tuple[Chain, float]]:
    """Yield a chain and the lesser chains made of it, each with its cost; `is_short`: too few numbers are there."""
    yield chain, 0.0
    for part in parts(chain)[1 : 1 + _MOST_CUTS]:
        yield part, CUT
    for index in chain.needed if is_short else ():
        less = without(chain, index)
        if less is not None:
            yield less, LESS


def _relevant(problem: Problem) -> set[int]:
    """Return the indices of the quantities that the question is likely about."""
    return {at for at, quantity in enumerate(problem.quantities) if not quantity.is_apart and quantity.kind != "one"}


def _against(chain: Chain, mapping: Mapping[int, int], *, to: Problem) -> int:
    """Count the numbers whose sign in the chain is not what is said of them."""
    count = 0
    for step in chain.steps:
        for sign, operand in pairwise(step):
            if not isinstance(operand, str) and operand.source == "quantity" and sign in ("+", "-"):
                lean = polarity(to.quantities[mapping[operand.at]])
                count += lean < 0 if sign == "+" else lean > 0
    return count


def _turn(chain: Chain, mapping: Mapping[int, int], *, example: Problem, to: Problem) -> Chain | None:
    """Exchange + and - before quantities that come in where the example's went out, or the other way round.

    Returns None where nothing is to be turned.
    """
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
