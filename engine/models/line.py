"""The line to a model: bounded retries, a pause for a provider that is down, and no more calls at once than it bears.

Rules
    - Every failed attempt is reported before the next one is made; whoever makes the call records it.
    - Waits grow with full jitter and never undercut what the provider asked for (`retry-after`). One that asks for more
      than `longest_rest_s` seconds, as when a day's quota is used up, stops the run with the time that it names.
    - After `pause_after` failures in a row, of whichever calls, nobody calls for `pause_s` seconds; after
      `give_up_after` of them the run stops cleanly and can be resumed. Calls that were under way when a pause began
      are not counted: many calls that fail at once, as when a server goes down, are one sign and not many.
    - A provider that was never heard of (no reply yet, and nobody listens, or what comes is none) is given up after
      `reach_s` seconds: its address is wrong or it was not started. One that has answered gets the long patience.
    - A call is given up for its own sake only: while the provider serves nobody else, and as long as it is busy, no
      call is. If the first `pause_after` calls of all are refused or come back empty, that is not for their own sake.
    - A provider that is busy halves the number of calls in flight, once for all that were under way together; every
      success lets it grow again by a part of one.
    - Whoever asks to stop waits for calls, never for the pauses between them.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Protocol

from mage_es.engine.models.clock import SYSTEM_CLOCK, Clock
from mage_es.engine.models.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.models.seam import Completion, Model, Request
from mage_es.events.errors import Interrupted, PrerequisiteError

if TYPE_CHECKING:
    import tenacity


class Patience(NamedTuple):
    """How often and how long a line tries, and by which clock. Times are seconds."""

    attempts: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    pause_after: int = 12
    pause_s: float = 30.0
    give_up_after: int = 60
    reach_s: float = 25.0
    longest_rest_s: float = 3600.0
    clock: Clock = SYSTEM_CLOCK


PATIENCE = Patience()
"""What a line has unless told otherwise."""
LONGEST_REPLY = 2_000_000
"""Characters; far more than the most tokens that any call asks for, far less than an event may have."""
_GLANCE_S = 0.2
"""Seconds after which somebody who waits looks whether to stop."""


class Answered(NamedTuple):
    """A reply, and how long its own attempt took in microseconds."""

    completion: Completion
    latency_us: int


Report = Callable[[FailedAttempt], object]


class Toll(Protocol):
    """What is asked before an attempt whether it can be afforded, and told what it came to."""

    async def room(self, model: str, request: Request) -> bool:
        """Wait while a call can be afforded only once others have come back; return whether that took any time."""
        ...

    def holding(
        self, model: str, request: Request, *, in_batch: bool = False
    ) -> AbstractContextManager[Callable[[Completion], None]]:
        """Return a block in which the call is made, which gives what books the reply; it may refuse to be entered."""
        ...


class Unanswered(Exception):
    """A call failed for good, and only this one; `failed` is its last attempt, which was not reported."""

    def __init__(self, failed: FailedAttempt) -> None:
        super().__init__(failed.fault.message)
        self.failed = failed


class ProviderDown(PrerequisiteError):
    """A provider cannot be used: it refuses every call, or has failed too often in a row."""


class Line:
    """Calls to one model, from any number of tasks of one event loop."""

    def __init__(
        self,
        model: Model,
        *,
        connections: int,
        patience: Patience = PATIENCE,
        say: Callable[[str], None] = lambda words: None,
        stop: Callable[[], bool] = lambda: False,
        toll: Toll | None = None,
    ) -> None:
        self.model, self.name = model, model.name
        self._patience, self._say, self._stop, self._toll, self._clock = patience, say, stop, toll, patience.clock
        self._most, self._allowed = float(connections), float(connections)
        self._in_flight, self._served, self._failures, self._given_up = 0, 0, 0, 0
        self._freed = asyncio.Event()
        self._resting_until = self._eased_at = self._rested_at = 0.0
        self._unreached_since: float | None = None

    async def complete(self, request: Request, *, report: Report) -> Answered:
        """Return the model's reply, after as many attempts as it takes.

        Raises:
            Unanswered: This call failed for good.
            ProviderDown: No call can succeed at present; the message says what to do.
            Interrupted: A stop was asked for before another attempt, or it cannot be afforded.
        """
        try:
            return await self._attempt(request, 1, self._served, report)
        except ModelFault as error:
            first, served = error, self._served
        # Only now: setting up a loop of retries costs as much as a tenth of an embedded model's answer.
        import tenacity

        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_never,  # `_is_lost` and `_consider` end every call, or the run
            wait=self._wait,
            retry=tenacity.retry_if_exception_type(ModelFault),
            sleep=self._sleep,
            reraise=True,
        )
        async for attempt in retrying:
            number = attempt.retry_state.attempt_number
            with attempt:
                if number == 1:  # which was made above
                    raise first
                return await self._attempt(request, number, served, report)
        raise AssertionError("a loop of retries ends with a reply or an error")

    async def aclose(self) -> None:
        """Close what the model keeps open, if it keeps anything."""
        close = getattr(self.model, "close", None)
        if close is not None:
            await close()

    async def _attempt(self, request: Request, number: int, served: int, report: Report) -> Answered:
        while self._in_flight >= int(self._allowed):
            self._freed.clear()
            await self._freed.wait()
            if self._stop():
                raise Interrupted("Stopped before a call's turn came.")
        self._in_flight += 1
        try:
            await self._may_begin(request)
            began, began_at = time.perf_counter_ns(), self._clock.now()
            completion = await self._complete(request)
        except ModelFault as error:
            took = (time.perf_counter_ns() - began) // 1000
            self._count(error.fault, began_at)
            is_lost = self._is_lost(error.fault, number, served)
            self._given_up += is_lost and _is_of_all(error.fault)
            is_useless = is_lost and not self._served and self._given_up >= self._patience.pause_after
            failed = FailedAttempt(error.fault, took, is_lost=is_lost and not is_useless)
            if failed.is_lost:
                raise Unanswered(failed) from None
            report(failed)
            if is_useless:
                self._give_up_asking(error.fault)
            self._consider(error.fault, began_at)
            raise
        finally:
            self._in_flight -= 1
            self._freed.set()
        self._served += 1
        self._failures, self._resting_until, self._unreached_since = 0, 0.0, None
        self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        return Answered(completion, (time.perf_counter_ns() - began) // 1000)

    async def _may_begin(self, request: Request) -> None:
        """Wait until nobody has to rest and the call can be afforded. Raises `Interrupted` where somebody asks to stop.

        Nobody else runs between that moment and the call.
        """
        while True:
            if self._resting_until:
                await self._sleep(self._resting_until - self._clock.now())
            if self._toll is None:
                return
            if await self._toll.room(self.name, request) and self._stop():
                raise Interrupted("Stopped before a call could be afforded.")
            if self._resting_until <= self._clock.now():
                return

    async def _complete(self, request: Request) -> Completion:
        if self._toll is None:
            return _bounded(await self.model.complete(request))
        with self._toll.holding(self.name, request) as pay:
            completion = await self.model.complete(request)
            pay(completion)
        return _bounded(completion)

    def _count(self, fault: Fault, began: float) -> None:
        """Note a failure: of the provider, or (a reply that is withheld or empty) of one that works."""
        if fault.kind in ("connection", "malformed") and not self._served:
            if self._unreached_since is None:
                self._unreached_since = self._clock.now()
                self._say(f"{self.name} is not there yet ({fault.message}); trying for {self._patience.reach_s:g} s.")
            return
        self._unreached_since = None
        if fault.is_outage:
            self._failures += began >= self._rested_at
        elif fault.kind not in HOPELESS:
            self._failures = 0
        if fault.kind == "busy" and began >= self._eased_at:
            self._allowed = max(1.0, self._allowed / 2)
            # Calls that are under way now say nothing about fewer calls.
            self._eased_at = self._clock.now()

    def _is_lost(self, fault: Fault, number: int, served: int) -> bool:
        """Return whether a call has failed for good, and not its provider.

        `served` is how many replies had come when the call failed first. Where none came since, it cannot be told
        whether the question or the provider is at fault, unless the reply itself says so.
        """
        if not fault.passes:
            return fault.kind not in HOPELESS
        if fault.kind == "busy":  # a place in a queue, which everybody else gets before this call
            return number >= self._patience.give_up_after and self._served > served
        if number < self._patience.attempts or self._failures >= self._patience.pause_after:
            return False
        if self._unreached_since is not None:
            return False
        return fault.kind not in ("connection", "server") or self._served > served

    def _consider(self, fault: Fault, began: float) -> None:
        """Raise where it makes no sense to go on; rest where a pause may help."""
        if fault.kind in HOPELESS:
            raise ProviderDown(f"{self.name} refuses every call: {fault.sentence} {_REMEDIES[fault.kind]}") from None
        require_near(self.name, fault, self._patience)
        if self._unreached_since is not None:
            if self._clock.now() - self._unreached_since >= self._patience.reach_s:
                self._give_up_reaching(fault)
            return
        if self._failures >= self._patience.give_up_after:
            self._give_up(fault)
        if began < self._rested_at:
            return
        if self._failures and self._failures % self._patience.pause_after == 0:
            self._rest(self._patience.pause_s, f"failed {self._failures} times in a row ({fault.message})")
        elif fault.retry_after >= self._patience.pause_s:
            self._rest(fault.retry_after, f"asks for patience ({fault.message})")

    def _give_up(self, fault: Fault) -> NoReturn:
        raise ProviderDown(
            f"{self.name} failed {self._failures} times in a row, last with: {fault.sentence} Everything recorded "
            "is kept; resume the run when the provider is back."
        ) from None

    def _give_up_reaching(self, fault: Fault) -> NoReturn:
        raise ProviderDown(
            f"{self.name} was tried for {self._patience.reach_s:g} s and no model answers there: {fault.sentence} "
            "Start the server, or correct its address; `mage-es doctor` shows who answers. Everything recorded is kept."
        ) from None

    def _give_up_asking(self, fault: Fault) -> NoReturn:
        raise ProviderDown(
            f"{self.name} has answered none of its first {self._given_up} calls, last with: {fault.sentence} That is "
            "no matter of the questions. Mend the server and resume the run, or correct what the calls ask for (the "
            "model's options, --max-tokens) and begin another. Everything recorded is kept."
        ) from None

    def _rest(self, seconds: float, why: str) -> None:
        self._rested_at = self._clock.now()
        self._resting_until = self._rested_at + seconds
        self._say(f"{self.name} {why}; waiting {seconds:g} s before the next call.")

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Return the seconds before the next attempt: full jitter on top of what the provider asked for."""
        import tenacity

        assert state.outcome is not None
        error = state.outcome.exception()
        jitter = tenacity.wait_random_exponential(self._patience.first_wait_s, max=self._patience.longest_wait_s)
        asked = error.fault.retry_after if isinstance(error, ModelFault) else 0.0
        wait = asked + float(jitter(state))
        if self._unreached_since is not None:  # the last attempt comes when the time is up, and not long after
            wait = min(wait, max(0.0, self._unreached_since + self._patience.reach_s - self._clock.now()))
        return wait

    async def _sleep(self, seconds: float) -> None:
        """Sleep, a glance at a time. Raises `Interrupted` where somebody asks to stop."""
        until = self._clock.now() + seconds
        while True:
            if self._stop():
                raise Interrupted("Stopped between two attempts at a call.")
            left = until - self._clock.now()
            if left <= 0:
                return
            await self._clock.sleep(min(left, _GLANCE_S))


