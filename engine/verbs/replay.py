"""The verb `replay`: rebuild the state at a marker from the log alone, and compare it with what was recorded live.

It uses no model, network, clock, random source or cached fold.
"""

import shutil
import time
from pathlib import Path

import msgspec

from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed
from mage_es.projections.fold import State, fold, reads_of
from mage_es.projections.lance import open_to_all, read_digest, require_lance, write_tables
from mage_es.projections.snapshot_files import write_snapshot


class DigestCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A projection's digest as `recorded` live ("" if the marker has none) and as rebuilt."""

    projection: str
    recorded: str
    rebuilt: str

    @property
    def equal(self) -> bool | None:
        """Return whether the two are equal; None if no digest was recorded at this marker."""
        return self.recorded == self.rebuilt if self.recorded else None


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay: its last event, the time it took, and every digest beside the digest that was recorded live."""

    run_id: str
    marker: str
    seq: int
    seconds: float
    path: str
    success_memories: int
    failure_memories: int
    principles: int
    checks: tuple[DigestCheck, ...]


@typed
def replay(
    run: Run | Path | str, *, until: str = "latest", into: Path | str | None = None, tables: bool = False
) -> ReplayReport:
    """Rebuild the state at a marker in a new place: a fold with graph, memory, slots and bandits.

    With `tables` the memory is also written as LanceDB tables, and its digest is that of the tables, read back.

    Raises:
        PrerequisiteError: Tables are asked for, and LanceDB is not installed.
        UsageError: The marker does not exist, or `into` is not an empty folder.
        LogDamaged: The log fails its checksums.
    """
    run = as_run(run)
    reader = LogReader(run.log_path)
    seq = reader.resolve(until)
    if tables:
        require_lance()
    path = Path(into) if into else run.replay_path(until)
    _make_room(path, is_own=into is None)
    began = time.perf_counter()
    state = fold(reader, until=seq)
    write_snapshot(path / "snapshots", state, chain=reader.head.chain if seq == reader.head.seq else "")
    rebuilt = {digest.projection: digest.value for digest in state.digests()}
    if tables:
        write_tables(path / "memory", state.memory)
        if len(open_to_all(state.memory)) == len(state.memory):
            rebuilt[state.memory.name] = read_digest(path / "memory")
    recorded = recorded_digests(reader, state)
    return ReplayReport(
        run_id=run.id,
        marker=until,
        seq=seq,
        seconds=time.perf_counter() - began,
        path=str(path),
        success_memories=state.memory.count("success_memory"),
        failure_memories=state.memory.count("failure_memory"),
        principles=state.memory.count("principle"),
        checks=tuple(
            DigestCheck(projection=name, recorded=recorded.get(name, ""), rebuilt=value)
            for name, value in rebuilt.items()
        ),
    )


areplay = in_thread(replay)


def recorded_digests(reader: LogReader, state: State) -> dict[str, str]:
    """Return the digests recorded live for this state; none if an event was folded after the last digests."""
    closed = list(reader.numbered(IterationClosed, until=state.seq))
    if not closed:
        return {}
    seq, last = closed[-1]
    since = reader.events(reads_of(state.digested()), since=seq, until=state.seq)
    if next(iter(since), None) is not None:
        return {}
    return {digest.projection: digest.value for digest in last.digests}


def _make_room(path: Path, *, is_own: bool) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is not a folder: choose a new one with --into.")
    if path.exists() and any(path.iterdir()):
        if not is_own:
            raise UsageError(f"{path} is not empty: choose a new folder with --into, so that nothing is overwritten.")
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
