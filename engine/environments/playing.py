"""Playing an episode from a list of actions: bare ones, a transcript, or the recorded steps of an earlier episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.protocol import Verdict
from mage_es.engine.environments.protocol import Entity, Environment, Relation, tells_result
from mage_es.engine.rules.trajectories import transcript_line

NOTHING_ACHIEVED = "nothing"


class Sightings(NamedTuple):
    """What an episode brought to light, each once, in the order in which it was seen."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


def transcript(environment: Environment, actions: Sequence[str]) -> str:
    """Return the transcript of actions in a new episode; it ends where the episode does."""
    environment.reset()
    lines = []
    for action in actions:
        outcome = environment.step(action)
        lines.append(transcript_line(action, outcome.effect))
        if outcome.done:
            break
    return "\n".join(lines)


def sightings(environment: Environment, actions: Iterable[str | None]) -> Sightings:
    """Return what a new episode with these actions brings to light."""
    observations = [environment.reset(), *(environment.step(action).observation for action in actions)]
    return Sightings(
        tuple(dict.fromkeys(entity for observation in observations for entity in observation.entities)),
        tuple(dict.fromkeys(relation for observation in observations for relation in observation.relations)),
    )


def play_actions(environment: Environment, reply: str) -> Verdict:
    """Return the verdict on a reply that lists actions, one on a line. A line without an action is a step as well."""
    environment.reset()
    achieved: list[str] = []
    for line in filter(str.strip, reply.splitlines()):
        outcome = environment.step(_action_in(environment, line))
        achieved += outcome.achievements
        if outcome.done:
            break
    return verdict_of(environment, achieved)


def verdict_of(environment: Environment, achieved: Iterable[str]) -> Verdict:
    """Return the verdict on an episode that is over: the environment's score, and as the answer what it came to."""
    score = min(1.0, max(0.0, environment.score()))
    verdict = Verdict(answer=", ".join(achieved) or NOTHING_ACHIEVED, score=score, strict=score == 1.0)
    if tells_result(environment):
        return msgspec.structs.replace(verdict, answer=environment.result(), passing=environment.passing)
    return verdict


def _action_in(environment: Environment, line: str) -> str | None:
    return environment.parse(line) or environment.parse(line.partition(": ")[0])
