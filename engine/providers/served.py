"""What models behind a server have in common: single attempts with the provider's client, and facts that the server
reports about itself.

Rules
    - The client makes one attempt: engine/models/retrying.py makes the others, so that each is recorded.
    - A whole reply must arrive within `timeout` seconds, so that a trickling server cannot hold up a call for ever.
      After that the connection is closed before the next attempt, so no call is open twice, although a server that does
      not notice goes on computing the abandoned reply.
    - A server's list of models is requested once, for at most `TIMEOUT_S` seconds, without retries. The key is
      cut out of every message before it is shown.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from mage_es.engine.providers.clients import (
    TIMEOUT,
    as_faults,
    client_of,
    key_of,
    require_package,
    too_slow,
    without_key,
)
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Preflight, Request
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.errors import PrerequisiteError, nearest

TIMEOUT_S = 10.0
GREETING = "Say hello in one word."


class ListedModels(NamedTuple):
    """The models that a server lists: id -> context length in tokens, 0 if it does not say."""

    contexts: Mapping[str, int]

    def find(self, model: str) -> str | None:
        """Return the id under which a model is served: its own, or a dated or tagged form of it."""
        if model in self.contexts:
            return model
        forms = (f"{model}:latest", f"models/{model}")
        return next((name for name in self.contexts if name in forms or name.startswith(f"{model}-20")), None)

    def context(self, model: str) -> int:
        """Return the context of a model, 0 if unknown."""
        return self.contexts.get(self.find(model) or "", 0)

    def nearest(self, model: str) -> str:
        return nearest(model, list(self.contexts)[:200]) if self.contexts else ""


class ServedModel(Preflight, ABC):
    """A model behind the server at `url`. A provider's class names its client and the client's module, the variable
    that holds its key, its own address, and the path of its list of models below an address."""

    PACKAGE: ClassVar[str]
    CLIENT: ClassVar[str]
    KEY: ClassVar[str]
    URL: ClassVar[str]
    LIST: ClassVar[str]

    def __init__(self, spec: ModelSpec) -> None:
        require_package(spec, self.PACKAGE)
        self.name, self.spec = spec.text, spec
        self.url = spec.options.get("base_url", self.URL).rstrip("/")
        self.key = key_of(spec, self.KEY, needed=self.url == self.URL)
        self._timeout = self._silence = spec.seconds("timeout", TIMEOUT)
        self._thinking = spec.thinking()
        self._client: Any = None

    @abstractmethod
    async def complete(self, request: Request) -> Completion: ...

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        """Yield the client, for at most `timeout` seconds; what it raises becomes a `ModelFault`."""
        if self._client is None:
            times = {"timeout": self._timeout, "silence": self._silence}
            self._client = client_of(f"{self.PACKAGE}.{self.CLIENT}", self.name, url=self.url, key=self.key, **times)
        try:
            async with asyncio.timeout(self._timeout):
                option = "stall" if self._silence < self._timeout else "timeout"
                with as_faults(
                    import_module(self.PACKAGE), url=self.url, key=self.key, silence=self._silence, option=option
                ):
                    yield self._client
        except TimeoutError:
            raise ModelFault(too_slow(f"no whole reply within {self._timeout:g} s", "timeout")) from None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def listed(self) -> ListedModels:
        """Return what the server lists, which is nothing if it has no such list. Raises `ModelFault`."""
        import httpx2

        named, address = f"{self.PACKAGE}.{self.CLIENT.removeprefix('Async')}", {"url": self.url, "key": self.key}
        try:
            client = client_of(named, self.name, timeout=TIMEOUT_S, silence=TIMEOUT_S, **address)
            with client, as_faults(import_module(self.PACKAGE), silence=TIMEOUT_S, option="", **address):
                reply = client.get(self.LIST, cast_to=httpx2.Response)
                return ListedModels(_contexts(json.loads(without_key(reply.text, self.key))))
        except PrerequisiteError as error:  # no client can be made with the environment's proxy
            raise ModelFault(Fault("connection", str(error))) from None
        except ModelFault as error:
            if error.fault.kind == "missing":
                return ListedModels({})
            raise

    async def require_served(self) -> list[str]:
        """A model missing from the list gets one short request, as some servers answer under any name; the return value
        is the cost of that request, which no log records."""
        model, listed = self.spec.model, ListedModels({})
        try:
            if (listed := self.listed()).find(model) is not None:
                return []
            said = await self.complete(Request(prompt=GREETING, max_tokens=16))
        except ModelFault as error:
            if error.fault.kind != "missing":
                return []
            hint = listed.nearest(model) or " Check the model's name and the address (base_url)."
            raise PrerequisiteError(f"{self.url} does not serve {model}.{hint} No run was started.") from None
        finally:
            await self.close()
        names, cost = listed.nearest(model), trial_cost([said])
        return [f"WARNING: {self.url} does not list {model}, but it answers.{names} {cost}"]


def _contexts(document: Any) -> Mapping[str, int]:
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise ValueError("its list of models is malformed")
    return {str(row["id"]): int(row.get("max_model_len") or 0) for row in rows}


def trial_cost(replies: Sequence[Completion]) -> str:
    calls = "One trial call" if len(replies) == 1 else f"{len(replies)} trial calls"
    read, written = (sum(getattr(reply, name) for reply in replies) for name in ("input_tokens", "output_tokens"))
    return f"{calls}: {read} tokens in and {written} out, which no ledger counts."
