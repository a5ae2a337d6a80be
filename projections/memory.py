"""The experience memory: every memory ever appended, and for retrieval an exact slice of vectors per task type.

Rules
    - A row is added once and never removed or edited; only `status`, `superseded_by` and `met` change,
      each by an event of its own. Equal ids are equal contents, so a second append of an id adds nothing.
    - A slice holds the active memories of one index and task type, in order of birth, in one contiguous float32
      matrix: a search is one `matrix @ query`, exact, with the same sums on every call.
    - A row is kept as the bytes that are hashed, and decoded whenever it is looked at: an object would take three times
      the room, and most rows are never looked at. A row with a subject's text stays an object, because no bytes may
      hold that text unencrypted.
    - The rows of an iteration are a part. A part from a snapshot stays one piece of bytes: asking for ids or sorts
      decodes the heads of its rows, looking at a row decodes only that row, and only a change splits the part. To find
      the part of an id, parts are indexed one by one, oldest first, until the id is found.
    - Views are filled when one is first looked at: code that only counts, compares or continues memories needs none.
    - The digest is made from one hash for each part, over its rows by id. So only parts with changed rows are hashed
      again, a snapshot is checked by the hashes of its parts, and parts with equal hashes have equal rows.
    - Principles are found by skill and are in no slice; nor are superseded or quarantined ones. A released memory
      returns to its place by birth, unless a newer one has replaced it meanwhile.
"""

from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, chain
from operator import attrgetter
from threading import RLock
from typing import Any, ClassVar, Literal

import msgspec

from mage_es.events import vocabulary as v
from mage_es.events.digests import digest, encoded
from mage_es.events.facts.private import clear_vector, is_erased
from mage_es.events.segments import Columns, Reads
from mage_es.projections.protocol import Order, unread
from mage_es.projections.slices import Birth, Slice, VectorSlice, birth_of

__all__ = ["INDEXES", "Index", "Memory", "MemoryRow", "Slice", "digest_of_rows", "plain"]

Index = Literal["success", "failure"]

INDEXES: dict[v.Outcome, Index] = {"success_memory": "success", "failure_memory": "failure"}

Status = Literal["active", "superseded", "quarantined"]
Sort = tuple[v.Outcome, str, str]
"""The outcome, the kind and the task type of a memory."""


class MemoryRow(msgspec.Struct, frozen=True, array_like=True):
    """A memory as it is now: the fields of `MemoryAppended` in order, then what later events say about it. `embedding`
    is little-endian float32; `met` counts how often the same memory was met, including its creation."""

    memory_id: str
    outcome: v.Outcome
    kind: str
    task_type: str
    skill: str
    question_id: str
    question: str
    recognise: str
    reasoning: str
    answer: str
    wrong_answer: str
    steps: tuple[v.Step, ...]
    origin: v.Origin
    iteration: int
    phase: v.Phase
    ordinal: int
    embedding: v.EmbeddingBytes
    status: Status = "active"
    superseded_by: str = ""
    met: int = 1

    @property
    def birth(self) -> Birth:
        return birth_of(self.iteration, self.phase, self.ordinal)

    @property
    def is_shown(self) -> bool:
        """Whether prompts may quote it: it is active and none of its texts is erased."""
        texts = (self.question, self.recognise, self.reasoning, self.answer, self.wrong_answer)
        return self.status == "active" and not any(map(is_erased, texts))


_Row = bytes | memoryview | msgspec.Raw | MemoryRow
"""A row encoded as it is hashed, by itself or as a slice of a part; a row with a subject's text is not encoded."""


