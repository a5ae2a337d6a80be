"""Reference solutions as plain reasoning, and as chains over the quantities of their question."""

from __future__ import annotations

import re
from typing import NamedTuple

from mage_es.engine.models.arithmetic.chains import Chain, bind
from mage_es.engine.models.arithmetic.equations import Equation, find_equations, print_expression, to_text
from mage_es.engine.models.arithmetic.numerals import read_number
from mage_es.engine.models.arithmetic.problems import read_problem
from mage_es.engine.models.arithmetic.quantities import Problem

_ANNOTATION = re.compile(r"<<([^<>]*)>>")
_FINAL = re.compile(r"^####.*$", re.MULTILINE)


class Worked(NamedTuple):
    """A question as read, with the chain of its reference solution."""

    problem: Problem
    chain: Chain
    equations: tuple[Equation, ...]


def to_plain(solution: str) -> str:
    """Return a solution without calculator annotations and final line, each annotated step a readable equation."""
    lines = []
    for line in _FINAL.sub("", solution).splitlines():
        annotated = find_equations("\n".join(_ANNOTATION.findall(line)))
        prose = _ANNOTATION.sub("", line).strip()
        if annotated and find_equations(prose) != annotated:
            prose = "\n".join(_print(equation) for equation in annotated)
        if prose:
            lines.append(prose)
    return "\n".join(lines)


def work_out(question: str, solution: str, *, answer: str) -> Worked | None:
    """Return a question with the chain of its solution; None where the solution cannot be read as equations."""
    value = read_number(answer)
    if value is None:
        return None
    problem = read_problem(question)
    equations = find_equations(to_plain(solution))
    chain = bind(equations, problem.quantities, answer=value)
    return Worked(problem, chain, tuple(equations)) if chain is not None else None


def final_answer(solution: str) -> str:
    """Return what stands after the last `####`, or "" if there is none."""
    return solution.rpartition("####")[2].strip() if "####" in solution else ""


def _print(equation: Equation) -> str:
    return f"{print_expression(equation.expression)} = {to_text(equation.value)}"
