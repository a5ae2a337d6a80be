"""The seam of a sequential environment (reset, observe, act, score), and of benchmarks whose questions are episodes.

Rules
    - One environment object is one episode of one task. It is deterministic: the same task and actions give the same
      observations, rewards and score, in any process. So an episode is kept as its actions and replayed.
    - A reply that names no action is also a step (`step(None)`); the environment decides what it costs. Such replies
      are counted, and every report has their share.
    - Nothing that an environment shows may reveal the reference solution.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeGuard

import msgspec

from mage_es.engine.seams.benchmark import LONGEST_REPLY, Benchmark, Question
from mage_es.events.errors import MageError


class Entity(NamedTuple):
    """Something in the world, such as a kind of object; `name` is unique among the tasks that share its rules."""

    name: str
    kind: str


class Relation(NamedTuple):
    """A discovered relation of two entities: (source, label, target), such as (ore, found at, cave)."""

    source: str
    label: str
    target: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What an environment shows at one moment: a text for the model and, for the graph, what that text is about.

    `recalled` is what later prompts of the episode show of it, before the action that followed; "" if they keep only
    the words on each step's effect.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    recalled: str = ""


class StepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one step. `effect` is one line about this step alone ("" if the environment gives none), `reward`
    its own reward, and `achievements` those that it reached for the first time.
    """

    observation: Observation
    effect: str = ""
    reward: float = 0.0
    achievements: tuple[str, ...] = ()
    done: bool = False


class Environment(Protocol):
    def reset(self) -> Observation:
        """Begin the episode. Called once, before anything else."""

    def valid_actions(self) -> Sequence[str]:
        """Return the actions that are valid now, as shown to the model; one may be a pattern: `search[<query>]`."""

    def parse(self, reply: str) -> str | None:
        """Return the action that a model's reply names; None if it names none."""

    def step(self, action: str | None) -> StepOutcome:
        """Do an action that `parse` returned; None is a reply without an action."""

    def score(self) -> float:
        """Return the episode's score so far, in [0, 1]."""


class TellsResult(Protocol):
    """Further members of an environment whose episodes have a result besides their achievements."""

    passing: float
    """The score from which an episode counts as correct."""

    def result(self) -> str:
        """Return the episode's result so far as text; this becomes the verdict's answer."""


class SequentialBenchmark(Benchmark, Protocol):
    """A benchmark whose questions are episodes. Its `score` plays a reply that lists actions, one on a line."""

    def environment(self, question: Question) -> Environment:
        """Return a new environment for a question's task, not yet started."""


def modes_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the other modes in which a benchmark shows its episodes; its `environment` takes them as `mode`."""
    modes: tuple[str, ...] = getattr(benchmark, "modes", ())
    return modes


def is_sequential(benchmark: Benchmark) -> TypeGuard[SequentialBenchmark]:
    return hasattr(benchmark, "environment")


def action_in(environment: Environment, reply: str) -> str | None:
    """Return the action that a reply names. None if it names none, is too long, or makes `parse` fail."""
    if len(reply) > LONGEST_REPLY:
        return None
    try:
        return environment.parse(reply)
    except MageError:
        raise
    except Exception:  # nothing that a model writes stops a run: it is recorded as no action
        return None


def tells_result(environment: Environment | TellsResult) -> TypeGuard[TellsResult]:
    return hasattr(environment, "result")


NO_ACTION = "(no action)"
"""What transcripts show for a reply that names no action."""


def transcript_line(action: str | None, effect: str) -> str:
    line = NO_ACTION if action is None else action
    return f"{line}: {' '.join(effect.split())}" if effect else line


class Moment(NamedTuple):
    """A moment of an episode: the observation, the actions offered, and the steps so far, a line or more each."""

    observation: str
    actions: Sequence[str]
    lines: Sequence[str] = ()


class Opening(NamedTuple):
    """How an episode begins: its first moment, and the names of the entities that are shown there."""

    moment: Moment
    entities: Sequence[str]


def opening_of(benchmark: SequentialBenchmark, question: Question) -> Opening:
    environment = benchmark.environment(question)
    observation = environment.reset()
    moment = Moment(observation.text, environment.valid_actions())
    return Opening(moment, [entity.name for entity in observation.entities])
