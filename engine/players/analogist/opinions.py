"""How the analogist answers: it puts the analogies of examples and strategies to a vote.

If no analogy can be trusted, the answer is a tool's result, or else that of a principle, or else that of hints.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.players.analogist.heuristics import guess
from mage_es.engine.players.analogist.maxims import applicable, carry_out, speaks_for
from mage_es.engine.players.arithmetic.analogies import Analogy, follow, transfer
from mage_es.engine.players.arithmetic.chains import bind
from mage_es.engine.players.arithmetic.equations import Equation, find_equations
from mage_es.engine.players.arithmetic.numerals import read_number
from mage_es.engine.players.arithmetic.principles import Principle
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.quantities import Problem
from mage_es.engine.players.arithmetic.strategies import parse
from mage_es.engine.players.prompts import Example, QuestionPrompt

LEAST_SCORE = 0.12
"""An analogy that fits less than this is not used."""
LEAST_ALONE = 0.22
"""An analogy that fits less than this is used only if another opinion gives the same answer."""
BACKING = 0.08
"""What an analogy gains if a tool, earlier steps or hints alone give its answer too."""
ADVISED = 0.1
"""What an analogy gains if it does what a principle says: more than hints are worth."""
POWER = 24
"""Votes are scores raised to this power, so that one close analogy outweighs several loose ones."""


class Solution(NamedTuple):
    """`remark` says what else leads to the answer."""

    answer: Fraction
    equations: list[Equation]
    remark: str = ""


def solve(problem: Problem, read: QuestionPrompt) -> Solution:
    guessed = guess(problem)
    principles = applicable(read.principles, problem)
    backed = {guessed[-1].value} if guessed else set()
    backed |= {found[-1].value for output in read.outputs if (found := find_equations(output))}
    result = read_number(read.outcome.result) if read.outcome else None
    backed |= {result} if result is not None else set()
    equations = _elect(_opinions(problem, read), principles, backed=backed)
    if not equations and result is not None and read.outcome is not None:
        remark = f"{read.outcome.name} gives {read.outcome.result} for {read.outcome.arguments}."
        return Solution(result, [], remark)
    if not equations:
        carried = (carry_out(principle, problem) for principle in principles)
        equations = next((found for found in carried if found), guessed)
    return Solution(equations[-1].value if equations else Fraction(0), equations)


def _opinions(problem: Problem, read: QuestionPrompt) -> list[list[Analogy]]:
    opinions = [_analogies(problem, example) for example in read.examples]
    for advice in read.advice:
        strategy = parse(advice)
        followed = follow(strategy, to=problem) if strategy is not None else None
        opinions.append([followed] if followed is not None else [])
    return [[analogy for analogy in opinion if analogy.score >= LEAST_SCORE] for opinion in opinions]


def _analogies(problem: Problem, example: Example) -> list[Analogy]:
    """An example without reasoning counts if a guess explains its answer."""
    known = read_problem(example.question)
    right = read_number(example.answer)
    if right is None:
        return []
    chain = bind(find_equations(example.reasoning), known.quantities, answer=right)
    if chain is None and not example.reasoning:
        chain = bind(guess(known), known.quantities, answer=right)
    return transfer(known, chain, to=problem) if chain is not None else []


def _elect(
    opinions: Sequence[Sequence[Analogy]], principles: Sequence[Principle], *, backed: set[Fraction]
) -> list[Equation]:
    """Return the equations of the best analogy for the answer with the most votes; empty if none can be trusted.

    An analogy can be trusted if it fits well or is not alone with its answer; `backed` answers are opinions too.
    """
    votes: defaultdict[Fraction, float] = defaultdict(float)
    opinions_for = Counter(backed)
    for opinion in opinions:
        opinions_for.update({analogy.answer for analogy in opinion})
        for analogy in opinion:
            score = analogy.score + BACKING * (analogy.answer in backed)
            score += ADVISED * speaks_for(principles, analogy.equations)
            votes[analogy.answer] += score**POWER
    trusted = [
        analogy
        for opinion in opinions
        for analogy in opinion
        if analogy.score >= LEAST_ALONE or opinions_for[analogy.answer] > 1
    ]
    best = max(trusted, key=lambda analogy: (votes[analogy.answer], analogy.score), default=None)
    return best.equations if best is not None else []
