"""What anchors say about one proposal: those that were asked with it in their prompt, and whether they can judge it.

Rules
    - An anchor can judge a proposal that it was asked with, if its question is at least as near to the proposal's as
      half of the run's own memories are to one of another question, and if it was answered right with the proposal or
      before. An anchor about something else is answered the same way whatever the proposal says, and one that is always
      wrong has nothing to lose.
    - Fewer than two say nothing: the guard refuses only if two or more turn wrong.
    - A proposal also fails if more of its anchors turned wrong than right, however well the others fared.
    - What a key with `trust = "gold"` demonstrates needs no anchor that can judge it: it is an answer like those of the
      tasks that the run learned from.
    - A proposal that no anchor can judge waits for a person.
"""

from collections.abc import Collection, Mapping, Sequence
from statistics import median

import numpy as np

from mage_es.engine.seams.embedder import Vector
from mage_es.engine.served.floors import nearest_of, sampled
from mage_es.events.vocabulary import AnchorTrial
from mage_es.projections.fold import State
from mage_es.projections.memory import Memory

LEAST = 2
"""How many anchors must be able to judge a proposal."""
_NEAREST = 3
"""How many anchors are recorded with a proposal even if they were not asked with it."""
_SAMPLE, _ENOUGH = 256, 20
"""How many memories of a type have their nearest looked up, and how many are enough to decide what is near."""


def near_enough(memory: Memory, task_types: Collection[str]) -> dict[str, float]:
    """Return by task type the least cosine at which an anchor is near to a proposal; 0 if unknown. A type with few
    memories uses those of all types together."""
    nearest = {name: nearest_of_others(memory, name, _SAMPLE) for name in sorted(task_types)}
    together = [each for found in nearest.values() for each in found]
    measured = {name: found if len(found) >= _ENOUGH else together for name, found in nearest.items()}
    return {name: max(0.0, median(found)) if len(found) >= _ENOUGH else 0.0 for name, found in measured.items()}


def trials_of(
    state: State, iteration: int, memory_id: str, vector: Vector, anchors: Mapping[str, Vector]
) -> tuple[AnchorTrial, ...]:
    """Return the outcome of a proposal in the open iteration, whose anchors were asked and judged."""
    progress, scores = state.progress, state.scores
    shown = {
        plan.question_id
        for plan in progress.plans("snapshot")
        if memory_id in {hit.memory_id for hit in plan.memories}
        and progress.is_judged("snapshot", plan.question_id)
        and memory_id not in {cut.memory_id for cut in progress.trimmings("snapshot", plan.question_id)}
    }
    before = scores.anchor_answers(max((k for k in scores.accepted() if k != iteration), default=iteration))
    now = scores.anchor_answers(iteration)
    # Rounded to six digits: the last bits of a sum differ between processors.
    cosines = {name: round(float(vector @ anchor), 6) for name, anchor in anchors.items()}
    order = sorted(cosines, key=lambda name: (-cosines[name], name))
    return tuple(
        AnchorTrial(
            question_id=name,
            similarity=cosines[name],
            is_shown=name in shown,
            was_right=before.get(name, False),
            is_right=now.get(name, False),
        )
        for place, name in enumerate(order)
        if name in shown or place < _NEAREST
    )


def why_undecided(trials: Sequence[AnchorTrial], floor: float, *, is_gold: bool = False) -> str:
    """Return why the anchors do not let a proposal pass, "" if they do; `floor` is the cosine that is near enough."""
    shown = [trial for trial in trials if trial.is_shown]
    if not is_gold and (reason := _why_not_judged(shown, floor)):
        return reason
    lost = sum(trial.was_right and not trial.is_right for trial in shown)
    won = sum(trial.is_right and not trial.was_right for trial in shown)
    if lost > won:
        return f"Of the {len(shown)} anchors that were asked with it, {lost} turned wrong, and {won} right."
    return ""


def _why_not_judged(shown: Sequence[AnchorTrial], floor: float) -> str:
    if not shown:
        return "No anchor was asked with it."
    if floor <= 0:
        return "The run has too few memories to tell which anchors are near enough to judge it."
    judges = [trial for trial in shown if trial.similarity >= floor and (trial.was_right or trial.is_right)]
    if len(judges) < LEAST:
        return (
            f"Of the {len(shown)} anchors that were asked with it, {len(judges)} can judge it, and {LEAST} must: "
            f"those with a cosine of {floor:.2f} or more, and a right answer with it or before."
        )
    return ""


def nearest_of_others(memory: Memory, task_type: str, most: int) -> list[float]:
    """Return the cosine of each of at most `most` cases of a task type, drawn as a sample, to the nearest of another
    question."""
    if not (drawn := sampled(memory, task_type, most)):
        return []
    vectors = np.stack([case.vector for case in drawn])
    nearest = nearest_of(memory, task_type, vectors, [case.question_id for case in drawn])
    return [each for each in nearest if each > -1]
