"""Explorer: which tasks are explored, and what their episodes add to the environment and experience subgraphs.

Rules
    - What is learned is decided over the episodes in the order of question ids, not in the order of playing.
    - A node or edge that exists is not written again. Of the observations only those that came with an achievement are
      kept (each step has its own observation).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from mage_es.engine.commands import Explored, LearnFromEpisodes
from mage_es.engine.rules.action_recipes import harvest_recipes
from mage_es.engine.rules.patterns import abstract_patterns
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.trajectories import Trajectory, trajectory_of
from mage_es.events.vocabulary import Draft, EdgeAdded, EntitySeen, Event, ObservationRecorded, TaskContextOpened
from mage_es.projections.fold import State


def choose_tasks(setting: Setting, state: State, iteration: int, task_types: Mapping[str, str]) -> list[str]:
    """Return the questions to explore. `task_types` maps each evolution question to its task type.

    [agents, Explorer] Only evolution questions are explored, following the Navigator's brief.
    """
    plan = state.progress.iteration_plan
    wanted = {name for skill in (plan.frontier if plan else ()) for name in state.graph.task_types_of(skill)}
    order = shuffled(setting.evolution, setting.config.seed, purpose="explore", iteration=iteration)
    ranked = sorted(order, key=lambda name: task_types[name] not in wanted)  # stable: seeded within each half
    return ranked[: setting.config.explore_episodes]


def learn_from_episodes(setting: Setting, state: State, command: LearnFromEpisodes) -> list[Draft]:
    """Return everything that EXPLORE writes about its episodes, ending with its phase mark. [agents, Explorer]

    [appendix, environment subgraph] A task context is the task statement of one episode.
    """
    explored = sorted(command.explored, key=lambda item: item.question.id)
    verdicts = [state.progress.verdict("explore", item.question.id) for item in explored]
    trajectories = [trajectory_of(state, "explore", verdict) for verdict in verdicts]
    events: list[Event] = [
        *_environment(state, explored, trajectories),
        *abstract_patterns(trajectories, state.patterns, iteration=command.iteration, phase="explore"),
        *harvest_recipes(trajectories, state.graph, iteration=command.iteration, phase="explore"),
    ]
    return phase_drafts(command.iteration, "explore", events, is_numbered=True)


def _environment(state: State, explored: Sequence[Explored], trajectories: Sequence[Trajectory]) -> Iterator[Event]:
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
    """What the graph holds and what has been yielded since, so that each node and edge is written only once."""

    def __init__(self, state: State) -> None:
        self._graph = state.graph
        self._new: set[tuple[str, ...]] = set()

    def node(self, name: str, event: Event) -> Iterator[Event]:
        if not self._graph.description(name):
            yield from self._once((name,), event)

    def observed(self, node: str, context: str) -> Iterator[Event]:
        # A context is nearly always new, and an entity is observed in more and more of them, so look up the edge last.
        if not self._graph.description(context) or context not in self._graph.observed_in(node):
            edge = EdgeAdded(kind="observed_in", source=node, target=context)
            yield from self._once((node, context), edge)

    def relation(self, source: str, label: str, target: str) -> Iterator[Event]:
        if (label, target) not in self._graph.related(source):
            edge = EdgeAdded(kind="relation", source=source, target=target, label=label)
            yield from self._once((source, label, target), edge)

    def _once(self, key: tuple[str, ...], event: Event) -> Iterator[Event]:
        if key not in self._new:
            self._new.add(key)
            yield event
