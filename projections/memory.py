"""The experience memory: every memory ever appended, and for retrieval an exact slice of vectors per task type.

Rules
    - A row is added once and never removed or edited; only `status`, `superseded_by` and `met` change,
      each by an event of its own. Equal ids are equal contents, so a second append of an id adds nothing.
    - A slice holds the active memories of one index and task type, in order of birth, in one contiguous float32
      matrix: a search is one `matrix @ query`, exact, with the same sums on every call.
    - Principles are found by skill and are in no slice; nor are superseded or quarantined ones. A release brings a
      memory back at its place by birth, unless a newer one has replaced it meanwhile.
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from sys import intern
from typing import Any, ClassVar, Literal

import msgspec

from mage_es.events.digests import digest, digest_of_set
from mage_es.events.facts.private import clear_vector, is_erased
from mage_es.events.segments import Columns, Reads
from mage_es.events.vocabulary import (
    EmbeddingBytes,
    Event,
    MemoryAppended,
    MemoryQuarantined,
    MemoryReinforced,
    MemoryReleased,
    MemorySuperseded,
    Origin,
    Outcome,
    Phase,
    Step,
)
from mage_es.projections.protocol import Order, unread
from mage_es.projections.slices import Birth, Slice, VectorSlice, birth_of

__all__ = ["INDEXES", "Index", "Memory", "MemoryRow", "Slice", "digest_of_rows", "plain", "row_hash"]

Index = Literal["success", "failure"]

INDEXES: dict[Outcome, Index] = {"success_memory": "success", "failure_memory": "failure"}


class MemoryRow(msgspec.Struct, frozen=True, array_like=True):
    """A memory as it is now: the fields of `MemoryAppended` in order, then what later events say about it. `embedding`
    is little-endian float32; `met` counts how often the same memory was met, including its creation."""

    memory_id: str
    outcome: Outcome
    kind: str
    task_type: str
    skill: str
    question_id: str
    question: str
    recognise: str
    reasoning: str
    answer: str
    wrong_answer: str
    steps: tuple[Step, ...]
    origin: Origin
    iteration: int
    phase: Phase
    ordinal: int
    embedding: EmbeddingBytes
    status: Literal["active", "superseded", "quarantined"] = "active"
    superseded_by: str = ""
    met: int = 1

    @property
    def birth(self) -> Birth:
        return birth_of(self.iteration, self.phase, self.ordinal)

    @property
    def is_shown(self) -> bool:
        """Whether prompts may quote it: it is active, with no text erased."""
        texts = (self.question, self.recognise, self.reasoning, self.answer, self.wrong_answer)
        return self.status == "active" and not any(map(is_erased, texts))


class Memory:
    """All memories by id, and the views that retrieval and EVOLVE read. [section 3.1, protected nodes]"""

    name: ClassVar[str] = "memory"
    reads: ClassVar[Reads] = {
        MemoryAppended: MemoryAppended.__struct_fields__,
        MemoryReinforced: ("memory_id", "count"),
        MemorySuperseded: ("memory_id", "by"),
        MemoryQuarantined: ("memory_id",),
        MemoryReleased: ("memory_id",),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({MemoryAppended})
    dumped: ClassVar[Any] = list[MemoryRow]
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, MemoryRow] = {}
        self._slices: dict[tuple[Index, str], VectorSlice] = {}
        self._principles: dict[str, list[tuple[Birth, str]]] = {}
        self._failures: dict[str, list[tuple[Birth, str]]] = {}
        self._strategies: dict[str, list[tuple[Birth, str]]] = {}
        self._counts: Counter[str] = Counter()
        self._hashes: dict[str, bytes] = {}
        self._changed: set[str] = set()
        self._clients: set[str] = set()
        self._taught: dict[tuple[str, str], int] = {}

    def apply(self, event: Event) -> None:
        match event:
            case MemoryAppended():
                if event.memory_id not in self._rows:
                    self._add(_row_of(event))
            case MemoryReinforced():
                self._put(msgspec.structs.replace(self._rows[event.memory_id], met=event.count))
            case MemorySuperseded():
                # Quarantine is a person's decision and outlives a newer memory; `superseded_by` is noted for a release.
                row = self._rows[event.memory_id]
                status = "quarantined" if row.status == "quarantined" else "superseded"
                self._replace(row, status=status, superseded_by=event.by)
            case MemoryQuarantined():
                if event.memory_id in self._rows:  # otherwise it is a tool, a recipe or a pattern
                    self._replace(self._rows[event.memory_id], status="quarantined")
            case MemoryReleased():
                if event.memory_id in self._rows:
                    # Whatever replaced it meanwhile stays in its place.
                    row = self._rows[event.memory_id]
                    self._replace(row, status="superseded" if row.superseded_by else "active")
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        # The row begins with the event's fields in order, so the columns are its arguments.
        for row in map(MemoryRow, *(columns[name] for name in self.reads[cls])):
            if row.memory_id not in self._rows:
                self._add(row)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, memory_id: str) -> MemoryRow:
        return self._rows[memory_id]

    def count_of(self, memory_id: str) -> int:
        row = self._rows.get(memory_id)
        return row.met if row else 0

    def status_of(self, memory_id: str) -> str:
        """Return `active`, `superseded` or `quarantined`, "" for an unknown memory."""
        row = self._rows.get(memory_id)
        return row.status if row else ""

    def rows(self) -> Iterable[MemoryRow]:
        """Return every memory, in no particular order."""
        return self._rows.values()

    def slice(self, index: Index, task_type: str) -> Slice:
        """Return the active memories of one index and task type, ordered by birth, as parallel sequences.

        The sequences belong to the memory and change with the next event; do not keep or alter them.
        """
        # Most task types have no memory of one of the outcomes in the first iterations: that is an empty slice.
        found = self._slices.get((index, task_type))
        return found.view() if found else Slice.empty()

    def task_types(self) -> list[str]:
        """Return the task types that have had a memory of a case, sorted."""
        return sorted({task_type for _, task_type in self._slices})

    def clients(self) -> Set[str]:
        """Return the persons and keys that ever gave a memory."""
        return self._clients  # not a copy: every search asks

    def taught(self, row: MemoryRow) -> int:
        """Return the iteration in which a memory's question first taught its answer. A question that is asked again
        brings new memories, but its right answer is as old as it was."""
        return self._taught[row.question_id, plain(row.answer)]

    def principles(self, skill: str) -> list[MemoryRow]:
        # A quarantined memory keeps its place by birth, for when it is released.
        rows = (self._rows[memory_id] for _, memory_id in self._principles.get(skill, ()))
        return [row for row in rows if row.is_shown]

    def latest_failure(self, question_id: str) -> MemoryRow | None:
        """Return the latest failure memory about this very question that is not in quarantine; type strategies are
        about no question."""
        return self._latest(self._failures.get(question_id, ()))

    def latest_strategy(self, task_type: str) -> MemoryRow | None:
        return self._latest(self._strategies.get(task_type, ()))

    def count(self, outcome: Outcome) -> int:
        return self._counts[outcome]

    def row_hashes(self) -> Mapping[str, bytes]:
        """Return the hash of every row by memory id; only rows that changed since the last call are hashed."""
        # Hashing a row means hashing its vector, so it is done once and again only after a change.
        for memory_id in self._changed:
            self._hashes[memory_id] = row_hash(self._rows[memory_id])
        self._changed.clear()
        return self._hashes

    def digest(self) -> str:
        return digest_of_set(self.row_hashes().values())

    def dump(self) -> Any:
        return list(self._rows.values())

    def load(self, dumped: Any) -> None:
        self._clear()
        for row in msgspec.convert(dumped, list[MemoryRow]):
            self._add(row)

    def _add(self, row: MemoryRow) -> None:
        self._put(row)
        self._counts[row.outcome] += 1
        self._clients.update({row.origin.by} - {""})
        case = row.question_id, plain(row.answer)
        self._taught[case] = min(row.iteration, self._taught.get(case, row.iteration))
        if row.is_shown:
            self._place(row)
        # By birth, not arrival, since answers of one iteration may be recorded in any order.
        if row.outcome == "principle":
            insort(self._principles.setdefault(row.skill, []), (row.birth, row.memory_id))
        elif row.outcome == "failure_memory":
            is_strategy = row.kind == "type_strategy"
            latest, key = (self._strategies, row.task_type) if is_strategy else (self._failures, row.question_id)
            insort(latest.setdefault(key, []), (row.birth, row.memory_id))

    def _place(self, row: MemoryRow) -> None:
        index = INDEXES.get(row.outcome)
        if index:
            vectors = self._slices.get((index, row.task_type))
            if vectors is None:
                vectors = self._slices[index, row.task_type] = VectorSlice()
            vector = clear_vector(row.embedding, row.question, row.recognise, row.reasoning)
            vectors.add(row.memory_id, vector, question_id=row.question_id, kind=row.kind, birth=row.birth)

    def _latest(self, births: Sequence[tuple[Birth, str]]) -> MemoryRow | None:
        # The latest may be superseded: only quarantine makes way for an older memory.
        rows = (self._rows[memory_id] for _, memory_id in reversed(births))
        return next((row for row in rows if row.status != "quarantined"), None)

    def _put(self, row: MemoryRow) -> None:
        self._rows[row.memory_id] = row
        self._changed.add(row.memory_id)

    def _replace(self, row: MemoryRow, **changes: str) -> None:
        """Assign what later events say about a memory, and take it out of its slice or bring it back."""
        changed = msgspec.structs.replace(row, **changes)
        self._put(changed)
        # Slices hold active memories only, so that a search needs no mask.
        index = INDEXES.get(row.outcome)
        if index and row.is_shown and not changed.is_shown:
            self._slices[index, row.task_type].remove(row.memory_id)
        elif not row.is_shown and changed.is_shown:
            self._place(changed)


def _row_of(event: MemoryAppended) -> MemoryRow:
    """Return the row of a new memory; the few words that all memories share are kept once."""
    # The decoder makes a new string for each event, but all rows together have only a few different ones in these
    # fields.
    fields = list(msgspec.structs.astuple(event))
    for place in _SHARED:
        fields[place] = intern(fields[place])
    return MemoryRow(*fields)


_SHARED = [MemoryRow.__struct_fields__.index(name) for name in ("outcome", "kind", "task_type", "skill", "phase")]


def plain(answer: str) -> str:
    """Return an answer as answers are compared: a learner may write it otherwise than the gold answer is written."""
    return answer.strip().casefold()


def row_hash(row: MemoryRow) -> bytes:
    """Return the 32-byte hash of a row: every field, the vector by its bytes."""
    return bytes.fromhex(digest(row))


def digest_of_rows(rows: Iterable[MemoryRow]) -> str:
    """Return the digest that a `Memory` of exactly these rows has."""
    return digest_of_set(row_hash(row) for row in rows)
