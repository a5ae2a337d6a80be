"""The one seam through which every model is called, embedded or remote: a request in, a completion out.

A model is given the prompt and nothing else. It never sees a gold answer, the store, the benchmark or the
question's id; what a guidance model may see (the reference solution of an evolution question) stands in its
prompt too, as the JSON of a typed brief, so that the log's request hash covers everything that it knew.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from mage_es.events.digests import sha256_text


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `reply_schema` is a JSON schema where a typed reply is wanted, else empty.

    `fixed` says how many characters at the beginning of the prompt other calls begin with too: worth keeping in a
    provider's cache. It is about the price only, so it is no part of the hash. `sample` tells several replies to one
    prompt apart, 0 where only one is wanted: a model that draws from a seed adds it to that, or they would be the same.
    """

    prompt: str
    temperature: float = 0.0
    max_tokens: int = 1024
    reply_schema: str = ""
    fixed: int = 0
    sample: int = 0

    @property
    def sha256(self) -> str:
        """Return the hash of everything that the model is given; part of the call's idempotency key."""
        given = (self.prompt, repr(self.temperature), str(self.max_tokens), self.reply_schema)
        return sha256_text("\x00".join((*given, str(self.sample)) if self.sample else given))


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One reply. Tokens are the provider's own counts; for embedded models, words and punctuation.

    Those read from a cache (`cached_tokens`) and those written into one are among the `input_tokens`. `served_by` is
    the provider's name of the model that replied, "" where it is the one that was asked for, or none is told.
    """

    text: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    thinking_tokens: int = 0
    stop_reason: str = "end"
    provider_id: str = ""
    cache_write_tokens: int = 0
    batched: bool = False
    served_by: str = ""


class Model(Protocol):
    """A model. `name` is its full spec, such as `builtin/analogist`; it goes into every recorded call."""

    name: str

    async def complete(self, request: Request) -> Completion:
        """Return the model's reply; raises `PrerequisiteError` when it cannot be had."""
        ...
