"""The verb `verify`: everything that a run claims about itself, checked from its log."""

from __future__ import annotations

from collections.abc import Iterator

from mage_es.engine.recheck import recheck
from mage_es.engine.reports import Check, VerifyReport
from mage_es.engine.rules.normalise import normalise, question_hash
from mage_es.engine.runs import Run
from mage_es.events.chains import HeadSearch
from mage_es.events.documents import Head
from mage_es.events.reader import LogReader
from mage_es.events.verify import Finding, LogVerdict, verify_log
from mage_es.events.vocabulary import (
    ExamClosed,
    ExamStarted,
    MemoryAppended,
    ModelCalled,
    QuestionPlanned,
    SplitCommitted,
)
from mage_es.projections.fold import fold


def verify(run: Run, *, head: str | None = None) -> VerifyReport:
    """Check hashes and chain, every iteration's digests, the splits, leaks, and that exams were frozen.

    With a `head` printed earlier (64 hexadecimal digits, or at least the first 16), also that the log is still the one
    that had it. Where the log itself is damaged nothing else can be said, so nothing else is checked.

    Raises:
        UsageError: That is no head.
    """
    verdict = verify_log(run.log_path, head=head)
    problems = _problems(verdict)
    checks = [Check(name="log", ok=not problems, detail=problems or f"{verdict.files} files, hashes and chain agree")]
    if verdict.search:
        checks.append(_head(verdict.search, verdict.head))
    if not problems:
        reader = LogReader(run.log_path)
        checks += [_digests(run, reader), _splits(reader), _leaks(reader), *_exams(run, reader)]
    return VerifyReport(run_id=run.id, head=verdict.head.chain, checks=tuple(checks))


def _problems(verdict: LogVerdict) -> str:
    return "; ".join(f"{finding.file}{_affected(finding)}: {finding.problem}" for finding in verdict.findings)


def _affected(finding: Finding) -> str:
    if not finding.first:
        return ""
    return f", events {finding.first}-{finding.last}" if finding.last else f", events from {finding.first} on"


def _head(search: HeadSearch, present: Head) -> Check:
    """The log has, or once had, the head that was given."""
    found, untold = search.found, search.untold
    if found == present:
        return Check(name="head", ok=True, detail=f"the present head, after event {present.seq}")
    if found is not None:
        detail = f"the head after event {found.seq}; events {found.seq + 1} to {present.seq} were appended since"
        return Check(name="head", ok=True, detail=detail)
    detail = f"no head of this log up to event {present.seq}: it was replaced or cut, or the head is another log's"
    if untold:
        ranges = ", ".join(f"{span.first} to {span.last}" for span in untold)
        detail = (
            f"none of the heads that can be told; events {ranges} do not give the chain value recorded after them: "
            "they were recorded by another release (verify with that one), or replaced"
        )
    return Check(name="head", ok=False, detail=detail)


def _digests(run: Run, reader: LogReader) -> Check:
    """Every iteration folded again has the digests that were recorded when it was closed."""
    checks = recheck(reader, run.snapshots_path)
    last = checks[-1] if checks else None
    if last and not last.equal:
        found = f"recorded {last.recorded}, folded {last.rebuilt}" + (f"; {last.field}" if last.field else "")
        detail = f"{last.projection} differs at iter-{last.iteration}: {found}"
        return Check(name="replay", ok=False, detail=detail)
    return Check(name="replay", ok=True, detail=f"{len(checks)} closed iterations fold to their recorded digests")


def _splits(reader: LogReader) -> Check:
    """The three committed splits share no question."""
    splits = _committed(reader)
    sizes = ", ".join(f"{name} {len(hashes)}" for name, hashes in splits.items())
    shared = [
        f"{one} and {other} share {len(splits[one] & splits[other])}"
        for one in splits
        for other in splits
        if one < other and splits[one] & splits[other]
    ]
    return Check(name="splits", ok=not shared, detail="; ".join(shared) or f"disjoint: {sizes}")


def _leaks(reader: LogReader) -> Check:
    """No memory is about a question outside the evolution split."""
    splits, checked = _committed(reader), 0
    forbidden = {value: name for name, hashes in splits.items() if name != "evolution" for value in hashes}
    for record in reader.records({MemoryAppended}):
        if isinstance(record.event, MemoryAppended) and record.event.question:
            value = question_hash(normalise(record.event.question))
            if value in forbidden:
                detail = f"memory {record.event.memory_id} (event {record.seq}) holds a question of {forbidden[value]}"
                return Check(name="leaks", ok=False, detail=detail)
            if value not in splits.get("evolution", set()):
                detail = f"memory {record.event.memory_id} (event {record.seq}) holds a question of no split"
                return Check(name="leaks", ok=False, detail=detail)
            checked += 1
    return Check(name="leaks", ok=True, detail=f"{checked} memories with a question, all of the evolution split")


def _exams(run: Run, reader: LogReader) -> Iterator[Check]:
    """Every exam asked held-out questions only, of the state that it names, without a guidance call."""
    for path in sorted(run.exams_path.glob("*/log")):
        problems = _problems(verify_log(path))
        if problems:
            yield Check(name=f"exam {path.parent.name}", ok=False, detail=problems)
        else:
            yield _exam(path.parent.name, LogReader(path), reader)


def _exam(name: str, exam: LogReader, reader: LogReader) -> Check:
    events = [record.event for record in exam.records({ExamStarted, ExamClosed, ModelCalled, QuestionPlanned})]
    started = next((event for event in events if isinstance(event, ExamStarted)), None)
    guidance = sum(isinstance(event, ModelCalled) and event.tier == "guidance" for event in events)
    label = f"exam {name}"
    if started is None:
        return Check(name=label, ok=True, detail="never began: its log has no event, and its folder may be deleted")
    if guidance:
        return Check(name=label, ok=False, detail=f"{guidance} guidance calls at inference")
    learned = _evolving(reader)
    asked = sorted(event.question_id for event in events if isinstance(event, QuestionPlanned))
    if seen := next((question for question in asked if question in learned), None):
        return Check(name=label, ok=False, detail=f"{seen} was asked in evolution too")
    if wrong := fold(reader, until=started.head_seq).differing(started.digests):
        detail = f"{', '.join(wrong)} not as the log has it at event {started.head_seq}"
        return Check(name=label, ok=False, detail=detail)
    judge = sum(isinstance(event, ModelCalled) and event.tier == "judge" for event in events)
    ending = "" if any(isinstance(event, ExamClosed) for event in events) else "unfinished: "
    detail = f"{ending}{len(asked)} unseen questions, frozen at event {started.head_seq}, 0 guidance calls"
    detail += f", {judge} judge calls" if judge else ""
    return Check(name=label, ok=True, detail=detail)


def _evolving(reader: LogReader) -> set[str]:
    """Return the questions that the run itself asked, in any iteration and for any purpose."""
    events = [record.event for record in reader.records({QuestionPlanned})]
    return {event.question_id for event in events if isinstance(event, QuestionPlanned)}


def _committed(reader: LogReader) -> dict[str, set[str]]:
    events = [record.event for record in reader.records({SplitCommitted})]
    return {event.split: set(event.question_hashes) for event in events if isinstance(event, SplitCommitted)}
