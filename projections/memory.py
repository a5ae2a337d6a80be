"""The experience memory: every memory ever appended, and for retrieval an exact slice of vectors per task type.

Rules
    - A row is added once and never removed or edited; only `status`, `superseded_by` and `met` change,
      each by an event of its own. Equal ids are equal contents, so a second append of an id adds nothing.
    - A slice holds the active memories of one index and task type, in order of birth, in one contiguous float32
      matrix: a search is one `matrix @ query`, exact, with the same sums on every call.
    - A row is kept as the bytes that its hash is of, and decoded whenever it is looked at: as an object it takes three
      times the room, and most are never looked at. What has a subject's text, which no bytes may hold, stays an object.
    - Views are filled when one is first looked at: what only counts, compares or continues memories needs none.
    - The digest is made of one for each iteration, that of its rows by id: only iterations with changed rows are hashed
      again, a snapshot is believed by the hashes of its parts, and where two states have the same, no row differs.
    - Principles are found by skill and are in no slice; nor are superseded or quarantined ones. A release brings a
      memory back at its place by birth, unless a newer one has replaced it meanwhile.
"""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from threading import Lock
from typing import Any, ClassVar, Literal

import msgspec

from mage_es.events.digests import digest, encoded
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

__all__ = ["INDEXES", "Index", "Memory", "MemoryRow", "Slice", "digest_of_rows", "plain"]

Index = Literal["success", "failure"]

INDEXES: dict[Outcome, Index] = {"success_memory": "success", "failure_memory": "failure"}

Status = Literal["active", "superseded", "quarantined"]
Sort = tuple[Outcome, str, str]
"""The outcome, the kind and the task type of a memory."""


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
    status: Status = "active"
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


