"""Prompt refinement: advice against the faults of a skill's failures, and the steps that their solutions share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mage_es.engine.briefs import FailureCase, RefinementBrief, RefinementReply
from mage_es.engine.players.arithmetic.chains import OPERATIONS
from mage_es.engine.players.arithmetic.equations import find_equations
from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.plans import shared_steps
from mage_es.engine.players.reference.principles import steps_of
from mage_es.engine.players.reference.purchases import is_shopping, purchase_advice
from mage_es.engine.players.reference.solutions import Worked, worked_cases

_ADVICE = {
    "no equation": "Write every step as an equation before the answer.",
    "left out": "Use every number that the question depends on; check which one was not used yet.",
    "beside": "Leave out numbers that have nothing to do with what is asked.",
    "short": "Do not stop early: ask after each step whether its result is what the question asks for.",
    "operation": "Before each step say what its result stands for, then choose the operation.",
}
"""The advice for each fault; among equally frequent faults, the earlier one comes first."""


def author_refinement(brief: RefinementBrief) -> RefinementReply:
    if is_shopping(brief.cases):
        strategy = " ".join(purchase_advice(brief.cases))
        return RefinementReply(prompt_template="", strategy=strategy if len(strategy) <= brief.length else "")
    read = worked_cases(brief.cases)
    faults = Counter(fault for case, worked in read for fault in set(_faults(case, worked)))
    found = share([worked for _, worked in read])
    strategy = found.strategy if found else shared_steps(brief.cases)
    return RefinementReply(
        prompt_template=_instruction(faults, cases=len(read))[: brief.length] if faults else "",
        strategy=strategy if len(strategy) <= brief.length else "",
    )


def _instruction(faults: Counter[str], *, cases: int) -> str:
    order = sorted(faults, key=lambda fault: (-faults[fault], list(_ADVICE).index(fault)))
    return " ".join(f"{_ADVICE[fault]} (It went wrong in {faults[fault]} of {cases} failures.)" for fault in order[:3])


def _faults(case: FailureCase, worked: Worked) -> Iterator[str]:
    equations = find_equations(case.wrong_reasoning)
    if not equations:
        yield "no equation"
        return
    used = {item for equation in equations for item in equation.expression if not isinstance(item, str)}
    quantities = worked.problem.quantities
    needed = {quantities[at].value for at in worked.chain.needed}
    results = {equation.value for equation in worked.equations}
    if any(quantity.value in used - needed - results for quantity in quantities):
        yield "beside"
    if any(quantities[at].value not in used for at in worked.chain.needed if quantities[at].kind == "count"):
        yield "left out"
    done = [sign for equation in equations for sign in equation.expression if sign in OPERATIONS]
    right = list(steps_of(worked))
    if len(done) < len(right):
        yield "short"
    elif [OPERATIONS[str(sign)] for sign in done] != right:
        yield "operation"
