"""What a run has learned, as interval tables: memories and their states, the graph, mastery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mage_es.engine.rules.quarantine import OUT_OF_USE, status_of
from mage_es.engine.run.memories import item_in
from mage_es.engine.viewing.tables import Rows
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import PREFIX
from mage_es.events.vocabulary import Event
from mage_es.projections.fold import State
from mage_es.projections.graph import SUBGRAPHS

TITLE = 120
"""Characters of a title."""
_NODES = {"tool": "tool", "action_recipe": "recipe"}
"""The kind of an item's node, if it is not `memory`."""


class Learned:
    """Tables of everything that changes later prompts. `rows` are the memories by id."""

    reads = frozenset[type[Event]]({
        *(v.SkillCreated, v.SkillRefined, v.MasteryUpdated, v.SlotsRolledBack, v.TaskTypeCreated, v.EdgeAdded),
        *(v.MemoryAppended, v.ToolAuthored, v.ActionRecipeHarvested, v.RetrievalRecipeAuthored, v.PatternAbstracted),
        *(v.MemoryReinforced, v.PatternSupported, v.MemorySuperseded, v.PatternPruned, v.MemoryQuarantined),
        *(v.MemoryReleased, v.MemoryRefused, v.MemoryProposed, v.ProposalSettled, v.ProposalReviewed),
        *(v.EntitySeen, v.ObservationRecorded, v.TaskContextOpened),
    })  # fmt: skip

    def __init__(self, state: State) -> None:
        self._state = state
        self.rows: dict[str, int] = {}
        self._statuses: dict[str, str] = {}
        self._counts = Counter[str]()
        self._nodes: dict[str, int] = {}
        self._pruned = self._edges = 0
        self.memories = Rows("from id kind task_type skill question iteration phase title prompts right")
        self.memory_states = Rows("from to memory status by met successes failures confidence_micro")
        self.curations = Rows("from memory id what by reason")
        self.nodes = Rows("from to id kind layer label x y")
        self.edges = Rows("from source target kind label weight derived")
        self.mastery = Rows("from to skill mastery successes failures prompt_template strategy parent description")

    def apply(self, seq: int, event: Event) -> None:
        """Take in an event that the state has already taken in."""
        match event:
            case v.MemoryAppended(memory_id=name):
                self._remember(seq, name, self._state.memory.row(name), question=event.question_id)
            case v.SlotsRolledBack():
                self._slots(seq, self._state.graph.skills())
            case v.MasteryUpdated() | v.SkillRefined():
                self._slots(seq, [event.skill])
            case v.EdgeAdded():
                self._edge(seq, event.source, event.target, event.kind, event.label, event.weight)
            case v.MemoryReinforced(memory_id=name) | v.PatternSupported(memory_id=name):
                self._status(seq, name)
            case v.ToolAuthored(tool_id=name) | v.RetrievalRecipeAuthored(memory_id=name):
                self._remember(seq, name, event)
            case v.ActionRecipeHarvested(recipe_id=name):
                self._remember(seq, name, event, question=event.question_id)
            case v.PatternAbstracted(memory_id=name):
                self._remember(seq, name, self._state.patterns.pattern(name))
            case v.SkillCreated() | v.TaskTypeCreated() | v.EntitySeen() | v.ObservationRecorded():
                self._named(seq, event)
            case v.TaskContextOpened():
                self._named(seq, event)
            case _:
                self._curate(seq, event)

    def sizes(self) -> tuple[int, int, int, int, int]:
        """Return how many memories can be shown, are kept out of prompts and are stored in all, and how many nodes and
        edges the graph has now."""
        held = (self._counts["active"], sum(self._counts[status] for status in OUT_OF_USE), len(self.rows))
        return *held, len(self._nodes) - self._pruned, self._edges

    def _named(self, seq: int, event: Event) -> None:
        match event:
            case v.SkillCreated(skill=name):
                self._node(seq, f"skill/{name}")
                self._slots(seq, [name])
            case v.TaskTypeCreated(task_type=name):
                self._node(seq, f"task_type/{name}")
            case v.EntitySeen(entity_id=name):
                self._node(seq, f"entity/{name}")
            case v.ObservationRecorded(observation_id=name):
                self._node(seq, f"observation/{name}", event.text)
            case v.TaskContextOpened(context_id=name):
                self._node(seq, f"context/{name}", event.statement)

    def _curate(self, seq: int, event: Event) -> None:
        match event:
            case v.MemorySuperseded(memory_id=name, by=newer):
                self._note(seq, name, "superseded", newer, "")
                self._edge(seq, f"memory/{name}", f"memory/{newer}", "superseded by", derived=True)
            case v.PatternPruned(memory_id=name):
                self._note(seq, name, "pruned", "", event.reason)
                if (row := self._nodes.get(f"memory/{name}")) is not None:
                    self.nodes.columns["to"][row] = seq
                    self._pruned += 1
            case v.MemoryQuarantined(memory_id=name):
                self._note(seq, name, "quarantined", event.by, event.reason)
            case v.MemoryReleased(memory_id=name):
                self._note(seq, name, "released", event.by, event.reason)
            case v.MemoryRefused(memory_id=name):
                self._note(seq, name, "refused", "", f"{event.what} resembles a question of {event.split}")
            case v.MemoryProposed(memory_id=name):
                self._note(seq, name, "proposed", event.key, line(event.question))
            case v.ProposalSettled(memory_id=name):
                self._note(seq, name, event.verdict, "", event.reason)
            case v.ProposalReviewed(memory_id=name):
                self._note(seq, name, event.verdict, event.by, event.reason)

    def _note(self, seq: int, name: str, what: str, by: str, reason: str) -> None:
        self._status(seq, name)
        self.curations.add(seq, self.rows.get(name), name, what, by, reason)

    def _slots(self, seq: int, skills: Iterable[str]) -> None:
        slots, graph = self._state.slots, self._state.graph
        for skill in skills:
            counts = self._state.evidence.counts(skill)
            texts = (slots.prompt_template(skill), slots.strategy(skill), graph.parent(skill))
            described = graph.description(f"skill/{skill}")
            self.mastery.put(skill, seq, skill, slots.mastery(skill), *counts, *texts, described)

    def _remember(self, seq: int, name: str, thing: Any, *, question: str = "") -> None:
        if name not in self.rows:  # otherwise a tool that was written again, or equal contents
            item = item_in(self._state, name, thing)
            told = (item.kind, item.task_type, item.skill, question or None, item.iteration)
            self.rows[name] = self.memories.add(
                seq, name, *told, getattr(thing, "phase", "evolve"), line(item.text), 0, 0
            )
            node = f"{_NODES.get(item.kind, 'memory')}/{name}"
            self._node(seq, node, item.text)
            for kind, target, plain in (
                ("exercises", f"skill/{item.skill}", item.skill),
                ("about", f"task_type/{item.task_type}", item.task_type),
            ):
                if plain:
                    self._edge(seq, node, target, kind, derived=True)
        self._status(seq, name)

    def _status(self, seq: int, name: str) -> None:
        if (number := self.rows.get(name)) is None:  # an id that no projection has
            return
        state = self._state
        status = status_of(state, name) or ""
        self._counts[self._statuses.get(name, "")] -= 1
        self._counts[status] += 1
        self._statuses[name] = status
        by, met = None, 1
        held: tuple[int | None, ...] = (None, None, None)
        if state.memory.count_of(name):
            row = state.memory.row(name)
            by, met = self.rows.get(row.superseded_by), row.met
        elif pattern := state.patterns.pattern(name):
            held = (pattern.successes, pattern.failures, pattern.confidence_micro)
        self.memory_states.put(name, seq, number, status, by, met, *held)

    def _node(self, seq: int, name: str, label: str = "") -> int:
        row = self._nodes.get(name)
        if row is None:
            kind, _, plain = name.partition("/")
            row = self.nodes.add(seq, None, name, kind, SUBGRAPHS.get(kind, ""), line(plain), 0.0, 0.0)
            self._nodes[name] = row
        if label:  # an edge may name a node before the event that creates it
            self.nodes.columns["label"][row] = line(label)
        return row

    def _edge(
        self, seq: int, source: str, target: str, kind: str, label: str = "", weight: float = 1.0, derived: bool = False
    ) -> None:
        # A memory's field may name something that is not a node of the graph, while the page needs both ends.
        ends = (self._nodes.get(source), self._nodes.get(target))
        if not derived:
            ends = (self._node(seq, source), self._node(seq, target))
            self._edges += 1
        if None not in ends:
            self.edges.add(seq, *ends, kind, label, weight, derived)


def line(text: str) -> str:
    """Return the beginning of a text on one line; for a subject's text without its key, only say that it is one."""
    if text.startswith(PREFIX):
        return "(encrypted)"
    whole = " ".join(text[: 4 * TITLE].split())
    return whole if len(whole) <= TITLE and len(text) <= 4 * TITLE else f"{whole[: TITLE - 3]}..."