class _Part:
    """The rows of one iteration, as they were appended or, if a snapshot had them, by id. `equal` keeps each distinct
    `Sort` once."""

    def __init__(self, equal: dict[Sort, Sort], packed: bytes | memoryview | None = None) -> None:
        self._equal = equal
        self._packed = packed

    @cached_property
    def sorts(self) -> dict[str, Sort]:
        if self._packed is None:
            return {}
        heads = _heads.decode(self._packed)
        sorts = list(map(_sort, heads))
        return dict(zip(map(_id, heads), map(self._equal.setdefault, sorts, sorts), strict=True))

    @cached_property
    def rows(self) -> dict[str, _Row]:
        return {} if self._packed is None else dict(zip(self.sorts, _raws.decode(self._packed), strict=True))

    @cached_property
    def ends(self) -> "array[int]":
        """Where in a snapshot's piece the first row begins and each row ends; rows are in the order of their ids."""
        packed = self._packed or encoded([])
        sizes = list(map(len, _raws.decode(packed)))
        return array("q", accumulate(sizes, initial=len(packed) - sum(sizes)))

    @cached_property
    def ids(self) -> list[str]:
        """The ids in a snapshot's piece, sorted."""
        return list(self.sorts)

    def _row(self, name: str) -> _Row:
        if self._packed is None:
            return self.rows[name]
        place = bisect_left(self.ids, name)
        return memoryview(self._packed)[self.ends[place] : self.ends[place + 1]]

    def put(self, name: str, sort: Sort, row: _Row) -> None:
        self.rows[name] = row
        self.sorts[name] = self._equal.setdefault(sort, sort)
        self._packed = None

    def row(self, name: str) -> MemoryRow:
        row = self._row(name)
        return row if isinstance(row, MemoryRow) else _decoder.decode(row)

    def question(self, name: str) -> str:
        row = self._row(name)
        return row.question if isinstance(row, MemoryRow) else _asked.decode(row).question

    def status(self, name: str) -> Status:
        row = self._row(name)
        is_new = not isinstance(row, MemoryRow) and memoryview(row)[-len(_NEW) :] == _NEW
        return "active" if is_new else self.row(name).status

    def decoded(self) -> list[MemoryRow]:
        return list(map(self.row, self.rows)) if self._packed is None else _part_decoder.decode(self._packed)

    def encoded(self) -> dict[str, msgspec.Raw]:
        """Return the rows by id, as they are hashed."""
        return {name: _recorded(row) for name, row in sorted(self.rows.items())}

    def dump(self) -> Any:
        return list(self.encoded().values()) if self._packed is None else msgspec.Raw(self._packed)


