"""Accounting for an embedder whose calls cost something: it reports every attempt to a meter.

Rules
    - The embedder itself reports each attempt before it makes the next, because only it knows how many calls its texts
      take.
    - Attempts made before the run has a log (while the embedder is opened) are kept, and recorded once there is one.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from mage_es.engine.seams.faults import FailedAttempt
from mage_es.engine.seams.model import Completion, Request

EmbeddingPurpose = Literal["fingerprint", "vectors"]
"""Why vectors are requested: to fingerprint the embedder by fixed texts, or for a run's own texts."""


class EmbeddingAttempt(NamedTuple):
    """An attempt at a call. `input_tokens` is the server's count, 0 if it gives none or did not reply."""

    purpose: EmbeddingPurpose
    request_sha256: str
    texts: int
    input_tokens: int = 0
    latency_us: int = 0
    failed: FailedAttempt | None = None

    @property
    def completion(self) -> Completion | None:
        """The reply as a budget counts it, or None."""
        if self.failed:
            return None
        return Completion(text="", input_tokens=self.input_tokens, output_tokens=0)


class SpendingGuard(Protocol):
    """Decides before an attempt whether the budget allows it, and afterwards books what it cost."""

    async def room(self, model: str, request: Request) -> bool:
        """Wait while calls in flight leave too little of the budget for a call; return whether that took any time."""

    def holding(
        self, model: str, request: Request, *, in_batch: bool = False
    ) -> AbstractContextManager[Callable[[Completion], None]]:
        """Reserve what the call may cost while the block runs; call its value with the reply to book the actual cost.

        Entering the block raises `BudgetReached` if the budget does not allow the call.
        """

    def count(self, model: str, completion: Completion | None) -> None:
        """Book an attempt that has already been made; None if it brought no reply."""


class Meter:
    """Collects an embedder's attempts until a run is connected, then passes them on.

    [beyond the paper, calls of embedders] Each attempt is an event before the next one is made, and has its own tier in
    the ledger, which enters no digest.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: list[EmbeddingAttempt] = []
        self._report: Callable[[EmbeddingAttempt], object] = self._kept.append
        self._spending: SpendingGuard | None = None

    def report(self, attempt: EmbeddingAttempt) -> None:
        self._report(attempt)

    def read(self) -> Sequence[EmbeddingAttempt]:
        """Return the attempts that have not been passed on yet."""
        return tuple(self._kept)

    def holding(self, request: Request) -> AbstractContextManager[Callable[[Completion], None]]:
        """Return the context in which to make an attempt; see `SpendingGuard.holding`."""
        return self._spending.holding(self._name, request) if self._spending else nullcontext(lambda completion: None)

    def charge(self, spending: SpendingGuard) -> None:
        """Book the attempts so far, and let the guard decide on every attempt from now on."""
        self._spending = spending
        for attempt in self._kept:
            spending.count(self._name, attempt.completion)

    def connect(self, report: Callable[[EmbeddingAttempt], object], spending: SpendingGuard) -> None:
        """Pass on and book the attempts so far, and every later one as it ends."""
        self._report = report
        for attempt in self._kept:
            report(attempt)
        self.charge(spending)
        self._kept = []


@runtime_checkable
class Metered(Protocol):
    """An embedder whose calls may cost money."""

    @property
    def name(self) -> str:
        """The full spec."""

    @property
    def meter(self) -> Meter:
        """The meter that every attempt is reported to."""
