"""What is odd but may be honest: different replies to the same request, repeated reply ids, time that runs backwards.
From the logs alone. Each leaves a doubt and breaks nothing: a served model is not strictly a function of its prompt,
and clocks get set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.seams.check import Check
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled, Record

NAME = "oddities"
BOUND = "0 odd"
_SET_BACK_US = 2_000_000
"""How far a clock may be set back."""


def check_oddities(run: Run, reader: LogReader) -> Check:
    """Return what is odd in a run and its exams, with the first place of each kind."""
    logs = [("the run", reader)]
    for exam in exam_records(reader):
        with suppress(LogError):  # `check_inference` says what is wrong with it
            logs.append((f"exam {exam.opened.exam}", exam.log(run)))
    replies, ids = _Replies(), _Ids()
    set_back = list[str]()
    for where, log in logs:
        latest = 0
        for record in log.records():
            if record.ts_us < latest - _SET_BACK_US:
                set_back.append(f"{where}, event {record.seq}")
            latest = max(latest, record.ts_us)
            if isinstance(record.event, ModelCalled):
                replies.add(where, record, record.event)
                ids.add(where, record, record.event)
    kinds = {
        "requests got another reply in another exam": list(replies.differing()),
        "ids of replies repeat": ids.repeated,
        "replies have no id, where their model gives some": list(ids.missing()),
        "events are earlier than one before them": set_back,
    }
    told = [f"{len(found)} {what} (first {found[0]})" for what, found in kinds.items() if found]
    detail = "; ".join(told) or "each request has one reply, each reply its own id, and time runs on"
    measured = f"{sum(map(len, kinds.values()))} odd"
    return Check(name=NAME, ok=True, detail=detail, measured=measured, bound=BOUND, doubt=bool(told))


class _Replies:
    """The learner's replies to each request of an exam; the same request shows the same content of the same state."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)

    def add(self, where: str, record: Record, call: ModelCalled) -> None:
        if call.tier == "execution" and record.phase == "exam":
            self._texts[call.model, call.about, call.request_sha256].setdefault(call.text, f"{where}, {call.about}")

    def differing(self) -> Iterator[str]:
        yield from (list(texts.values())[-1] for texts in self._texts.values() if len(texts) > 1)


class _Ids:
    """The ids that providers gave to replies; a repeated id of the same request may come from another run's record."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._requests: dict[tuple[str, str], str] = {}
        self._without: dict[str, list[str]] = defaultdict(list)
        self._giving: set[str] = set()

    def add(self, where: str, record: Record, call: ModelCalled) -> None:
        place = f"{where}, event {record.seq}"
        if not call.provider_id:
            self._without[call.model].append(place)
            return
        self._giving.add(call.model)
        if self._requests.setdefault((call.model, call.provider_id), call.request_sha256) != call.request_sha256:
            self.repeated.append(place)

    def missing(self) -> Iterator[str]:
        for model in sorted(self._giving):
            yield from self._without[model]
