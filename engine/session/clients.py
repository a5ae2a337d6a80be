"""The clients of a session's models: every call is retried, counted while it is in flight, and may go in a batch."""

from collections.abc import Callable, Mapping
from pathlib import Path

from mage_es.engine.models.registry import Models
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.run.budget import Budget
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Batching
from mage_es.engine.seams.plugins import plugins, verb
from mage_es.engine.session.in_flight import BusySlots, CallsInFlight, TrackedModel
from mage_es.engine.session.queueing import CallQueue, Client
from mage_es.engine.session.recording import Recorder
from mage_es.events.vocabulary import BundleTrimmed, CallFailed, Event, ModelCalled, Tier


class Clients:
    """One client for each tier that has a model: `direct`, and the batch `queues` of models that take batches.

    `left_behind` is a phrase for how many calls were in flight when the last process ended; their number is kept in the
    file `in_flight`, for that message only; `is_first`: no call is recorded yet. `slots` measures how long all slots
    are busy.
    """

    def __init__(
        self,
        models: Models,
        runtime: Runtime,
        *,
        budget: Budget,
        in_flight: Path,
        is_first: bool,
        recorder: Recorder,
        announce: Callable[[str], None],
    ) -> None:
        self._in_flight = CallsInFlight(in_flight, is_first=is_first)
        self.left_behind = self._in_flight.left_behind
        self.slots = BusySlots(min(runtime.workers, runtime.connections(models.execution)))
        self.direct: dict[Tier, RetryingClient] = {
            tier: RetryingClient(
                # Below the retries: an attempt that waits for its turn or for a pause is not in flight.
                TrackedModel(model, self._in_flight, self.slots),
                connections=runtime.connections(model),
                retry_policy=runtime.retry_policy,
                announce=announce,
                stop=runtime.stop,
                spending=budget,
            )
            for tier, model in models.by_tier().items()
        }
        are_batched = "batch_queue" in plugins("mage_es.verbs")
        self.queues: dict[Tier, CallQueue] = {
            tier: verb("batch_queue")(self.direct[tier], model, is_on=runtime.batches, recorder=recorder)
            for tier, model in models.by_tier().items()
            if are_batched and tier != "execution" and isinstance(model, Batching)
        }
        self._are_batched = runtime.batches
        if runtime.batches and not self.queues:
            announce("--guidance-batch has no effect: neither the guidance model nor the judge supports batches.")

    @property
    def has_judge_in_batches(self) -> bool:
        return self._are_batched and "judge" in self.queues

    def by_tier(self) -> Mapping[Tier, Client]:
        """Return the client to ask by tier: its queue, if it has one."""
        return {**self.direct, **self.queues}

    def observe(self, event: Event) -> None:
        """Count a call that was just recorded as no longer in flight."""
        if isinstance(event, ModelCalled | CallFailed | BundleTrimmed):
            self._in_flight.remove(event.request_sha256)

    async def aclose(self) -> None:
        # Queues first, since what they are still submitting goes through their clients' models.
        for queue in self.queues.values():
            await queue.aclose()
        for client in self.direct.values():
            await client.aclose()
        self._in_flight.close()
