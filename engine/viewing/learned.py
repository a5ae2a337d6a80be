"""What a run has learned, as interval tables: memories and their states, the graph, mastery."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from mage_es.engine.rules.quarantine import OUT_OF_USE, reviewed, status_of
from mage_es.engine.viewing.columns import Borrowed, PackedTexts
from mage_es.engine.viewing.tables import Rows, whole
from mage_es.engine.worth.memories import item_in, kind_of, lesson_of, one_line
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import PREFIX
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event
from mage_es.projections.fold import State
from mage_es.projections.graph import SUBGRAPHS

TITLE = 120
"""Characters of a title."""
_NODES = {"tool": "tool", "action_recipe": "recipe"}
"""The kind of an item's node, if it is not `memory`."""


class Fates:
    """What later events say about memories, as in projections/memory.py, without the memories themselves."""

    def __init__(self) -> None:
        self._inactive, self._newer, self._met = dict[str, str](), dict[str, str](), dict[str, int]()

    def of(self, name: str) -> tuple[str, str, int]:
        """Return the status of a memory, what superseded it, and how often it was met."""
        return self._inactive.get(name, "active"), self._newer.get(name, ""), self._met.get(name, 1)

    def apply(self, event: Event) -> None:
        match event:
            case v.MemorySuperseded(memory_id=name):
                self._newer[name] = event.by
                self._inactive.setdefault(name, "superseded")
            case v.MemoryQuarantined(memory_id=name):
                self._inactive[name] = "quarantined"
            case v.MemoryReleased(memory_id=name) if self._newer.get(name):
                self._inactive[name] = "superseded"
            case v.MemoryReleased(memory_id=name):
                self._inactive.pop(name, None)
            case v.MemoryReinforced(memory_id=name):
                self._met[name] = event.count


class _Thing(NamedTuple):
    """Something learned, as its row has it. `seq` is the number of its event."""

    seq: int
    name: str
    kind: str
    task_type: str
    skill: str
    iteration: int
    phase: str
    text: str
    question: str


