"""Group commit: order, durability before return, batching, and whom a failure reaches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.events.appended import Appended
from mage_es.events.envelope import Draft, Record
from mage_es.events.errors import UsageError, WriterPoisoned
from mage_es.events.group_commit import GroupCommit
from mage_es.events.log import Log
from mage_es.events.reader import LogReader
from mage_es.events.verify import verify_log
from tests.events.disks import ForgetfulDisk, RefusingDisk
from tests.events.samples import bits, clock, facts, judged, remembered


class SlowDisk(RefusingDisk):
    """A disk whose syncs wait until `gate` is open; `waiting` is set when one does."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()

    def refuses(self, effect: str) -> bool:
        if effect == "sync":
            self.waiting.set()
            assert self.gate.wait(30)
        return super().refuses(effect)

    def hold(self) -> None:
        self.waiting.clear()
        self.gate.clear()

    async def held(self) -> None:
        """Return when a sync is waiting; the event loop goes on meanwhile."""
        assert await asyncio.to_thread(self.waiting.wait, 30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


def created(path: Path, disk: RefusingDisk | None = None) -> Log:
    return Log.create(path, run="r1", clock=clock(), fs=disk)


def events_in(path: Path) -> list[object]:
    return [record.event for record in facts(LogReader(path).records())]


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(1, 3), max_size=6), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_every_producer_gets_its_own_records_in_its_own_order(plans: list[list[int]], random: Random) -> None:
    async def produce(group: GroupCommit, producer: int, sizes: Sequence[int]) -> list[Record]:
        records, number = [], 1000 * producer
        for size in sizes:
            drafts = [judged(number + k) for k in range(size)]
            own = await group.submit(drafts)
            assert bits(r.event for r in own) == bits(d.event for d in drafts)
            assert [r.seq for r in own] == list(range(own[0].seq, own[0].seq + size))
            records += own
            number += size
            for _ in range(random.randint(0, 3)):
                await asyncio.sleep(0)
        return records

    async def run(log: Log) -> list[list[Record]]:
        async with GroupCommit(log) as group:
            return await asyncio.gather(*(produce(group, n, sizes) for n, sizes in enumerate(plans)))

    disk, path = ForgetfulDisk(Random(0)), Path("/log")
    disk.make_folder(path.parent)
    with Log.create(path, run="r1", clock=clock(), fs=disk) as log:
        produced = asyncio.run(run(log))
    for records in produced:
        assert [r.seq for r in records] == sorted(r.seq for r in records)
    seqs = sorted(r.seq for records in produced for r in records)
    assert seqs == [r.seq for r in facts(LogReader(path, disk).records())]
    assert verify_log(path, disk).findings == []


def test_what_queues_up_during_a_sync_is_one_commit_and_the_loop_goes_on(path: Path) -> None:
    async def run(log: Log, disk: SlowDisk) -> None:
        async with GroupCommit(log) as group:
            disk.hold()
            first = asyncio.create_task(group.submit([judged(0)]))
            await disk.held()
            later = [asyncio.create_task(group.submit([judged(n), remembered(n)])) for n in range(1, 9)]
            await asyncio.sleep(0)
            assert not first.done()
            disk.gate.set()
            [record] = await first
            records = [record for own in await asyncio.gather(*later) for record in own]
        assert record.commit == 1
        assert {record.commit for record in records} == {2}
        assert [record.seq for record in records] == list(range(2, 18))

    disk = SlowDisk()
    with created(path, disk) as log:
        asyncio.run(run(log, disk))


def test_nobody_goes_on_before_the_facts_are_synced(path: Path) -> None:
    async def run(log: Log, disk: SlowDisk) -> None:
        async with GroupCommit(log) as group:
            disk.hold()
            task = asyncio.create_task(group.submit([judged(0)]))
            await disk.held()
            assert LogReader(path).head.seq == 0 and not task.done()
            disk.gate.set()
            await task
            assert LogReader(path).head.seq == 1

    disk = SlowDisk()
    with created(path, disk) as log:
        asyncio.run(run(log, disk))


def test_a_failed_sync_fails_everybody_who_waits_and_who_comes_later(path: Path) -> None:
    async def run(log: Log, disk: SlowDisk) -> None:
        async with GroupCommit(log) as group:
            await group.submit([judged(0)])
            disk.hold()
            first = asyncio.create_task(group.submit([judged(1)]))
            await disk.held()
            waiting = [asyncio.create_task(group.submit([judged(n)])) for n in range(2, 6)]
            await asyncio.sleep(0)
            disk.refuse = "sync"
            disk.gate.set()
            found = await asyncio.gather(first, *waiting, return_exceptions=True)
            assert [type(each) for each in found] == [WriterPoisoned] * 5
            with pytest.raises(WriterPoisoned):
                await group.submit([judged(9)])

    disk = SlowDisk()
    with created(path, disk) as log:
        asyncio.run(run(log, disk))
    with Log.open(path, clock=clock()) as log:
        log.append([judged(1)])
    assert events_in(path) == [judged(0).event, judged(1).event]


def test_a_cancelled_producer_takes_nobody_elses_facts_along(path: Path) -> None:
    async def run(log: Log, disk: SlowDisk) -> None:
        async with GroupCommit(log) as group:
            disk.hold()
            in_flight = asyncio.create_task(group.submit([judged(0)]))
            await disk.held()
            queued, other = (asyncio.create_task(group.submit([judged(n)])) for n in (1, 2))
            await asyncio.sleep(0)
            in_flight.cancel()
            queued.cancel()
            await asyncio.gather(in_flight, queued, return_exceptions=True)
            disk.gate.set()
            assert [record.seq for record in await other] == [2]

    disk = SlowDisk()
    with created(path, disk) as log:
        asyncio.run(run(log, disk))
    assert events_in(path) == [judged(0).event, judged(2).event]


def test_an_event_that_cannot_be_stored_is_its_own_producers_trouble(path: Path) -> None:
    async def run(log: Log) -> list[object]:
        async with GroupCommit(log) as group:
            odd = remembered(1, vector=b"odd")
            submissions: list[list[Draft]] = [[judged(0)], [odd], [judged(2)], [judged(0)], []]
            return await asyncio.gather(*map(group.submit, submissions), return_exceptions=True)

    with created(path) as log:
        first, refused, second, same, nothing = asyncio.run(run(log))
    assert isinstance(refused, UsageError)
    assert bits(first) == bits(same), "the same fact from two producers is recorded once"
    assert isinstance(nothing, Appended) and not nothing
    assert events_in(path) == [judged(0).event, judged(2).event]
    assert isinstance(second, Appended) and second[0].seq == 2


def test_closing_waits_for_what_was_submitted_and_takes_nothing_more(path: Path) -> None:
    async def run(log: Log) -> None:
        group = GroupCommit(log)
        tasks = [asyncio.create_task(group.submit([judged(n)])) for n in range(5)]
        await asyncio.sleep(0)
        await group.close()
        assert log.head.seq == 5
        await asyncio.gather(*tasks)
        with pytest.raises(UsageError, match="no more submissions"):
            await group.submit([judged(9)])
        await group.close()

    with created(path) as log:
        asyncio.run(run(log))
    assert events_in(path) == [judged(n).event for n in range(5)]
