"""Clients of a served run, one of which demonstrates what is wrong: a publish holds it, and the others never see it."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.upkeep.memory import memory
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, ProposalSettled
from tests.bench.hostile_served import Desk

EVIL = "evil-0"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, 1, own=160, asked=140, anchors=20)
    yield desk
    desk.live.close()


def taught(desk: Desk, numbers: Iterable[int]) -> None:
    """Let tickets be asked under their clients' keys, which demonstrate answers; then publish."""
    for number in numbers:
        desk.ask(desk.asked[number], number)
    desk.live.publish(desk.models, Runtime())


def approved(desk: Desk, waiting: Sequence[ProposalSettled]) -> None:
    """Approve what waits, and publish it."""
    for each in waiting:
        asyncio.run(desk.live.curate(each.memory_id, action="approve", reason="unread", by="bo"))
    desk.live.publish(desk.models, Runtime())


@pytest.mark.slow
def test_what_a_client_in_doubt_demonstrates_waits_and_what_a_person_lets_in_of_it_only_it_is_shown(desk: Desk) -> None:
    numbers = range(len(desk.asked) - 20)
    taught(desk, [number for number in numbers if desk.asked[number].client == "honest-1"])
    taught(desk, [number for number in numbers if desk.asked[number].client == EVIL])
    reader = LogReader(desk.run.log_path)
    giver = {event.memory_id: event.origin.by for event in reader.of(MemoryAppended)}
    settled = {event.memory_id: event for event in reader.of(ProposalSettled)}
    own = [event for name, event in settled.items() if giver[name] == EVIL]
    assert len(own) > 10 and {event.verdict for event in own} == {"waiting"}
    assert all(event.reason.startswith(f"Its client, {EVIL}, is in doubt: of its ") for event in own)
    assert not [name for name, event in settled.items() if giver[name] != EVIL and "in doubt" in event.reason]
    # Not even a reviewer who reads nothing shows it to the others.
    approved(desk, own)
    assert [row for row in desk.live.state.memory.rows() if row.origin.by == EVIL and row.status == "active"]
    named = own[0].memory_id
    assert "is in doubt" in memory(desk.run, named, at="latest").fields["doubt"]
    assert EVIL not in shown(desk, "honest-1") and EVIL not in shown(desk, "")
    assert EVIL in shown(desk, EVIL)
    desk.live.close()
    assert not [check for check in verify(desk.run).checks if not check.ok]


def shown(desk: Desk, client: str) -> set[str]:
    """Return whose cases a client's questions are shown."""
    frozen, givers = desk.live.frozen(desk.live.marker), set[str]()
    for ticket in desk.asked[-20:]:
        found = frozen.retrieved(ticket.text, client=client)
        givers |= {frozen.state.memory.row(name).origin.by for name in found.memories}
    return givers
