"""Every closed iteration folded again and compared with the digests that were recorded live.

`check_replay` checks the theorem at every marker; `recheck` looks for what differs. A digest shows which projection
differs. If a cached fold of that iteration still exists, it also shows the first differing field.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.run.inheriting import inheritance, last_inherited, not_inherited
from mage_es.engine.theorems.check import Check
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed, RunInherited
from mage_es.projections.fold import State, fold
from mage_es.projections.protocol import Projection
from mage_es.projections.snapshots import damaged_snapshots, disowned, kept_dump


class IterationCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A closed iteration folded again. If it differs: the first projection, both digests, and the first differing
    field ("" without a cached fold of the live state)."""

    iteration: int
    equal: bool
    projection: str = ""
    recorded: str = ""
    rebuilt: str = ""
    field: str = ""


class Mismatch(NamedTuple):
    """The path of the first field in which two dumps differ, and its values (shortened)."""

    path: str
    recorded: str
    rebuilt: str


def recheck(reader: LogReader, snapshots: Path) -> list[IterationCheck]:
    """Return one check for each closed iteration (-1 is the start), ending with the first that differs."""
    state, checks = State(), []
    for seq, closed in reader.numbered(IterationClosed):
        state = fold(reader, until=seq, state=state)
        checks.append(_check(closed, state, snapshots))
        if not checks[-1].equal:
            break
    return checks


def first_mismatch(recorded: Any, rebuilt: Any, path: str = "") -> Mismatch | None:
    """Return where two values of builtins first differ, depth first, mappings by sorted key."""
    if isinstance(recorded, dict) and isinstance(rebuilt, dict):
        keys = sorted({*recorded, *rebuilt}, key=str)
        parts = [(f"{path}[{key!r}]", recorded.get(key), rebuilt.get(key)) for key in keys]
    elif isinstance(recorded, list) and isinstance(rebuilt, list) and len(recorded) == len(rebuilt):
        parts = [(f"{path}[{i}]", one, other) for i, (one, other) in enumerate(zip(recorded, rebuilt, strict=True))]
    else:
        return None if recorded == rebuilt else Mismatch(path, _short(recorded), _short(rebuilt))
    return next((found for part in parts if (found := first_mismatch(part[1], part[2], part[0]))), None)


def _check(closed: IterationClosed, state: State, snapshots: Path) -> IterationCheck:
    differing = state.differing(closed.digests)
    if not differing:
        return IterationCheck(iteration=closed.iteration, equal=True)
    name = differing[0]
    rebuilt = {view.name: view for view in state.digested()}.get(name)
    return IterationCheck(
        iteration=closed.iteration,
        equal=False,
        projection=name,
        recorded=next(digest.value for digest in closed.digests if digest.projection == name),
        rebuilt=rebuilt.digest() if rebuilt else "",
        field=_field(kept_dump(snapshots, state.seq, name), rebuilt),
    )


def _field(witness: Any, rebuilt: Projection | None) -> str:
    """Return the first field in which a kept dump and a projection differ, "" if unknown."""
    if witness is None or rebuilt is None:
        return ""
    found = first_mismatch(witness, msgspec.msgpack.decode(msgspec.msgpack.encode(rebuilt.dump())))
    return f"{found.path}: recorded {found.recorded}, rebuilt {found.rebuilt}" if found else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


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
    detail = f"{len(checks)} closed iterations fold to their recorded digests"
    detail += f", and what it took from {begun.parent} to that run's" if begun else ""
    if unused := ", ".join(str(path) for path in damaged_snapshots(snapshots)):
        detail += f"; damaged, and not used: {unused}"
    return Check(name=NAME, ok=True, detail=detail, measured=measured, bound=bound)


def _not_the_parents(reader: LogReader, begun: RunInherited) -> str:
    """Return where what a run began with differs from what its parent had learned, "" if it does not."""
    try:
        state = fold(reader, until=last_inherited(reader))
    except (KeyError, LogError) as error:
        return f"what {begun.parent} had learned cannot be folded: {error}"
    left = not_inherited(begun)
    wrong = state.differing(digest for digest in begun.digests if digest.projection not in left)
    return f"{', '.join(wrong)} differs from what {begun.parent} had learned" if wrong else ""
