"""`recorded/RUN`: the replies of another run's log, by the hash of the request; no model is called.

A request that the run never made has no reply: this model never makes one up.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.disk import Layout
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BundleTrimmed, ModelCalled


class RecordedModel:
    OPTIONS = ()

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.text
        self._log = Path(spec.model) / "log"
        if not Layout(self._log).format.exists():
            raise UsageError(f"{spec.text}: {spec.model} is not a run's folder. Give one, as in recorded/runs/gsm8k-1.")
        self._replies: dict[str, ModelCalled | BundleTrimmed] | None = None

    async def complete(self, request: Request) -> Completion:
        if self._replies is None:
            self._replies = self._read()
        call = self._replies.get(request.sha256)
        if call is None:
            raise ModelFault(Fault("rejected", f"{self._log.parent} never made the request {request.sha256[:16]}"))
        if isinstance(call, BundleTrimmed):
            raise ModelFault(Fault("too_long", call.problem))
        return msgspec.convert(call, Completion, from_attributes=True)

    def _read(self) -> dict[str, ModelCalled | BundleTrimmed]:
        """Return the outcome of each request; one that did not fit the model's context does not fit again."""
        calls: Iterator[ModelCalled | BundleTrimmed] = LogReader(self._log).of(ModelCalled, BundleTrimmed)
        return {call.request_sha256: call for call in calls}
