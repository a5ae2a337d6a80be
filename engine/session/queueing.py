"""The seam of a queue: calls of one tier wait for one another, and go to their provider as one batch.

The entry point `batch_queue` of `mage_es.verbs` names the function that makes a queue (engine/providers/batches.py).
"""

from collections.abc import Iterable
from typing import Protocol

from mage_es.engine.commands import Call
from mage_es.engine.models.retrying import Answered, Report, RetryingClient
from mage_es.engine.seams.model import Request
from mage_es.events.errors import Interrupted
from mage_es.projections.progress import CallKey

Caller = tuple[str, str]
"""A caller, identified by the purpose and subject of its call."""


class CallQueue(Protocol):
    """Calls of one tier. If a caller was not announced, its calls are made directly."""

    name: str

    @property
    def is_collecting(self) -> bool:
        """Whether callers wait for one another."""

    def add_callers(self, callers: Iterable[Caller]) -> None: ...

    def remove_caller(self, caller: Caller) -> None:
        """Sign a caller off: the queue no longer waits for it."""

    def cancel(self, reason: Interrupted) -> None:
        """Stop waiting: every call that waits raises the first reason given."""

    async def complete(self, call: Call, request: Request, *, report: Report) -> Answered:
        """Return the reply to a call. Raises what `RetryingClient.complete` raises."""

    async def aclose(self) -> None:
        """Wait until what is being submitted is on record."""


Client = RetryingClient | CallQueue


def call_key(call: Call) -> CallKey:
    return CallKey(call.tier, call.purpose, call.about, call.attempt, call.request_sha256)
