"""What to work on: the learnable frontier of skills (section 3.4) and the round-robin over task types (Eq. 1).

Rules
    - Scores are exact fractions, so a tie is a tie on every machine. A tie goes to the type that has waited longest,
      then to the name that sorts first.
    - Every observed type competes, even one without failures, and being selected always resets its recency. This bounds
      the gap between two selections of a type.
    - `frontier` is the rule itself, and `learnable` applies it to a state. PLAN uses the result for its briefs, the
      cascade to find the next skill.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

from mage_es.engine.commands import Candidate
from mage_es.engine.rules.mastery import lower_bound
from mage_es.engine.rules.ontology import active_skills
from mage_es.engine.rules.setting import Setting
from mage_es.projections.fold import State
from mage_es.projections.graph import GENERAL
from mage_es.projections.scores import Scores

Signal = Literal["rate", "window", "open", "cumulative"]
"""What n_fail(t) counts: failures per attempt or failures of this iteration, failures since the last selection, all."""
STARVING: Signal = "cumulative"
"""With this signal a type can wait forever: a rival's failures add up faster than the bonus for waiting grows."""


def candidates_of(
    scores: Scores, last_selected: Mapping[str, int], *, iteration: int, signal: Signal
) -> list[Candidate]:
    """Return every observed type with its fresh answers, counted from where the signal begins up to this iteration."""
    found = []
    for task_type, last in sorted(last_selected.items()):
        # `rate` and `window` count this iteration only, so old failures of a type cannot outweigh it.
        first = {"open": last + 1, "cumulative": 0}.get(signal, iteration)
        score = scores.between("fresh", task_type, first=first, last=iteration)
        found.append(Candidate(task_type, score.total - score.correct, score.total, last))
    return found


def select_targets(
    candidates: Sequence[Candidate], *, iteration: int, recency_weight: Fraction, count: int, signal: Signal
) -> list[Candidate]:
    """Return the `count` candidates with the highest s(t) = n_fail(t) + lambda (k - k_last(t)).

    [Eq. 1] Scores are exact fractions. A tie goes to the type that waited longer, then to the smaller name; being
    selected always resets the wait.
    """

    def rank(candidate: Candidate) -> tuple[Fraction, int, str]:
        # As floats, multiples of lambda = 0.3 would tie on one machine and not on another.
        score = n_fail(candidate, signal) + recency_weight * (iteration - candidate.last_selected)
        return -score, candidate.last_selected, candidate.task_type

    return sorted(candidates, key=rank)[:count]


def n_fail(candidate: Candidate, signal: Signal) -> Fraction:
    """[Eq. 1, n_fail] The paper counts failures of the iteration (`window`). Failures per attempt is the default, since
    its bound is short; `cumulative` can starve a type.
    """
    if signal != "rate":
        return Fraction(candidate.failures)
    # A type that was not asked has no failures, but its recency still gets it a turn.
    return Fraction(candidate.failures, candidate.attempts) if candidate.attempts else Fraction(0)


def frontier(mastery: Mapping[str, float], prerequisites: Mapping[str, Sequence[str]], threshold: float) -> list[str]:
    """Return the learnable frontier, sorted: skills below the threshold with all prerequisites at or above it. If
    nothing is learnable (all mastered, or all blocked) the frontier is the skills of lowest mastery.
    [Algorithm 1, line 1]"""
    open_skills = [
        skill
        for skill, own in mastery.items()
        if own < threshold and all(mastery.get(name, 0.0) >= threshold for name in prerequisites.get(skill, ()))
    ]
    if open_skills or not mastery:
        return sorted(open_skills)
    # A run whose skills are all mastered continues with the least certain; it has no other questions to ask.
    lowest = min(mastery.values())
    return sorted(skill for skill, own in mastery.items() if own == lowest)


def estimated_mastery(setting: Setting, state: State) -> Mapping[str, float]:
    """Return the mastery of every skill, from the ratchet (Eq. 2) or as a lower bound of the evidence."""
    if setting.config.frontier_estimator == "lower_bound":
        return {skill: lower_bound(*state.evidence.counts(skill)) for skill in state.graph.skills()}
    return {skill: state.slots.mastery(skill) for skill in state.graph.skills()}


def learnable(setting: Setting, state: State) -> list[str]:
    """Return the frontier, prerequisites first; if nothing is learnable, the weakest skills. Idle skills are left out
    and block nothing: they have no questions, so there would never be evidence."""
    # An idle skill would stay at mastery 0 for ever and block all that needs it.
    idle = _idle(state)
    mastery = {skill: value for skill, value in estimated_mastery(setting, state).items() if skill not in idle}
    prerequisites = {
        skill: [needed for needed in state.graph.prerequisites(skill) if needed not in idle] for skill in mastery
    }
    open_skills = set(frontier(mastery, prerequisites, setting.config.mastery_threshold))
    return [skill for skill in state.graph.skills_in_order() if skill in open_skills]


def _idle(state: State) -> set[str]:
    """Return the skills beyond the cap, and those without a task type (the fallback skill, and what a split left
    empty).
    """
    graph = state.graph
    parents = {skill: graph.parent(skill) for skill in graph.skills()}
    apart = {GENERAL, *parents.values(), *(skill for skill, parent in parents.items() if parent)}
    idle = {skill for skill in apart if skill in parents and not graph.task_types_of(skill)}
    idle |= parents.keys() - set(active_skills(parents))
    # A run in which all skills are idle (nothing resolved yet) has them all, rather than none.
    return idle if len(idle) < len(parents) else set()
