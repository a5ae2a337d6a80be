"""Probation: memories that a merge took from another run are left out at random until their effect is not negative.

Rules
    - When such a memory is retrieved for a question to learn from, it is left out with the probability PROBATION, or
      with that of `coin` if larger. Anchors, exams and clients get all of them: there the gate decides.
    - All memories from one run are judged together, because there are too few tosses for a single memory. Every toss
      counts, by intention to treat (worth/effect.py).
    - Probation ends once there are LEAST tosses on each side and the share of right answers with the memories is not
      below the share without them. Probation never takes a memory out of use.
"""

from collections.abc import Iterable, Iterator

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.rules.step_prompt import STEP_TEMPLATES
from mage_es.events.vocabulary import AnswerJudged, ProbationCounted, QuestionPlanned, Retrieved
from mage_es.projections.fold import State
from mage_es.projections.probation import Brought

PROBATION = 0.2
"""Probability with which an imported memory is left out of a prompt: a fifth of the prompts pay for the comparison."""
_APART = ("bare", "form")
"""Purposes of prompts that are made for a comparison."""


def count_tosses(state: State, iteration: int, verdicts: Iterable[AnswerJudged]) -> Iterator[ProbationCounted]:
    """Yield the count for each run whose memories are on probation, if a coin was tossed for them in this iteration."""
    if not (brought := state.probation.brought()):
        return
    plans = [(state.progress.plan("evaluate", verdict.question_id), verdict.correct) for verdict in verdicts]
    tosses = [
        (hit.memory_id, is_out, right) for plan, right in plans if is_measured(plan) for is_out, hit in tosses_of(plan)
    ]
    for parent, each in brought.items():
        names = frozenset(each.memory_ids)
        if own := [(is_out, right) for name, is_out, right in tosses if name in names]:
            yield _added(parent, iteration, each, own)


def _added(parent: str, iteration: int, brought: Brought, tosses: list[tuple[bool, bool]]) -> ProbationCounted:
    last = brought.counted
    before = (last.shown, last.shown_right, last.left_out, last.left_out_right) if last else (0, 0, 0, 0)
    sides = [[right for is_out, right in tosses if is_out == side] for side in (False, True)]
    now = (number for side in sides for number in (len(side), sum(side)))
    shown, shown_right, left_out, left_out_right = (one + other for one, other in zip(before, now, strict=True))
    return ProbationCounted(
        iteration=iteration,
        parent=parent,
        shown=shown,
        shown_right=shown_right,
        left_out=left_out,
        left_out_right=left_out_right,
        is_over=min(shown, left_out) >= LEAST and shown_right * left_out >= left_out_right * shown,
    )


def tosses_of(planned: QuestionPlanned) -> Iterator[tuple[bool, Retrieved]]:
    """Yield each memory that a coin was tossed for, and whether it was left out."""
    for is_out, hits in ((False, planned.memories), (True, planned.left_out)):
        yield from ((is_out, hit) for hit in hits if planned.coin or hit.coin)


def is_measured(planned: QuestionPlanned) -> bool:
    """Return whether a plan has a prompt of its own with memories from a single retrieval."""
    is_apart = planned.is_bare or planned.purpose in _APART
    return not is_apart and planned.routing_arm != RECALL and planned.template not in STEP_TEMPLATES
