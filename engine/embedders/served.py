"""An embedder whose vectors come from a server, at a price.

Rules
    - A transient failure is retried with growing waits. A permanent failure ends the command, and the run can be
      resumed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.vectors import PROBES, VectorCache, sketch, unit
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryPolicy, require_near
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.seams.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.seams.metering import EmbeddingAttempt, EmbeddingPurpose, Meter
from mage_es.engine.seams.model import Completion, Request
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

BATCH = 64


class Embedded(NamedTuple):
    """A reply: raw vectors, shape [texts, dimension], and the tokens of the texts, 0 if the server does not say."""

    vectors: NDArray[np.float64]
    input_tokens: int


@runtime_checkable
class Server(Protocol):
    """What a provider's class offers."""

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
        import tenacity

        def waited(state: tenacity.RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            jitter = tenacity.wait_random_exponential(self._policy.first_wait_s, max=self._policy.longest_wait_s)
            return float(jitter(state)) + (error.fault.retry_after if isinstance(error, ModelFault) else 0.0)

        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._policy.attempts),
            retry=tenacity.retry_if_exception(
                lambda error: isinstance(error, ModelFault) and self._may_pass(error.fault)
            ),
            wait=waited,
            reraise=True,
        )
        try:
            for attempt in attempts:
                with attempt:
                    is_last = attempt.retry_state.attempt_number >= self._policy.attempts
                    return self._once(batch, purpose, is_last=is_last)
        except ModelFault as error:
            require_near(f"The embedder {self.name}", error.fault, self._policy)
            remedy = (
                "Check the key, the model's name and the address; `mage-es doctor` tells what the server says."
                if error.fault.kind in HOPELESS
                else "What is recorded is kept: run the command again, or resume the run, when it is back."
            )
            raise PrerequisiteError(f"The embedder {self.name} failed: {error.fault.sentence} {remedy}") from None
        raise AssertionError("a retry loop ends with a reply or an error")

    def _once(self, batch: Sequence[str], purpose: EmbeddingPurpose, *, is_last: bool) -> NDArray[np.float64]:
        """Return the vectors of one attempt, shape [len(batch), dimension]. Raises `ModelFault`."""
        request = request_of(batch)
        made, began = EmbeddingAttempt(purpose, request.sha256, len(batch)), time.perf_counter_ns()
        try:
            with self.meter.holding(request) as pay:
                reply = self._server.embed(batch)
                self._require_shape(reply.vectors, len(batch))
                made = made._replace(input_tokens=reply.input_tokens, latency_us=_microseconds_since(began))
                pay(Completion(text="", input_tokens=reply.input_tokens, output_tokens=0))
        except ModelFault as error:
            is_lost = is_last or not self._may_pass(error.fault)
            failed = FailedAttempt(error.fault, _microseconds_since(began), is_lost)
            self.meter.report(made._replace(failed=failed))
            raise
        self.meter.report(made)
        return reply.vectors

    def _may_pass(self, fault: Fault) -> bool:
        """Return whether a retry may succeed, after a wait that the policy allows."""
        return fault.passes and fault.retry_after <= self._policy.longest_rest_s

    def _require_shape(self, vectors: NDArray[np.float64], count: int) -> None:
        dimension = getattr(self, "dimension", None) or (vectors.shape[1] if vectors.ndim == 2 else 0)
        if vectors.shape != (count, dimension) or not dimension or not np.isfinite(vectors).all():
            raise ModelFault(Fault("malformed", f"embeddings of the shape {vectors.shape} and not {dimension} numbers"))


def request_of(texts: Sequence[str]) -> Request:
    """Return a call as a `Request` of the seam, from which its hash and highest cost are computed."""
    return Request(prompt="\0".join(texts), max_tokens=0)


def _microseconds_since(began: int) -> int:
    return (time.perf_counter_ns() - began) // 1000
