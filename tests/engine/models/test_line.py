"""The line to a model: retries, pauses, giving up, and calls in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from mage_es.engine.models.faults import FailedAttempt, Fault, FaultKind, ModelFault
from mage_es.engine.models.line import Line, Patience, ProviderDown, Unanswered
from mage_es.engine.models.seam import Completion, Request
from mage_es.events.errors import Interrupted

REPLY = Completion(text="7", input_tokens=1, output_tokens=1)
QUICK = Patience(attempts=4, first_wait_s=0.001, longest_wait_s=0.002, pause_after=3, pause_s=0.05, give_up_after=9)


class Scripted:
    """A model that fails as it is told, then answers."""

    name = "scripted/model"

    def __init__(self, faults: Iterator[FaultKind] | None = None) -> None:
        self.faults = faults or iter(())
        self.calls = 0
        self.in_flight = 0
        self.most_in_flight = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0.002)
            kind = next(self.faults, None)
            if kind is not None:
                raise ModelFault(Fault(kind, f"it was {kind}"))
            return REPLY
        finally:
            self.in_flight -= 1


def test_a_fault_that_passes_is_tried_again_and_reported_first() -> None:
    model = Scripted(iter(["busy", "connection"]))
    reported: list[FailedAttempt] = []
    line = Line(model, connections=1, patience=QUICK)
    assert asyncio.run(line.complete(Request(prompt="?"), report=reported.append)).completion == REPLY
    assert [failed.fault.kind for failed in reported] == ["busy", "connection"]
    assert model.calls == 3


def test_a_call_that_fails_every_time_stays_unanswered() -> None:
    model = Scripted(iter(["empty"] * 99))
    reported: list[FailedAttempt] = []
    with pytest.raises(Unanswered) as raised:
        asyncio.run(Line(model, connections=1, patience=QUICK).complete(Request(prompt="?"), report=reported.append))
    assert raised.value.failed.fault.kind == "empty" and raised.value.failed.is_lost
    assert len(reported) + 1 == model.calls == QUICK.attempts


@pytest.mark.parametrize("kind", ["filtered", "rejected", "too_long"])
def test_a_fault_of_this_one_request_is_not_tried_again(kind: FaultKind) -> None:
    model = Scripted(iter([kind]))
    with pytest.raises(Unanswered):
        asyncio.run(Line(model, connections=1, patience=QUICK).complete(Request(prompt="?"), report=lambda f: None))
    assert model.calls == 1


@pytest.mark.parametrize("kind", ["denied", "missing"])
def test_a_provider_that_refuses_every_call_stops_the_run_at_once(kind: FaultKind) -> None:
    model = Scripted(iter([kind] * 9))
    with pytest.raises(ProviderDown, match="doctor"):
        asyncio.run(Line(model, connections=1, patience=QUICK).complete(Request(prompt="?"), report=lambda f: None))
    assert model.calls == 1


def test_an_outage_pauses_all_calls_and_says_so_then_gives_up() -> None:
    model = Scripted(iter(["server"] * 999))
    said: list[str] = []
    reported: list[FailedAttempt] = []
    line = Line(model, connections=4, patience=QUICK, say=said.append)

    async def many() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(line.complete(Request(prompt="?"), report=reported.append))

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(many())
    assert raised.value.subgroup(ProviderDown) is not None
    assert [words for words in said if "failed 3 times in a row" in words]
    assert len(reported) >= QUICK.give_up_after


def test_a_success_ends_the_count_of_failures() -> None:
    faults: Iterator[FaultKind | None] = iter((["server"] * 2 + [None]) * 20)
    model = Scripted(faults)  # type: ignore[arg-type]
    said: list[str] = []
    line = Line(model, connections=1, patience=QUICK, say=said.append)

    async def several() -> None:
        for _ in range(20):
            await line.complete(Request(prompt="?"), report=lambda failed: None)

    asyncio.run(several())
    assert said == []


def test_no_more_calls_are_in_flight_than_allowed_and_a_busy_provider_gets_fewer() -> None:
    calm = Scripted()
    busy = Scripted(iter(["busy"] * 3))

    async def many(model: Scripted, count: int) -> None:
        line = Line(model, connections=8, patience=QUICK._replace(pause_after=99))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(count):
                tasks.create_task(line.complete(Request(prompt="?"), report=lambda failed: None))

    asyncio.run(many(calm, 40))
    assert calm.most_in_flight == 8
    asyncio.run(many(busy, 3))
    assert busy.calls == 6


def test_the_wait_is_at_least_what_the_provider_asked_for() -> None:
    class Asking:
        name = "scripted/asking"

        def __init__(self) -> None:
            self.times: list[float] = []

        async def complete(self, request: Request) -> Completion:
            self.times.append(asyncio.get_running_loop().time())
            if len(self.times) == 1:
                raise ModelFault(Fault("busy", "later", 429, retry_after=0.2))
            return REPLY

    model = Asking()
    asyncio.run(Line(model, connections=1, patience=QUICK).complete(Request(prompt="?"), report=lambda f: None))
    assert model.times[1] - model.times[0] >= 0.2


@pytest.mark.parametrize("kind", ["connection", "server", "busy"])
def test_an_outage_gives_up_no_call_but_stops_the_run(kind: FaultKind) -> None:
    model = Scripted(iter([kind] * 999))
    reported: list[FailedAttempt] = []
    line = Line(model, connections=1, patience=QUICK._replace(pause_after=99))
    with pytest.raises(ProviderDown, match="9 times in a row"):
        asyncio.run(line.complete(Request(prompt="?"), report=reported.append))
    assert len(reported) == model.calls == QUICK.give_up_after
    assert not any(failed.is_lost for failed in reported)


def test_a_question_that_fails_while_others_are_answered_is_given_up() -> None:
    class Poisoned:
        name = "scripted/poisoned"

        async def complete(self, request: Request) -> Completion:
            await asyncio.sleep(0.0005)
            if request.prompt == "poison":
                raise ModelFault(Fault("server", "it fell over", 500))
            return REPLY

    async def both() -> None:
        line = Line(Poisoned(), connections=2, patience=QUICK)
        async with asyncio.TaskGroup() as tasks:
            poisoned = tasks.create_task(lost(line))
            while not poisoned.done():
                await line.complete(Request(prompt="?"), report=print)

    async def lost(line: Line) -> None:
        with pytest.raises(Unanswered, match="it fell over"):
            await line.complete(Request(prompt="poison"), report=lambda failed: None)

    asyncio.run(both())


def test_a_stop_is_not_kept_waiting_by_the_pause_before_another_attempt() -> None:
    model = Scripted(iter(["busy"] * 9))
    patient = QUICK._replace(first_wait_s=300.0, longest_wait_s=600.0)
    line = Line(model, connections=1, patience=patient, stop=lambda: model.calls > 0)
    with pytest.raises(Interrupted):
        asyncio.run(asyncio.wait_for(line.complete(Request(prompt="?"), report=lambda failed: None), 30))
    assert model.calls == 1


def test_a_provider_that_asks_for_a_long_wait_is_announced() -> None:
    said: list[str] = []

    class Asking(Scripted):
        async def complete(self, request: Request) -> Completion:
            self.calls += 1
            raise ModelFault(Fault("busy", "come back later", 429, retry_after=3600))

    model = Asking()
    line = Line(model, connections=1, patience=QUICK, say=said.append, stop=lambda: bool(said))
    with pytest.raises(Interrupted):
        asyncio.run(line.complete(Request(prompt="?"), report=lambda failed: None))
    assert "waiting 3600 s" in said[0]


def test_a_model_that_keeps_connections_open_is_closed_with_its_line() -> None:
    class Closing(Scripted):
        closed = False

        async def close(self) -> None:
            self.closed = True

    model = Closing()
    asyncio.run(Line(model, connections=1).aclose())
    asyncio.run(Line(Scripted(), connections=1).aclose())
    assert model.closed
