"""Durable appends beside other stores, and what the events take on disk.

    python -m tests.bench.log_append                 needs the extra `bench`; about a minute and a half on two cores

Each repetition gives each store the same facts, in batches of 1, 10, 100 and 1000 to a commit, in a new folder; the
stores take turns every few commits. Wall clock and CPU (user and system, all threads) are per event; ratios are taken
within a repetition, so that a disk or a machine that is busy for a while disturbs both sides. `--folder` chooses the
disk. What the log writes when a file is full (one event in 32,768 waits for it) is measured apart.
"""

import argparse
import gc
import hashlib
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import google_crc32c

from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.log.recorded import RecordedFacts
from mage_es.events.segments.sealed import SealedEvents
from mage_es.events.vocabulary import MAGE_ES, Draft
from mage_es.events.wal.bodies import body_of, storable
from tests.bench.long_run import commits, drafts
from tests.bench.peers import DeltaRs, Eventsourcing, LanceDb, Ours, Raw, Sqlite, SqliteIdempotent, Store
from tests.bench.tables import Gate, Ratio, print_gates, print_machine, print_table

STORES: dict[str, type[Store]] = {
    "ours": Ours,
    "raw write + fdatasync": Raw,
    "SQLite FULL": Sqlite,
    "SQLite FULL, idempotent": SqliteIdempotent,
    "eventsourcing": Eventsourcing,
    "delta-rs (no sync)": DeltaRs,
    "LanceDB (no sync)": LanceDb,
}
COMMITS = {1: 300, 10: 200, 100: 60, 1000: 20}
"""How many commits are measured at each size of batch."""

SLOW = {1: 30, 10: 20, 100: 20, 1000: 10}
"""The same for stores that need milliseconds for each."""

WARM = 3
TURNS = 10
"""The stores take turns so often, because the disk's mood changes within seconds."""


class Cost(NamedTuple):
    """Microseconds per event, and the median commit in microseconds."""

    wall: float
    cpu: float
    p50: float


