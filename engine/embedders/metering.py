"""What an embedder has beside its protocol where its calls are paid for: a meter, which is told of every attempt.

Rules
    - Every attempt is reported before the next one is made, by the embedder itself: nobody else knows how many calls
      it makes of the texts that it is given.
    - What is reported before anybody wants to hear it is kept: an embedder is opened before its run has a log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from mage_es.engine.models.faults import FailedAttempt
from mage_es.engine.models.seam import Completion, Request

EmbeddingPurpose = Literal["fingerprint", "vectors"]
"""What is asked for: vectors of the fixed texts that tell what an embedder does, or of any others."""


class Attempt(NamedTuple):
    """An attempt at a call. `input_tokens` are the server's count, 0 where it does not tell or there was no reply."""

    purpose: EmbeddingPurpose
    request_sha256: str
    texts: int
    input_tokens: int = 0
    latency_us: int = 0
    failed: FailedAttempt | None = None

    @property
    def completion(self) -> Completion | None:
        """Return the reply in the terms that a budget goes by, None where there was none."""
        if self.failed:
            return None
        return Completion(text="", input_tokens=self.input_tokens, output_tokens=0)


class Spending(Protocol):
    """What is asked before an attempt whether it can be afforded, and told what it and those before it came to."""

    def holding(self, model: str, request: Request) -> AbstractContextManager[Callable[[Completion], None]]:
        """Return a block in which the call is made, which gives what books the reply; it may refuse to be entered."""
        ...

    def count(self, model: str, completion: Completion | None) -> None:
        """Count an attempt that was made already; None where it brought no reply."""
        ...


class Meter:
    """Every attempt of the embedder of that name, on its way to whoever accounts for them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: list[Attempt] = []
        self._report: Callable[[Attempt], object] = self._kept.append
        self._toll: Spending | None = None

    def report(self, attempt: Attempt) -> None:
        """Tell of an attempt."""
        self._report(attempt)

    def read(self) -> Sequence[Attempt]:
        """Return what was kept so far."""
        return tuple(self._kept)

    def holding(self, request: Request) -> AbstractContextManager[Callable[[Completion], None]]:
        """Return a block to make an attempt in, which gives what books its reply; a toll may refuse to enter it."""
        return self._toll.holding(self._name, request) if self._toll else nullcontext(lambda completion: None)

    def charge(self, toll: Spending) -> None:
        """Have a toll count what was kept so far, and ask it before every attempt from now on."""
        self._toll = toll
        for attempt in self._kept:
            toll.count(self._name, attempt.completion)

    def connect(self, report: Callable[[Attempt], object], toll: Spending) -> None:
        """Report what was kept, and from now on every attempt as it ends, all of it at the expense of a toll."""
        self._report = report
        for attempt in self._kept:
            report(attempt)
        self.charge(toll)
        self._kept = []


@runtime_checkable
class Metered(Protocol):
    """An embedder whose calls somebody may have to pay for."""

    @property
    def name(self) -> str:
        """Return the full spec."""
        ...

    @property
    def meter(self) -> Meter:
        """Return the meter that every attempt is reported to."""
        ...
