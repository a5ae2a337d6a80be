"""Milestones: what is learned from an episode that has no goal to reach or miss, one achievement after another.

Where a task is to get as far as possible, an episode is not right or wrong as a whole: each achievement in it is a
success of its own. It is kept with what was observed before the last actions that led to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.rules.action_recipes import ACTIONS
from mage_es.events.vocabulary import EpisodeStepped


class Milestone(NamedTuple):
    achievement: str
    observation: str
    actions: tuple[str, ...]


def milestones(steps: Sequence[EpisodeStepped]) -> list[Milestone]:
    """Return the milestones of an episode, in order; steps in which no action was named are no part of one.

    [section 4, Crafter, success memories] An episode without a goal is neither right nor wrong: each achievement in
    EVALUATE becomes a success memory, found by the observation before it.
    """
    found = []
    acted: list[int] = []
    for place, step in enumerate(steps):
        if step.parsed:
            acted.append(place)
        last = acted[-ACTIONS:]
        # The opening observation is in no step, so an achievement by the first action has nothing to be found by.
        if not step.achievements or not last:
            continue
        # The observation of a step is what its action led to: what was seen before an action is in the step before it.
        before = max(0, last[0] - 1)
        if actions := tuple(steps[at].action for at in last if at > before):
            found += [Milestone(name, steps[before].observation, actions) for name in step.achievements]
    return found


def account_of_milestone(milestone: Milestone) -> str:
    # In the words of an episode's prompt, so that what is remembered reads like what is seen.
    actions = "\n".join(f"Action: {action}" for action in milestone.actions)
    return f"Observation:\n{milestone.observation}\n{actions}"
