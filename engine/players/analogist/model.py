"""The analogist: from a prompt to equations and a final line, or to the part that the prompt asks for."""

from __future__ import annotations

import re
from functools import partial

from mage_es.engine.players.analogist.arguments import fill_in
from mage_es.engine.players.analogist.maxims import operations_in
from mage_es.engine.players.analogist.opinions import solve
from mage_es.engine.players.arithmetic.equations import Equation, print_equation, to_text
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.prompts import read_question_prompt
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request

NOTHING = "Nothing in the question asks for this part."
"""The reply to a step whose skill does not begin the answer."""


def reply(request: Request) -> str:
    prompt = read_question_prompt(request)
    problem = read_problem(prompt.question)
    if prompt.parameters is not None:
        return fill_in(prompt.parameters, problem)
    solution = solve(problem, prompt)
    if prompt.step is not None:
        part = solution.equations[: _share(prompt.step, solution.equations)]
        return "\n".join(map(print_equation, part)) or NOTHING
    final = f"{prompt.before}{to_text(solution.answer)}{prompt.after}"
    if prompt.is_direct:
        return final
    lines = [print_equation(equation) for equation in solution.equations if len(equation.expression) > 1]
    return "\n".join([*lines, *([solution.remark] if solution.remark else []), final])


Analogist = partial(StandIn, "builtin/analogist", reply)


def _share(description: str, equations: list[Equation]) -> int:
    """All steps, if the description names no operation."""
    named = {name for name in ("add", "subtract", "multiply", "divide") if re.search(rf"\b{name}\b", description)}
    if not named:
        return len(equations)
    beyond = (at for at, equation in enumerate(equations) if not named.issuperset(operations_in([equation])))
    return next(beyond, len(equations))