Costs = dict[tuple[str, int], list[Cost]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: the system's)")
    parser.add_argument("--sizes-of", type=int, default=100_000, help="events for the comparison of sizes")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    options = parser.parse_args()
    facts = drafts(max(size * (count + WARM) for size, count in COMMITS.items()))
    costs: Costs = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for _ in range(options.repetitions):
            for size in COMMITS:
                for name, cost in measure(size, options.stores, facts, Path(folder) / "stores").items():
                    costs.setdefault((name, size), []).append(cost)
        print_costs(costs, options.stores)
        print_parts(facts[20_000:21_000], Path(folder))
        gates = list(gates_of(costs))
        if set(options.stores) == set(STORES):
            gates += sizes(options.sizes_of, Path(folder))
    print_gates(gates)
    packages = ("eventsourcing", "deltalake", "lancedb", "msgspec", "pyarrow", "zstandard")
    print_machine("python -m tests.bench.log_append", packages)


def measure(size: int, stores: Sequence[str], facts: Sequence[Draft], folder: Path) -> dict[str, Cost]:
    """Return what each store needs for batches of one size; they take turns, a few commits at a time."""
    runners = []
    for name in stores:
        (folder / name).mkdir(parents=True)
        runners.append(Runner(name, size, facts, folder / name))
    gc.collect()
    gc.freeze()  # what is prepared would otherwise be searched for garbage at the cost of whoever is measured
    for turn in range(TURNS):
        for runner in runners[turn % len(runners) :] + runners[: turn % len(runners)]:
            runner.go_on()
    costs = {runner.name: runner.finish() for runner in runners}
    gc.unfreeze()
    shutil.rmtree(folder)
    return costs


class Runner:
    """One store at work on its batches."""

    def __init__(self, name: str, size: int, facts: Sequence[Draft], folder: Path) -> None:
        self.name, self._size = name, size
        self._store = STORES[name](folder)
        self._each = max(1, (SLOW if "no sync" in name else COMMITS)[size] // TURNS)
        total = WARM + self._each * TURNS
        self._batches = [self._store.prepare(facts[i * size : (i + 1) * size]) for i in range(total)]
        self._times: list[float] = []
        self._cpu = 0.0
        for _ in range(WARM):
            self._store.append(self._batches.pop(0))

    def go_on(self) -> None:
        """Do one turn's commits."""
        cpu = time.process_time()
        for _ in range(self._each):
            batch = self._batches.pop(0)
            began = time.perf_counter()
            self._store.append(batch)
            self._times.append(time.perf_counter() - began)
        self._cpu += time.process_time() - cpu

    def finish(self) -> Cost:
        """Close the store and return its costs."""
        self._store.close()
        events = self._size * len(self._times)
        return Cost(1e6 * sum(self._times) / events, 1e6 * self._cpu / events, 1e6 * statistics.median(self._times))


def print_costs(costs: Costs, stores: Sequence[str]) -> None:
    """Print the medians of every store."""
    header = ("us per event, by events per commit", *(f"{size}" for size in COMMITS))
    for title, unit in (("CPU", "cpu"), ("Wall clock", "wall"), ("p50 of a commit", "p50")):
        rows = [
            (name, *(f"{statistics.median(getattr(cost, unit) for cost in costs[name, size]):.4g}" for size in COMMITS))
            for name in stores
        ]
        print_table(title, ("us per commit, by events in it" if unit == "p50" else header[0], *header[1:]), rows)


def print_parts(facts: Sequence[Draft], folder: Path) -> None:
    """Print where the time of an append goes, repeated with the same thousand events, and what sealing adds."""
    _, keys = storable(facts)
    body = body_of(facts, 0)
    recorded = RecordedFacts(SealedEvents(LocalFileSystem(), Layout(folder), MAGE_ES), MAGE_ES.once)
    parts = {
        "looking at every value, and coordinates": best(lambda: storable(facts)),
        "finding that nothing of it is recorded": best(lambda: recorded.find(keys)),
        "encoding": best(lambda: body_of(facts, 0)),
        "frame: chain (SHA-256)": best(lambda: hashlib.sha256(body).digest()),
        "frame: CRC32C": best(lambda: google_crc32c.value(body)),
        "noting it": best(lambda: recorded.add(keys, 1)),
    }
    for count in (1000, 20_000):
        log, given = Ours(folder / f"sealed-{count}"), drafts(count)
        for start in range(0, count, 100):
            log.append(given[start : start + 100])
        began = time.process_time()
        log.close()
        parts[f"sealing {count} events and closing (apart from append)"] = (
            (time.process_time() - began) * len(facts) / count
        )
    cells = [(name, f"{1e6 * seconds / len(facts):.2f}") for name, seconds in parts.items()]
    print_table("Parts of an append of 1000 events, repeated while warm", ("", "us/event"), cells)


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of many calls."""
    times = []
    for _ in range(30):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


LIMITS: list[tuple[str, str, dict[int, float]]] = [
    ("eventsourcing", "cpu", {1: 1.5, 10: 3, 100: 10, 1000: 15}),
    ("eventsourcing", "wall", {1: 1.5, 10: 2, 100: 4, 1000: 8}),
    ("SQLite FULL", "cpu", {1: 0.84, 100: 2, 1000: 4}),
    ("delta-rs (no sync)", "wall", {1: 20}),
    ("LanceDB (no sync)", "wall", {1: 10}),
]
"""By which factor the log is to be cheaper than a peer: its cost over ours."""


def gates_of(costs: Costs) -> list[Gate]:
    """Return the gates that the measured costs decide."""
    gates = []
    for peer, unit, limits in LIMITS:
        for size, limit in limits.items():
            if (peer, size) in costs and ("ours", size) in costs:
                ratio = ratios(costs, (peer, size), ("ours", size), unit)
                gates.append(Gate(f"{peer} over ours, {unit}, {size} per commit", "at least", limit, ratio))
    for size, limit in {1: 1.3, 10: 1.3, 1000: 2.5}.items():
        if ("raw write + fdatasync", size) in costs:
            ratio = ratios(costs, ("ours", size), ("raw write + fdatasync", size), "p50")
            gates.append(
                Gate(
                    f"ours over raw fdatasync of the same bytes, p50 of a commit, {size} per commit",
                    "at most",
                    limit,
                    ratio,
                )
            )
    return gates


def ratios(costs: Costs, above: tuple[str, int], below: tuple[str, int], unit: str) -> Ratio:
    """Return the ratio of two costs, repetition by repetition."""
    pairs = zip(costs[above], costs[below], strict=True)
    return Ratio.of(getattr(a, unit) / getattr(b, unit) for a, b in pairs)


def sizes(count: int, folder: Path) -> list[Gate]:
    """Print bytes per event of a run, committed as runs do; return the gates on them."""
    batches: list[list[Draft]] = []
    total = 0
    for batch in commits():
        batches.append(batch)
        total += len(batch)
        if total >= count:
            break
    taken = {}
    for name in ("ours", "raw write + fdatasync", "SQLite FULL", "eventsourcing"):
        (folder / name).mkdir()
        store = STORES[name](folder / name)
        for batch in batches:
            store.append(store.prepare(batch))
        store.close()
        taken[name] = sum(path.stat().st_size for path in (folder / name).rglob("*") if path.is_file()) / total
    seg = folder / "ours" / "log" / "seg"
    vectors = sum(path.stat().st_size for path in seg.glob("*.vec.parquet")) / total
    single = Raw(folder)
    unpacked = sum(len(single.prepare([draft])) for batch in batches for draft in batch) / total
    single.close()
    rows = [
        ("ours, sealed (all files of the log)", taken["ours"]),
        ("of these vectors, in files of their own", vectors),
        ("our write-ahead file, one event per commit", unpacked),
        ("our write-ahead file, commits as a run makes them", taken["raw write + fdatasync"]),
        ("SQLite", taken["SQLite FULL"]),
        ("eventsourcing", taken["eventsourcing"]),
    ]
    print_table(f"Bytes per event of {total} events", ("", "B/event"), [(name, f"{size:.1f}") for name, size in rows])
    peers = {
        "SQLite": (taken["SQLite FULL"], 0.22),
        "eventsourcing": (taken["eventsourcing"], 0.16),
        "our write-ahead file": (unpacked, 0.25),
    }
    return [
        Gate(f"sealed bytes over those of {name}", "at most", limit, Ratio.of([taken["ours"] / size]))
        for name, (size, limit) in peers.items()
    ]


if __name__ == "__main__":
    main()
