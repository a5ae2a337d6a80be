"""`openai/<model>?base_url=`: any server that speaks /v1/embeddings, such as OpenAI's, vLLM's or Ollama's."""

import weakref
from collections.abc import Sequence
from typing import Any

import msgspec

from mage_es.engine.embedders.served import Embedded
from mage_es.engine.providers.clients import OPENAI, Tokens, as_faults, client_of, key_of, read_as, require_package
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.spec import ModelSpec

TIMEOUT = 60.0


class _Usage(msgspec.Struct):
    prompt_tokens: Tokens | None = None


class EmbeddingsEndpoint:
    """Options: `dimensions`: how many numbers a vector should have, for models that can shorten them."""

    OPTIONS = ("base_url", "timeout", "key_env", "dimensions")

    def __init__(self, spec: ModelSpec) -> None:
        require_package(spec, "openai")
        self._spec, (variable, own) = spec, OPENAI
        self._url = spec.options.get("base_url", own)
        self._key = key_of(spec, variable, needed=self._url == own)
        self._wanted = {"dimensions": spec.whole("dimensions", 0)} if "dimensions" in spec.options else {}
        self._timeout = spec.seconds("timeout", TIMEOUT)
        times = {"timeout": self._timeout, "silence": self._timeout}
        self._client = client_of("openai.OpenAI", spec.text, url=self._url, key=self._key, **times)
        weakref.finalize(self, self._client.close)

    def embed(self, texts: Sequence[str]) -> Embedded:
        import openai

        with as_faults(openai, url=self._url, key=self._key, silence=self._timeout):
            reply = self._client.embeddings.create(
                model=self._spec.model, input=list(texts), encoding_format="float", extra_body=self._wanted
            )
        return Embedded(_vectors(reply, len(texts)), _tokens(reply))


def _vectors(reply: Any, count: int) -> Sequence[Sequence[float]]:
    """Return the embeddings in the order of the texts, as they came. Raises `ModelFault`."""
    rows = getattr(reply, "data", None)
    if not isinstance(rows, list) or sorted(getattr(row, "index", -1) for row in rows) != list(range(count)):
        raise ModelFault(Fault("malformed", f"the reply does not have one embedding for each of {count} texts"))
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]


def _tokens(reply: Any) -> int:
    """Return the number of tokens in the texts as the server counts them, 0 if it reports none. Raises `ModelFault`."""
    usage = getattr(reply, "usage", None)
    return (read_as(_Usage, usage, part="field usage", what="count of tokens").prompt_tokens or 0) if usage else 0
