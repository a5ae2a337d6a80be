"""An embedder whose vectors come from a server, at a price.

Rules
    - A transient failure is retried with growing waits. A permanent failure ends the command, and the run can be
      resumed.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.vectors import PROBES, VectorCache, problem_of, sketch, unit
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryPolicy, too_far
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.seams.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.seams.metering import EmbeddingAttempt, EmbeddingPurpose, Meter
from mage_es.engine.seams.model import Completion, Request
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

BATCH = 64


class Embedded(NamedTuple):
    """A reply: raw vectors, shape [texts, dimension], unchecked, and the tokens of the texts, 0 if the server does not
    say."""

    vectors: NDArray[np.float64] | Sequence[Sequence[float]]
    input_tokens: int


@runtime_checkable
class Server(Protocol):
    """The interface of a provider's class."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the reply to one call. Raises `ModelFault`."""


class ServedEmbedder:
    """An embedder whose vectors come from a server, in batches, each text once; `meter` gets every attempt.

    [beyond the paper, served vectors] Vectors of memories are recorded, so a replay requests none. A question's own
    vector is not: two runs are byte-identical only if the server's replies are.
    """

    def __init__(self, name: str, server: Server, retry_policy: RetryPolicy = DEFAULT_RETRIES) -> None:
        """Request the vectors of the probes. Raises `PrerequisiteError` if the server fails."""
        self.name = name
        self.meter = Meter(name)
        self._server, self._policy = server, retry_policy
        self.dimension = 0  # not known yet
        # One by one, so that no text's vector depends on its neighbours in a batch.
        probed = np.concatenate([self._with_retries([probe], "fingerprint") for probe in PROBES])
        self.dimension = probed.shape[1]
        self.sha256 = sha256_text(f"{self.dimension} {sketch(unit(probed))}")
        self._cache = VectorCache(self._raw, self.dimension)

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._cache.encode(texts)

    def _raw(self, texts: Sequence[str]) -> NDArray[np.float64]:
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return np.concatenate([self._with_retries(batch, "vectors") for batch in batches])

    def _with_retries(self, batch: Sequence[str], purpose: EmbeddingPurpose) -> NDArray[np.float64]:
        number = 1
        while isinstance(reply := self._once(batch, purpose, number), FailedAttempt):
            if reply.is_lost:
                raise self._failure(reply.fault)
            time.sleep(reply.wait_s)
            number += 1
        return reply

    def _failure(self, fault: Fault) -> PrerequisiteError:
        name = f"The embedder {self.name}"
        remedy = (
            "Check the key, the model's name and the address; `mage-es doctor` tells what the server says."
            if fault.kind in HOPELESS
            else "What is recorded is kept: run the command again, or resume the run, when it is back."
        )
        return too_far(name, fault, self._policy) or PrerequisiteError(f"{name} failed: {fault.sentence} {remedy}")

    def _once(
        self, batch: Sequence[str], purpose: EmbeddingPurpose, number: int
    ) -> NDArray[np.float64] | FailedAttempt:
        """Return what the `number`th attempt gave: vectors, shape [len(batch), dimension], or its failure."""
        request = request_of(batch)
        made, began = EmbeddingAttempt(purpose, request.sha256, len(batch)), time.perf_counter_ns()
        try:
            with self.meter.holding(request) as pay:
                reply = self._server.embed(batch)
                if problem := problem_of(reply.vectors, len(batch), self.dimension or None):
                    raise ModelFault(Fault("malformed", problem))
                made = made._replace(input_tokens=reply.input_tokens, latency_us=_microseconds_since(began))
                pay(Completion(text="", input_tokens=reply.input_tokens, output_tokens=0))
        except ModelFault as error:
            failed = self._failed(error.fault, number, _microseconds_since(began))
            self.meter.report(made._replace(failed=failed))
            return failed
        self.meter.report(made)
        return np.asarray(reply.vectors, dtype=np.float64)

    def _failed(self, fault: Fault, number: int, latency_us: int) -> FailedAttempt:
        is_far = too_far(self.name, fault, self._policy) is not None
        if not fault.passes or is_far or number >= self._policy.attempts:
            return FailedAttempt(fault, latency_us, is_lost=True)
        return FailedAttempt(fault, latency_us, wait_s=self._policy.wait_s(fault, number))


def request_of(texts: Sequence[str]) -> Request:
    """Return a call as a `Request` of the seam, from which its hash and highest cost are computed."""
    return Request(prompt="\0".join(texts), max_tokens=0)


def _microseconds_since(began: int) -> int:
    return (time.perf_counter_ns() - began) // 1000
