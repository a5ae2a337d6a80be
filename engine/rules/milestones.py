"""Milestones: what is learned from an episode that has no goal to reach or miss, one achievement after another.

Where a task is to get as far as possible, an episode is not right or wrong as a whole: each achievement in it is a
success of its own. It is kept with what was observed before the last actions that led to it.

Rules
    - A success memory of one belongs to the episode's question, says what was seen and done, and is found by what was
      seen: the next learner asks by what it sees itself.
    - The actions are those of its recipe. What was observed before them comes from the log; an achievement by the
      first action of an episode has nothing recorded before it and leaves its recipe only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.rules.action_recipes import ACTIONS
from mage_es.events.vocabulary import EpisodeStepped


class Milestone(NamedTuple):
    """An achievement, what was observed before the last actions up to it, and those actions."""

    achievement: str
    observation: str
    actions: tuple[str, ...]


def milestones(steps: Sequence[EpisodeStepped]) -> list[Milestone]:
    """Return the milestones of an episode, in order; steps in which no action was named are no part of one."""
    found = []
    acted: list[int] = []
    for place, step in enumerate(steps):
        if step.parsed:
            acted.append(place)
        last = acted[-ACTIONS:]
        if not step.achievements or not last:
            continue
        before = max(0, last[0] - 1)
        if actions := tuple(steps[at].action for at in last if at > before):
            found += [Milestone(name, steps[before].observation, actions) for name in step.achievements]
    return found


def account_of_milestone(milestone: Milestone) -> str:
    """Return what a success memory says of a milestone: what was observed, and the actions after it."""
    actions = "\n".join(f"Action: {action}" for action in milestone.actions)
    return f"Observation:\n{milestone.observation}\n{actions}"
