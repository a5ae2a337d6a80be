"""Calls with bounded retries: backoff, a pause for a provider that is down, and a limit on concurrent calls.

What happens after a fault (its kinds: engine/seams/faults.py), with the defaults of `RetryPolicy`:

    timeout malformed     retried with full jitter; lost after 6 attempts, unless the provider is down
    connection server     the same, but lost only if the provider has answered other calls meanwhile
    busy                  retried, lost if it starves while others are served; concurrency is halved, successes raise it
    no_room               retried with a lower limit, lost after 6 attempts
    rejected              lost at once (`Unanswered`)
    too_long              lost at once; the course may ask again with one memory fewer
    denied missing        the run stops (`ProviderDown`), with what to fix

Rules
    - Every failed attempt is reported before the next one is made; the caller records it.
    - A wait is never shorter than the provider's `retry-after`. If that exceeds `longest_rest_s`, as when a day's quota
      is used up, the run stops and names the time.
    - After `pause_after` outages in a row over all calls (an outage is a fault of the first three rows), no call is
      made for `pause_s` seconds; after `give_up_after` outages the run stops cleanly and can be resumed. Calls that
      were in flight when a pause began are not counted: if a server goes down, many calls fail at once for the same
      reason. A pause is announced, and the record says how long each call waited.
    - A provider that has never answered counts as unreachable after `reach_s` seconds: its address is wrong, or it was
      not started. For one that has answered before, the whole policy applies.
    - If the first `pause_after` calls are all rejected, the calls themselves are at fault: the run stops rather than
      lose every question. If the first `pause_after` replies all have no text, this is announced.
    - A request to stop waits for calls in flight, but not for pauses between attempts.
"""

import asyncio
import datetime
import random
import time
from collections.abc import Callable
from typing import NamedTuple

from mage_es.engine.seams.clock import SYSTEM_CLOCK, Clock
from mage_es.engine.seams.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.seams.metering import SpendingGuard
from mage_es.engine.seams.model import Completion, Model, Request, reason_of, recordable, reply_of
from mage_es.events.errors import Interrupted, PrerequisiteError


class RetryPolicy(NamedTuple):
    """How often a call is retried, and when its provider counts as down. Times are seconds."""

    attempts: int = 6
    first_wait_s: float = 0.5
    """Upper bound of the first wait; it doubles with every attempt."""
    longest_wait_s: float = 60.0
    pause_after: int = 12
    """Outages in a row before all calls pause for `pause_s`."""
    pause_s: float = 30.0
    give_up_after: int = 60
    """Outages in a row before the run stops."""
    reach_s: float = 25.0
    """How long to try a provider that has never answered."""
    longest_rest_s: float = 3600.0
    """The longest `retry-after` to wait for."""
    clock: Clock = SYSTEM_CLOCK

    def wait_s(self, fault: Fault, number: int) -> float:
        """Return the seconds to wait after the `number`th attempt failed: the provider's `retry-after` plus full jitter
        [Brooker, Exponential Backoff and Jitter, 2015]."""
        # Not 2**(number - 1): a call may be tried so often that the power is no float.
        most = min(self.longest_wait_s, self.first_wait_s * 2 ** min(number - 1, 64))
        return fault.retry_after + random.uniform(0.0, most)


DEFAULT_RETRIES = RetryPolicy()
_POLL_S = 0.2
"""Seconds between two checks for a stop."""


class Answered(NamedTuple):
    """A reply, and the microseconds of its own attempt, without failed ones."""

    completion: Completion
    latency_us: int


Report = Callable[[FailedAttempt], object]


class Unanswered(Exception):
    """This one call failed permanently; `failed` is its last attempt, which was not reported."""

    def __init__(self, failed: FailedAttempt) -> None:
        super().__init__(failed.fault.message)
        self.failed = failed


class ProviderDown(PrerequisiteError):
    """The provider refuses every call, or has failed too often in a row."""


