"""What each claim of a run rests on: recomputation, a head that was kept elsewhere, or someone's word.

A row's state applies to this run in this call of `verify`. Checks are found by the prefix of their names, so a new
check of a claim only has to be listed here.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

import msgspec

from mage_es.engine.auditing.theorems.log import REPAIRS, SIGNED
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.engine.verbs.summary import ExamRow
from mage_es.events.care import HeadsVerdict
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.signing.notes import LOG, Verifier
from mage_es.events.vocabulary import ExamOpened, ModelCalled, RunRegistered

Basis = Literal["recomputed", "a head you kept", "belief"]
RECOMPUTED = {
    "bytes, order, hashes, questions and gold are as recorded": ("log", "questions"),
    "each digest follows from the events": ("replay",),
    "splits are disjoint, no prompt shows a held-out text": ("splits", "leaks"),
    "exams ask a frozen state, results are sums of verdicts": ("inference", "exam "),
    "verdicts follow from the recorded replies and the gold": ("verdicts",),
    "what was learned follows from verdicts and replies": ("learned", "origins"),
    "settings are those that the log shows": ("settings",),
}
"""The checks of a claim that can be recomputed; a claim without checks must be believed."""


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, what it rests on, and a sentence on what that means for this run."""

    claim: str
    rests_on: Basis
    state: str


def grounds_of(
    checks: Sequence[Check],
    signed: HeadsVerdict,
    run: Run,
    reader: LogReader,
    *,
    exams: Sequence[ExamRow],
    vouched: int,
    known: Sequence[Verifier],
) -> tuple[Ground, ...]:
    """Return a row for each claim. `vouched` is the newest event that a head kept elsewhere vouches for (0: none),
    `known` are trusted keys."""
    proved = [_recomputed(claim, [c for c in checks if c.name.startswith(by)]) for claim, by in RECOMPUTED.items()]
    grounds = [
        *proved,
        _ground(
            "nothing was removed from the end or replaced", "a head you kept", _whole(checks, signed, vouched, known)
        ),
        _ground("gold and registration were there before the exams", "a head you kept", _before(signed, reader)),
        *(_ground(claim, "belief", state) for claim, state in _believed(signed, run, reader, exams)),
    ]
    order = ("recomputed", "a head you kept", "belief")
    return tuple(sorted(grounds, key=lambda ground: order.index(ground.rests_on)))


def _ground(claim: str, rests_on: Basis, state: str) -> Ground:
    return Ground(claim=claim, rests_on=rests_on, state=state)


def _recomputed(claim: str, mine: Sequence[Check]) -> Ground:
    if not mine:
        return _ground(claim, "belief", "nothing here recomputes it")
    failed = [check.name for check in mine if not check.ok]
    by = ", ".join([check.name for check in mine][:3]) + (", ..." if len(mine) > 3 else "")
    doubts = [f"{check.name}, {check.measured}" if check.measured else check.name for check in mine if check.doubt]
    if doubts and not failed:
        return _ground(claim, "recomputed", f"in part, with doubts: {'; '.join(doubts)}")
    return _ground(claim, "recomputed", f"NO: {', '.join(failed)}" if failed else f"yes: {by}")


def _whole(checks: Sequence[Check], signed: HeadsVerdict, vouched: int, known: Sequence[Verifier]) -> str:
    if any(not check.ok for check in checks if check.name in ("head", SIGNED)) or signed.cut:
        return f"NO: {'; '.join(signed.cut) or 'see the check of heads'}"
    if cut := next((check for check in checks if check.name == REPAIRS), None):
        return f"NO: {cut.detail}"
    by = [line for line in signed.seen if line.verifier in known]
    until = max([vouched, *(line.seq for line in by)])
    if until:
        names = ", ".join(dict.fromkeys(line.verifier.name for line in by))
        return f"yes, up to event {until}" + (f", by {names}" if names else "")
    if signed.seen:
        last = max(signed.seen, key=lambda line: line.seq)
        return f"up to event {last.seq}, if --key {last.verifier} is the one that you know from elsewhere"
    return "not shown: no head is signed; keep the one below, and give it as --head later"


def _before(signed: HeadsVerdict, reader: LogReader) -> str:
    exam = next((seq for seq, _ in reader.numbered(ExamOpened)), reader.head.seq + 1)
    early = [line for line in signed.seen if line.seq < exam]
    if not early:
        return "not shown: no head from before the first exam is signed"
    first = min(early, key=lambda line: line.seq)
    seen = min((line.at for line in early if line.at), default=0)
    return f"if you kept the head after event {first.seq}" + (f"; a witness saw it {_moment(seen)}" if seen else "")


def _believed(signed: HeadsVerdict, run: Run, reader: LogReader, exams: Sequence[ExamRow]) -> Iterator[tuple[str, str]]:
    calls, recalled = Counter[str](), sum(row.recalled or 0 for row in exams)
    for part in (run, *run.exams(), run.reasked):
        with suppress(LogError):  # the check of an exam, or of what was asked again, says so
            if not part.events:
                continue
            events = LogReader(part.log_path).events({ModelCalled: ("model",)})
            calls += Counter(event.model for _, event in events if isinstance(event, ModelCalled))
    asked = ", ".join(f"{count} calls of {model}" for model, count in sorted(calls.items())) or "no call in these logs"
    without = f"; {recalled} answers of exams are of no model: they were recalled from the nearest cases"
    yield "the models really gave these replies", f"{asked}{without if recalled else ''}"
    seen = [line for line in signed.seen if line.verifier.kind != LOG]
    witnessed = (f"event {line.seq} seen {_moment(line.at)} by {line.verifier.name}" for line in seen[-2:])
    yield "times are true", "; ".join(witnessed) or "this machine's clock alone"
    seeds = [seed for event in reader.of(RunRegistered) for seed in event.seeds]
    detail = f"seeds {', '.join(map(str, seeds))} were registered" if seeds else "nothing was registered"
    yield "no other runs were made and thrown away", detail


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
