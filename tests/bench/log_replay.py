"""Replay, snapshots and opening after a crash, beside the eventsourcing library.

    python -m tests.bench.log_replay                 needs the extra `bench`; about five minutes on two cores
    python -m tests.bench.log_replay --events 200000           a quick look

Every measurement is a process of its own; repetitions are interleaved. Events per second count every event of the log,
also those that a fold need not read. Memory is the peak of the process less what it had before it opened the log. The
library replays --peer-events events and feeds the same projections.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, IterationClosed
from mage_es.projections.bandits import Bandits
from mage_es.projections.evidence import Evidence
from mage_es.projections.fold import State, fold, fold_into
from mage_es.projections.protocol import Projection
from mage_es.projections.slots import Slots
from mage_es.projections.snapshot_files import fold_fingerprint, latest_snapshot, write_snapshot
from tests.bench.long_run import commits
from tests.bench.tables import Gate, Ratio, print_gates, print_machine, print_table

TAIL = 32_000
SEGMENTS = (1, 10, 50)


def main() -> None:
    """Prepare the logs, measure, print; or do one job of a worker."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--peer-events", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None, help="where the logs are made, or are from the last time")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(JOBS[options.job[0]](Path(options.job[1]))))
    elif options.folder:
        measure(options, options.folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Run every job in turn, and print what came of it."""
    long, short, crashed = prepare(folder, options.events, options.peer_events)
    found: dict[str, list[dict[str, Any]]] = {}
    for _ in range(options.repetitions):
        for name in ("ordered", "fold", "bandits_and_mastery"):
            found.setdefault(name, []).append(run(name, long))
        for name in ("peer", "peer_decoding", "peer_bandits", "snapshot"):
            found.setdefault(name, []).append(run(name, short))
        for segments, path in crashed.items():
            found.setdefault(f"open {segments}", []).append(run("open", path))
    check(found)
    print_replay(found)
    print_gates(list(gates_of(found)))
    print_machine("python -m tests.bench.log_replay", ("eventsourcing", "msgspec", "pyarrow", "rustworkx", "zstandard"))


# ------------------------------------------------------------ the logs


def prepare(folder: Path, events: int, peer_events: int) -> tuple[Path, Path, dict[int, Path]]:
    """Make, where they are not there yet: the long log; the short one, also as the peer keeps it; the crashed ones."""
    long, short = folder / f"long-{events}", folder / f"short-{peer_events}"
    if not long.exists():
        write_log(long, first(events, commits()))
    if not short.exists():
        from tests.bench.peers import Eventsourcing

        batches = list(first(peer_events, commits(with_digests=True)))
        while not any(isinstance(draft.event, IterationClosed) for draft in batches[-1]):
            batches.pop()
        write_log(short, iter(batches))
        peer = Eventsourcing(short)
        for batch in batches:
            peer.append(peer.prepare(batch))
        peer.close()
    crashed = {segments: folder / f"crashed-{segments}" for segments in SEGMENTS}
    for segments, path in crashed.items():
        if not path.exists():
            write_crashed(path, segments)
    return long, short, crashed


def first(events: int, batches: Iterator[list[Draft]]) -> Iterator[list[Draft]]:
    """Yield batches until there are so many events."""
    total = 0
    for batch in batches:
        total += len(batch)
        yield batch
        if total >= events:
            return


def write_log(path: Path, batches: Iterator[list[Draft]]) -> None:
    """Write and close a log; small commits are joined, which no fold can tell."""
    path.mkdir(parents=True)
    with Log.create(path / "log", run="bench", clock=count(1_790_000_000_000_000, 1000).__next__) as log:
        joined: list[Draft] = []
        ordinals = count()
        for batch in batches:
            for draft in batch:
                joined.append(
                    Draft(event=draft.event, iteration=draft.iteration, phase=draft.phase, ordinal=next(ordinals))
                )
            if len(joined) >= 1000:
                log.append(joined)
                joined = []
        if joined:
            log.append(joined)


def write_crashed(path: Path, segments: int) -> None:
    """Leave a log as a killed writer does: so many sealed segments, then a tail of commits as a run makes them."""
    batches = commits()
    for _ in range(segments):
        drafts = [draft for batch in first(2000, batches) for draft in batch]
        log = open_log(path) if path.exists() else Log.create(path / "log", run="bench", clock=lambda: 0)
        log.append(drafts)
        log.close()
    pid = os.fork()
    if pid == 0:
        log, tail = open_log(path), 0
        while tail < TAIL:
            batch = next(batches)[: TAIL - tail]
            log.append(batch)
            tail += len(batch)
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        raise SystemExit("the writer that was to crash failed before it")


def open_log(path: Path) -> Log:
    """Open a log for writing."""
    return Log.open(path / "log", clock=lambda: 0)


# ------------------------------------------------------------ jobs, each in a process of its own


def run(job: str, path: Path) -> dict[str, Any]:
    """Do a job in a new process and return what it says."""
    command = [sys.executable, "-m", "tests.bench.log_replay", "--job", job, str(path)]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def timed(work: Callable[[], State | None], events: int) -> dict[str, Any]:
    """Do it; return seconds, CPU seconds, events, extra MiB and the digests of the state."""
    before = memory("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    state = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    extra = memory("VmHWM") - before
    digests = [digest.value for digest in state.digests()] if state else []
    return {"wall": wall, "cpu": cpu, "events": events, "extra": extra, "digests": digests}


def memory(which: str) -> float:
    """Return a figure of this process's memory in MiB, now (VmRSS) or at most so far (VmHWM)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) / 1024


class InOrder:
    """A view that gets every event that it reads one by one, those of all types in the order of the log."""

    order = "global"

    def __init__(self, view: Projection) -> None:
        self.name, self.reads, self.apply = view.name, view.reads, view.apply


def ordered(path: Path) -> dict[str, Any]:
    """Fold the whole state, every event one by one in the order of the log."""
    reader = LogReader(path / "log")

    def work() -> State:
        state = State()
        views = [InOrder(view) for view in state.digested()]
        fold_into((*views, state.progress), reader, until=reader.head.seq)  # type: ignore[arg-type]
        return state

    return timed(work, reader.head.seq)


def whole(path: Path) -> dict[str, Any]:
    """Fold the whole state as the package does it."""
    reader = LogReader(path / "log")
    return timed(lambda: fold(reader), reader.head.seq)


def bandits_and_mastery(path: Path) -> dict[str, Any]:
    """Fold the bandits, the slots and the evidence only."""
    reader = LogReader(path / "log")

    def work() -> None:
        views = (Bandits(), Slots(), Evidence())
        fold_into(views, reader, until=reader.head.seq)

    return timed(work, reader.head.seq)


def peer(path: Path) -> dict[str, Any]:
    """Replay with the library into the whole state."""
    state = State()
    return replayed(path, state.apply) | {"digests": [digest.value for digest in state.digests()]}


def peer_decoding(path: Path) -> dict[str, Any]:
    """Replay with the library, folding nothing."""
    return replayed(path, lambda event: None)


def peer_bandits(path: Path) -> dict[str, Any]:
    """Replay with the library into the bandits, the slots and the evidence."""
    readers: dict[type, list[Callable[[Any], None]]] = {}
    for view in (Bandits(), Slots(), Evidence()):
        for cls in view.reads:
            readers.setdefault(cls, []).append(view.apply)

    def apply(event: Any) -> None:
        for each in readers.get(type(event), ()):
            each(event)

    return replayed(path, apply)


def replayed(path: Path, apply: Callable[[Any], None]) -> dict[str, Any]:
    """Give every event of the library's database to `apply`."""
    from tests.bench.peers import Eventsourcing

    store = Eventsourcing(path)
    events = store.recorder.max_notification_id() or 0

    def work() -> None:
        for event in store.replay():
            apply(event)

    return timed(work, events)


def snapshot(path: Path) -> dict[str, Any]:
    """Write a snapshot of the whole short log, and read it."""
    reader = LogReader(path / "log")
    close = max(seq for seq, _ in reader.events({IterationClosed: ("iteration",)}))
    state = fold(reader, until=close)
    digests = state.digests()  # known at the close of an iteration, when snapshots are taken
    fold_fingerprint()  # found out once in the life of a process
    folder = path / "snapshots"
    shutil.rmtree(folder, ignore_errors=True)
    began = time.perf_counter()
    file = write_snapshot(folder, state, chain=reader.head.chain, digests=digests)
    written = time.perf_counter()
    restored = latest_snapshot(folder, reader)
    read = time.perf_counter()
    if restored is None or restored.digests() != state.digests():
        raise SystemExit("the snapshot was not read back")
    return {"write": written - began, "restore": read - written, "bytes": file.stat().st_size, "events": close}


def opened(path: Path) -> dict[str, Any]:
    """Open a copy of a crashed log, then append to it once."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        copy = Path(folder) / "run"
        shutil.copytree(path, copy)
        began = time.perf_counter()
        log = open_log(copy)
        ready = time.perf_counter()
        log.append([Draft(event=IterationClosed(iteration=10**6, digests=()), iteration=10**6, phase="close")])
        appended = time.perf_counter()
        log.close()
    return {"open": ready - began, "append": appended - ready}


JOBS = {
    "ordered": ordered,
    "fold": whole,
    "bandits_and_mastery": bandits_and_mastery,
    "peer": peer,
    "peer_decoding": peer_decoding,
    "peer_bandits": peer_bandits,
    "snapshot": snapshot,
    "open": opened,
}


# ------------------------------------------------------------ what is printed


def check(found: dict[str, list[dict[str, Any]]]) -> None:
    """Stop where two ways of folding the same log came to different states."""
    states = {name: {tuple(each["digests"]) for each in found[name]} for name in ("ordered", "fold")}
    if len(states["ordered"] | states["fold"]) != 1:
        raise SystemExit("the folds of one log differ")


def print_replay(found: dict[str, list[dict[str, Any]]]) -> None:
    """Print speed and memory of every way to replay."""
    names = {
        "ordered": "whole state, every event in the order of the log",
        "fold": "whole state, as `fold` does it",
        "bandits_and_mastery": "bandits and mastery only",
        "peer": "eventsourcing, whole state",
        "peer_bandits": "eventsourcing, bandits and mastery only",
        "peer_decoding": "eventsourcing, decoding only",
    }
    rows = []
    for name, title in names.items():
        speed = Ratio.of(each["events"] / each["wall"] / 1e6 for each in found[name])
        cost, extra = (
            Ratio.of(values)
            for values in zip(*((1e6 * e["cpu"] / e["events"], e["extra"]) for e in found[name]), strict=True)
        )
        rows.append((title, f"{found[name][0]['events']:,}", str(speed), f"{cost.median:.2f}", f"{extra.median:.0f}"))
    print_table("Replay", ("", "events", "million events/s", "CPU us/event", "extra MiB"), rows)
    last = found["snapshot"][-1]
    write, restore = (Ratio.of(1e3 * each[what] for each in found["snapshot"]) for what in ("write", "restore"))
    size = f"{last['bytes'] / 1e6:.2f} MB"
    print(f"\nA snapshot of {last['events']:,} events has {size}: write {write} ms, restore {restore} ms.")
    for segments in SEGMENTS:
        again = Ratio.of(1e3 * each["append"] for each in found[f"open {segments}"])
        print(f"The first append after opening with {segments} sealed segments reads all identities: {again} ms.")


def gates_of(found: dict[str, list[dict[str, Any]]]) -> Iterator[Gate]:
    """Yield the gates."""
    for name, other, goal, limit in (
        ("ordered", "peer", "replay over eventsourcing, ordered", 8),
        ("fold", "peer", "replay over eventsourcing, by type", 15),
        ("bandits_and_mastery", "peer_bandits", "replay over eventsourcing, bandits and mastery", 60),
    ):
        pairs = zip(found[name], found[other], strict=True)
        yield Gate(goal, "at least", limit, Ratio.of(speed(ours) / speed(theirs) for ours, theirs in pairs))
        pairs = zip(found[name], found[other], strict=True)
        yield Gate(f"{goal}, CPU", "at least", limit, Ratio.of(cost(theirs) / cost(ours) for ours, theirs in pairs))
    million = found["fold"][0]["events"]
    yield Gate(
        f"extra memory, whole state of {million:,} events",
        "at most",
        300,
        Ratio.of(e["extra"] for e in found["fold"]),
        "MiB",
    )
    both = Ratio.of(1e3 * (each["write"] + each["restore"]) for each in found["snapshot"])
    yield Gate(f"snapshot, write and restore, {found['snapshot'][0]['events']:,} events", "at most", 50, both, "ms")
    for segments in SEGMENTS:
        ready = Ratio.of(each["open"] for each in found[f"open {segments}"])
        yield Gate(
            f"open after a crash, {TAIL:,} events in the tail, {segments} sealed segments", "at most", 0.3, ready, "s"
        )


def speed(measured: dict[str, Any]) -> float:
    """Return events per second."""
    return float(measured["events"] / measured["wall"])


def cost(measured: dict[str, Any]) -> float:
    """Return CPU seconds per event."""
    return float(measured["cpu"] / measured["events"])


if __name__ == "__main__":
    main()
