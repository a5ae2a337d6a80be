"""The seam of a model, embedded or remote: a request in, a completion out.

A model gets the prompt and nothing else: no gold answer, no store, no question id. What a guidance model may see beyond
that (the reference solution of an evolution question) is in its prompt as well, as the JSON of a typed brief, so that
the recorded request hash covers everything it knew.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from mage_es.events.digests import sha256_text

__all__ = ["Completion", "Model", "Request"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `reply_schema` is the JSON schema of a typed reply, "" for any text.

    `system` is the system message, `prompt` the user's. What many calls share is in `system`, byte for byte, since a
    provider's cache keeps what prompts begin with. `sample` numbers several replies to one prompt, from 0; a seeded
    model adds it to its seed, so that they differ.
    """

    prompt: str
    system: str = ""
    temperature: float = 0.0
    max_tokens: int = 1024
    reply_schema: str = ""
    sample: int = 0

    @property
    def text(self) -> str:
        """Both messages, as one text."""
        return f"{self.system}\n\n{self.prompt}" if self.system else self.prompt

    @property
    def sha256(self) -> str:
        """The hash of everything that the model gets; part of the call's idempotency key."""
        given = (self.system, self.prompt, repr(self.temperature), str(self.max_tokens), self.reply_schema)
        return sha256_text("\x00".join((*given, str(self.sample)) if self.sample else given))


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One reply. Tokens are the provider's own counts; for embedded models, words and punctuation.

    `input_tokens` include those read from a cache (`cached_tokens`) and those written to one. `served_by` is the
    provider's name of the model that replied, "" if it gives none or the one asked for.
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
        """Return the model's reply.

        Raises:
            ModelFault: The call failed; its kind says whether to retry (engine/seams/faults.py).
            PrerequisiteError: The model is unavailable, as when a package or key is missing.
        """
