"""Sequential environments: episodes, and what exploring them adds to the environment and experience subgraphs."""

from typing import ClassVar

from mage_es.events.facts.event import Event, Phase
from mage_es.events.vocabulary.parts import LearnedText, Origin


class TaskContextOpened(Event, frozen=True, kw_only=True, tag="task_context.opened"):
    """A task context node: the statement of an episode's task."""

    stream: ClassVar[str] = "context/{0.context_id}"
    context_id: str
    statement: str
    """The task as text."""
    task_type: str


class EntitySeen(Event, frozen=True, kw_only=True, tag="entity.seen"):
    """An entity node, such as a kind of object."""

    stream: ClassVar[str] = "entity/{0.entity_id}"
    entity_id: str
    kind: str


class ObservationRecorded(Event, frozen=True, kw_only=True, tag="observation.recorded"):
    """An observation node: a text that an environment showed."""

    stream: ClassVar[str] = "observation/{0.observation_id}"
    # Named by hash, so an observation that is met again is the same node.
    observation_id: str
    """Hash of the text."""
    text: str


class EpisodeStepped(Event, frozen=True, kw_only=True, tag="episode.stepped"):
    """One action in an environment and its effect. An episode retrieves again at every step."""

    # A resumed episode is played again from these actions: no environment is saved.
    stream: ClassVar[str] = "episode/{0.episode_id}"
    iteration: int
    purpose: str
    episode_id: str
    step: int
    """Number of the step, from 0."""
    action: str
    parsed: bool
    """Whether the reply named a valid action."""
    observation: str
    """What the environment showed afterwards."""
    reward_micro: int
    achievements: tuple[str, ...]
    done: bool
    """Whether the episode ended with this step."""
    effect: str = ""
    """What the environment says about this action alone, if anything."""
    memories: tuple[str, ...] = ()
    """Ids of the memories in the prompt that led to the action."""


class EpisodeClosed(Event, frozen=True, kw_only=True, tag="episode.closed"):
    """The end of an episode."""

    stream: ClassVar[str] = "episode/{0.episode_id}"
    iteration: int
    purpose: str
    episode_id: str
    context_id: str
    steps: int
    """Number of steps."""
    score_micro: int
    achievements: tuple[str, ...]
    unparsed: int
    """Replies that named no valid action."""


class ActionRecipeHarvested(Event, frozen=True, kw_only=True, tag="action_recipe.harvested"):
    """The last actions before an achievement, kept for the skill that they exercise; a node of its own kind."""

    stream: ClassVar[str] = "recipe/{0.recipe_id}"
    recipe_id: str
    skill: str
    task_type: str
    achievement: LearnedText
    """What the actions led to."""
    actions: tuple[LearnedText, ...]
    """The actions, in order."""
    origin: Origin
    iteration: int
    phase: Phase
    ordinal: int
    question_id: str = ""
    """Id of the episode's question; the recipe is not shown to it."""
