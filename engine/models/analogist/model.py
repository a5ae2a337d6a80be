"""The analogist behind the seam: the prompt in; equations and a final line out, or what else the prompt asks for.

Rules
    - The reply is a function of the prompt alone: no clock, no file, no random source, no memory between calls.
    - It is not a language model: no weights, no training; it cannot do what its few rules do not cover.
    - Asked for one step, it gives the first equations of its answer, as far as they use what the step's skill is for.
      Asked for a tool's arguments, it gives a JSON object.
"""

from __future__ import annotations

import re

from mage_es.engine.models.analogist.arguments import fill_in
from mage_es.engine.models.analogist.maxims import operations_in
from mage_es.engine.models.analogist.opinions import solve
from mage_es.engine.models.analogist.prompt_reading import read_prompt
from mage_es.engine.models.arithmetic.equations import Equation, print_expression, to_text
from mage_es.engine.models.arithmetic.problems import read_problem
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.seam import Completion, Request

NOTHING = "Nothing in the question asks for this part."
"""The reply to a step whose skill the answer does not begin with."""


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
    if read.tool is not None:
        return fill_in(read.tool, problem)
    solution = solve(problem, read)
    if read.step is not None:
        part = list(solution.equations)[: _share(read.step.description, solution.equations)]
        return "\n".join(_line(equation) for equation in part) or NOTHING
    final = f"{read.before}{to_text(solution.answer)}{read.after}"
    if read.is_direct:
        return final
    lines = [_line(equation) for equation in solution.equations if len(equation.expression) > 1]
    return "\n".join([*lines, *([solution.remark] if solution.remark else []), final])


def _line(equation: Equation) -> str:
    return f"{print_expression(equation.expression)} = {to_text(equation.value)}"


def _share(description: str, equations: list[Equation]) -> int:
    """Return how many of the first equations do only what a description names; all of them if it names nothing."""
    named = {name for name in ("add", "subtract", "multiply", "divide") if re.search(rf"\b{name}\b", description)}
    if not named:
        return len(equations)
    beyond = (at for at, equation in enumerate(equations) if not named.issuperset(operations_in([equation])))
    return next(beyond, len(equations))