class Learned:
    """Tables of everything that changes later prompts. `rows` are the memories by id, `seqs` the events that appended
    them, with their numbers in the log, below 1 in the log that it continues."""

    reads: ClassVar[Reads] = {
        v.MemoryAppended: (
            *("memory_id", "outcome", "kind", "task_type", "skill", "question_id", "question", "reasoning", "answer"),
            *("iteration", "phase"),
        ),
        **whole(
            *(v.SkillCreated, v.SkillRefined, v.MasteryUpdated, v.SlotsRolledBack, v.TaskTypeCreated, v.EdgeAdded),
            *(v.ToolAuthored, v.ActionRecipeHarvested, v.RetrievalRecipeAuthored, v.PatternAbstracted),
            *(v.MemoryReinforced, v.PatternSupported, v.MemorySuperseded, v.PatternPruned, v.MemoryQuarantined),
            *(v.MemoryReleased, v.MemoryRefused, v.MemoryProposed, v.ProposalSettled, v.ProposalReviewed),
            *(v.EntitySeen, v.ObservationRecorded, v.TaskContextOpened),
        ),
    }

    def __init__(self, state: State) -> None:
        self._state = state
        self.rows: dict[str, int] = {}
        self.seqs = array("q")
        self.fates, self._others = Fates(), set[str]()  # learned items that are not memories
        self._questions: dict[int, str] = {}
        self._new, self._statuses = list[_Thing](), list[str]()
        self._counts = Counter[str]()
        self._nodes, self._own_nodes = dict[str, int](), array("i")
        self._pruned = self._edges = 0
        ids, titles = list[str](), PackedTexts()
        self.memories = Rows(
            "from id kind task_type skill question iteration phase title",
            numbers="from question iteration",
            codes="kind task_type skill phase",
            others={"id": ids, "title": titles},
        )
        self.memory_states = Rows(
            "from to memory status by met successes failures confidence_micro",
            numbers="from to memory by met successes failures confidence_micro",
            codes="status",
            by_number=True,
        )
        self.curations = Rows("from memory id what by reason", numbers="from memory", codes="what by")
        self.nodes = Rows(
            "from to id kind layer label",
            numbers="from to",
            codes="kind layer",
            others={"id": Borrowed(ids, "memory/"), "label": Borrowed(titles)},
        )
        self.edges = Rows(
            "from source target kind label weight derived",
            numbers="from source target",
            codes="kind label weight derived",
        )
        self.mastery = Rows(
            "from to skill mastery successes failures prompt_template strategy parent description",
            numbers="from to successes failures",
            codes="skill prompt_template strategy parent description",
        )

    def apply(self, seq: int, event: Event) -> None:
        """Take in an event that the state has already taken in; below 1, one that the log took from another."""
        if isinstance(event, v.MemoryAppended):
            self._append(seq, event)
            return
        self._add_new()
        if getattr(event, "memory_id", "") in self.rows:
            self.fates.apply(event)
        self._apply(max(0, seq), seq, event)

    def resolve(self, asked: Mapping[str, int]) -> None:
        """Fill in the questions of memories added since the last call, where these have been asked."""
        self._add_new()
        questions, waiting = self.memories.columns["question"], dict[int, str]()
        for row, name in self._questions.items():
            if (question := asked.get(name)) is not None:
                questions[row] = question
            else:
                waiting[row] = name
        self._questions = waiting

    def _apply(self, seq: int, number: int, event: Event) -> None:
        match event:
            case v.SlotsRolledBack():
                self._slots(seq, self._state.graph.skills())
            case v.MasteryUpdated() | v.SkillRefined():
                self._slots(seq, [event.skill])
            case v.EdgeAdded():
                self._edge(seq, event.source, event.target, event.kind, event.label, event.weight)
            case v.MemoryReinforced(memory_id=name) | v.PatternSupported(memory_id=name):
                self._status(seq, name)
            case v.ToolAuthored(tool_id=name) | v.RetrievalRecipeAuthored(memory_id=name):
                self._author(number, name, event)
            case v.ActionRecipeHarvested(recipe_id=name):
                self._author(number, name, event, question=event.question_id)
            case v.PatternAbstracted(memory_id=name):
                self._author(number, name, self._state.patterns.pattern(name))
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
            case _:
                self._curate(seq, event)

    def sizes(self) -> tuple[int, int, int, int, int]:
        """Return how many memories can be shown, are kept out of prompts and are stored in all, and how many nodes and
        edges the graph has now."""
        self._add_new()
        held = (self._counts["active"], sum(self._counts[status] for status in OUT_OF_USE), len(self.rows))
        return *held, len(self.nodes) - self._pruned, self._edges

    def _curate(self, seq: int, event: Any) -> None:
        """Note a decision on something learned."""
        name, (what, by, reason) = event.memory_id, _DECISIONS[type(event)](event)
        self._status(seq, name)
        self.curations.add(seq, self.rows.get(name), name, what, by, reason)
        if isinstance(event, v.MemorySuperseded):
            self._edge(seq, f"memory/{name}", f"memory/{by}", "superseded by", derived=True)
        elif isinstance(event, v.PatternPruned) and (row := self._place(f"memory/{name}")) is not None:
            self.nodes.columns["to"][row] = seq
            self._pruned += 1

    def _slots(self, seq: int, skills: Iterable[str]) -> None:
        slots, graph = self._state.slots, self._state.graph
        for skill in skills:
            counts = self._state.evidence.counts(skill)
            texts = (slots.prompt_template(skill), slots.strategy(skill), graph.parent(skill))
            described = graph.description(f"skill/{skill}")
            self.mastery.put(skill, seq, skill, slots.mastery(skill), *counts, *texts, described)

    def _append(self, seq: int, memory: v.MemoryAppended) -> None:
        if (name := memory.memory_id) not in self.rows:  # otherwise equal contents
            self.rows[name] = len(self.rows)
            kind, text = kind_of(memory.outcome, memory.kind), one_line(lesson_of(memory))
            about = (kind, memory.task_type, memory.skill, memory.iteration, memory.phase)
            self._new.append(_Thing(seq, name, *about, text, memory.question_id))
            self._statuses.append(reviewed(self._state, name, self.fates.of(name)[0]))

    def _add_new(self) -> None:
        """Add the memories since the last event about anything else: many come in a row, and are added at once."""
        if self._new:
            first, nothing = len(self.memories), [None] * len(self._new)
            self._remember(self._new, "memory")
            rows, seqs = range(first, len(self.memories)), self.memories.columns["from"][first:]
            once = [1] * len(rows)
            self.memory_states.begin(rows, seqs, rows, self._statuses, nothing, once, nothing, nothing, nothing)
            self._counts.update(self._statuses)
            self._new, self._statuses = [], []

    def _author(self, seq: int, name: str, thing: Any, *, question: str = "") -> None:
        if name not in self.rows:  # otherwise a tool that was written again, or equal contents
            self.rows[name] = len(self.rows)
            self._others.add(name)
            item = item_in(self._state, name, thing)
            about = (item.kind, item.task_type, item.skill, item.iteration, getattr(thing, "phase", "evolve"))
            self._remember([_Thing(seq, name, *about, item.text, question)], _NODES.get(item.kind, "memory"))
        self._status(max(0, seq), name)

    def _remember(self, things: Sequence[_Thing], node: str) -> None:
        """Add a row for each thing learned, with a node of this kind and its edges."""
        numbers, names, kinds, types, skills, iterations, phases, texts, questions = zip(*things, strict=True)
        seqs, lines = [max(0, seq) for seq in numbers], list(map(line, texts))
        values = (kinds, types, skills, [None] * len(things), iterations, phases, lines)
        rows = range(first := self.memories.extend(seqs, names, *values), first + len(things))
        self.seqs.extend(numbers)
        self._questions |= {row: name for row, name in zip(rows, questions, strict=True) if name}
        is_memory, places = node == "memory", len(self.nodes)
        new = list[tuple[Any, ...]]()
        for row, seq, name, text in zip(rows, seqs, names, lines, strict=True):
            place = self._nodes.get(whole := f"{node}/{name}")
            if place is None:
                place = places + len(new)
                label = row if text else line(name)
                new.append((seq, None, row if is_memory else whole, node, SUBGRAPHS.get(node, ""), label))
                if not is_memory:
                    self._nodes[whole] = place
            elif text:  # an edge named it before
                self.nodes.columns["label"][place] = text
            self._own_nodes.append(place)
        if new:
            self.nodes.extend(*zip(*new, strict=True))
        edges = [
            (seq, place, target, kind)
            for seq, place, *ends in zip(seqs, self._own_nodes[first:], skills, types, strict=True)
            for kind, end, plain in (("exercises", "skill", ends[0]), ("about", "task_type", ends[1]))
            if plain and (target := self._nodes.get(f"{end}/{plain}")) is not None
        ]
        if edges:
            self.edges.extend(*zip(*edges, strict=True), [""] * len(edges), [1.0] * len(edges), [True] * len(edges))

    def _status(self, seq: int, name: str) -> None:
        if (number := self.rows.get(name)) is None:  # an id that no projection has
            return
        by, met = None, 1
        held: tuple[int | None, ...] = (None, None, None)
        if name not in self._others:
            status, newer, met = self.fates.of(name)
            status, by = reviewed(self._state, name, status), self.rows.get(newer)
        else:
            status = status_of(self._state, name) or ""
            if pattern := self._state.patterns.pattern(name):
                held = (pattern.successes, pattern.failures, pattern.confidence_micro)
        self._counts[self.memory_states.current(number, "status") or ""] -= 1
        self._counts[status] += 1
        self.memory_states.put(number, seq, number, status, by, met, *held)

    def _node(self, seq: int, name: str, label: str = "") -> int:
        row = self._place(name)
        if row is None:
            kind, _, plain = name.partition("/")
            row = self.nodes.add(seq, None, name, kind, SUBGRAPHS.get(kind, ""), line(plain))
            self._nodes[name] = row
        if label:  # an edge may name a node before the event that creates it
            self.nodes.columns["label"][row] = line(label)
        return row

    def _place(self, name: str) -> int | None:
        kind, _, plain = name.partition("/")
        row = self.rows.get(plain) if kind == "memory" else None
        return self._nodes.get(name) if row is None else self._own_nodes[row]

    def _edge(
        self, seq: int, source: str, target: str, kind: str, label: str = "", weight: float = 1.0, derived: bool = False
    ) -> None:
        # A memory's field may name something that is not a node of the graph, while the page needs both ends.
        ends = (self._place(source), self._place(target))
        if not derived:
            ends = (self._node(seq, source), self._node(seq, target))
            self._edges += 1
        if None not in ends:
            self.edges.add(seq, *ends, kind, label, weight, derived)


_DECISIONS: Mapping[type[Event], Callable[[Any], tuple[str, str, str]]] = {
    v.MemorySuperseded: lambda event: ("superseded", event.by, ""),
    v.PatternPruned: lambda event: ("pruned", "", event.reason),
    v.MemoryQuarantined: lambda event: ("quarantined", event.by, event.reason),
    v.MemoryReleased: lambda event: ("released", event.by, event.reason),
    v.MemoryRefused: lambda event: ("refused", "", f"{event.what} resembles a question of {event.split}"),
    v.MemoryProposed: lambda event: (f"proposed{' as gold' * event.is_gold}", event.key, line(event.question)),
    v.ProposalSettled: lambda event: (event.verdict, "", event.reason),
    v.ProposalReviewed: lambda event: (event.verdict, event.by, event.reason),
}
"""What an event decides on something learned, who decided, and why."""


def line(text: str) -> str:
    """Return the beginning of a text on one line; for a subject's text without its key, only say that it is one."""
    if text.startswith(PREFIX):
        return "(encrypted)"
    whole = " ".join(text[: 4 * TITLE].split())
    return whole if len(whole) <= TITLE and len(text) <= 4 * TITLE else f"{whole[: TITLE - 3]}..."
