"""The log itself: files and hashes, the chain, whether it contains a known head; and the files beside it: questions and
the keys of subjects."""

from collections.abc import Iterator

from mage_es.engine.seams.check import Check
from mage_es.events.care import Finding, HeadSearch, HeadsVerdict, LogVerdict, QuestionsVerdict
from mage_es.events.disk import Head
from mage_es.events.facts import LogRepaired
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import KeyDestroyed


def check_log(verdict: LogVerdict) -> Check:
    problems = problems_of(verdict)
    first = min((finding.first for finding in verdict.findings if finding.first), default=0)
    note = f"; {verdict.note}; opening the log moves it to quarantine" if verdict.note else ""
    detail = problems or f"{verdict.files} files, hashes and chain agree{note}"
    return Check(
        name="log",
        ok=not problems,
        detail=detail,
        measured=f"{verdict.head.seq} events",
        bound="all agree",
        seq=first,
        damaged=bool(problems),
    )


def problems_of(verdict: LogVerdict) -> str:
    return "; ".join(f"{finding.file}{_affected(finding)}: {finding.problem}" for finding in verdict.findings)


def check_head(search: HeadSearch, present: Head) -> Check:
    found, untold = search.found, search.untold
    if found == present:
        return Check(name="head", ok=True, detail=f"the present head, after event {present.seq}")
    if found is not None:
        detail = f"the head after event {found.seq}; events {found.seq + 1} to {present.seq} were appended since"
        return Check(name="head", ok=True, detail=detail)
    detail = f"not a head of this log up to event {present.seq}: the log was replaced or cut, or this is another log's"
    if untold:
        ranges = ", ".join(f"{span.first} to {span.last}" for span in untold)
        detail = (
            f"none of the heads that can be computed; events {ranges} do not give the chain value recorded after them: "
            "they were recorded by another release (verify with that one), or replaced"
        )
    return Check(name="head", ok=False, detail=detail)


SIGNED = "signed heads"


def check_signed(verdict: HeadsVerdict) -> Check:
    signed = sorted({line.seq for line in verdict.seen})
    names = ", ".join(dict.fromkeys(line.verifier.name for line in verdict.seen))
    after = f"after {', '.join(f'event {seq}' for seq in signed[-3:])}" if signed else "none"
    found = f"{len(signed)} by {names}, {'the newest ' if len(signed) > 3 else ''}{after}" if signed else "none"
    detail = "; ".join((*verdict.problems, *filter(None, [verdict.missing]))) or "; ".join((found, *verdict.cut))
    return Check(
        name=SIGNED,
        ok=not verdict.problems and not verdict.missing,
        detail=detail,
        measured=f"{len(signed)} of {verdict.heads} hold",
        bound="all hold",
        seq=verdict.first,
        damaged=bool(verdict.problems),
        doubt=bool(verdict.cut),
    )


def _affected(finding: Finding) -> str:
    if not finding.first:
        return ""
    return f", events {finding.first}-{finding.last}" if finding.last else f", events from {finding.first} on"


REPAIRS = "repairs"


def check_repairs(reader: LogReader) -> Iterator[Check]:
    """Yield a doubt if a repair cut events out: exams or curations may have been among them."""
    cuts = [(seq, event) for seq, event in reader.numbered(LogRepaired) if event.cut_first]
    if cuts:
        gaps = [f"event {seq} records that events {_span(event)} were cut out" for seq, event in cuts]
        detail = f"{'; '.join(gaps)}: what they held, such as an exam, is not known here"
        yield Check(name=REPAIRS, ok=True, detail=detail, measured=f"{len(cuts)} cut", seq=cuts[0][0], doubt=True)


def _span(event: LogRepaired) -> str:
    return f"{event.cut_first} to {event.cut_last}" if event.cut_last else f"from {event.cut_first} on"


def check_questions(verdict: QuestionsVerdict) -> Check:
    golds = f"{verdict.golds} gold answers" if verdict.golds else "this copy was made without their gold answers"
    detail = "; ".join(verdict.problems) or f"{verdict.questions} texts are those that the run began with; {golds}"
    measured = f"{len(verdict.problems)} differ"
    ok = not verdict.problems
    return Check(name="questions", ok=ok, detail=detail, measured=measured, bound="0 differ", damaged=not ok)


def check_keys(reader: LogReader) -> Iterator[Check]:
    """Yield whether each destroyed key is still gone; nothing for a run without erased subjects."""
    destroyed = {event.subject_id: seq for seq, event in reader.numbered(KeyDestroyed)}
    here = set(reader.keys.ids.values()) if reader.keys else set()
    back = sorted(destroyed.keys() & here)
    restored = (
        f"the key of {', '.join(back)} is there again, from a copy of the file of keys: erase it again, and that copy"
    )
    if destroyed:
        yield Check(
            name="keys",
            ok=not back,
            detail=restored if back else "each key that was destroyed is gone",
            measured=f"{len(back)} of {len(destroyed)} there",
            bound="0 there",
            seq=destroyed[back[0]] if back else 0,
        )
