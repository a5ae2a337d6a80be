"""Playing an episode: the action that a reply names, and episodes from lists of actions.

A list has bare actions, a transcript, or the recorded steps of an earlier episode.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.environment import Entity, Environment, Relation, tells_result, transcript_line

_MARKER = re.compile(r"^[ \t>*_`]*action[ \t*_`]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_TRIMMED = " \t*_`\"'"


def named_action(reply: str) -> str:
    """Return the text after the last `Action:` that begins a line, or else the last line that is not empty, or "".

    Emphasis, quotes and one full stop around it are dropped. A reasoning block that was never closed holds no action.
    """
    said = reply.rpartition("</think>")[2]
    if "<think>" in said:
        return ""
    marked = _MARKER.findall(said)
    lines = [line for line in said.splitlines() if line.strip()]
    named = marked[-1] if marked else lines[-1] if lines else ""
    return str(named).strip(_TRIMMED).removesuffix(".").strip(_TRIMMED)


NOTHING_ACHIEVED = "nothing"


class Sightings(NamedTuple):
    """What an episode revealed, each once, in order of appearance."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


def transcript(environment: Environment, actions: Sequence[str]) -> str:
    environment.reset()
    lines = []
    for action in actions:
        outcome = environment.step(action)
        lines.append(transcript_line(action, outcome.effect))
        if outcome.done:
            break
    return "\n".join(lines)


def sightings(environment: Environment, actions: Iterable[str | None]) -> Sightings:
    observations = [environment.reset(), *(environment.step(action).observation for action in actions)]
    return Sightings(
        tuple(dict.fromkeys(entity for observation in observations for entity in observation.entities)),
        tuple(dict.fromkeys(relation for observation in observations for relation in observation.relations)),
    )


def play_actions(environment: Environment, reply: str) -> Verdict:
    """`reply` has one action per line; a line without an action is also a step."""
    environment.reset()
    achieved: list[str] = []
    for line in filter(str.strip, reply.splitlines()):
        action = environment.parse(line) or environment.parse(line.partition(": ")[0])  # a transcript's line has both
        outcome = environment.step(action)
        achieved += outcome.achievements
        if outcome.done:
            break
    return verdict_of(environment, achieved)


def verdict_of(environment: Environment, achieved: Iterable[str]) -> Verdict:
    score = min(1.0, max(0.0, environment.score()))
    verdict = Verdict(answer=", ".join(achieved) or NOTHING_ACHIEVED, score=score, strict=score == 1.0)
    if tells_result(environment):
        return msgspec.structs.replace(verdict, answer=environment.result(), passing=environment.passing)
    return verdict
