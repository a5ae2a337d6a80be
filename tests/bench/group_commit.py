"""Many asynchronous producers, each going on only once its own fact is durable.

    python -m tests.bench.group_commit              about a minute on two cores

Three ways, taking turns: every producer appends for itself, blocking the event loop; one recorder appends whatever is
in a queue, blocking the loop too, as the engine does with answers; and `GroupCommit`, which syncs in a thread. The last
column is the longest time that the event loop stood still.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from mage_es.events.envelope import Draft
from mage_es.events.group_commit import GroupCommit
from mage_es.events.log import Log
from tests.bench.long_run import drafts
from tests.bench.tables import print_machine, print_table

PRODUCERS = (1, 8, 64, 200)
Submit = Callable[[Draft], Awaitable[object]]


class Speed(NamedTuple):
    """Events per second, the median wait of a producer and the longest pause of the loop, in milliseconds."""

    rate: float
    wait: float
    pause: float


@asynccontextmanager
async def each_for_itself(log: Log) -> AsyncIterator[Submit]:
    """Append in the event loop, one fact to a commit."""

    async def submit(draft: Draft) -> None:
        log.append([draft])
        await asyncio.sleep(0)

    yield submit


@asynccontextmanager
async def one_recorder(log: Log) -> AsyncIterator[Submit]:
    """Append in the event loop, whatever is in the queue to a commit."""
    queue: asyncio.Queue[tuple[Draft, asyncio.Future[None]]] = asyncio.Queue()

    async def record() -> None:
        while True:
            batch = [await queue.get()]
            while not queue.empty():
                batch.append(queue.get_nowait())
            log.append([draft for draft, _ in batch])
            for _, done in batch:
                done.set_result(None)

    async def submit(draft: Draft) -> None:
        done = asyncio.get_running_loop().create_future()
        queue.put_nowait((draft, done))
        await done

    recorder = asyncio.create_task(record())
    yield submit
    recorder.cancel()


@asynccontextmanager
async def group_commit(log: Log) -> AsyncIterator[Submit]:
    """Append in a thread, whatever was submitted during the previous sync to a commit."""
    async with GroupCommit(log) as group:
        yield lambda draft: group.submit([draft])


WAYS = {"each for itself": each_for_itself, "one recorder in the loop": one_recorder, "GroupCommit": group_commit}


async def measure(way: str, log: Log, facts: Iterator[Draft], producers: int, seconds: float) -> Speed:
    """Let producers submit one fact after another for some seconds."""
    waits: list[float] = []
    pauses = [0.0]
    end = time.perf_counter() + seconds

    async def produce(submit: Submit) -> None:
        while (began := time.perf_counter()) < end:
            await submit(next(facts))
            waits.append(time.perf_counter() - began)

    async def watch() -> None:
        while (began := time.perf_counter()) < end:
            await asyncio.sleep(0.001)
            pauses.append(time.perf_counter() - began - 0.001)

    began = time.perf_counter()
    async with WAYS[way](log) as submit:
        await asyncio.gather(watch(), *(produce(submit) for _ in range(producers)))
    rate = len(waits) / (time.perf_counter() - began)
    return Speed(rate, 1000 * statistics.median(waits), 1000 * max(pauses))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: the system's)")
    options = parser.parse_args()
    samples = drafts(1000)
    facts = (structs.replace(draft, ordinal=number) for number, draft in enumerate(itertools.cycle(samples)))
    speeds: dict[tuple[str, int], list[Speed]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for repetition in range(options.repetitions):
            for number, (producers, way) in enumerate(itertools.product(PRODUCERS, WAYS)):
                path = Path(folder) / f"{repetition}-{number}"
                with Log.create(path, run=path.name, clock=lambda: time.time_ns() // 1000) as log:
                    speed = asyncio.run(measure(way, log, facts, producers, options.seconds))
                speeds.setdefault((way, producers), []).append(speed)
    rows = []
    for (way, producers), found in speeds.items():
        rate, wait, pause = (statistics.median(values) for values in zip(*found, strict=True))
        rows.append((f"{producers}", way, f"{rate:.0f}", f"{wait:.2f}", f"{pause:.1f}"))
    print_table("Group commit", ("producers", "way", "events/s", "p50 wait, ms", "longest pause, ms"), rows)
    print_machine("python -m tests.bench.group_commit", ("msgspec",))


if __name__ == "__main__":
    main()
