"""Every closed iteration folded again and compared with the digests that were recorded live.

A digest shows which projection differs. If a cached fold of that iteration still exists, it also shows the first
differing field.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed
from mage_es.projections.fold import State, fold
from mage_es.projections.protocol import Projection
from mage_es.projections.snapshot_files import kept_dump


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