class RetryingClient:
    """Calls to one model, from any number of tasks of one event loop.

    [beyond the paper, outages] Failures of calls in flight together count once. A server that answered before gets some
    minutes; then the run stops and can be resumed.
    """

    def __init__(
        self,
        model: Model,
        *,
        connections: int,
        retry_policy: RetryPolicy = DEFAULT_RETRIES,
        announce: Callable[[str], None] = lambda words: None,
        stop: Callable[[], bool] = lambda: False,
        spending: SpendingGuard | None = None,
    ) -> None:
        self.model, self.name = model, model.name
        self.policy, self._clock = retry_policy, retry_policy.clock
        self.announce, self.stop, self.spending = announce, stop, spending
        self._connections, self._allowed = float(connections), float(connections)
        self._in_flight, self._served, self._failures, self._lost, self._said = 0, 0, 0, 0, 0
        self._freed = asyncio.Event()
        self._paused_until = self._eased_at = self._paused_at = 0.0
        self._unreachable_since: float | None = None

    async def complete(self, request: Request, *, report: Report) -> Answered:
        """Return the model's reply, after as many attempts as the policy allows.

        Raises `Unanswered` if this call failed permanently, `ProviderDown` if none can succeed at present,
        `Interrupted` after a stop between two attempts or if the budget does not allow another.
        """
        number, served = 1, self._served
        while True:
            outcome = await self._attempt(request, number, served, report)
            if isinstance(outcome, Answered):
                return outcome
            if number == 1:
                served = self._served
            number += 1
            await self._sleep(outcome.wait_s)

    async def aclose(self) -> None:
        close = getattr(self.model, "close", None)
        if close is not None:
            await close()

    async def _attempt(self, request: Request, number: int, served: int, report: Report) -> Answered | FailedAttempt:
        while self._in_flight >= int(self._allowed):
            self._freed.clear()
            await self._freed.wait()
            if self.stop():
                raise Interrupted("Stopped before a call's turn came.")
        self._in_flight += 1
        try:
            await self._wait_for_turn(request)
            began, began_at = time.perf_counter_ns(), self._clock.now()
            completion = await self._complete(request)
        except ModelFault as error:
            took = (time.perf_counter_ns() - began) // 1000
            fault = error.fault
            self._note_failure(fault, began_at)
            is_lost = self._is_lost(fault, number, served)
            self._lost += is_lost and _is_of_all(fault)
            is_useless = is_lost and not self._served and self._lost >= self.policy.pause_after
            if is_lost and not is_useless:
                raise Unanswered(FailedAttempt(fault, took, is_lost=True)) from None
            down = self._useless(fault) if is_useless else self._down(fault)
            failed = FailedAttempt(fault, took, wait_s=0.0 if down else self._wait_s(fault, number))
            report(failed)
            if down:
                raise down from None
            self._pause_if_needed(fault, began_at)
            return failed
        finally:
            self._in_flight -= 1
            self._freed.set()
        self._served += 1
        self._note_text(completion)
        self._failures, self._paused_until, self._unreachable_since = 0, 0.0, None
        self._allowed = min(self._connections, self._allowed + 1 / self._allowed)
        return Answered(completion, (time.perf_counter_ns() - began) // 1000)

    async def _wait_for_turn(self, request: Request) -> None:
        """Wait until there is no pause and the budget allows the call. Raises `Interrupted` if the user asks to stop.

        No other task runs between the return and the call, so what was checked still holds.
        """
        while True:
            if self._paused_until:
                await self._sleep(self._paused_until - self._clock.now())
            if self.spending is None:
                return
            if await self.spending.room(self.name, request) and self.stop():
                raise Interrupted("Stopped before the budget allowed a call.")
            if self._paused_until <= self._clock.now():
                return

    async def _complete(self, request: Request) -> Completion:
        if self.spending is None:
            return recordable(await reply_of(self.model, request))
        with self.spending.holding(self.name, request) as pay:
            completion = await reply_of(self.model, request)
            pay(completion)
        return recordable(completion)

    def _note_text(self, completion: Completion) -> None:
        self._said += bool(completion.text.strip())
        if not self._said and self._served == self.policy.pause_after:
            self.announce(
                f"None of the first {self._served} replies of {self.name} has any text (the last one: "
                f"{reason_of(completion)}). They count as wrong answers; `mage-es doctor` says what to set."
            )

    def _note_failure(self, fault: Fault, began: float) -> None:
        if fault.kind in ("connection", "malformed") and not self._served:
            if self._unreachable_since is None:
                self._unreachable_since = self._clock.now()
                self.announce(
                    f"{self.name} cannot be reached yet ({fault.message}); retrying for {self.policy.reach_s:g} s."
                )
            return
        self._unreachable_since = None
        if fault.is_outage:
            self._failures += began >= self._paused_at
        elif fault.kind not in HOPELESS:
            self._failures = 0
        if fault.kind == "busy" and began >= self._eased_at:
            self._allowed = max(1.0, self._allowed / 2)
            # Calls in flight were sent at the old rate, so their faults say nothing about the new one.
            self._eased_at = self._clock.now()

    def _is_lost(self, fault: Fault, number: int, served: int) -> bool:
        """Return whether this call has failed permanently, as opposed to its provider.

        `served` counts the provider's replies before the call's first failure. If none came since, the provider may be
        at fault and not the call, unless the fault itself is about the call.
        """
        if not fault.passes:
            return fault.kind not in HOPELESS
        if fault.kind == "busy":  # lost only if it starves while other calls are served
            return number >= self.policy.give_up_after and self._served > served
        if number < self.policy.attempts or self._failures >= self.policy.pause_after:
            return False
        if self._unreachable_since is not None:
            return False
        return fault.kind not in ("connection", "server") or self._served > served

    def _down(self, fault: Fault) -> ProviderDown | None:
        """Return the error that ends the run if no call can succeed."""
        if fault.kind in HOPELESS:
            return ProviderDown(f"{self.name} refuses every call: {fault.sentence} {_REMEDIES[fault.kind]}")
        if far := too_far(self.name, fault, self.policy):
            return far
        if self._unreachable_since is not None:
            # The same sum as in `_wait_s`: rounded otherwise, the last wait could end before this is over.
            is_over = self._clock.now() >= self._unreachable_since + self.policy.reach_s
            return self._unreachable(fault) if is_over else None
        is_over = self._failures >= self.policy.give_up_after
        return provider_down(self.name, self._failures, fault) if is_over else None

    def _unreachable(self, fault: Fault) -> ProviderDown:
        return ProviderDown(
            f"{self.name}: no model answered within {self.policy.reach_s:g} s: {fault.sentence} Start the server, or "
            "correct its address; `mage-es doctor` checks it. Everything recorded is kept."
        )

    def _useless(self, fault: Fault) -> ProviderDown:
        return ProviderDown(
            f"{self.name} has answered none of its first {self._lost} calls; the last one failed with: "
            f"{fault.sentence} No single "
            "question is the cause. Fix the server and resume the run, or start another run with other model options "
            "or --max-tokens. Everything recorded is kept."
        )

    def _pause_if_needed(self, fault: Fault, began: float) -> None:
        """Begin a pause of all calls if that may help, unless this one was in flight when one began."""
        if self._unreachable_since is not None or began < self._paused_at:
            return
        if self._failures and self._failures % self.policy.pause_after == 0:
            self._pause(self.policy.pause_s, f"failed {self._failures} times in a row ({fault.message})")
        elif fault.retry_after >= self.policy.pause_s:
            self._pause(fault.retry_after, f"asks to wait ({fault.message})")

    def _pause(self, seconds: float, why: str) -> None:
        self._paused_at = self._clock.now()
        self._paused_until = self._paused_at + seconds
        self.announce(f"{self.name} {why}; waiting {seconds:g} s before the next call.")

    def _wait_s(self, fault: Fault, number: int) -> float:
        wait = self.policy.wait_s(fault, number)
        if self._unreachable_since is not None:  # so that the last attempt does not come long after `reach_s`
            wait = min(wait, max(0.0, self._unreachable_since + self.policy.reach_s - self._clock.now()))
        return wait

    async def _sleep(self, seconds: float) -> None:
        """Sleep in short steps. Raises `Interrupted` if the user asks to stop."""
        until = self._clock.now() + seconds
        while True:
            if self.stop():
                raise Interrupted("Stopped between two attempts at a call.")
            left = until - self._clock.now()
            if left <= 0:
                return
            await self._clock.sleep(min(left, _POLL_S))


_REMEDIES = {
    "denied": "Check the key in the environment and what it may be used for; `mage-es doctor` tells which is read.",
    "missing": "Check the model's name and the server's address (base_url ends in /v1 for openai/, before it for "
    "anthropic/); `mage-es doctor` lists what the server offers.",
}


def provider_down(name: str, failures: int, fault: Fault) -> ProviderDown:
    return ProviderDown(
        f"{name} failed {failures} times in a row, last with: {fault.sentence} Everything recorded is kept; resume the "
        "run when the provider is back."
    )


def too_far(name: str, fault: Fault, retry_policy: RetryPolicy) -> ProviderDown | None:
    """Return the error that ends the run if a provider's `retry-after` is longer than the policy waits."""
    if fault.retry_after <= retry_policy.longest_rest_s:
        return None
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=fault.retry_after)
    return ProviderDown(
        f"{name} takes no calls before {until:%Y-%m-%d %H:%M} UTC: {fault.sentence} Everything recorded is kept; "
        "resume the run then, or use another model."
    )


def _is_of_all(fault: Fault) -> bool:
    """Return whether this fault is a refusal that may affect every call."""
    return fault.kind == "rejected" and fault.status > 0
