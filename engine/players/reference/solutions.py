"""Reference solutions as plain reasoning, as chains over the quantities of their question, and as strategies."""

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from mage_es.engine.briefs import AuthoredFailure, Case
from mage_es.engine.players.arithmetic.chains import OperationChain, bind
from mage_es.engine.players.arithmetic.equations import Equation, find_equations
from mage_es.engine.players.arithmetic.numerals import read_number
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.quantities import Problem

_FINAL = re.compile(r"^####.*$", re.MULTILINE)

C = TypeVar("C", bound=Case)


class Worked(NamedTuple):
    problem: Problem
    chain: OperationChain
    equations: tuple[Equation, ...]


def to_plain(solution: str) -> str:
    """Skips empty lines and a final line `#### ...`."""
    return "\n".join(line.strip() for line in _FINAL.sub("", solution).splitlines() if line.strip())


def work_out(question: str, solution: str, *, answer: str) -> Worked | None:
    value = read_number(answer)
    if value is None:
        return None
    problem = read_problem(question)
    equations = find_equations(to_plain(solution))
    chain = bind(equations, problem.quantities, answer=value)
    return Worked(problem, chain, tuple(equations)) if chain is not None else None


def worked_cases(cases: Iterable[C]) -> list[tuple[C, Worked]]:
    found = []
    for case in cases:
        worked = work_out(f"{case.context}\n{case.question}".strip(), case.solution, answer=case.answer)
        if worked is not None:
            found.append((case, worked))
    return found


def type_strategy(case: Case, recognise: str, reasoning: str) -> AuthoredFailure:
    return AuthoredFailure(
        question_id=case.question_id, kind="type_strategy", recognise=recognise, reasoning=reasoning, answer=case.answer
    )
