"""Requests: for each call of the log, of its exams and of what was asked again, the whole request is on record and has
the call's hash.

From the log alone, whatever this program's templates say: its texts, joined, are what was hashed. Requests of a subject
whose key is missing cannot be read; they are counted.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from types import MappingProxyType

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.pieces import together
from mage_es.events.errors import LogError, counted
from mage_es.events.facts.private import is_erased
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import CallFailed, ModelCalled, Sent

NAME = "requests"
BOUND = "all have their hash"
_FIELDS = ("tier", "about", "request_sha256", "sent")
_READ: Reads = {ModelCalled: _FIELDS, CallFailed: _FIELDS}


class _Sending:
    """What the calls of one log have sent so far; an exam's log also knows the texts of its run."""

    def __init__(self, known: Mapping[int, str] = MappingProxyType({})) -> None:
        self.calls = self.erased = 0
        self.texts, self.places = {**known}, dict[int, int]()

    def before(self, seq: int) -> dict[int, str]:
        return {number: self.texts[number] for number, place in self.places.items() if place <= seq}

    def problem_of(self, seq: int, event: ModelCalled | CallFailed) -> str:
        if event.tier == "embedder":
            return ""
        self.calls += 1
        for number, text in enumerate(event.sent.texts, start=event.sent.first):
            if number in self.texts or number < 1:
                return f"the call about {event.about} gives the number {number} to another text"
            self.texts[number], self.places[number] = text, seq
        if not event.sent.parts:
            return f"the request of the call about {event.about} is not on record"
        if unknown := [number for number in event.sent.parts if number not in self.texts]:
            return f"the call about {event.about} sent the text {unknown[0]}, which the log does not have before it"
        if is_erased(event.request_sha256) or any(is_erased(self.texts[number]) for number in event.sent.parts):
            self.erased += 1
            return ""
        if self._hash(event.sent) != event.request_sha256:
            return f"what was sent in the call about {event.about} does not have the hash of its request"
        return ""

    def _hash(self, sent: Sent) -> str:
        try:
            return together([self.texts[number] for number in sent.parts], sent.begins).sha256
        except (TypeError, ValueError):
            return ""


def check_requests(run: Run, reader: LogReader) -> Check:
    """Return whether the request of every call is on record, byte for byte.

    [beyond the paper, requests] What was sent is in the log, each text once, and the hash in the call's key is that of
    its texts.
    """
    own = _Sending()
    calls = erased = texts = 0
    for where, log, sending in chain([("", reader, own)], _exams(run, reader, own), _reasked(run)):
        try:
            for seq, event in log.events(_READ):
                assert isinstance(event, ModelCalled | CallFailed)
                if problem := sending.problem_of(seq, event):
                    measured = "1 without its hash"
                    return Check(name=NAME, ok=False, detail=where + problem, measured=measured, bound=BOUND, seq=seq)
        except LogError:
            if log is reader:
                raise
            continue  # the check of an exam, or of what was asked again, says so
        calls, erased, texts = calls + sending.calls, erased + sending.erased, texts + len(sending.places)
    detail = f"{counted(calls, 'call')}, sent as {counted(texts, 'different text')}"
    detail += f"; {erased} cannot be read here, for a subject's key is missing" if erased else ""
    return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


def _exams(run: Run, reader: LogReader, own: _Sending) -> Iterator[tuple[str, LogReader, _Sending]]:
    for record in exam_records(reader):
        try:
            if record.is_there(run):
                yield f"exam {record.opened.exam}: ", record.log(run), _Sending(own.before(record.opened.head_seq))
        except LogError:
            continue  # if it is damaged, the exam's check says so


def _reasked(run: Run) -> Iterator[tuple[str, LogReader, _Sending]]:
    if run.reasked in run.parts():
        with suppress(LogError):  # for a damaged one its own check says so
            yield "asked again: ", LogReader(run.reasked.log_path), _Sending()
