"""The logs of a run, read once for all tables of its page."""

import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from typing import Any

from mage_es.engine.run.anchors import unmeasured
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.exams import ExamRecord, exam_records, learner_of
from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.card import gain_of, pair_of
from mage_es.engine.viewing.life import EXACT, HEADERS, Life, lives
from mage_es.engine.viewing.verdict import beside
from mage_es.engine.worth.worth import PairedEffect, effects
from mage_es.events.care import repair_log
from mage_es.events.errors import LogDamaged, LogError, MageError, PrerequisiteError, UnknownEvent
from mage_es.events.log import LogReader
from mage_es.events.segments import Batches
from mage_es.events.vocabulary import QuestionText, Record


class RunReading:
    """The `life` of a run with its `exams`, the `texts` of its questions, and the `times` of its first and last event,
    in microseconds since 1970. `problem` says what could not be read, "" if all was. `reader` is None if nothing was;
    `checked` is what `verify` will say, if that was started alongside. `Viewed` says what the arguments are."""

    def __init__(
        self, run: Run, *, opened: bool, whole: bool, prices: Prices, tell: Callable[[float], None] | None
    ) -> None:
        self.run = run
        self._opened, self._whole, self._prices = opened, whole, prices
        self.reader: LogReader | None = None
        self.life, self.problem, self.times = Life(), "", [0]
        self.exams: list[ExamRecord] = []
        self.texts: dict[str, QuestionText] = {}
        self.checked: Future[dict[str, Any]] | None = None
        try:
            if run.events:
                self._read(_openable(LogReader(run.log_path, opened=opened)), tell)
        except LogDamaged as error:
            whole_seq = self._read_prefix(tell)
            shown = f"Events 1 to {whole_seq} are whole, and shown here" if whole_seq else "Nothing of it is whole"
            self.problem = f"{error} {shown}."
        except (LogError, PrerequisiteError, OSError) as error:
            self.problem = str(error)
        self.again = self._asked_again()

    def _read_prefix(self, tell: Callable[[float], None] | None) -> int:
        """Read the part of a damaged log that is whole, from a copy cut as by `verify --repair`, and return its last
        event."""
        folder = tempfile.mkdtemp(prefix="mage-es-view-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        log = Path(folder) / "log"
        try:
            shutil.copytree(self.run.log_path, log)
            if whole_seq := repair_log(log, clock=clock).whole_seq:
                self._read(LogReader(log, opened=self._opened), tell, until=whole_seq)
                return whole_seq
        except (MageError, OSError):  # without FORMAT, for example, nothing can be distinguished
            self.life, self.reader, self.times = Life(), None, [0]
        return 0

    def _read(self, reader: LogReader, tell: Callable[[float], None] | None, *, until: int = 0) -> None:
        last = until or reader.head.seq
        self.reader, self.windows = reader, Windows(reader, whole=self._whole)
        if self._whole and last > EXACT:
            self.checked = beside(self.run)
        older = unmeasured(reader, until=last)
        self.life = life = Life(exact=last <= EXACT, prices=self._prices, run=reader.run, older=older)

        def stretches() -> Iterator[Batches]:
            for batches in reader.batches(life.reads, until=last, headers=HEADERS):
                yield batches
                if tell:
                    tell(life.seq / last)

        try:
            lives(stretches(), life)
        except UnknownEvent as error:  # what came before it is shown
            self.problem = str(error)
        self.times = [record.ts_us for seq in (1, life.seq) for record in reader.records(since=seq, until=seq)]
        self._read_exams(reader)
        try:
            self.texts = {question.id: question for question in reader.questions()[0]}
            life.asked.name_questions(self.texts.values())
        except LogDamaged as error:  # only the texts are lost
            self.problem = str(error)

    def _read_exams(self, reader: LogReader) -> None:
        """Take in the exams' own logs and, once all are there, the gain that was known when each exam closed."""
        asked, counted = self.life.asked, self.life.counted
        self.exams = [record for record in exam_records(reader) if record.opened.exam in asked.exam_rows]
        for exam in self.exams:
            name = exam.opened.exam
            try:
                ledger = asked.take_exam(name, _openable(exam.log(self.run)))
            except (LogError, OSError) as error:
                asked.lose_exam(name, str(error))
                continue
            counted.book(asked, name, ledger)
        asked.join()
        whole, learner, exams = list[ExamRecord](), learner_of(reader), asked.exams.columns
        rows = {asked.exam_rows[exam.opened.exam]: exam for exam in self.exams if exam.closed}
        for row in sorted(rows, key=exams["closed"].__getitem__):
            if not exams["problem"][row]:
                whole.append(rows[row])
            pair = pair_of(whole, learner)
            verdicts = [asked.verdicts(name, is_start=not place) for place, name in enumerate(pair or ())]
            gain = gain_of(pair[0], verdicts[0], pair[1], verdicts[1]) if pair else None
            counted.examine(asked, exams["exam"][row], gain)

    def _asked_again(self) -> dict[str, PairedEffect]:
        """Return the pairs that `mage-es effect` has recorded for each memory, by its id."""
        try:
            if not self.problem and self.run.reasked.events:
                return {name: row.paired for name, row in effects(self.run).items() if row.paired and row.paired.pairs}
        except LogDamaged as error:  # of these pairs alone
            self.problem = str(error)
        return {}


def _openable(reader: LogReader) -> LogReader:
    """Return the reader. Raises `KeysUnusable` if its keys do not open a text of a subject: the index reads only a few
    of these, and half a page cannot be shown."""
    if reader.keys:
        deque(reader.records(), maxlen=0)
    return reader


NEAR = 40_000
"""The most events that a pass goes back or skips before it starts again instead; a phase has fewer."""


class Windows:
    """`whole`: ranges are asked for one after another, from the first event to the last, as an export does.

    Reading a few events of a segment costs nearly as much as reading all, so a pass reads each segment once and keeps
    the last ones.
    """

    def __init__(self, reader: LogReader, *, whole: bool) -> None:
        self.reader, self._whole = reader, whole
        self._held: list[Record] = []
        self._rest: Iterator[Record] = iter(())

    def records(self, first: int, last: int) -> Sequence[Record]:
        """Return the events from `first` to `last`, both included. Raises what `LogReader.records` raises."""
        if not self._whole:
            return list(self.reader.records(since=first, until=last))
        if not self._held or not self._held[0].seq <= first <= self._held[-1].seq + NEAR:
            self._held, self._rest = [], self.reader.records(since=first)
        begin = self._held[0].seq if self._held else first
        self._held.extend(islice(self._rest, max(0, last + 1 - begin - len(self._held))))
        found = self._held[first - begin : last + 1 - begin]
        if len(self._held) > 2 * NEAR:
            del self._held[:-NEAR]
        return found
