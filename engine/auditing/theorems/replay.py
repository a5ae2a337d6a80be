"""Replay: every closed iteration folds to the digests that were recorded live."""

from pathlib import Path

from mage_es.engine.auditing.recheck import recheck
from mage_es.engine.run.inheriting import inheritance, last_inherited, not_inherited
from mage_es.engine.seams.check import Check
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed, RunInherited
from mage_es.projections.fold import fold
from mage_es.projections.snapshot_files import damaged_snapshots, disowned

NAME = "replay"


def check_replay(reader: LogReader, snapshots: Path) -> Check:
    if (begun := inheritance(reader)) and (problem := _not_the_parents(reader, begun)):
        return Check(name=NAME, ok=False, detail=problem, measured="differs", bound="equal", seq=2)
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
    detail = "each closed iteration folds to its recorded digests"
    detail += f", and what it took from {begun.parent} to that run's" if begun else ""
    if unused := ", ".join(str(path) for path in damaged_snapshots(snapshots)):
        detail += f"; damaged, and not used: {unused}"
    return Check(name=NAME, ok=True, detail=detail, measured=measured, bound=bound)


def _not_the_parents(reader: LogReader, begun: RunInherited) -> str:
    """Return where a run's inheritance differs from what its parent had learned, or "" if it does not."""
    try:
        state = fold(reader, until=last_inherited(reader))
    except (KeyError, LogError) as error:
        return f"what {begun.parent} had learned cannot be folded: {error}"
    left = not_inherited(begun)
    wrong = state.differing(digest for digest in begun.digests if digest.projection not in left)
    return f"{', '.join(wrong)} differs from what {begun.parent} had learned" if wrong else ""
