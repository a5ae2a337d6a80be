"""Replay = live: the log folded again gives, at every marker, the digests that were recorded live."""

from pathlib import Path

from mage_es.engine.theorems.check import Check
from mage_es.engine.theorems.recheck import recheck
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed
from mage_es.projections.snapshots import disowned

NAME = "replay"


def check_replay(reader: LogReader, snapshots: Path) -> Check:
    markers = [seq for seq, _ in reader.numbered(IterationClosed)]
    bound = f"{len(markers)} of {len(markers)} equal"
    try:
        checks = recheck(reader, snapshots)
    except (KeyError, LogError) as error:
        detail = f"the log cannot be folded: an event refers to something that does not exist ({error})"
        return Check(name=NAME, ok=False, detail=detail, bound=bound)
    equal = sum(check.equal for check in checks)
    measured = f"{equal} of {len(markers)} equal"
    last = checks[-1] if checks else None
    if last and not last.equal:
        found = f"recorded {last.recorded}, folded {last.rebuilt}" + (f"; {last.field}" if last.field else "")
        detail = f"{last.projection} differs at iter-{last.iteration}: {found}"
        return Check(name=NAME, ok=False, detail=detail, measured=measured, bound=bound, seq=markers[equal])
    if forged := disowned(snapshots, reader):
        detail = f"{forged[0]} claims the digests of the log for another state, so it is not used: delete it"
        return Check(name=NAME, ok=False, detail=detail, measured=measured, bound=bound)
    detail = f"{len(checks)} closed iterations fold to their recorded digests"
    return Check(name=NAME, ok=True, detail=detail, measured=measured, bound=bound)