class Memory:
    """All memories by id, and the views that retrieval and EVOLVE read. [section 3.1, protected nodes]"""

    name: ClassVar[str] = "memory"
    reads: ClassVar[Reads] = {
        v.MemoryAppended: v.MemoryAppended.__struct_fields__,
        v.MemoryReinforced: ("memory_id", "count"),
        v.MemorySuperseded: ("memory_id", "by"),
        v.MemoryQuarantined: ("memory_id",),
        v.MemoryReleased: ("memory_id",),
    }
    columnar: ClassVar[frozenset[type[v.Event]]] = frozenset({v.MemoryAppended})
    dumped: ClassVar[Any] = list[MemoryRow]
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._equal: dict[Sort, Sort] = {}
        self._parts: dict[int, _Part] = {}
        self._noted: dict[str, _Part] = {}
        """The part of each id that has been noted; `_unnoted` holds the remaining parts, the last one first."""
        self._unnoted: list[_Part] = []
        self._unplaced: dict[int, dict[str, None] | None] = {}
        """The ids in each part that are in no view yet; None for all of them."""
        self._asking = RLock()  # many threads may ask a state that no longer changes
        self._slices: dict[tuple[Index, str], VectorSlice] = {}
        self._principles: dict[str, list[tuple[Birth, str]]] = {}
        self._failures: dict[str, list[tuple[Birth, str]]] = {}
        self._strategies: dict[str, list[tuple[Birth, str]]] = {}
        self._counts: Counter[str] = Counter()
        self._hashes: dict[int, bytes] = {}
        """The hash of each iteration's rows, unless they have changed since."""
        self._clients: set[str] = set()
        self._taught: dict[tuple[str, str], int] = {}

    def apply(self, event: v.Event) -> None:
        match event:
            case v.MemoryAppended():
                if event.memory_id not in self:
                    self._add(MemoryRow(*msgspec.structs.astuple(event)))
            case v.MemoryReinforced():
                self._put(msgspec.structs.replace(self.row(event.memory_id), met=event.count))
            case v.MemorySuperseded():
                # Quarantine is a person's decision and outlives a newer memory; `superseded_by` is noted for a release.
                row = self.row(event.memory_id)
                status = "quarantined" if row.status == "quarantined" else "superseded"
                self._replace(row, status=status, superseded_by=event.by)
            case v.MemoryQuarantined():
                if event.memory_id in self:  # otherwise it is a tool, a recipe or a pattern
                    self._replace(self.row(event.memory_id), status="quarantined")
            case v.MemoryReleased():
                if event.memory_id in self:
                    # Whatever replaced it meanwhile stays in its place.
                    row = self.row(event.memory_id)
                    self._replace(row, status="superseded" if row.superseded_by else "active")
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[v.Event], columns: Columns) -> None:
        # The row begins with the event's fields in order, so the columns are its arguments.
        for row in map(MemoryRow, *(columns[name] for name in self.reads[cls])):
            if row.memory_id not in self:
                self._add(row)

    def __len__(self) -> int:
        return sum(len(part.sorts) for part in self._parts.values())

    def __contains__(self, memory_id: object) -> bool:
        return isinstance(memory_id, str) and self._part_of(memory_id) is not None

    def row(self, memory_id: str) -> MemoryRow:
        return self._known(memory_id).row(memory_id)

    def question_of(self, memory_id: str) -> str:
        """Return the text of a memory's question: a search asks for many, and the whole row takes four times as
        long."""
        return self._known(memory_id).question(memory_id)

    def sort_of(self, memory_id: str) -> Sort:
        return self._known(memory_id).sorts[memory_id]

    def count_of(self, memory_id: str) -> int:
        return part.row(memory_id).met if (part := self._part_of(memory_id)) else 0

    def status_of(self, memory_id: str) -> Status | Literal[""]:
        """Return the status of a memory, "" for an unknown one."""
        return part.status(memory_id) if (part := self._part_of(memory_id)) else ""

    def ids(self) -> Set[str]:
        """Return the id of every memory."""
        self._note()
        return self._noted.keys()

    def rows(self) -> Iterable[MemoryRow]:
        """Return every memory, in no particular order."""
        return chain.from_iterable(part.decoded() for part in self._parts.values())

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

    def count(self, outcome: v.Outcome) -> int:
        self._place_all()
        return self._counts[outcome]

    def hashes(self) -> Mapping[int, bytes]:
        """Return the hash of each part; only parts that changed since the last call are hashed."""
        for number in self._parts.keys() - self._hashes.keys():
            self._hashes[number] = sha256(encoded(self._parts[number].dump())).digest()
        return self._hashes

    def unlike(self, other: "Memory") -> Iterator[tuple[Mapping[str, Sort], Mapping[str, Sort]]]:
        """Yield, part by part, the sorts by id in this memory and in the other, leaving out rows that are the same."""
        here, there = self.hashes(), other.hashes()
        for number in sorted({*here, *there}):
            if here.get(number) == there.get(number):
                continue
            one, two = self._parts.get(number), other._parts.get(number)
            if one and two:
                rows, others = one.encoded(), two.encoded()
                differing = {name for name in {*rows, *others} if rows.get(name) != others.get(name)}
                found = [{name: part.sorts[name] for name in differing if name in part.sorts} for part in (one, two)]
                yield found[0], found[1]
            else:
                yield one.sorts if one else {}, two.sorts if two else {}

    def digest(self) -> str:
        return digest(sorted(self.hashes().items()))

    def dump(self) -> Any:
        """Return the rows of each part by id."""
        return {number: part.dump() for number, part in sorted(self._parts.items())}

    def load(self, dumped: Any) -> None:
        """A part may come as its rows, or still encoded."""
        self._clear()
        for number, rows in dumped.items():
            if isinstance(rows, bytes | memoryview):
                self._parts[number] = _Part(self._equal, rows)
            else:
                for row in rows:
                    self._put(msgspec.convert(row, MemoryRow))
        self._unnoted = list(self._parts.values())[::-1]
        self._unplaced = dict.fromkeys(self._parts)

    def believe(self, hashes: Mapping[int, bytes]) -> None:
        self._hashes = dict(hashes)

    def _part_of(self, memory_id: str) -> _Part | None:
        if memory_id not in self._noted and self._unnoted:
            self._note(memory_id)
        return self._noted.get(memory_id)

    def _note(self, wanted: str = "") -> None:
        """Note which part each id is in, part by part until the wanted one is noted; without one, note all."""
        with self._asking:
            while self._unnoted and wanted not in self._noted:
                self._noted.update(dict.fromkeys(self._unnoted[-1].sorts, self._unnoted[-1]))
                self._unnoted.pop()  # only now, since other threads may look without waiting

    def _known(self, memory_id: str) -> _Part:
        if (part := self._part_of(memory_id)) is None:
            raise KeyError(memory_id)
        return part

    def _add(self, row: MemoryRow) -> None:
        self._put(row)
        if (unplaced := self._unplaced.setdefault(row.iteration, {})) is not None:
            unplaced[row.memory_id] = None

    def _place_all(self) -> None:
        """Put what has arrived since the last look into the views."""
        if not self._unplaced:
            return
        with self._asking:
            # By birth, since inserting a row before others in a slice takes long.
            parts = (self._waiting(number) for number in sorted(self._unplaced))
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
            self._unplaced = {}  # only now, since other threads may look without waiting

    def _waiting(self, number: int) -> Iterable[MemoryRow]:
        """Return the rows of a part that are in no view yet."""
        part, ids = self._parts[number], self._unplaced[number]
        if ids is not None:
            return map(part.row, ids)
        _ = part.ends  # now, since decoding needs them, and a search looks at few rows of any one part
        return part.decoded()

    def _place(self, row: MemoryRow) -> None:
        index = INDEXES.get(row.outcome)
        if index:
            vectors = self._slices.get((index, row.task_type))
            if vectors is None:
                vectors = self._slices[index, row.task_type] = VectorSlice()
            vector = clear_vector(row.embedding, row.question, row.recognise, row.reasoning)
            vectors.add(row.memory_id, vector, question_id=row.question_id, kind=row.kind, birth=row.birth)

    def _latest(self, births: Sequence[tuple[Birth, str]]) -> MemoryRow | None:
        # The latest may be superseded: an older memory takes its place only if it is in quarantine.
        rows = (self.row(memory_id) for _, memory_id in reversed(births))
        return next((row for row in rows if row.status != "quarantined"), None)

    def _put(self, row: MemoryRow) -> None:
        name, number = row.memory_id, row.iteration
        part = self._parts.get(number) or self._parts.setdefault(number, _Part(self._equal))
        try:
            packed: _Row = _encoder.encode(row)
        except TypeError:  # a subject's text
            packed = row
        part.put(name, (row.outcome, row.kind, row.task_type), packed)
        self._noted[name] = part
        self._hashes.pop(number, None)

    def _replace(self, row: MemoryRow, **changes: str) -> None:
        """Assign what later events say about a memory, and take it out of its slice or bring it back."""
        changed = msgspec.structs.replace(row, **changes)
        self._put(changed)
        unplaced = self._unplaced.get(row.iteration, ())
        if unplaced is None or row.memory_id in unplaced:
            return
        # Slices hold active memories only, so that a search needs no mask.
        index = INDEXES.get(row.outcome)
        if index and row.is_shown and not changed.is_shown:
            self._slices[index, row.task_type].remove(row.memory_id)
        elif not row.is_shown and changed.is_shown:
            self._place(changed)


