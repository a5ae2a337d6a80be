"""Principles by rule: the order of operations that a type's reference solutions share, one sentence each."""

from __future__ import annotations

from mage_es.engine.agents.briefs import PrinciplesBrief, PrinciplesReply
from mage_es.engine.models.reference import operations
from mage_es.engine.models.reference.solutions import Worked, work_out


def author_principles(brief: PrinciplesBrief) -> PrinciplesReply:
    """Return at most `limit` principles that are not there yet, commonest order of operations first."""
    counts: dict[str, int] = {}
    for case in brief.cases:
        worked = work_out(case.question, case.solution, answer=case.answer)
        for sentence in _principles(worked) if worked else ():
            counts[sentence] = counts.get(sentence, 0) + 1
    ranked = sorted(counts, key=lambda sentence: (-counts[sentence], sentence))
    new = [sentence for sentence in ranked if sentence not in brief.existing]
    return PrinciplesReply(principles=tuple(new[: max(0, brief.limit)]))


def _principles(worked: Worked) -> list[str]:
    order = operations.in_order(worked.chain)
    sentences = [f"Carry the operations out in this order: {', then '.join(order)}."]
    spare = len(worked.problem.quantities) - len(worked.chain.needed)
    if spare > 0:
        sentences.append(
            "Not every number that the question mentions is needed; leave out what the question does not ask about."
        )
    if len(worked.chain.steps) > 1:
        sentences.append(
            f"The answer needs {len(worked.chain.steps)} equations; the result of each enters a later one."
        )
    return sentences