_Packed = bytes | msgspec.Raw | MemoryRow
"""A row encoded as for its hash, by itself or as part of a snapshot; one with a subject's text as it is."""


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
    packed: ClassVar[Any] = msgspec.Raw
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, _Packed] = {}
        self._sorts: dict[str, Sort] = {}
        self._equal: dict[Sort, Sort] = {}  # equal sorts are kept once
        self._inactive: dict[str, Status] = {}
        self._unplaced: defaultdict[int, dict[str, None]] = defaultdict(dict)
        self._placing = Lock()  # many threads may ask a state that no longer changes
        self._slices: dict[tuple[Index, str], VectorSlice] = {}
        self._principles: dict[str, list[tuple[Birth, str]]] = {}
        self._failures: dict[str, list[tuple[Birth, str]]] = {}
        self._strategies: dict[str, list[tuple[Birth, str]]] = {}
        self._counts: Counter[str] = Counter()
        self._parts: defaultdict[int, list[str]] = defaultdict(list)
        self._hashes: dict[int, bytes] = {}
        """Of the rows of each iteration that has not changed since."""
        self._clients: set[str] = set()
        self._taught: dict[tuple[str, str], int] = {}

    def apply(self, event: Event) -> None:
        match event:
            case MemoryAppended():
                if event.memory_id not in self._rows:
                    self._add(MemoryRow(*msgspec.structs.astuple(event)))
            case MemoryReinforced():
                self._put(msgspec.structs.replace(self.row(event.memory_id), met=event.count))
            case MemorySuperseded():
                # Quarantine is a person's decision and outlives a newer memory; `superseded_by` is noted for a release.
                row = self.row(event.memory_id)
                status = "quarantined" if row.status == "quarantined" else "superseded"
                self._replace(row, status=status, superseded_by=event.by)
            case MemoryQuarantined():
                if event.memory_id in self._rows:  # otherwise it is a tool, a recipe or a pattern
                    self._replace(self.row(event.memory_id), status="quarantined")
            case MemoryReleased():
                if event.memory_id in self._rows:
                    # Whatever replaced it meanwhile stays in its place.
                    row = self.row(event.memory_id)
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
        row = self._rows[memory_id]
        return row if isinstance(row, MemoryRow) else _decoder.decode(row)

    def sort_of(self, memory_id: str) -> Sort:
        return self._sorts[memory_id]

    def count_of(self, memory_id: str) -> int:
        return self.row(memory_id).met if memory_id in self._rows else 0

    def status_of(self, memory_id: str) -> Status | Literal[""]:
        """Return the status of a memory, "" for an unknown one."""
        return self._inactive.get(memory_id, "active") if memory_id in self._rows else ""

    def ids(self) -> Set[str]:
        """Return the id of every memory, as they were appended."""
        return self._rows.keys()

    def rows(self) -> Iterable[MemoryRow]:
        """Return every memory, in no particular order."""
        return map(self.row, self._rows)

    def slice(self, index: Index, task_type: str) -> Slice:
        """Return the active memories of one index and task type, ordered by birth, as parallel sequences.

        The sequences belong to the memory and change with the next event; do not keep or alter them.
        """
        # Most task types have no memory of one of the outcomes in the first iterations: that is an empty slice.
        self._place_all()
        found = self._slices.get((index, task_type))
        return found.view() if found else Slice.empty()

    def task_types(self) -> list[str]:
        """Return the task types that have had a memory of a case, sorted."""
        self._place_all()
        return sorted({task_type for _, task_type in self._slices})

    def clients(self) -> Set[str]:
        """Return the persons and keys that ever gave a memory."""
        self._place_all()
        return self._clients  # not a copy: every search asks

    def taught(self, row: MemoryRow) -> int:
        """Return the iteration in which a memory's question first taught its answer. A question that is asked again
        brings new memories, but its right answer is as old as it was."""
        self._place_all()
        return self._taught[row.question_id, plain(row.answer)]

    def principles(self, skill: str) -> list[MemoryRow]:
        # A quarantined memory keeps its place by birth, for when it is released.
        self._place_all()
        rows = (self.row(memory_id) for _, memory_id in self._principles.get(skill, ()))
        return [row for row in rows if row.is_shown]

    def latest_failure(self, question_id: str) -> MemoryRow | None:
        """Return the latest failure memory about this very question that is not in quarantine; type strategies are
        about no question."""
        self._place_all()
        return self._latest(self._failures.get(question_id, ()))

    def latest_strategy(self, task_type: str) -> MemoryRow | None:
        self._place_all()
        return self._latest(self._strategies.get(task_type, ()))

    def count(self, outcome: Outcome) -> int:
        self._place_all()
        return self._counts[outcome]

    def hashes(self) -> Mapping[int, bytes]:
        """Return the hash of the rows of each iteration; only of those that changed since the last call is it made."""
        for part in self._parts.keys() - self._hashes.keys():
            self._hashes[part] = sha256(encoded(self._part(part))).digest()
        return self._hashes

    def unlike(self, other: "Memory") -> Iterator[tuple[set[str], set[str]]]:
        """Yield the ids of the memories here and there, of each iteration of which a row differs."""
        here, there = self.hashes(), other.hashes()
        for part in sorted({*here, *there}):
            if here.get(part) != there.get(part):
                yield set(self._parts.get(part, ())), set(other._parts.get(part, ()))

    def digest(self) -> str:
        return digest(sorted(self.hashes().items()))

    def dump(self) -> Any:
        """Return the rows of each iteration by id."""
        return {part: self._part(part) for part in sorted(self._parts)}

    def load(self, dumped: Any) -> None:
        self._clear()
        for part, rows in dumped.items():
            if isinstance(rows, msgspec.Raw):
                self._take(part, rows)
            else:
                for row in rows:
                    self._put(msgspec.convert(row, MemoryRow))
        self._unplaced.update((part, dict.fromkeys(ids)) for part, ids in self._parts.items())

    def _take(self, part: int, packed: msgspec.Raw) -> None:
        rows, heads = _raws.decode(packed), _heads.decode(packed)
        ids = self._parts[part] = [head.memory_id for head in heads]
        self._rows.update(zip(ids, rows, strict=True))
        sorts = [(head.outcome, head.kind, head.task_type) for head in heads]
        self._sorts.update(zip(ids, map(self._equal.setdefault, sorts, sorts), strict=True))
        changed = (row for row in rows if memoryview(row)[-len(_NEW) :] != _NEW)
        statuses = ((row.memory_id, row.status) for row in map(_decoder.decode, changed))
        self._inactive.update((name, status) for name, status in statuses if status != "active")

    def believe(self, hashes: Mapping[int, bytes]) -> None:
        self._hashes = dict(hashes)

    def _part(self, part: int) -> list[msgspec.Raw]:
        rows = (self._rows[name] for name in sorted(self._parts[part]))
        return [row if isinstance(row, msgspec.Raw) else msgspec.Raw(_recorded(row)) for row in rows]

    def _add(self, row: MemoryRow) -> None:
        self._put(row)
        self._unplaced[row.iteration][row.memory_id] = None

    def _place_all(self) -> None:
        """Put into the views what has come since one was last looked at."""
        if not self._unplaced:
            return
        with self._placing:
            # By birth, since to put a row before others in a slice takes long.
            parts = (map(self.row, self._unplaced[part]) for part in sorted(self._unplaced))
            for row in chain.from_iterable(sorted(rows, key=attrgetter("birth", "memory_id")) for rows in parts):
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
                    latest, key = (
                        (self._strategies, row.task_type) if is_strategy else (self._failures, row.question_id)
                    )
                    insort(latest.setdefault(key, []), (row.birth, row.memory_id))
            self._unplaced = defaultdict(dict)  # only now, since other threads may look without waiting

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
        rows = (self.row(memory_id) for _, memory_id in reversed(births))
        return next((row for row in rows if row.status != "quarantined"), None)

    def _put(self, row: MemoryRow) -> None:
        name = row.memory_id
        if name not in self._rows:
            self._parts[row.iteration].append(name)
            sort = row.outcome, row.kind, row.task_type
            self._sorts[name] = self._equal.setdefault(sort, sort)
        self._hashes.pop(row.iteration, None)
        try:
            self._rows[name] = _encoder.encode(row)
        except TypeError:  # a subject's text
            self._rows[name] = row
        if row.status == "active":
            self._inactive.pop(name, None)
        else:
            self._inactive[name] = row.status

    def _replace(self, row: MemoryRow, **changes: str) -> None:
        """Assign what later events say about a memory, and take it out of its slice or bring it back."""
        changed = msgspec.structs.replace(row, **changes)
        self._put(changed)
        if row.memory_id in self._unplaced.get(row.iteration, ()):
            return
        # Slices hold active memories only, so that a search needs no mask.
        index = INDEXES.get(row.outcome)
        if index and row.is_shown and not changed.is_shown:
            self._slices[index, row.task_type].remove(row.memory_id)
        elif not row.is_shown and changed.is_shown:
            self._place(changed)


class _Head(msgspec.Struct, array_like=True, gc=False):
    memory_id: str
    outcome: Outcome
    kind: str
    task_type: str


_encoder = msgspec.msgpack.Encoder(order="sorted")  # as for digests, but refuses subjects' texts
_decoder = msgspec.msgpack.Decoder(MemoryRow)
_raws, _heads = msgspec.msgpack.Decoder(list[msgspec.Raw]), msgspec.msgpack.Decoder(list[_Head])
_NEW = b"".join(map(encoded, ("active", "", 1)))
"""How a row ends that no later event was about: its status, what superseded it, and how often it was met."""


def _recorded(row: bytes | MemoryRow) -> bytes:
    return encoded(row) if isinstance(row, MemoryRow) else row


def plain(answer: str) -> str:
    """Return an answer as answers are compared: a learner may write it otherwise than the gold answer is written."""
    return answer.strip().casefold()


def digest_of_rows(rows: Iterable[MemoryRow]) -> str:
    """Return the digest that a `Memory` of exactly these rows has."""
    memory = Memory()
    for row in rows:
        memory._put(row)
    return memory.digest()
