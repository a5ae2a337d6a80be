"""The retrying client: retries, pauses, giving up, and calls in flight."""

import asyncio
import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec
import pytest

from mage_es.engine.models.retrying import ProviderDown, RetryingClient, RetryPolicy, Unanswered
from mage_es.engine.seams.faults import FailedAttempt, Fault, FaultKind, ModelFault
from mage_es.engine.seams.model import LONGEST_REPLY, Completion, Model, Request
from mage_es.events.errors import Interrupted, UsageError
from tests.kit.models import Saying

REPLY = Completion(text="7", input_tokens=1, output_tokens=1)


class Virtual:
    """A clock whose seconds pass as soon as everybody else has had a turn."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        until = self.time + seconds
        await asyncio.sleep(0)
        self.time = max(self.time, until)


QUICK = RetryPolicy(attempts=4, first_wait_s=0.001, longest_wait_s=0.002, pause_after=3, pause_s=0.05, give_up_after=9)


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


def ask_once(model: Model, report: Callable[[FailedAttempt], object] = lambda f: None) -> Completion:
    client = RetryingClient(model, connections=1, retry_policy=QUICK)
    return asyncio.run(client.complete(Request(prompt="?"), report=report)).completion


async def ask_many(
    client: RetryingClient, tasks: int, calls: int, report: Callable[[FailedAttempt], object] = lambda f: None
) -> None:
    async def ask() -> None:
        for _ in range(calls):
            await client.complete(Request(prompt="?"), report=report)

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(ask())


def test_a_fault_that_passes_is_tried_again_and_reported_first() -> None:
    model = Scripted(iter(["busy", "connection"]))
    reported: list[FailedAttempt] = []
    assert ask_once(model, reported.append) == REPLY
    assert [failed.fault.kind for failed in reported] == ["busy", "connection"]
    assert model.calls == 3


def test_a_call_that_fails_every_time_stays_unanswered() -> None:
    model = Scripted(iter(["malformed", "no_room"] * 99))
    reported: list[FailedAttempt] = []
    with pytest.raises(Unanswered) as raised:
        ask_once(model, reported.append)
    assert raised.value.failed.fault.kind == "no_room" and raised.value.failed.is_lost
    assert len(reported) + 1 == model.calls == QUICK.attempts


@pytest.mark.parametrize("kind", ["rejected", "too_long"])
def test_a_fault_of_this_one_request_is_not_tried_again(kind: FaultKind) -> None:
    model = Scripted(iter([kind]))
    with pytest.raises(Unanswered):
        ask_once(model)
    assert model.calls == 1


@pytest.mark.parametrize("kind", ["denied", "missing"])
def test_a_provider_that_refuses_every_call_stops_the_run_at_once(kind: FaultKind) -> None:
    model = Scripted(iter([kind] * 9))
    with pytest.raises(ProviderDown, match="doctor"):
        ask_once(model)
    assert model.calls == 1


def test_an_outage_pauses_all_calls_and_says_so_then_gives_up() -> None:
    model = Scripted(iter(["server"] * 999))
    said: list[str] = []
    reported: list[FailedAttempt] = []
    client = RetryingClient(model, connections=4, retry_policy=QUICK, announce=said.append)
    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(ask_many(client, 8, 1, reported.append))
    assert raised.value.subgroup(ProviderDown) is not None
    assert [words for words in said if "failed 3 times in a row" in words]
    assert len(reported) >= QUICK.give_up_after


def test_a_success_ends_the_count_of_failures() -> None:
    faults: Iterator[FaultKind | None] = iter((["server"] * 2 + [None]) * 20)
    model = Scripted(faults)  # type: ignore[arg-type]
    said: list[str] = []
    client = RetryingClient(model, connections=1, retry_policy=QUICK, announce=said.append)
    asyncio.run(ask_many(client, 1, 20))
    assert said == []


def test_no_more_calls_are_in_flight_than_allowed_and_a_busy_provider_gets_fewer() -> None:
    calm = Scripted()
    busy = Scripted(iter(["busy"] * 3))
    for model, count in ((calm, 40), (busy, 3)):
        client = RetryingClient(model, connections=8, retry_policy=QUICK._replace(pause_after=99))
        asyncio.run(ask_many(client, count, 1))
    assert calm.most_in_flight == 8
    assert busy.calls == 6


class Asking:
    """A model that asks for a wait before it answers."""

    name = "scripted/asking"

    def __init__(self) -> None:
        self.times: list[float] = []

    async def complete(self, request: Request) -> Completion:
        self.times.append(asyncio.get_running_loop().time())
        if len(self.times) == 1:
            raise ModelFault(Fault("busy", "later", 429, retry_after=0.2))
        return REPLY


def test_the_wait_is_at_least_what_the_provider_asked_for() -> None:
    model = Asking()
    ask_once(model)
    assert model.times[1] - model.times[0] >= 0.2


def test_a_failed_attempt_tells_the_wait_that_follows_it() -> None:
    def waits(model: Scripted | Asking, attempts: int = 4) -> list[float]:
        reported, policy = list[FailedAttempt](), QUICK._replace(first_wait_s=0.5, attempts=attempts, clock=Virtual())
        with suppress(Unanswered, ProviderDown):
            client = RetryingClient(model, connections=1, retry_policy=policy)
            asyncio.run(client.complete(Request(prompt="?"), report=reported.append))
        return [failed.wait_s for failed in reported]

    [asked] = waits(Asking())
    assert 0.2 <= asked <= 0.2 + QUICK.longest_wait_s
    assert all(0 < wait <= QUICK.longest_wait_s for wait in waits(Scripted(iter(["busy"] * 3))))
    assert waits(Scripted(iter(["denied"]))) == [0.0]


@pytest.mark.parametrize("kind", ["timeout", "server", "busy"])
def test_an_outage_gives_up_no_call_but_stops_the_run(kind: FaultKind) -> None:
    model = Scripted(iter([kind] * 999))
    reported: list[FailedAttempt] = []
    client = RetryingClient(model, connections=1, retry_policy=QUICK._replace(attempts=99, pause_after=99))
    with pytest.raises(ProviderDown, match="9 times in a row"):
        asyncio.run(client.complete(Request(prompt="?"), report=reported.append))
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
        client = RetryingClient(Poisoned(), connections=2, retry_policy=QUICK)
        async with asyncio.TaskGroup() as tasks:
            poisoned = tasks.create_task(lost(client))
            while not poisoned.done():
                await client.complete(Request(prompt="?"), report=print)

    async def lost(client: RetryingClient) -> None:
        with pytest.raises(Unanswered, match="it fell over"):
            await client.complete(Request(prompt="poison"), report=lambda failed: None)

    asyncio.run(both())


def test_a_stop_is_not_kept_waiting_by_the_pause_before_another_attempt() -> None:
    model = Scripted(iter(["busy"] * 9))
    patient = QUICK._replace(first_wait_s=300.0, longest_wait_s=600.0)
    client = RetryingClient(model, connections=1, retry_policy=patient, stop=lambda: model.calls > 0)
    with pytest.raises(Interrupted):
        asyncio.run(asyncio.wait_for(client.complete(Request(prompt="?"), report=lambda failed: None), 30))
    assert model.calls == 1


def test_a_provider_that_asks_for_a_long_wait_is_announced() -> None:
    said: list[str] = []

    class Asking(Scripted):
        async def complete(self, request: Request) -> Completion:
            self.calls += 1
            raise ModelFault(Fault("busy", "come back later", 429, retry_after=3600))

    model = Asking()
    client = RetryingClient(model, connections=1, retry_policy=QUICK, announce=said.append, stop=lambda: bool(said))
    with pytest.raises(Interrupted):
        asyncio.run(client.complete(Request(prompt="?"), report=lambda failed: None))
    assert "waiting 3600 s" in said[0]


@pytest.mark.parametrize("asked", [3601.0, 86_400.0, 365 * 86_400.0])
def test_a_provider_that_asks_for_more_than_an_hour_stops_the_run_with_the_time_that_it_names(asked: float) -> None:
    reported: list[FailedAttempt] = []

    class Exhausted(Scripted):
        async def complete(self, request: Request) -> Completion:
            self.calls += 1
            raise ModelFault(Fault("busy", "The quota of today is used up.", 429, retry_after=asked))

    model = Exhausted()
    before = datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)
    with pytest.raises(ProviderDown, match=r"used up\. Everything recorded is kept; resume the run then") as raised:
        ask_once(model, reported.append)
    named = re.search(r"before (\S+ \S+) UTC", str(raised.value))
    assert named and raised.value.exit_code == 4 and model.calls == 1 and len(reported) == 1
    until = datetime.datetime.strptime(f"{named[1]} +0000", "%Y-%m-%d %H:%M %z")
    assert (
        before
        <= until - datetime.timedelta(seconds=asked - 60)
        <= datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60)
    )


def test_a_model_that_keeps_connections_open_is_closed_with_its_line() -> None:
    class Closing(Scripted):
        closed = False

        async def close(self) -> None:
            self.closed = True

    model = Closing()
    asyncio.run(RetryingClient(model, connections=1).aclose())
    asyncio.run(RetryingClient(Scripted(), connections=1).aclose())
    assert model.closed


# ---------------------------------------------------------------- outages, on a clock of their own


class Timed:
    """A model that answers after `latency` seconds of the clock, or fails as `fault` says at the end of them."""

    name = "scripted/timed"

    def __init__(self, clock: Virtual, fault: Callable[[float], FaultKind | None], latency: float = 0.0) -> None:
        self.clock, self.fault, self.latency, self.calls = clock, fault, latency, 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        await self.clock.sleep(self.latency)
        kind = self.fault(self.clock.now())
        if kind is not None:
            raise ModelFault(Fault(kind, f"it was {kind}"))
        return REPLY


@pytest.mark.parametrize("tasks", [1, 8, 64])
def test_a_server_that_was_never_there_is_given_up_after_half_a_minute_with_the_remedy(tasks: int) -> None:
    clock, said = Virtual(), list[str]()
    model = Timed(clock, lambda now: "connection")
    client = RetryingClient(model, connections=tasks, retry_policy=RetryPolicy(clock=clock), announce=said.append)
    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(ask_many(client, tasks, 1))
    down = raised.value.exceptions[0]
    assert isinstance(down, ProviderDown) and "doctor" in str(down) and "Start the server" in str(down)
    assert 25 <= clock.now() < 30
    assert len(said) == 1 and "cannot be reached yet" in said[0]


def test_a_server_that_was_never_there_is_given_up_at_any_time_of_the_clock() -> None:
    clock = Virtual()
    clock.time = began = 4071.00685
    assert began + 25 - began < 25, "a float may round so"
    model = Timed(clock, lambda now: "connection")
    client = RetryingClient(model, connections=1, retry_policy=RetryPolicy(clock=clock))
    with pytest.raises(ExceptionGroup):
        asyncio.run(asyncio.wait_for(ask_many(client, 1, 1), 20))
    assert model.calls < 20


def test_a_page_of_something_else_from_the_start_is_no_provider_either() -> None:
    clock = Virtual()
    client = RetryingClient(Timed(clock, lambda now: "malformed"), connections=4, retry_policy=RetryPolicy(clock=clock))
    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(ask_many(client, 4, 1))
    assert "no model answered within 25 s: it was malformed." in str(raised.value.exceptions[0])
    assert 25 <= clock.now() < 30


def test_a_reply_that_is_longer_than_any_asked_for_is_not_kept() -> None:
    class Endless(Scripted):
        async def complete(self, request: Request) -> Completion:
            reply = await super().complete(request)
            return msgspec.structs.replace(reply, text="7" * (LONGEST_REPLY + (self.calls == 1)))

    reported: list[FailedAttempt] = []
    came = asyncio.run(
        RetryingClient(Endless(), connections=1, retry_policy=QUICK).complete(
            Request(prompt="?"), report=reported.append
        )
    )
    assert len(came.completion.text) == LONGEST_REPLY
    assert [failed.fault.kind for failed in reported] == ["malformed"]


class Choosy:
    """A model that fails every call in one way, from the n-th on."""

    name = "choosy/model"

    def __init__(self, fault: Fault, *, after: int = 0) -> None:
        self.fault, self.after, self.calls = fault, after, 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        if self.calls <= self.after:
            return REPLY
        raise ModelFault(self.fault)


def given_up(model: Choosy, count: int) -> tuple[int, list[FailedAttempt]]:
    """Return how many of so many calls were given up by themselves, and every other attempt that failed."""
    client, reported, lost = RetryingClient(model, connections=1, retry_policy=QUICK), list[FailedAttempt](), 0
    for _ in range(count):
        with suppress(Unanswered):
            lost += 1
            asyncio.run(client.complete(Request(prompt="?"), report=reported.append))
            lost -= 1
    return lost, reported


def test_a_provider_that_answers_none_of_its_first_calls_is_not_asked_all_the_others() -> None:
    fault = Fault("rejected", "no such field", 400)
    with pytest.raises(
        ProviderDown, match=f"none of its first {QUICK.pause_after} calls; the last one failed with: {fault.message}"
    ):
        given_up(Choosy(fault), 99)


def test_that_no_reply_has_any_text_is_announced_once() -> None:
    said: list[str] = []
    wordless = Saying("wordless/model", " ", output_tokens=9, stop_reason="length")
    client = RetryingClient(wordless, connections=1, retry_policy=QUICK, announce=said.append)
    for _ in range(9):
        asyncio.run(client.complete(Request(prompt="?"), report=lambda failed: None))
    assert len(said) == 1 and "first 3 replies" in said[0] and "truncated" in said[0]


def test_the_call_that_shows_it_is_asked_again_by_whoever_resumes() -> None:
    reported: list[FailedAttempt] = []
    client = RetryingClient(
        Choosy(Fault("rejected", "no", 400)), connections=1, retry_policy=QUICK._replace(pause_after=1)
    )
    with pytest.raises(ProviderDown):
        asyncio.run(client.complete(Request(prompt="?"), report=reported.append))
    assert [failed.is_lost for failed in reported] == [False]


@pytest.mark.parametrize(
    "model",
    [
        Choosy(Fault("rejected", "no", 400), after=1),
        Choosy(Fault("rejected", "never made that request")),
        Choosy(Fault("too_long", "too long", 400)),
    ],
    ids=["after a reply", "off a record", "too long"],
)
def test_what_may_be_wrong_with_the_questions_alone_stops_nobody(model: Choosy) -> None:
    assert given_up(model, 20) == (20 - model.after, [])


def test_a_server_that_starts_within_the_half_minute_is_waited_for() -> None:
    clock = Virtual()
    model = Timed(clock, lambda now: "connection" if now < 20 else None)
    asyncio.run(ask_many(RetryingClient(model, connections=8, retry_policy=RetryPolicy(clock=clock)), 8, 3))
    assert model.calls >= 24


@pytest.mark.paper("beyond the paper, outages")
@pytest.mark.parametrize("tasks", [1, 64])
def test_a_server_that_dies_in_the_middle_has_the_long_patience_however_many_calls_fail_at_once(tasks: int) -> None:
    clock, said = Virtual(), list[str]()
    model = Timed(clock, lambda now: "connection" if 10 < now < 100 else None, latency=1.0)
    client = RetryingClient(model, connections=tasks, retry_policy=RetryPolicy(clock=clock), announce=said.append)
    asyncio.run(ask_many(client, tasks, 20))  # ends only because the calls succeed at last
    assert clock.now() > 100
    assert tasks == 1 or any("failed 12 times in a row" in words for words in said)


def test_a_server_that_stays_away_ends_the_run_after_minutes_not_at_once() -> None:
    clock = Virtual()
    model = Timed(clock, lambda now: "connection" if now > 10 else None, latency=1.0)
    client = RetryingClient(model, connections=64, retry_policy=RetryPolicy(clock=clock))
    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(ask_many(client, 64, 20))
    assert raised.value.subgroup(ProviderDown) is not None
    assert 120 < clock.now() < 600


def test_calls_that_fail_together_halve_the_calls_in_flight_once_and_successes_bring_them_back() -> None:
    clock, at_once = Virtual(), list[int]()

    class Limited(Timed):
        in_flight = 0

        async def complete(self, request: Request) -> Completion:
            Limited.in_flight += 1
            at_once.append(Limited.in_flight)
            try:
                return await super().complete(request)
            finally:
                Limited.in_flight -= 1

    # All 32 of the first second are told to come later; from then on everybody is served.
    client = RetryingClient(
        Limited(clock, lambda now: "busy" if now <= 1 else None, 1.0),
        connections=32,
        retry_policy=RetryPolicy(clock=clock),
    )

    async def twice() -> None:
        await ask_many(client, 32, 1)
        assert max(at_once[:32]) == 32 and 16 <= max(at_once[32:]) < 24
        await ask_many(client, 32, 40)
        assert max(at_once[-200:]) == 32

    asyncio.run(twice())


def test_a_call_that_everybody_else_gets_before_is_given_up_in_the_end() -> None:
    clock = Virtual()

    class Unfair(Timed):
        async def complete(self, request: Request) -> Completion:
            await self.clock.sleep(0.1)
            if request.prompt == "poor":
                raise ModelFault(Fault("busy", "later"))
            return REPLY

    async def both() -> None:
        client = RetryingClient(
            Unfair(clock, lambda now: None), connections=2, retry_policy=QUICK._replace(clock=clock)
        )
        poor = asyncio.ensure_future(client.complete(Request(prompt="poor"), report=lambda failed: None))
        while not poor.done():
            await client.complete(Request(prompt="?"), report=print)
        with pytest.raises(Unanswered):
            await poor

    asyncio.run(both())


@pytest.mark.parametrize("reply", ["7", msgspec.structs.replace(REPLY, text=None)])  # type: ignore[arg-type]
def test_what_is_no_completion_with_a_text_is_refused_with_a_hint(reply: Completion) -> None:
    class Other:
        name = "mine/other"

        async def complete(self, request: Request) -> Completion:
            return reply

    with pytest.raises(UsageError, match=r"mine/other returned .*, and not a mage_es\.Completion.*: have `async def"):
        ask_once(Other())