_REMEDIES = {
    "denied": "Check the key in the environment and what it may be used for; `mage-es doctor` tells which is read.",
    "missing": "Check the model's name and the server's address (base_url ends in /v1 for openai/, before it for "
    "anthropic/); `mage-es doctor` lists what the server offers.",
}


def require_near(name: str, fault: Fault, patience: Patience) -> None:
    """Raise `ProviderDown` where a provider wants to be left alone for longer than anybody sleeps through."""
    if fault.retry_after > patience.longest_rest_s:
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=fault.retry_after)
        raise ProviderDown(
            f"{name} wants no call before {until:%Y-%m-%d %H:%M} UTC: {fault.sentence} Everything recorded is kept; "
            "resume the run then, or use another model."
        ) from None


def _bounded(completion: Completion) -> Completion:
    """Return a completion that can be recorded. Raises `ModelFault` for one longer than any that is asked for."""
    if len(completion.text) > LONGEST_REPLY:
        told = f"a reply of {len(completion.text)} characters; {LONGEST_REPLY} are read at most"
        raise ModelFault(Fault("malformed", told))
    return completion


def _is_of_all(fault: Fault) -> bool:
    """Return whether what is wrong with one call may be wrong with all: refused by a server, or without any text."""
    return fault.kind == "empty" or (fault.kind == "rejected" and fault.status > 0)
