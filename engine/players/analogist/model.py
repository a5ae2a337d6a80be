"""The analogist: from a prompt to equations and a final line. It learns from solved examples and from nothing else:
principles, strategies and what a tool gave leave it unmoved."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial

from mage_es.engine.players.analogist.opinions import solve
from mage_es.engine.players.arithmetic.equations import print_equation, to_number, to_text
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.prompts import read_question_prompt
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request


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
