"""The analogist: from a prompt to equations and a final line. It learns from solved examples and from nothing else: it
ignores principles, strategies and the results of tools."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial

from mage_es.engine.players.analogist.heuristics import guess
from mage_es.engine.players.arithmetic.analogies import Analogy, transfer
from mage_es.engine.players.arithmetic.chains import OperationChain, bind
from mage_es.engine.players.arithmetic.equations import Equation, find_equations, print_equation, to_number, to_text
from mage_es.engine.players.arithmetic.numerals import read_number
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.quantities import Problem
from mage_es.engine.players.prompts import Example, read_question_prompt
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request

LEAST_SCORE = 0.12
"""An analogy that fits less than this is not used."""
LEAST_ALONE = 0.22
"""An analogy that fits less than this is used only if another opinion gives the same answer."""
BACKING = 0.08
"""What an analogy gains if hints alone give its answer too."""
POWER = 24
"""Votes are scores raised to this power, so that one close analogy outweighs several loose ones."""


def reply(request: Request) -> str:
    prompt = read_question_prompt(request)
    problem = read_problem(prompt.question)
    if prompt.parameters is not None:
        numbers = [to_number(quantity.value) for quantity in problem.relevant]
        fits = len(numbers) == len(prompt.parameters)
        return json.dumps(dict(zip(prompt.parameters, numbers, strict=True))) if fits else "none"
    equations = solve(problem, prompt.examples)
    final = f"{prompt.before}{to_text(equations[-1].value if equations else Fraction(0))}{prompt.after}"
    if prompt.is_direct:
        return final
    lines = [print_equation(equation) for equation in equations if len(equation.expression) > 1]
    return "\n".join(lines or ["It asks for nothing."]) if prompt.wants_step else "\n".join([*lines, final])


Analogist = partial(StandIn, "builtin/analogist", reply)


def solve(problem: Problem, examples: Sequence[Example]) -> list[Equation]:
    """Return equations, the last of which gives the answer; empty for a question without a number."""
    guessed = guess(problem)
    opinions = [_analogies(problem, example) for example in examples]
    return _elect(opinions, backed={guessed[-1].value} if guessed else set()) or guessed


def _analogies(problem: Problem, example: Example) -> list[Analogy]:
    chain = _chain_of(example)
    found = transfer(read_problem(example.question), chain, to=problem) if chain is not None else []
    return [analogy for analogy in found if analogy.score >= LEAST_SCORE]


@lru_cache(maxsize=1024)  # an example is shown beside many questions
def _chain_of(example: Example) -> OperationChain | None:
    """An example without reasoning counts if a guess explains its answer."""
    known, right = read_problem(example.question), read_number(example.answer)
    if right is None:
        return None
    chain = bind(find_equations(example.reasoning), known.quantities, answer=right)
    if chain is None and not example.reasoning:
        chain = bind(guess(known), known.quantities, answer=right)
    return chain


def _elect(opinions: Sequence[Sequence[Analogy]], *, backed: set[Fraction]) -> list[Equation]:
    """Return the equations of the best analogy for the answer with the most votes; empty if none can be trusted.

    An analogy can be trusted if it fits well or if another opinion gives the same answer; `backed` answers count as
    opinions.
    """
    votes: defaultdict[Fraction, float] = defaultdict(float)
    opinions_for = Counter(backed)
    for opinion in opinions:
        opinions_for.update({analogy.answer for analogy in opinion})
        for analogy in opinion:
            votes[analogy.answer] += (analogy.score + BACKING * (analogy.answer in backed)) ** POWER
    trusted = [
        analogy
        for opinion in opinions
        for analogy in opinion
        if analogy.score >= LEAST_ALONE or opinions_for[analogy.answer] > 1
    ]
    best = max(trusted, key=lambda analogy: (votes[analogy.answer], analogy.score), default=None)
    return best.equations if best is not None else []
