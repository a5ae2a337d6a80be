"""A run as named chunks: its index, and pieces of its tables, each made on request."""

import base64
import functools
import hashlib
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mage_es import __version__
from mage_es.engine.run.directory import Run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.viewing.answers import Rendered
from mage_es.engine.viewing.card import card_of
from mage_es.engine.viewing.columns import Made, Numbers
from mage_es.engine.viewing.index import index_of
from mage_es.engine.viewing.positions import positions
from mage_es.engine.viewing.reading import RunReading
from mage_es.engine.viewing.tables import columns_of, hashed, packed, picked
from mage_es.engine.viewing.verdict import beside, verdict
from mage_es.engine.worth.memories import others_of, source_of
from mage_es.events import vocabulary as v
from mage_es.events.errors import MageError
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.log import Head, LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event
from mage_es.projections.memory import MemoryRow

__all__ = ["Viewed", "script"]

_SIZES: Mapping[str, int] = {
    "events": 2000,
    "payloads": 2000,
    "answers": 100,
    "texts": 200,
    "exchanges": 200,
    "questions": 2000,
    "wordings": 500,
    "asked": 100,
    "askings": 4000,
}
_SIZE = 20_000
"""How many rows a chunk of any other table has."""
_WAITED_FOR = {"answers": 20}
"""The same on a server, where someone is waiting for a prompt."""
_LEVEL = 3
_NUMBER = re.compile(r"[0-9]{1,12}")
"""The number of a chunk. No run has more, and Python does not read a number of more than 4,300 digits."""
_HEADER = ("iteration", "phase", "ts_us", "causation", "correlation", "ordinal", "commit")


def script(name: str, data: Any) -> bytes:
    """Return the file of a chunk: one call, which works from any address, even `file://`."""
    # gzip without a time, so that equal data are equal bytes.
    press = zlib.compressobj(_LEVEL, wbits=31)
    pressed = press.compress(msgspec.json.encode(data, enc_hook=str)) + press.flush()
    return b"mage(%s,%s)\n" % (msgspec.json.encode(name), msgspec.json.encode(base64.b64encode(pressed).decode()))


