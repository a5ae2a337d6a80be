"""Leases: of several holders one has the cell, and another gets it when that one is gone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mage_es.engine.matrix.leases import GRACE, Leases
from mage_es.engine.verbs.backup import open_objects
from tests.events.bucket import bucket


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where leases are: a folder, or a bucket with the protocol of S3."""
    if request.param == "folder":
        yield str(tmp_path / "leases")
    else:
        with bucket() as url:
            yield f"{url}/leases"


def holder(place: str, name: str, clock: Clock) -> Leases:
    return Leases(open_objects(place), name, clock=clock, term=300)


def test_a_cell_that_is_held_is_nobody_elses_until_it_is_given_back(place: str, clock: Clock) -> None:
    one, other = holder(place, "one", clock), holder(place, "other", clock)
    lease = one.take("cell")
    assert lease is not None
    assert (other.take("cell"), other.holder_of("cell")) == (None, "one")
    assert other.take("another cell") is not None
    lease.give_back()
    assert other.holder_of("cell") == ""
    assert other.take("cell") is not None


@pytest.mark.paper("section 4.1, matrix")
def test_of_many_who_try_at_once_one_gets_it(place: str, clock: Clock) -> None:
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda n: holder(place, f"h{n}", clock).take("cell"), range(8)))
    assert sum(lease is not None for lease in taken) == 1


def test_a_holder_that_is_gone_loses_it_after_its_time_and_the_grace(place: str, clock: Clock) -> None:
    one, other = holder(place, "one", clock), holder(place, "other", clock)
    lost = one.take("cell")
    clock.now += 300 + GRACE - 1
    assert other.take("cell") is None
    clock.now += 2
    assert other.take("cell") is not None
    assert lost is not None and not lost.renew()  # who comes back finds that it is another's now


def test_a_holder_that_is_known_to_be_gone_loses_it_at_once(place: str, clock: Clock) -> None:
    assert holder(place, "one", clock).take("cell") is not None
    other = Leases(open_objects(place), "other", clock=clock, term=300, is_gone=lambda name: name == "one")
    assert other.holder_of("cell") == ""
    assert other.take("cell") is not None


def test_a_lease_is_renewed_after_a_third_of_its_time_and_lasts(place: str, clock: Clock) -> None:
    one, other = holder(place, "one", clock), holder(place, "other", clock)
    lease = one.take("cell")
    assert lease is not None
    for _ in range(9):
        clock.now += 99
        assert lease.renew()
    assert lease.number == 5  # the first, and one after every second look: 99 s are less than a third, 198 s are more
    assert other.take("cell") is None


def test_the_same_holder_may_take_its_cell_again(place: str, clock: Clock) -> None:
    one = holder(place, "one", clock)
    assert one.take("cell") is not None
    assert one.take("cell") is not None
