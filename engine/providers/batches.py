"""Calls that go to a provider as one batch, at the batch price.

Rules
    - Every possible caller is announced first (`add_callers`) and signs off at the end (`remove_caller`). As soon as
      all remaining callers wait in the queue, their requests are submitted as one batch. Calls from anyone else are
      made directly.
    - The batch's id is durable before anything waits for its replies, so a resumed run collects the same batch, even if
      batches are switched off by then. A call is submitted again only once its result in the batch is recorded as a
      failure.
    - If a request failed in its batch for a transient reason (expired, overloaded), it is made again as a direct call.
      A refusal is final, as for any other call.
    - Waiting ends as soon as the user asks to stop. The batch is paid for, and a resumed run collects it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, TypeVar

from mage_es.engine.commands import Call, RecordBatch
from mage_es.engine.models.retrying import (
    Answered,
    ProviderDown,
    Report,
    RetryingClient,
    Unanswered,
    provider_down,
    too_far,
)
from mage_es.engine.seams.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.seams.model import Batching, Completion, Request, recordable
from mage_es.engine.session.queueing import Caller, call_key
from mage_es.engine.session.recording import Recorder
from mage_es.events.digests import sha256_text
from mage_es.events.errors import Interrupted
from mage_es.projections.progress import CallKey

Result = TypeVar("Result")

_POLL_S = 0.2
"""Seconds between two checks for a stop."""
_GROWTH = 1.5
"""The wait between two polls of a batch grows by this factor."""
_MOST_S = 25 * 3600.0
"""Seconds until a batch counts as lost; the provider ends it after 24 hours."""


class _WaitingCall(NamedTuple):
    call: Call
    request: Request
    reply: asyncio.Future[Completion | Fault]


class BatchQueue:
    """Calls of one tier to a model whose provider takes batches; `client` makes the direct calls.

    [section 3.3, EVOLVE] A batch's id is durable before the run waits for it. Digests are the same as with single
    calls: none covers batches or cache writes.
    """

    def __init__(self, client: RetryingClient, model: Batching, *, is_on: bool, recorder: Recorder) -> None:
        self.name = client.name
        self._client, self._model, self._is_on, self._recorder = client, model, is_on, recorder
        self._callers: set[Caller] = set()
        self._waiting: dict[CallKey, _WaitingCall] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._cancelled: Interrupted | None = None

    # ------------------------------------------------------------ callers

    @property
    def is_collecting(self) -> bool:
        """Whether callers wait for one another: batches are on, or one is already with the provider."""
        return self._is_on or self._recorder.state.progress.has_batches

    def add_callers(self, callers: Iterable[Caller]) -> None:
        if self.is_collecting:
            self._callers.update(callers)

    def remove_caller(self, caller: Caller) -> None:
        """Sign a caller off: nothing waits for it any more."""
        self._callers.discard(caller)
        # It may have been the last one that the calls in the queue waited for.
        self._submit_when_complete()

    def cancel(self, reason: Interrupted) -> None:
        # The first reason is the cause; the reasons of other callers follow from it.
        self._cancelled = self._cancelled or reason

    async def aclose(self) -> None:
        """Wait until a batch that is being submitted has its id on record, but not for its replies."""
        # The model's connections close next: a submission cut short would be a batch that is paid for and not on
        # record.
        self.cancel(Interrupted("The session is closing."))
        await asyncio.gather(*self._at_work)

    # ------------------------------------------------------------ a call

    async def complete(self, call: Call, request: Request, *, report: Report) -> Answered:
        """Return the reply to a call: from a batch if its caller was announced, else from the client.

        Raises what `RetryingClient.complete` raises; `ProviderDown` also if the provider takes no batches.
        """
        caller = call.purpose, call.about
        # Batches are switched off by now, and no batch under way has this call, so it need not wait.
        if caller in self._callers and not self._is_on and not self._batched(call)[0]:
            self.remove_caller(caller)
        if caller not in self._callers:
            return await self._client.complete(request, report=report)
        began = time.perf_counter_ns()
        try:
            # Held until the reply arrives: the batch is owed in full from the moment it is submitted.
            with await self._hold_cost(request) as pay:
                outcome = await self._batch_reply(call, request)
                if isinstance(outcome, Completion):
                    pay(outcome)
                    outcome = recordable(outcome)
        except ModelFault as error:
            outcome = error.fault
        except Interrupted as reason:
            # A caller that stops here never joins the queue, so all others would wait for it for ever.
            self.cancel(reason)
            raise
        took = (time.perf_counter_ns() - began) // 1000
        if isinstance(outcome, Completion):
            return Answered(outcome, took)
        # Lost for a reason of its own; a fault of every call (a denied key) surfaces in the direct call below.
        failed = FailedAttempt(outcome, took, is_lost=not outcome.passes and outcome.kind not in HOPELESS)
        if failed.is_lost:
            raise Unanswered(failed)
        report(failed)
        return await self._client.complete(request, report=report)

    async def _batch_reply(self, call: Call, request: Request) -> Completion | Fault:
        key = call_key(call)
        waiting = _WaitingCall(call, request, asyncio.get_running_loop().create_future())
        self._waiting[key] = waiting
        self._submit_when_complete()
        try:
            # Only until it is submitted. From then on `_process` looks for a stop, and the future carries the error.
            while key in self._waiting:
                self._check_cancelled()
                await asyncio.wait({waiting.reply}, timeout=_POLL_S)
            return await waiting.reply
        finally:
            # A call that stopped waiting must not go out with the others: it would be paid for, and its reply lost.
            self._waiting.pop(key, None)

    def _submit_when_complete(self) -> None:
        """Submit the waiting calls once every remaining caller is among them."""
        if self._waiting and self._callers <= {(key.purpose, key.about) for key in self._waiting}:
            # Emptied before the task runs, so that a call arriving meanwhile, such as a repair, waits for the next
            # batch.
            through, self._waiting = self._waiting, {}
            task = asyncio.get_running_loop().create_task(self._process(list(through.values())))
            # The event loop holds its tasks weakly, and `aclose` has to await them.
            self._at_work.add(task)
            task.add_done_callback(self._at_work.discard)

    async def _hold_cost(self, request: Request) -> AbstractContextManager[Callable[[Completion], None]]:
        """Reserve what the call may cost, as a block. This may wait for direct calls to return, never for a batch."""
        if self._client.spending is None:
            return nullcontext(lambda completion: None)
        if await self._client.spending.room(self.name, request):
            # Reserving may have taken a long time.
            self._check_cancelled()
        # `in_batch`: a direct call that is short of money must not wait for this one, since this one may be waiting in
        # the queue for the caller of that call.
        return self._client.spending.holding(self.name, request, in_batch=True)

    # ------------------------------------------------------------ a batch

    async def _process(self, waiting: Collection[_WaitingCall]) -> None:
        """Deliver to every call its reply, from the batch that already has it or from a new one."""
        try:
            for batch_id, calls in (await self._by_batch(waiting)).items():
                replies = await self._fetch_replies(batch_id, len(calls))
                for name, each in calls.items():
                    unknown = Fault("timeout", f"batch {batch_id} has no result for it")
                    if not each.reply.done():  # else the waiting task was cancelled
                        each.reply.set_result(replies.get(name, unknown))
        except Exception as error:  # a task's error would be lost, so the waiting calls raise it
            for each in waiting:
                if not each.reply.done():
                    each.reply.set_exception(error)

    async def _by_batch(self, waiting: Collection[_WaitingCall]) -> dict[str, dict[str, _WaitingCall]]:
        """Return the calls by batch and custom id, after submitting those that are in no batch yet."""
        found: dict[str, dict[str, _WaitingCall]] = {}
        for each in waiting:
            batch_id, name = self._batched(each.call)
            found.setdefault(batch_id, {})[name or _custom_id(each.call)] = each
        # After a resume, some calls are in a recorded batch, and others have never been submitted.
        if new := found.pop("", None):
            batch_id = await self._submit(new)
            found[batch_id] = new
        return found

    async def _submit(self, calls: Mapping[str, _WaitingCall]) -> str:
        requests = {name: each.request for name, each in calls.items()}
        try:
            batch_id = await self._with_retries(lambda: self._model.submit(requests), costs=True)
        except ModelFault as error:
            fault = error.fault
            why = "takes no message batches" if fault.kind == "missing" else f"refuses a batch of {len(calls)} calls"
            raise ProviderDown(
                f"{self.name} {why} ({fault.message}). Nothing is lost: resume without batches (--no-guidance-batch)."
            ) from None
        # Before anything else can fail: without its id on record, a batch is paid for and never collected.
        self._recorder.do(RecordBatch(batch_id, self.name, {name: each.call for name, each in calls.items()}))
        self._client.announce(
            f"{len(calls)} calls to {self.name} were submitted as batch {batch_id}, at batch prices. This may take "
            "minutes, at most 24 hours; a resumed run continues with this batch."
        )
        return batch_id

    async def _fetch_replies(self, batch_id: str, count: int) -> Mapping[str, Completion | Fault]:
        """Poll a batch at growing intervals and return its replies; none if the provider has forgotten the batch."""
        wait, until = self._client.policy.first_wait_s, time.monotonic() + _MOST_S
        try:
            while not await self._with_retries(lambda: self._model.has_ended(batch_id)):
                if time.monotonic() > until:
                    raise ProviderDown(f"Batch {batch_id} of {self.name} has not ended. Resume the run to check again.")
                await self._sleep(wait)
                wait = min(wait * _GROWTH, self._client.policy.longest_wait_s)
            replies = await self._with_retries(lambda: self._model.replies(batch_id))
        except ModelFault as error:
            if error.fault.kind != "missing":
                raise ProviderDown(f"{self.name} refuses batch {batch_id}: {error.fault.sentence}") from None
            self._client.announce(f"{self.name} no longer knows batch {batch_id}; its {count} calls are made again.")
            # Providers delete replies after some weeks. Each call then gets a passing fault, and is made directly.
            return {}
        self._client.announce(f"Batch {batch_id} of {self.name} is complete.")
        return replies

    async def _with_retries(self, action: Callable[[], Awaitable[Result]], *, costs: bool = False) -> Result:
        """Return the result of a request about a batch, retried while its fault may pass. A request that `costs`
        something is given up as early as a call whose reply may be lost. Raises `ModelFault` for a fault that does not
        pass, `ProviderDown` after too many in a row."""
        # Not through the client: these requests are not calls, so they are no events and not in the budget.
        policy = self._client.policy
        for number in range(1, policy.give_up_after + 1):
            try:
                return await action()
            except ModelFault as error:
                if not error.fault.passes:
                    raise
                last = error.fault
            if far := too_far(self.name, last, policy):
                raise far
            if costs and last.kind in ("malformed", "timeout") and number >= policy.attempts:
                break
            await self._sleep(policy.wait_s(last, number))
        raise provider_down(self.name, number, last)

    def _batched(self, call: Call) -> tuple[str, str]:
        return self._recorder.state.progress.batched(call_key(call))

    async def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._check_cancelled()
            await asyncio.sleep(min(left, _POLL_S))

    def _check_cancelled(self) -> None:
        if self._cancelled is None and self._client.stop():
            self._cancelled = Interrupted("Stopped while waiting for a batch.")
        if self._cancelled is not None:
            raise self._cancelled


def _custom_id(call: Call) -> str:
    """Return the call's name within a batch: a hash of its idempotency key."""
    # Hashed, since an id may have only 64 characters of a small alphabet, and subjects contain question ids.
    return sha256_text("\x00".join((str(call.iteration), call.phase, *map(str, call_key(call)))))[:32]
