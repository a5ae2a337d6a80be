"""The verb `replay`: any moment of a run rebuilt from its log alone, and held against what was recorded live.

No model, no network, no clock and no random source takes part, and no cached fold is used.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from mage_es.engine.reports import DigestCheck, ReplayReport
from mage_es.engine.runs import Run
from mage_es.events.errors import UsageError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import IterationClosed
from mage_es.projections.fold import State, fold, reads_of
from mage_es.projections.lance import MemoryTables, read_digest
from mage_es.projections.snapshots import write_snapshot


def replay(run: Run, *, until: str, into: Path | None = None) -> ReplayReport:
    """Rebuild the state at a marker in a new place: LanceDB tables, and a fold with graph, slots and bandits.

    The digest of the memory is computed from the rebuilt tables, read back.

    Raises:
        UsageError: The marker does not exist, or `into` is a folder with something in it.
        LogDamaged: The log cannot be read as it was written.
    """
    reader = LogReader(run.log_path)
    seq = reader.resolve(until)
    path = into or run.replay_path(until)
    _make_room(path, is_own=into is None)
    began = time.perf_counter()
    state = fold(reader, until=seq)
    MemoryTables(path / "memory").write(state.memory)
    write_snapshot(path / "snapshots", state, chain=reader.head.chain if seq == reader.head.seq else "")
    rebuilt = {digest.projection: digest.value for digest in state.digests()}
    rebuilt[state.memory.name] = read_digest(path / "memory")
    recorded = recorded_digests(reader, state)
    return ReplayReport(
        run_id=run.id,
        marker=until,
        seq=seq,
        events=seq,
        seconds=time.perf_counter() - began,
        path=str(path),
        success_memories=state.memory.count("success_memory"),
        failure_memories=state.memory.count("failure_memory"),
        principles=state.memory.count("principle"),
        checks=tuple(
            DigestCheck(projection=name, recorded=recorded.get(name, ""), rebuilt=value)
            for name, value in rebuilt.items()
            if name in recorded or not recorded  # an earlier release recorded fewer
        ),
    )


def recorded_digests(reader: LogReader, state: State) -> dict[str, str]:
    """Return the digests that were recorded live for this state; none where events that count came after them."""
    closed = [record for record in reader.records({IterationClosed}, until=state.seq)]
    if not closed or not isinstance(last := closed[-1].event, IterationClosed):
        return {}
    since = reader.events(reads_of(state.digested()), since=closed[-1].seq, until=state.seq)
    if next(iter(since), None) is not None:
        return {}
    return {digest.projection: digest.value for digest in last.digests}


def _make_room(path: Path, *, is_own: bool) -> None:
    if path.exists() and any(path.iterdir()):
        if not is_own:
            raise UsageError(f"{path} is not empty: give --into a new folder, so that nothing there is overwritten.")
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
