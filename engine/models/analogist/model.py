"""The analogist behind the seam: the prompt in, equations and a final line out.

Rules
    - The reply is a function of the prompt alone: no clock, no file, no random source, no memory between calls.
    - It is not a language model: no weights, no training; it cannot do what its few rules do not cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mage_es.engine.models.analogist.heuristics import guess
from mage_es.engine.models.analogist.prompt_reading import Example, ReadPrompt, read_prompt
from mage_es.engine.models.arithmetic.analogies import Analogy, follow, transfer
from mage_es.engine.models.arithmetic.chains import bind
from mage_es.engine.models.arithmetic.equations import Equation, find_equations, print_expression, to_text
from mage_es.engine.models.arithmetic.numerals import read_number
from mage_es.engine.models.arithmetic.problems import read_problem
from mage_es.engine.models.arithmetic.quantities import Problem
from mage_es.engine.models.arithmetic.strategies import parse
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.seam import Completion, Request

LEAST_SCORE = 0.12
"""An analogy that fits less than this is not used."""
LEAST_ALONE = 0.22
"""An analogy that fits less than this is used only where another example gives the same answer."""
BACKING = 0.08
"""What an analogy gains by giving the answer that hints alone give."""
POWER = 24
"""Votes are scores raised to this power, so that one close analogy outweighs several loose ones."""


class Analogist:
    """`builtin/analogist`: solves by analogy with the worked examples in its prompt."""

    name = "builtin/analogist"

    async def complete(self, request: Request) -> Completion:
        """Return equations and the final line that the prompt asks for. Never raises on any prompt."""
        text = reply(request.prompt)
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))


def reply(prompt: str) -> str:
    """Return the reply to a prompt."""
    read = read_prompt(prompt)
    problem = read_problem(read.question)
    guessed = guess(problem)
    equations = _by_analogy(problem, read, guessed=guessed) or guessed
    result = to_text(equations[-1].value) if equations else "0"
    final = f"{read.before}{result}{read.after}"
    if read.is_direct:
        return final
    lines = [_line(equation) for equation in equations if len(equation.expression) > 1]
    return "\n".join([*lines, final])


def _line(equation: Equation) -> str:
    return f"{print_expression(equation.expression)} = {to_text(equation.value)}"


def _by_analogy(problem: Problem, read: ReadPrompt, *, guessed: Sequence[Equation]) -> list[Equation]:
    """Return the equations of the answer that examples and strategies speak for most; empty where none fits."""
    opinions = [_analogies(problem, example) for example in read.examples]
    for advice in read.advice:
        strategy = parse(advice.how)
        followed = follow(strategy, to=problem) if strategy is not None else None
        opinions.append([followed] if followed is not None else [])
    fitting = [[analogy for analogy in opinion if analogy.score >= LEAST_SCORE] for opinion in opinions]
    return _elect(fitting, backed=guessed[-1].value if guessed else None)


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


def _elect(opinions: Sequence[Sequence[Analogy]], *, backed: Fraction | None) -> list[Equation]:
    """Return the equations of the best analogy for the answer with the most votes.

    There is one list of analogies for each example. `backed`: an answer that does without examples and so counts
    as one more opinion.
    """
    votes: dict[Fraction, float] = {}
    heard: dict[Fraction, int] = {backed: 1} if backed is not None else {}
    for opinion in opinions:
        for answer in {analogy.answer for analogy in opinion}:
            heard[answer] = heard.get(answer, 0) + 1
        for analogy in opinion:
            votes[analogy.answer] = (
                votes.get(analogy.answer, 0.0) + (analogy.score + BACKING * (analogy.answer == backed)) ** POWER
            )
    trusted = [
        analogy
        for opinion in opinions
        for analogy in opinion
        if analogy.score >= LEAST_ALONE or heard[analogy.answer] > 1
    ]
    best = max(trusted, key=lambda analogy: (votes[analogy.answer], analogy.score), default=None)
    return best.equations if best is not None else []
