"""Explorer: which tasks are explored, and what their episodes add to the environment and experience subgraphs.

Rules
    - Only evolution questions are explored, those of the learnable frontier's task types first, in a seeded order.
    - Everything learned is decided over episodes in question-id order, whatever order they were played in.
    - A node or an edge that is there already is not written again; of observations those are kept that came with an
      achievement (every observation stands in its step).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from mage_es.engine.commands import Explored, LearnFromEpisodes
from mage_es.engine.rules.action_recipes import harvest_recipes
from mage_es.engine.rules.patterns import abstract_patterns
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.rules.trajectories import Trajectory, trajectory_of
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import (
    EdgeAdded,
    EntitySeen,
    Event,
    ObservationRecorded,
    PhaseCompleted,
    TaskContextOpened,
)
from mage_es.projections.fold import State


def choose_tasks(setting: Setting, state: State, iteration: int, task_types: Mapping[str, str]) -> list[str]:
    """Return the questions to explore. `task_types` maps each evolution question to its task type."""
    plan = state.progress.iteration_plan
    wanted = {name for skill in (plan.frontier if plan else ()) for name in state.graph.task_types_of(skill)}
    order = shuffled(setting.evolution, setting.config.seed, purpose="explore", iteration=iteration)
    ranked = sorted(order, key=lambda name: task_types[name] not in wanted)  # stable: seeded within each half
    return ranked[: setting.config.explore_episodes]


def learn_from_episodes(setting: Setting, state: State, command: LearnFromEpisodes) -> list[Draft]:
    """Return everything that EXPLORE writes about its episodes, ending with its phase mark."""
    explored = sorted(command.explored, key=lambda item: item.question.id)
    verdicts = [state.progress.verdict("explore", item.question.id) for item in explored]
    trajectories = [trajectory_of(state, "explore", verdict) for verdict in verdicts]
    events: list[Event] = [
        *_environment(state, explored, trajectories),
        *abstract_patterns(trajectories, state.patterns, iteration=command.iteration, phase="explore"),
        *harvest_recipes(trajectories, state.graph, iteration=command.iteration, phase="explore"),
    ]
    drafts = [
        Draft(event=event, iteration=command.iteration, phase="explore", ordinal=ordinal)
        for ordinal, event in enumerate(events)
    ]
    mark = PhaseCompleted(iteration=command.iteration, phase="explore")
    return [*drafts, Draft(event=mark, iteration=command.iteration, phase="explore")]


def _environment(state: State, explored: Sequence[Explored], trajectories: Sequence[Trajectory]) -> Iterator[Event]:
    """Yield the nodes and edges of the environment subgraph that are new, in the order in which they were seen."""
    growth = _Growth(state)
    for item, trajectory in zip(explored, trajectories, strict=True):
        context = f"context/{item.question.id}"
        opened = TaskContextOpened(
            context_id=item.question.id, statement=item.question.question, task_type=trajectory.task_type
        )
        yield from growth.node(context, opened)
        for name, kind in item.entities:
            yield from growth.node(f"entity/{name}", EntitySeen(entity_id=name, kind=kind))
            yield from growth.observed(f"entity/{name}", context)
        for source, label, target in item.relations:
            yield from growth.relation(f"entity/{source}", label, f"entity/{target}")
        for step in trajectory.steps:
            if step.achievements:
                name = hashlib.sha256(step.observation.encode()).hexdigest()[:32]
                seen = ObservationRecorded(observation_id=name, text=step.observation)
                yield from growth.node(f"observation/{name}", seen)
                yield from growth.observed(f"observation/{name}", context)


class _Growth:
    """What the graph has and what was yielded since: each node and edge is written once."""

    def __init__(self, state: State) -> None:
        self._graph = state.graph
        self._new: set[tuple[str, ...]] = set()

    def node(self, name: str, event: Event) -> Iterator[Event]:
        """Yield the event that creates a node, unless the node is there."""
        if not self._graph.description(name):
            yield from self._once((name,), event)

    def observed(self, node: str, context: str) -> Iterator[Event]:
        """Yield the edge from a node to the context that it was observed in, unless it is there."""
        # A context is nearly always new, and an entity is observed in more and more of them: ask for the edge last.
        if not self._graph.description(context) or context not in self._graph.observed_in(node):
            edge = EdgeAdded(kind="observed_in", source=node, target=context)
            yield from self._once((node, context), edge)

    def relation(self, source: str, label: str, target: str) -> Iterator[Event]:
        """Yield a relation between two entities, unless it is there."""
        if (label, target) not in self._graph.related(source):
            edge = EdgeAdded(kind="relation", source=source, target=target, label=label)
            yield from self._once((source, label, target), edge)

    def _once(self, key: tuple[str, ...], event: Event) -> Iterator[Event]:
        if key not in self._new:
            self._new.add(key)
            yield event
