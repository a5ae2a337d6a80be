"""`recorded/RUN`: the replies of another run's log, by the hash of the request; no model is called.

A request that the run never made has no reply: this model never makes one up.
"""

from __future__ import annotations

from pathlib import Path

from mage_es.engine.models.faults import Fault, ModelFault
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.spec import ModelSpec
from mage_es.events.errors import UsageError
from mage_es.events.layout import Layout
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import BundleTrimmed, ModelCalled


class Recorded:
    """A run's replies, read from the folder of the run when the first request comes."""

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.text
        self._log = Path(spec.model) / "log"
        if not Layout(self._log).format.exists():
            raise UsageError(f"{spec.text}: {spec.model} is no run's folder. Give one, as in recorded/runs/gsm8k-1.")
        self._replies: dict[str, ModelCalled | BundleTrimmed] | None = None

    async def complete(self, request: Request) -> Completion:
        """Return the reply that the run got to exactly this request. Raises `ModelFault` if it never made it."""
        if self._replies is None:
            self._replies = self._read()
        call = self._replies.get(request.sha256)
        if call is None:
            raise ModelFault(Fault("rejected", f"{self._log.parent} never made the request {request.sha256[:16]}"))
        if isinstance(call, BundleTrimmed):
            raise ModelFault(Fault("too_long", call.problem))
        return Completion(
            text=call.text,
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            cached_tokens=call.cached_tokens,
            thinking_tokens=call.thinking_tokens,
            stop_reason=call.stop_reason,
            provider_id=call.provider_id,
            cache_write_tokens=call.cache_write_tokens,
            batched=call.batched,
            served_by=call.served_by,
        )

    def _read(self) -> dict[str, ModelCalled | BundleTrimmed]:
        """Return what came of each request; one that did not fit the model's context does not fit again."""
        calls = (record.event for record in LogReader(self._log).records({ModelCalled, BundleTrimmed}))
        return {call.request_sha256: call for call in calls if isinstance(call, ModelCalled | BundleTrimmed)}
