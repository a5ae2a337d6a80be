"""The gate to a provider's batches: calls that do not depend on one another wait for each other and go as one.

Rules
    - Whoever may call is announced (`expect`) and said goodbye to (`leave`); once all who are left wait at the gate,
      what they ask is handed in as one batch. Calls that nobody announced go by themselves.
    - The batch's id is durable before anybody waits for the replies: a process that goes on with the run asks for the
      same batch again, also where batches are switched off by then. A call is handed in again only after what the
      batch says of it is on record as a failure.
    - A request that came to nothing in its batch (expired, overloaded) is made again as an ordinary call; one that was
      refused for its own sake is given up like any other.
    - Waiting for a batch ends as soon as a stop is asked for; what was handed in is paid for and is found again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol, TypeVar

from mage_es.engine.commands import Call, Command, RecordBatch
from mage_es.engine.models.batches import Batching
from mage_es.engine.models.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.models.line import (
    Answered,
    Line,
    Patience,
    ProviderDown,
    Report,
    Toll,
    Unanswered,
    require_near,
)
from mage_es.engine.models.seam import Completion, Request
from mage_es.events.digests import sha256_text
from mage_es.events.errors import Interrupted
from mage_es.projections.fold import State
from mage_es.projections.progress import CallKey

Attendee = tuple[str, str]
"""Who may come to the gate: purpose and matter of the call."""
Result = TypeVar("Result")

_GLANCE_S = 0.2
"""Seconds after which somebody who waits looks whether to stop."""
_GROWTH = 1.5
"""By what the time between two looks at a batch grows."""
_MOST_S = 25 * 3600.0
"""Seconds after which a batch is given up; the provider ends it after 24 hours."""


class Recorder(Protocol):
    """What whoever calls a model needs of a session: the live state, and a way to make facts durable."""

    state: State

    def do(self, command: Command) -> object:
        """Decide a command, commit what follows, and apply it to the state."""
        ...


class _Waiting(NamedTuple):
    """A call at the gate, and where its reply is put."""

    call: Call
    request: Request
    came: asyncio.Future[Completion | Fault]


class BatchGate:
    """The way of one tier's calls to a model whose provider takes batches; `line` is for calls by themselves."""

    def __init__(
        self,
        line: Line,
        model: Batching,
        *,
        is_on: bool,
        recorder: Recorder,
        patience: Patience,
        say: Callable[[str], None],
        stop: Callable[[], bool],
        toll: Toll | None,
    ) -> None:
        self.name = line.name
        self._line, self._model, self._is_on = line, model, is_on
        self._recorder, self._patience, self._say, self._stop, self._toll = recorder, patience, say, stop, toll
        self._expected: set[Attendee] = set()
        self._parked: dict[CallKey, _Waiting] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._why: Interrupted | None = None

    # ------------------------------------------------------------ who comes and goes

    @property
    def gathers(self) -> bool:
        """Return whether callers have to wait for one another: batches are on, or some are out already."""
        return self._is_on or self._recorder.state.progress.has_batches

    def expect(self, attendees: Iterable[Attendee]) -> None:
        """Announce those whose calls go together."""
        if self.gathers:
            self._expected.update(attendees)

    def leave(self, attendee: Attendee) -> None:
        """Note that somebody calls no more."""
        self._expected.discard(attendee)
        self._consider()

    def give_up(self, reason: Interrupted) -> None:
        """Send everybody who waits away, since the work has come to a stop."""
        self._why = self._why or reason

    async def aclose(self) -> None:
        """Wait until the id of a batch that is being handed in is on record; nobody waits for its replies."""
        self.give_up(Interrupted("The session is at its end."))
        await asyncio.gather(*self._at_work)

    # ------------------------------------------------------------ a call

    async def complete(self, call: Call, request: Request, *, report: Report) -> Answered:
        """Return the reply to a call: from a batch where it is expected, else by the line.

        Raises:
            Unanswered: This call failed for good.
            ProviderDown: The provider takes no batches, or cannot be reached.
            Interrupted: A stop was asked for, or the call cannot be afforded.
        """
        attendee = call.purpose, call.about
        if attendee in self._expected and not self._is_on and not self._batched(call)[0]:
            self.leave(attendee)
        if attendee not in self._expected:
            return await self._line.complete(request, report=report)
        began = time.perf_counter_ns()
        try:
            with await self._holding(request) as pay:
                came = await self._came(call, request)
                if isinstance(came, Completion):
                    pay(came)
        except Interrupted as reason:
            self.give_up(reason)
            raise
        took = (time.perf_counter_ns() - began) // 1000
        if isinstance(came, Completion):
            return Answered(came, took)
        failed = FailedAttempt(came, took, is_lost=not came.passes and came.kind not in HOPELESS)
        if failed.is_lost:
            raise Unanswered(failed)
        report(failed)
        return await self._line.complete(request, report=report)

    async def _came(self, call: Call, request: Request) -> Completion | Fault:
        """Park a call until its batch has come back."""
        key = _key(call)
        waiting = _Waiting(call, request, asyncio.get_running_loop().create_future())
        self._parked[key] = waiting
        self._consider()
        try:
            while key in self._parked:
                self._require_going()
                await asyncio.wait({waiting.came}, timeout=_GLANCE_S)
            return await waiting.came
        finally:
            self._parked.pop(key, None)

    def _consider(self) -> None:
        """Let those at the gate through once nobody else is to come."""
        if self._parked and self._expected <= {(key.purpose, key.about) for key in self._parked}:
            through, self._parked = self._parked, {}
            task = asyncio.get_running_loop().create_task(self._settle(list(through.values())))
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)

    async def _holding(self, request: Request) -> AbstractContextManager[Callable[[Completion], None]]:
        """Return the block of a call, which may wait for calls that were made by themselves, never for the gate."""
        if self._toll is None:
            return nullcontext(lambda completion: None)
        if await self._toll.room(self.name, request):
            self._require_going()
        return self._toll.holding(self.name, request, in_batch=True)

    # ------------------------------------------------------------ a batch

    async def _settle(self, waiting: Collection[_Waiting]) -> None:
        """Bring every call its reply, from the batch that it stands in already or from a new one."""
        try:
            for batch_id, calls in (await self._batches(waiting)).items():
                replies = await self._replies(batch_id, len(calls))
                for name, each in calls.items():
                    unknown = Fault("timeout", f"nothing is known of it in batch {batch_id}")
                    _hand(each, replies.get(name, unknown))
        except Exception as error:  # whatever it is, those who wait raise it
            for each in waiting:
                if not each.came.done():
                    each.came.set_exception(error)

    async def _batches(self, waiting: Collection[_Waiting]) -> dict[str, dict[str, _Waiting]]:
        """Return the calls by batch and custom id; those that stand in none are handed in."""
        found: dict[str, dict[str, _Waiting]] = {}
        for each in waiting:
            batch_id, name = self._batched(each.call)
            found.setdefault(batch_id, {})[name or _custom_id(each.call)] = each
        if new := found.pop("", None):
            batch_id = await self._handed_in(new)
            found[batch_id] = new
        return found

    async def _handed_in(self, calls: Mapping[str, _Waiting]) -> str:
        """Hand a batch in and record its id at once."""
        requests = {name: each.request for name, each in calls.items()}
        try:
            batch_id = await self._tried(lambda: self._model.submit(requests))
        except ModelFault as error:
            fault = error.fault
            why = "takes no message batches" if fault.kind == "missing" else f"refuses a batch of {len(calls)} calls"
            raise ProviderDown(
                f"{self.name} {why} ({fault.message}). Nothing is lost: go on without batches (--no-guidance-batch)."
            ) from None
        self._recorder.do(RecordBatch(batch_id, self.name, {name: each.call for name, each in calls.items()}))
        self._say(
            f"{len(calls)} calls to {self.name} went as batch {batch_id}, at the price of batches. That may take "
            "minutes, at most 24 hours; after a stop the run goes on with this batch."
        )
        return batch_id

    async def _replies(self, batch_id: str, count: int) -> Mapping[str, Completion | Fault]:
        """Wait for a batch, longer each time, and return what it says; nothing where the provider forgot it."""
        wait, until = self._patience.first_wait_s, time.monotonic() + _MOST_S
        try:
            while not await self._tried(lambda: self._model.has_ended(batch_id)):
                if time.monotonic() > until:
                    raise ProviderDown(f"Batch {batch_id} of {self.name} does not end. Resume the run to ask again.")
                await self._sleep(wait)
                wait = min(wait * _GROWTH, self._patience.longest_wait_s)
            replies = await self._tried(lambda: self._model.replies(batch_id))
        except ModelFault as error:
            if error.fault.kind != "missing":
                raise ProviderDown(f"{self.name} refuses batch {batch_id}: {error.fault.sentence}") from None
            self._say(f"{self.name} knows nothing of batch {batch_id} any more; its {count} calls are made again.")
            return {}
        self._say(f"Batch {batch_id} of {self.name} has come back.")
        return replies

    async def _tried(self, action: Callable[[], Awaitable[Result]]) -> Result:
        """Return what a request about a batch gives, made again while a fault may pass.

        Raises:
            ModelFault: One that does not pass.
            ProviderDown: The provider failed too often in a row.
        """
        wait = self._patience.first_wait_s
        for _ in range(self._patience.give_up_after):
            try:
                return await action()
            except ModelFault as error:
                if not error.fault.passes:
                    raise
                last = error.fault
                require_near(self.name, last, self._patience)
            await self._sleep(last.retry_after + wait)
            wait = min(wait * 2, self._patience.longest_wait_s)
        raise ProviderDown(
            f"{self.name} failed {self._patience.give_up_after} times in a row, last with: {last.sentence} Everything "
            "recorded is kept; resume the run when the provider is back."
        )

    def _batched(self, call: Call) -> tuple[str, str]:
        return self._recorder.state.progress.batched(_key(call))

    async def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._require_going()
            await asyncio.sleep(min(left, _GLANCE_S))

    def _require_going(self) -> None:
        """Raise `Interrupted` where the work has come to a stop."""
        if self._why is None and self._stop():
            self._why = Interrupted("Stopped while a batch was under way.")
        if self._why is not None:
            raise self._why


def _hand(waiting: _Waiting, came: Completion | Fault) -> None:
    if not waiting.came.done():  # else whoever waited for it was cancelled
        waiting.came.set_result(came)


def _key(call: Call) -> CallKey:
    return CallKey(call.tier, call.purpose, call.about, call.attempt, call.request_sha256)


def _custom_id(call: Call) -> str:
    """Return the call's name within a batch: what makes it this call of the run, hashed."""
    return sha256_text("\x00".join((str(call.iteration), call.phase, *map(str, _key(call)))))[:32]