class _Head(msgspec.Struct, array_like=True, gc=False):
    memory_id: str
    outcome: v.Outcome
    kind: str
    task_type: str


class _Asked(_Head, array_like=True, gc=False):
    skill: str
    question_id: str
    question: str


_id, _sort = attrgetter("memory_id"), attrgetter("outcome", "kind", "task_type")
_encoder = msgspec.msgpack.Encoder(order="sorted")  # as for digests, but refuses subjects' texts
_decoder, _part_decoder = msgspec.msgpack.Decoder(MemoryRow), msgspec.msgpack.Decoder(list[MemoryRow])
_raws, _heads = msgspec.msgpack.Decoder(list[msgspec.Raw]), msgspec.msgpack.Decoder(list[_Head])
_asked = msgspec.msgpack.Decoder(_Asked)
_NEW = b"".join(map(encoded, ("active", "", 1)))
"""The end of a row if no later event was about it: its status, what superseded it, and how often it was met."""


def _recorded(row: _Row) -> msgspec.Raw:
    if isinstance(row, msgspec.Raw):
        return row
    return msgspec.Raw(encoded(row) if isinstance(row, MemoryRow) else row)


def plain(answer: str) -> str:
    """Return an answer in the form in which answers are compared: a learner may spell it differently from the gold
    answer."""
    return answer.strip().casefold()


def digest_of_rows(rows: Iterable[MemoryRow]) -> str:
    """Return the digest that a `Memory` of exactly these rows has."""
    memory = Memory()
    for row in rows:
        memory._put(row)
    return memory.digest()