class Viewed:
    """Everything that a page can request about a run, as the run was when this object was made; making it reads the
    whole log. `opened`: subjects' texts are decrypted if their keys are here; `whole`: every chunk will be asked for,
    in the order of `names`; `tell` is called meanwhile with the share of the log read so far. Any number of threads may
    ask."""

    def __init__(
        self,
        run: Run,
        *,
        name: str = "",
        opened: bool = True,
        whole: bool = False,
        prices: Prices | None = None,
        data_dir: Path | str | None = None,
        benchmark: Benchmark | None = None,
        tell: Callable[[float], None] | None = None,
    ) -> None:
        self.run, self.name = run, name or run.id
        self._opened, self._whole, self._prices = opened, whole, prices or Prices()
        self._sizes = _SIZES if whole else {**_SIZES, **_WAITED_FOR}
        self._data_dir, self._benchmark = data_dir, benchmark
        self._lock = threading.Lock()
        # What is written meanwhile may not have been read: the stamp is of the exams as they were before, and of the
        # log as it was read, unless it could not be.
        beside_it = self._beside()
        self._reading = RunReading(run, opened=opened, whole=whole, prices=self._prices, tell=tell)
        self._life, self._reader = self._reading.life, self._reading.reader
        self.stamp = self._stamp(beside_it, self._reader.head if self._reader and not self._reading.problem else None)
        self._types = {name: place for place, name in enumerate(self._life.types())}
        self._others = dict(others_of(self._life.state))
        tables, learned, asked = self._life.tables(), self._life.learned, self._life.asked
        nodes = learned.nodes.columns
        edges = (learned.edges.columns[name] for name in ("source", "target", "kind"))
        drawn = positions(nodes["kind"], *edges)
        self._tables = {name: dict(rows.columns) for name, rows in tables.items()}
        self._tables["nodes"] |= dict(zip(("x", "y"), map(_floats, drawn), strict=True))
        self._tables["memories"] |= {"prompts": Numbers(asked.uses.prompts()), "right": Numbers(asked.uses.right())}
        self._tables["askings"] = asked.named()
        self._rows = {name: len(next(iter(columns.values()))) for name, columns in self._tables.items()}
        self._rows |= {"events": self._life.seq, "texts": self._rows["memories"], "asked": self._rows["questions"]}
        self._rows |= {"answers": self._rows["askings"], "exchanges": self._rows["inferences"], "verify": 1}
        self._rows |= {"wordings": self._rows["questions"]}

    @property
    def is_behind(self) -> bool:
        """Whether the run has changed since this object was made."""
        return self._stamp(self._beside()) != self.stamp

    @property
    def is_private(self) -> bool:
        """Whether subjects' texts are shown, which must not be kept unencrypted anywhere."""
        return self._reader is not None and self._reader.keys is not None

    def _stamp(self, beside_it: Mapping[str, int | str], head: Head | None = None) -> str:
        """Return what identifies the content of a run's log, whose head is read now if not given, and of the logs
        beside it, without exams that are closed."""
        heads: list[object] = [__version__, self._opened, self._whole]
        try:
            if head or self.run.events:
                heads.append(head or LogReader(self.run.log_path).head)
        except (MageError, OSError) as error:
            heads.append(str(error))
        closed = {exam.opened.exam for exam in self._reading.exams if exam.closed}
        heads += [events for name, events in beside_it.items() if name not in closed]
        return hashlib.sha256(repr(heads).encode()).hexdigest()[:16]

    def _beside(self) -> Mapping[str, int | str]:
        """Return, by their names, how many events the logs of the exams and of what was asked again have, or why that
        is unknown."""
        found = dict[str, int | str]()
        for part in (*self.run.exams(), self.run.reasked):
            try:
                found[part.path.name] = part.events
            except (MageError, OSError) as error:
                found[part.path.name] = str(error)
        return found

    def names(self) -> Iterator[str]:
        """Yield the name of every chunk."""
        for table in self._rows:
            for number in range(self._chunks(table)):
                yield f"{self.name}/{table}-{number}"
                if table == "events":  # both need the same records, which are read once
                    yield f"{self.name}/payloads-{number}"
        yield f"{self.name}/card"
        yield f"{self.name}/index"

    def chunk(self, name: str) -> bytes:
        """Return the file of a chunk. Raises `KeyError` for a name that `names` does not give."""
        run, _, rest = name.rpartition("/")
        if run != self.name:
            raise KeyError(name)
        if rest == "card":
            return script(name, card_of(self.run, self._prices))
        if rest == "index":
            with self._lock:
                return script(name, self._index())
        table, _, number = rest.rpartition("-")
        if rest == "verify-0":
            return script(name, self._verified())
        size, rows = self._sizes.get(table, _SIZE), self._count(table)
        if not _NUMBER.fullmatch(number) or (first := int(number) * size) >= rows:
            raise KeyError(name)
        with self._lock:
            return script(name, self._piece(table, first, min(rows, first + size) - 1))

    def _count(self, table: str) -> int:
        return self._rows["events" if table == "payloads" else table]

    def _chunks(self, table: str) -> int:
        return -(-self._count(table) // self._sizes.get(table, _SIZE))

    # Pieces of tables

    def _piece(self, table: str, first: int, last: int) -> dict[str, Any]:
        makers: Mapping[str, Callable[[int, int], Mapping[str, Sequence[Any]]]] = {
            "events": self._events,
            "payloads": self._payloads,
            "texts": self._texts,
            "wordings": self._wordings,
            "exchanges": self._exchanges,
        }
        if table == "answers":
            found = self._answers.rows(first, last)
            return packed(found["columns"], 0, last - first, texts=found["texts"]) | {"first": first}
        if table == "asked":
            questions = np.flatnonzero(self._places == first // self._sizes[table]).tolist()
            askings = [row for question in questions for row in self._life.asked.of_question(question)]
            found = {"questions": questions, "askings": askings}
            return {name: picked(self._tables[name], rows) for name, rows in found.items()}
        if table in makers:
            return packed(makers[table](first, last), 0, last - first) | {"first": first}
        return packed(self._tables[table], first, last)

    @functools.cached_property
    def _answers(self) -> Rendered:
        return Rendered(self._reading, data_dir=self._data_dir, benchmark=self._benchmark)

    @functools.cached_property
    def _places(self) -> NDArray[np.integer[Any]]:
        """The chunk of `asked` that each question is in."""
        return np.fromiter(map(hashed, self._life.asked.rows), np.int64) % max(1, self._chunks("asked"))

    def _events(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        records = self._reading.windows.records(first + 1, last + 1)
        return {
            "type": [self._types[v.tag_of(record.event)] for record in records],
            "subject": [record.event.subject for record in records],
            **{name: list(map(attrgetter(name), records)) for name in _HEADER},
            "caused": self._life.caused(first + 1, last + 1),
        }

    def _payloads(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        return {"payload": [payload_of(r.event) for r in self._reading.windows.records(first + 1, last + 1)]}

    def _exchanges(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        columns = {name: values[first : last + 1] for name, values in self._life.inferences.columns.items()}
        since, until = columns["from"][0], max((columns["from"][-1], *filter(None, columns["closed"])))
        assert self._reader
        asked = {each.inference: each.question for each in self._reader.of(v.InferenceOpened, since=since, until=until)}
        said = {each.inference: each.reply for each in self._reader.of(v.InferenceClosed, since=since, until=until)}
        both = (("question", asked), ("reply", said))
        return {name: [texts.get(each) or None for each in columns["inference"]] for name, texts in both}

    def _wordings(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        names = self._life.asked.questions.columns["id"][first : last + 1]
        known = [self._reading.texts.get(name) for name in names]
        return {
            "question": [question.question if question else "" for question in known],
            "context": [question.context if question else "" for question in known],
        }

    def _texts(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        names = self._life.learned.memories.columns["id"][first : last + 1]
        things = {name: self._others[name] for name in names if name in self._others}
        things |= self._memories(first, last)
        return columns_of([self._text(name, things[name]) for name in names])

    def _memories(self, first: int, last: int) -> dict[str, MemoryRow]:
        """Return the memories from row `first` to row `last` by id, without their vectors."""
        assert self._reader
        learned, found = self._life.learned, dict[str, MemoryRow]()
        fields = [name for name in v.MemoryAppended.__struct_fields__ if name != "embedding"]
        reads: Reads = {v.MemoryAppended: tuple(fields)}
        for _, event in self._reader.events(reads, since=learned.seqs[first], until=learned.seqs[last]):
            assert isinstance(event, v.MemoryAppended)
            if (name := event.memory_id) in learned.rows and first <= learned.rows[name] <= last:
                fate = learned.fates.of(name)
                found.setdefault(name, MemoryRow(*(*msgspec.structs.astuple(event), *fate)))
        return found

    def _text(self, name: str, thing: Any) -> dict[str, Any]:
        origin: v.Origin = thing.origin
        seqs = self._life.facts(origin.facts)
        fields = {name: getattr(thing, name, "") for name in ("outcome", "kind", "reasoning", "wrong_answer")}
        made = {"source": source_of({**fields, "origin": msgspec.structs.asdict(origin)}), "facts": seqs}
        again = self._reading.again.get(name)
        return {
            "fields": fields_of(thing),
            **made,
            "missing": len(origin.facts) - len(seqs),
            **self._life.asked.use(name),
            "again": msgspec.structs.asdict(again) if again else None,
        }

    def _index(self) -> dict[str, Any]:
        tables = [table for table in (*self._rows, "payloads") if self._count(table)]
        chunks = {table: (self._sizes.get(table, _SIZE), self._chunks(table)) for table in tables}
        return index_of(
            self._reading,
            name=self.name,
            opened=self._opened,
            stamp="" if self._whole else self.stamp,
            overview=self._tables["overview"],
            chunks=chunks,
            counts=self._rows,
        )

    def _verified(self) -> dict[str, Any]:
        """Return what `mage-es verify` says now; for a long log, it runs in another process."""
        try:
            row = verdict(self.run) if self._life.exact else (self._reading.checked or beside(self.run)).result()
        except BrokenExecutor:  # that process was killed
            row = verdict(self.run)
        return packed({name: [value] for name, value in row.items()}, 0, 0)


def _floats(values: NDArray[np.float64]) -> Made:
    def cut(first: int, end: int) -> list[Any]:
        found: list[float] = values[first:end].tolist()
        return found

    return Made(len(values), cut)


_LONGEST_BYTES = 64
"""Most bytes of a field that a payload shows; for longer ones it gives the length."""
_HERE = frozenset(
    {"embedding", "memory_id", "tool_id", "recipe_id", "origin", "iteration", "phase", "ordinal", "skill"}
)
"""Fields of something learned that the table of memories already has, or that are shown elsewhere."""


def payload_of(event: Event) -> dict[str, Any]:
    values = msgspec.structs.asdict(event)
    return values | {name: _plain(values[name]) for name in _bytes_in(type(event))}


def fields_of(thing: Any) -> list[list[str]]:
    """Return the fields of something learned, each with its name, as text."""
    values = msgspec.structs.asdict(thing)
    shown = {field: value for field, value in values.items() if field not in _HERE and value not in ("", ())}
    return [[field, _words(value)] for field, value in shown.items()]


@functools.cache
def _bytes_in(cls: type[Event]) -> list[str]:
    """Return the fields of a type that hold bytes; JSON has all others as they are."""
    return [name for name, shape in shapes_of(cls).items() if "bytes" in str(shape) or shape.kind == "vector"]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; for long bytes (a vector, a table of hashes) only their number."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= _LONGEST_BYTES else {"bytes": len(value)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return value


def _words(value: Any) -> str:
    """Return a field of something learned as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return msgspec.json.format(msgspec.json.encode(_plain(value), enc_hook=str)).decode()
