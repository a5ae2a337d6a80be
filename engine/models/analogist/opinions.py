"""How the analogist comes to an answer: opinions of examples, strategies, principles, steps and a tool, put to a vote.

Rules
    - An analogy votes with its score. Principles that the question's words call for speak for the analogies that do
      just their operations; a tool's result, those of earlier steps and the answer by hints alone back what agrees.
    - Where no analogy is to be trusted, a tool's result is the answer; without one, a principle is carried out on the
      numbers; without one, hints are followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.models.analogist.heuristics import guess
from mage_es.engine.models.analogist.maxims import applicable, carry_out, speaks_for
from mage_es.engine.models.analogist.prompt_reading import Example, ReadPrompt
from mage_es.engine.models.arithmetic.analogies import Analogy, follow, transfer
from mage_es.engine.models.arithmetic.chains import bind
from mage_es.engine.models.arithmetic.equations import Equation, find_equations
from mage_es.engine.models.arithmetic.numerals import read_number
from mage_es.engine.models.arithmetic.principles import Principle
from mage_es.engine.models.arithmetic.problems import read_problem
from mage_es.engine.models.arithmetic.quantities import Problem
from mage_es.engine.models.arithmetic.strategies import parse

LEAST_SCORE = 0.12
"""An analogy that fits less than this is not used."""
LEAST_ALONE = 0.22
"""An analogy that fits less than this is used only where another opinion gives the same answer."""
BACKING = 0.08
"""What an analogy gains by giving the answer that a tool, earlier steps or hints alone give."""
ADVISED = 0.1
"""What an analogy gains by doing what a principle says: more than what hints say is worth."""
POWER = 24
"""Votes are scores raised to this power, so that one close analogy outweighs several loose ones."""


class Solution(NamedTuple):
    """An answer with the equations that lead to it, and a remark where something else does."""

    answer: Fraction
    equations: list[Equation]
    remark: str = ""


def solve(problem: Problem, read: ReadPrompt) -> Solution:
    """Return what the analogist takes for the answer; 0 where there is no number."""
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


def _opinions(problem: Problem, read: ReadPrompt) -> list[list[Analogy]]:
    """Return the analogies that fit, one list for each example and each strategy."""
    opinions = [_analogies(problem, example) for example in read.examples]
    for advice in read.advice:
        strategy = parse(advice.how)
        followed = follow(strategy, to=problem) if strategy is not None else None
        opinions.append([followed] if followed is not None else [])
    return [[analogy for analogy in opinion if analogy.score >= LEAST_SCORE] for opinion in opinions]


def _analogies(problem: Problem, example: Example) -> list[Analogy]:
    """Return what an example says about a problem; an example without reasoning counts if a guess explains it."""
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
    """Return the equations of the best analogy for the answer with the most votes; empty where none is to be trusted.

    There is one list of analogies for each example. `backed`: answers that do without examples and so count as
    opinions of their own.
    """
    votes: dict[Fraction, float] = {}
    heard: dict[Fraction, int] = dict.fromkeys(backed, 1)
    for opinion in opinions:
        for answer in {analogy.answer for analogy in opinion}:
            heard[answer] = heard.get(answer, 0) + 1
        for analogy in opinion:
            score = analogy.score + BACKING * (analogy.answer in backed)
            score += ADVISED * speaks_for(principles, analogy.equations)
            votes[analogy.answer] = votes.get(analogy.answer, 0.0) + score**POWER
    best = _best(opinions, votes, heard)
    return best.equations if best is not None else []


def _best(
    opinions: Sequence[Sequence[Analogy]], votes: Mapping[Fraction, float], heard: Mapping[Fraction, int]
) -> Analogy | None:
    """Return the analogy with the most votes among those that fit well or are not alone with their answer."""
    trusted = [
        analogy
        for opinion in opinions
        for analogy in opinion
        if analogy.score >= LEAST_ALONE or heard[analogy.answer] > 1
    ]
    return max(trusted, key=lambda analogy: (votes[analogy.answer], analogy.score), default=None)
