"""What a sequential environment is: reset, observation, valid actions, step, score; and the benchmarks made of it.

Rules
    - One environment object is one episode of one task; it is deterministic: the same task and actions give the
      same observations, rewards and score, in any process. So an episode is kept as its actions and played again.
    - A reply that names no action is a step as well (`step(None)`): what it costs is the environment's own rule.
      It is counted, and the share of such replies is part of every report.
    - Nothing that an environment shows may tell the reference solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeGuard

import msgspec

from mage_es.engine.benchmarks.protocol import Benchmark, Question


class Entity(NamedTuple):
    """Something in the world, such as a kind of object; `name` is unique among the tasks that share its rules."""

    name: str
    kind: str


class Relation(NamedTuple):
    """What has come to light about two entities: (source, label, target), such as (ore, found at, cave)."""

    source: str
    label: str
    target: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What an environment shows at one moment: a text for the model, and for the graph what that text is about.

    `recalled` is what later prompts of the episode show of it, before the action that followed; "" where the words on
    each step's effect are all that is kept.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    recalled: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one step led to.

    `effect` is one line about the step alone ("" where the environment says no such thing), `reward` the step's own,
    `achievements` those reached for the first time by it.
    """

    observation: Observation
    effect: str = ""
    reward: float = 0.0
    achievements: tuple[str, ...] = ()
    done: bool = False


class Environment(Protocol):
    """One episode of one task."""

    def reset(self) -> Observation:
        """Begin the episode; called once, before anything else."""
        ...

    def valid_actions(self) -> Sequence[str]:
        """Return what may be done now, as the model is shown it; `search[<your query>]` may stand for many."""
        ...

    def parse(self, reply: str) -> str | None:
        """Return the action that a model's reply names; None where it names none. Never raises."""
        ...

    def step(self, action: str | None) -> Outcome:
        """Do an action that `parse` returned, or what a reply without action comes to."""
        ...

    def score(self) -> float:
        """Return the episode's score so far, in [0, 1]."""
        ...


class TellsResult(Protocol):
    """The further members of an environment whose episodes come to something that achievements do not say."""

    passing: float
    """The score from which an episode counts as correct."""

    def result(self) -> str:
        """Return what the episode came to so far, in words, as the answer of its verdict."""
        ...


class Sequential(Protocol):
    """The further method of a benchmark whose questions are episodes."""

    def environment(self, question: Question) -> Environment:
        """Return a new environment for a question's task, not yet begun."""
        ...


class SequentialBenchmark(Benchmark, Sequential, Protocol):
    """A benchmark whose questions are episodes. Its `score` plays a reply that lists actions, one on a line."""


def modes_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the other modes in which a benchmark shows its episodes; its `environment` takes them as `mode`."""
    modes: tuple[str, ...] = getattr(benchmark, "modes", ())
    return modes


def is_sequential(benchmark: Benchmark) -> TypeGuard[SequentialBenchmark]:
    """Return whether a benchmark's questions are episodes."""
    return hasattr(benchmark, "environment")


def tells_result(environment: Environment | TellsResult) -> TypeGuard[TellsResult]:
    """Return whether an environment says itself what its episode came to."""
    return hasattr(environment, "result")
