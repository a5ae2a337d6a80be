"""A run as named chunks: its index, and pieces of its tables, each made on request."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import shlex
import shutil
import tempfile
import threading
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mage_es import __version__
from mage_es.engine.config import Config, parse
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.exams import ExamRecord, exam_records, learner_of
from mage_es.engine.run.inheriting import inheritance, is_merged
from mage_es.engine.run.memories import others_of
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import baseline_of
from mage_es.engine.run.worth import PairedEffect, effects
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.viewing.answers import Rendered
from mage_es.engine.viewing.card import card_of, gain_of, pair_of
from mage_es.engine.viewing.columns import Made, Numbers
from mage_es.engine.viewing.life import EXACT, HEADERS, Life, lives
from mage_es.engine.viewing.positions import positions
from mage_es.engine.viewing.tables import columns_of, hashed, packed, picked
from mage_es.engine.viewing.verdict import beside, verdict
from mage_es.engine.viewing.windows import Windows
from mage_es.events import vocabulary as v
from mage_es.events.care import repair_log
from mage_es.events.errors import LogDamaged, LogError, MageError, PrerequisiteError, UnknownEvent
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.log import LogReader
from mage_es.events.segments import Batches, Reads
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
_LONGEST_BYTES = 64
"""Most bytes of a field that a payload shows; for longer ones it gives the length."""
_NUMBER = re.compile(r"[0-9]{1,12}")
"""The number of a chunk. No run has more, and Python does not read a number of more than 4,300 digits."""
_HEADER = ("iteration", "phase", "ts_us", "causation", "correlation", "ordinal", "commit")
_MARKER = ("seq", "iteration", "phase")
_BASELINES = (
    *("benchmark", "seed", "held_out", "anchors", "execution", "judge", "search", "search_passages", "max_tokens"),
    *("embedder", "teacher_sees", "answer_temperature", "task_types", "episode_steps", "episode_history"),
)
"""The settings that apply to a baseline."""
_HERE = frozenset(
    {"embedding", "memory_id", "tool_id", "recipe_id", "origin", "iteration", "phase", "ordinal", "skill"}
)
"""Fields of something learned that the table of memories already has, or that are shown elsewhere."""


def script(name: str, data: Any) -> bytes:
    """Return the file of a chunk: one call, which works from any address, also `file://`."""
    # gzip without a time, so that equal data are equal bytes.
    press = zlib.compressobj(_LEVEL, wbits=31)
    pressed = press.compress(msgspec.json.encode(data, enc_hook=str)) + press.flush()
    return b"mage(%s,%s)\n" % (msgspec.json.encode(name), msgspec.json.encode(base64.b64encode(pressed).decode()))


class Viewed:
    """What a page can ask about a run as it was when this object was made, which reads the whole log. `opened`:
    subjects' texts are decrypted if their keys are here; `whole`: every chunk will be asked for, in the order of
    `names`; `tell` is called meanwhile with the share of the log read so far. Any number of threads may ask."""

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
        self._reader: LogReader | None = None
        self._life, self._problem, self._times = Life(), "", [0]
        self._exams: list[ExamRecord] = []
        self._known: dict[str, v.QuestionText] = {}
        self._answers: Rendered | None = None
        self._checked: Future[dict[str, Any]] | None = None
        try:
            if run.events:
                self._live(_openable(LogReader(run.log_path, opened=opened)), tell)
        except LogDamaged as error:
            whole_seq = self._live_prefix(tell)
            shown = f"Events 1 to {whole_seq} are whole, and shown here" if whole_seq else "Nothing of it is whole"
            self._problem = f"{error} {shown}."
        except (LogError, PrerequisiteError, OSError) as error:
            self._problem = str(error)
        self._again = self._asked_again()
        self.stamp = self._stamp()
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

    def _live_prefix(self, tell: Callable[[float], None] | None) -> int:
        """Read what is whole of a damaged log, and return its last event: a copy, cut as `verify --repair` cuts it."""
        folder = tempfile.mkdtemp(prefix="mage-es-view-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        log = Path(folder) / "log"
        try:
            shutil.copytree(self.run.log_path, log)
            if whole_seq := repair_log(log, clock=clock).whole_seq:
                self._live(LogReader(log, opened=self._opened), tell, until=whole_seq)
                return whole_seq
        except (MageError, OSError):  # without FORMAT, for example, nothing can be distinguished
            self._life, self._reader, self._times = Life(), None, [0]
        return 0

    def _live(self, reader: LogReader, tell: Callable[[float], None] | None, *, until: int = 0) -> None:
        last = until or reader.head.seq
        self._reader, self._windows = reader, Windows(reader, whole=self._whole)
        if self._whole and last > EXACT:
            self._checked = beside(self.run)
        self._life = life = Life(exact=last <= EXACT, prices=self._prices, run=reader.run)

        def told() -> Iterator[Batches]:
            for batches in reader.batches(life.reads, until=last, headers=HEADERS):
                yield batches
                if tell:
                    tell(life.seq / last)

        try:
            lives(told(), life)
        except UnknownEvent as error:  # what came before it is shown
            self._problem = str(error)
        self._times = [record.ts_us for seq in (1, life.seq) for record in reader.records(since=seq, until=seq)]
        learner = learner_of(reader)
        self._exams = [record for record in exam_records(reader) if record.opened.exam in life.asked.exam_rows]
        for exam in self._exams:
            opened = exam.opened
            try:
                ledger = life.asked.take_exam(opened.exam, _openable(exam.log(self.run)))
            except (LogError, OSError) as error:
                life.asked.lose_exam(opened.exam, str(error))
                continue
            life.counted.book(life.asked, opened.exam, ledger)
        life.asked.join()
        closed, columns = list[ExamRecord](), life.asked.exams.columns
        ends = {name: seq for name, seq in zip(columns["exam"], columns["closed"], strict=True) if seq}
        for exam in sorted((exam for exam in self._exams if exam.closed), key=lambda each: ends[each.opened.exam]):
            if not columns["problem"][life.asked.exam_rows[exam.opened.exam]]:
                closed.append(exam)
            pair = pair_of(closed, learner)
            verdicts = [life.asked.verdicts(name) for name in pair or ()]
            gain = gain_of(pair[0], verdicts[0], pair[1], verdicts[1]) if pair else None
            life.counted.examine(life.asked, exam.opened.exam, gain)
        try:
            self._known = {question.id: question for question in reader.questions()[0]}
            life.asked.name_questions(self._known.values())
        except LogDamaged as error:  # of the texts only
            self._problem = str(error)

    def _asked_again(self) -> dict[str, PairedEffect]:
        """Return the pairs that `mage-es effect` has recorded of each memory, by its id."""
        try:
            if not self._problem and self.run.reasked.events:
                return {name: row.paired for name, row in effects(self.run).items() if row.paired and row.paired.pairs}
        except LogDamaged as error:  # of these pairs alone
            self._problem = str(error)
        return {}

    @property
    def is_behind(self) -> bool:
        """Whether the run has changed since this object was made."""
        return self._stamp() != self.stamp

    @property
    def is_private(self) -> bool:
        """Whether subjects' texts are shown, which must not be kept unencrypted anywhere."""
        return self._reader is not None and self._reader.keys is not None

    def _stamp(self) -> str:
        """Return what identifies the content of a run's log, and of its exams under way."""
        heads: list[object] = [__version__, self._opened, self._whole]
        try:
            heads += [LogReader(self.run.log_path).head] if self.run.events else []
            closed = {exam.opened.exam for exam in self._exams if exam.closed}
            heads += [exam.events for exam in self.run.exams() if exam.path.name not in closed]
            heads += [self.run.reasked.events]
        except (MageError, OSError) as error:
            heads.append(str(error))
        return hashlib.sha256(repr(heads).encode()).hexdigest()[:16]

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
            if self._answers is None:
                where = {"data_dir": self._data_dir, "benchmark": self._benchmark}
                self._answers = Rendered(self.run, self._windows, self._exams, **where)  # type: ignore[arg-type]
            found = self._answers.rows(self._life, first, last)
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
    def _places(self) -> NDArray[np.integer[Any]]:
        """The chunk of `asked` that each question is in."""
        return np.fromiter(map(hashed, self._life.asked.rows), np.int64) % max(1, self._chunks("asked"))

    def _events(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        records = self._windows.records(first + 1, last + 1)
        return {
            "type": [self._types[v.tag_of(record.event)] for record in records],
            "subject": [record.event.subject for record in records],
            **{name: list(map(attrgetter(name), records)) for name in _HEADER},
            "caused": self._life.caused(first + 1, last + 1),
        }

    def _payloads(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        return {"payload": [_payload(r.event) for r in self._windows.records(first + 1, last + 1)]}

    def _exchanges(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        columns = {name: values[first : last + 1] for name, values in self._life.inferences.columns.items()}
        since, until = columns["from"][0], max((columns["from"][-1], *filter(None, columns["closed"])))
        assert self._reader
        said = dict[str, dict[str, str]]()
        for record in self._reader.records({v.InferenceOpened, v.InferenceClosed}, since=since, until=until):
            event = record.event
            if isinstance(event, v.InferenceOpened | v.InferenceClosed):
                name = "question" if isinstance(event, v.InferenceOpened) else "reply"
                said.setdefault(event.inference, {})[name] = getattr(event, name)
        kept = [said.get(inference, {}) for inference in columns["inference"]]
        return {name: [each.get(name) or None for each in kept] for name in ("question", "reply")}

    def _wordings(self, first: int, last: int) -> Mapping[str, Sequence[Any]]:
        names = self._life.asked.questions.columns["id"][first : last + 1]
        known = [self._known.get(name) for name in names]
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
        values = msgspec.structs.asdict(thing)
        shown = {field: value for field, value in values.items() if field not in _HERE and value not in ("", ())}
        fields = [[field, _words(value)] for field, value in shown.items()]
        made = {"writer": origin.writer, "saw": origin.saw, "given_by": origin.by, "facts": seqs}
        again = self._again.get(name)
        return {
            "fields": fields,
            **made,
            "missing": len(origin.facts) - len(seqs),
            **self._life.asked.use(name),
            "again": msgspec.structs.asdict(again) if again else None,
        }

    def _verified(self) -> dict[str, Any]:
        """Return what `mage-es verify` says now; for a long log, it runs in another process."""
        is_long = self._rows["events"] > EXACT
        try:
            row = (self._checked or beside(self.run)).result() if is_long else verdict(self.run)
        except BrokenExecutor:  # that process was killed
            row = verdict(self.run)
        return packed({name: [value] for name, value in row.items()}, 0, 0)

    # The index

    def _index(self) -> dict[str, Any]:
        life, reader = self._life, self._reader
        started = next(iter(reader.of(v.RunStarted, until=1)), None) if reader and life.seq else None
        config = parse(started.config) if started else None
        finished = life.state.progress.finished
        state = "damaged" if self._problem else "finished" if finished else "unfinished" if life.seq else "empty"
        begun = inheritance(reader) if reader and life.seq else None
        tables = [table for table in (*self._rows, "payloads") if self._count(table)]
        markers = columns_of(life.markers)
        return {
            "run": self.name,
            "path": str(self.run.path) if self._opened else self.run.path.name,
            "named": shlex.quote(str(self.run.path.absolute()) if self._opened else self.run.path.name),
            "kind": self._kind(started, begun),
            "state": state,
            "problem": self._problem or ("" if life.seq else "It ended before its first event."),
            "benchmark": started.benchmark if started else "",
            "measure": "score" if life.asked.episodes else "accuracy",
            "config": msgspec.to_builtins(config) if config else {},
            "models": {
                "execution": started.execution_model if started else "",
                "guidance": started.guidance_model if started else "",
                "judge": config.judge if config else "",
                "embedder": started.embedder if started else "",
            },
            "last": life.seq,
            "head": "" if self._problem or reader is None else reader.head.chain,
            "stamp": "" if self._whole else self.stamp,
            "began_us": self._times[0],
            "ended_us": self._times[-1],
            "parent": self._parent(begun) if begun else None,
            "command": self._command(config) if config else "",
            "exact": life.exact,
            "markers": packed({name: markers.get(name, []) for name in _MARKER}, 0, len(life.markers) - 1),
            "anchors": self._anchors(),
            "marks": life.marks,
            "types": list(self._types),
            "chunks": {table: [self._sizes.get(table, _SIZE), self._chunks(table)] for table in tables},
            "copy": self._whole,
            "counts": self._rows,
            "version": __version__,
        }

    def _anchors(self) -> list[tuple[int, float]]:
        """Return the share of anchors that were right, with each event at which it changed."""
        names = ("from", "anchor_correct", "anchor_total")
        rows = zip(*(self._tables["overview"][name] for name in names), strict=True)
        shares = ((seq, round(correct / total, 4)) for seq, correct, total in rows if total)
        return [next(same) for _, same in groupby(shares, itemgetter(1))]

    def _parent(self, begun: v.RunInherited) -> str:
        return begun.parent if is_merged(begun) else f"iter-{begun.iteration} of {begun.parent}"

    def _kind(self, started: v.RunStarted | None, begun: v.RunInherited | None) -> str:
        if self._reader and started and baseline_of(self._reader):
            return "baseline"
        if begun and begun.is_served:
            return "served"
        return "episodes" if self._life.asked.episodes else "questions"

    def _command(self, config: Config) -> str:
        """Return the command that starts the same run, with every setting that is not at its default."""
        usual, words, names = Config(benchmark=config.benchmark), ["evolve", config.benchmark], Config.__struct_fields__
        if self._reader and (begun := baseline_of(self._reader)):
            words, names = ["baseline", begun.baseline, config.benchmark], _BASELINES
        if self._reader and (parent := inheritance(self._reader)):
            runs = str(self.run.path.parent.absolute())
            where = ["--runs-dir", runs] if self._opened else []
            if is_merged(parent):
                merged = (f"{mark.parent}@iter-{mark.iteration}" for mark in self._reader.of(v.RunMerged))
                return shlex.join(["mage-es", "merge", *merged, "--name", self.name, *where])
            marker = "start" if parent.iteration < 0 else f"iter-{parent.iteration}"
            words = ["evolve", "--from", parent.parent, "--at", marker, *where]
            if parent.is_served:
                return shlex.join(["mage-es", "serve", parent.parent, *where])
        for name in names[1:]:
            value, flag = getattr(config, name), name.replace("_", "-")
            if value != getattr(usual, name):
                is_switch = isinstance(value, bool)
                words += [f"--{flag}" if value else f"--no-{flag}"] if is_switch else [f"--{flag}", str(value)]
        return shlex.join(["mage-es", *words])


def _floats(values: NDArray[np.float64]) -> Made:
    def cut(first: int, end: int) -> list[Any]:
        found: list[float] = values[first:end].tolist()
        return found

    return Made(len(values), cut)


def _payload(event: v.Event) -> dict[str, Any]:
    values = msgspec.structs.asdict(event)
    return values | {name: _plain(values[name]) for name in _bytes_in(type(event))}


@functools.cache
def _bytes_in(cls: type[v.Event]) -> list[str]:
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


def _openable(reader: LogReader) -> LogReader:
    """Return the reader. Raises `KeysUnusable` if its keys do not open a text of a subject: the index reads few of
    these, and a page cannot be half made."""
    if reader.keys:
        deque(reader.records(), maxlen=0)
    return reader
