"""`openai/<model>?base_url=`: any server that speaks /v1/embeddings, such as OpenAI's, vLLM's or Ollama's.

Rules
    - A failed attempt that may pass is repeated with growing waits. A call that fails for good ends the command, and
      the run can be resumed.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.vectors import PROBES, VectorCache, sketch, unit
from mage_es.engine.models.clients import Tokens, as_faults, http_client, key_of, read_as
from mage_es.engine.models.openai_compatible import DEFAULT_URL
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryPolicy, require_near
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.seams.faults import HOPELESS, FailedAttempt, Fault, ModelFault
from mage_es.engine.seams.metering import EmbeddingAttempt, EmbeddingPurpose, Meter
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from openai import OpenAI

OPTIONS = ("base_url", "timeout", "key_env", "dimensions")
"""`dimensions`: how many numbers a vector should have, for models that can shorten them."""

TIMEOUT = 60.0
BATCH = 64


class Embedded(NamedTuple):
    """A reply: raw vectors, shape [texts, dimension], and the tokens of the texts, 0 if the server does not say."""

    vectors: NDArray[np.float64]
    input_tokens: int


class Server(Protocol):
    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the reply to one call. Raises `ModelFault`."""


class ServedEmbedder:
    """An embedder whose vectors come from a server, in batches, each text once; `meter` gets every attempt.

    [beyond the paper, served vectors] Vectors of memories are recorded, so a replay requests none. A question's own is
    not: two runs are equal to the byte only if the server is.
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
            raise PrerequisiteError(f"The embedder {self.name} fails: {error.fault.sentence} {remedy}") from None
        raise AssertionError("a loop of retries ends with a reply or an error")

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


class _Usage(msgspec.Struct):
    prompt_tokens: Tokens | None = None


class EmbeddingsEndpoint:
    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._url = spec.options.get("base_url", DEFAULT_URL)
        self._key = key_of(spec, "OPENAI_API_KEY", needed=self._url == DEFAULT_URL)
        self._wanted = {"dimensions": spec.whole("dimensions", 0)} if "dimensions" in spec.options else {}
        self._timeout = spec.seconds("timeout", TIMEOUT)
        self._client = self._connect()
        weakref.finalize(self, self._client.close)

    def embed(self, texts: Sequence[str]) -> Embedded:
        import openai

        with as_faults(openai, url=self._url, key=self._key, silence=self._timeout):
            reply = self._client.embeddings.create(
                model=self._spec.model, input=list(texts), encoding_format="float", extra_body=self._wanted
            )
        return Embedded(_vectors(reply, len(texts)), _tokens(reply))

    def _connect(self) -> OpenAI:
        try:
            import httpx2
            from openai import DefaultHttpxClient, OpenAI
        except ImportError as error:
            raise PrerequisiteError(
                f"{self._spec.text} needs the package openai: python -m pip install 'mage-es[openai]'"
            ) from error
        return OpenAI(
            api_key=self._key or "none",
            base_url=self._url,
            max_retries=0,
            timeout=httpx2.Timeout(self._timeout, connect=min(10.0, self._timeout)),
            http_client=http_client(DefaultHttpxClient),
        )


def request_of(texts: Sequence[str]) -> Request:
    """Return a call as a `Request` of the seam, from which its hash and highest cost are computed."""
    return Request(prompt="\0".join(texts), max_tokens=0)


def open_served(spec: ModelSpec, retry_policy: RetryPolicy = DEFAULT_RETRIES) -> ServedEmbedder:
    """Return the embedder of a spec. Raises `PrerequisiteError` if client, key or server is missing."""
    return ServedEmbedder(spec.text, EmbeddingsEndpoint(spec), retry_policy)


def _vectors(reply: Any, count: int) -> NDArray[np.float64]:
    rows = getattr(reply, "data", None)
    if not isinstance(rows, list) or sorted(getattr(row, "index", -1) for row in rows) != list(range(count)):
        raise ModelFault(Fault("malformed", f"the reply has not one embedding for each of {count} texts"))
    try:
        return np.array([row.embedding for row in sorted(rows, key=lambda row: row.index)], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ModelFault(Fault("malformed", "an embedding is no list of numbers")) from None


def _tokens(reply: Any) -> int:
    """Return the tokens of the texts as the server counts them, 0 if it gives none. Raises `ModelFault`."""
    usage = getattr(reply, "usage", None)
    return (read_as(_Usage, usage, what="usage of embeddings").prompt_tokens or 0) if usage else 0


def _microseconds_since(began: int) -> int:
    return (time.perf_counter_ns() - began) // 1000
