"""Sequential environments: episodes, and what exploring them adds to the environment and experience subgraphs."""

from __future__ import annotations

from typing import ClassVar

from mage_es.events.vocabulary.form import Event, Phase


class TaskContextOpened(Event, frozen=True, kw_only=True, tag="task_context.opened"):
    """A task context node: the statement of the task that one episode is about."""

    context_id: str
    statement: str
    task_type: str

    stream: ClassVar[str] = "context/{0.context_id}"


class EntitySeen(Event, frozen=True, kw_only=True, tag="entity.seen"):
    """An entity node, such as a kind of object."""

    entity_id: str
    kind: str

    stream: ClassVar[str] = "entity/{0.entity_id}"


class ObservationRecorded(Event, frozen=True, kw_only=True, tag="observation.recorded"):
    """An observation node: a text that an environment showed. `observation_id` is its content hash."""

    observation_id: str
    text: str

    stream: ClassVar[str] = "observation/{0.observation_id}"


class EpisodeStepped(Event, frozen=True, kw_only=True, tag="episode.stepped"):
    """One action in an environment and what it led to. `parsed` is false where the reply named no valid action.

    `effect` is what the environment says about the action alone, if it does. `memories` were in the prompt that the
    action was chosen by: an episode retrieves anew at every step.
    """

    iteration: int
    purpose: str
    episode_id: str
    step: int
    action: str
    parsed: bool
    observation: str
    reward_micro: int
    achievements: tuple[str, ...]
    done: bool
    effect: str = ""
    memories: tuple[str, ...] = ()

    stream: ClassVar[str] = "episode/{0.episode_id}"


class EpisodeClosed(Event, frozen=True, kw_only=True, tag="episode.closed"):
    """The end of an episode: its steps, score in millionths, what was achieved, replies that named no action."""

    iteration: int
    purpose: str
    episode_id: str
    context_id: str
    steps: int
    score_micro: int
    achievements: tuple[str, ...]
    unparsed: int

    stream: ClassVar[str] = "episode/{0.episode_id}"


class ActionRecipeHarvested(Event, frozen=True, kw_only=True, tag="action_recipe.harvested"):
    """The last actions before an achievement, kept for the skill that they exercise; a node of its own kind."""

    recipe_id: str
    skill: str
    task_type: str
    achievement: str
    actions: tuple[str, ...]
    derived_from: str
    iteration: int
    phase: Phase
    ordinal: int

    stream: ClassVar[str] = "recipe/{0.recipe_id}"
