"""The seam of a model, embedded or remote: a request in, a completion out.

A model gets the prompt and nothing else: no gold answer, no store, no question id. What a guidance model may see beyond
that (the reference solution of an evolution question) is in its prompt as well, as the JSON of a typed brief, so that
the recorded request hash covers everything it knew.
"""

from collections.abc import Callable, Mapping
from inspect import isawaitable
from itertools import cycle, pairwise
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from mage_es.engine.seams.faults import Fault, ModelFault, shortened, without_halves
from mage_es.engine.seams.loops import is_looping
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import ModelCalled

MAX_TOKENS = 4096
"""Tokens of a reply, thinking included: enough for a small model's median of 900 and for the long tail."""
RAISE = 2
"""A limit that cut a reply is raised once, by this factor."""
LONGEST_REPLY, MOST_TOKENS = 2_000_000, 2**40
"""Characters and tokens of a reply: far more than any call's `max_tokens` gives, far fewer than an event may hold."""
BETWEEN_TURNS = "\n\n"
"""The end of each message in a prompt of several; it is not part of the message."""
_LENGTH, _LOOP = "length", "loop"
_REACHED = 0.9
"""A truncated reply with at least this share of its limit counts as cut by that limit, not by the model's context."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `reply_schema` is the JSON schema of a typed reply, "" for any text. The prompt says what its fields
    mean; a client enforces the schema, or describes it in words (`in_words` of engine/providers/clients.py).

    `system` is the system message, `prompt` the user's. What many calls share is in `system`, byte for byte, since a
    provider's cache works on prefixes. `turns` are the offsets in `prompt` at which another message begins: user and
    assistant take turns, and the user has the first and the last. `sample` numbers several replies to one prompt, from
    0; a seeded model adds it to its seed, so that they differ.
    """

    prompt: str
    system: str = ""
    temperature: float = 0.0
    max_tokens: int = MAX_TOKENS
    reply_schema: str = ""
    sample: int = 0
    turns: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """All messages, as one text."""
        return f"{self.system}\n\n{self.prompt}" if self.system else self.prompt

    @property
    def messages(self) -> list[str]:
        """The messages after the system's, from the user's first to the user's last."""
        pieces = [self.prompt[start:end] for start, end in pairwise((0, *self.turns, len(self.prompt)))]
        return [*(piece.removesuffix(BETWEEN_TURNS) for piece in pieces[:-1]), pieces[-1]]

    @property
    def sha256(self) -> str:
        """The hash of everything that the model gets; part of the call's idempotency key."""
        return sha256_text("\x00".join((self.system, self.prompt, self.terms)))

    @property
    def terms(self) -> str:
        """What is hashed besides the messages' text: how the model samples, and where the messages begin."""
        given = (repr(self.temperature), str(self.max_tokens), self.reply_schema)
        others = (*([str(self.sample)] if self.sample else ()), *([f"turns {self.turns}"] if self.turns else ()))
        return "\x00".join((*given, *others))


def chat_of(request: Request, *, joined: bool) -> list[dict[str, str]]:
    """Return the messages of a request, each with its role; `joined` puts the system's before the user's first."""
    first, *others = request.messages
    if joined and request.system:
        first = f"{request.system}\n\n{first}"
    said = [("system", "" if joined else request.system), *zip(cycle(("user", "assistant")), (first, *others))]
    return [{"role": role, "content": text} for role, text in said if text]


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One reply. Tokens are the provider's own counts; for embedded models, words and punctuation.

    `text` may be empty. `stop_reason` is `end`, `length` (cut by a limit), `loop` (cut by a limit while it repeated
    itself), `refused`, or the provider's own word.
    `input_tokens` include those read from a cache (`cached_tokens`) and those written to one; `output_tokens` include
    `thinking_tokens`. `served_by` is the provider's name for the model that replied, "" if it gives none or the one
    asked for.
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


_COUNTS = [name for name in Completion.__struct_fields__ if name.endswith("_tokens")]


class Model(Protocol):
    """A model. `name` is its full spec, such as `builtin/analogist`; it goes into every recorded call."""

    name: str

    async def complete(self, request: Request) -> Completion:
        """Return the model's reply.

        Raises:
            ModelFault: The call failed; its kind says whether to retry (engine/seams/faults.py).
            PrerequisiteError: The model is unavailable, as when a package or key is missing.
        """


async def reply_of(model: Model, request: Request) -> Completion:
    """Return a model's reply. Raises `UsageError` for a model that returns anything but a completion."""
    made: Any = model.complete(request)
    reply = await made if isawaitable(made) else made
    if isinstance(reply, Completion) and isinstance(reply.text, str):
        return reply
    wanted = "a mage_es.Completion with a text" if isinstance(reply, Completion) else "a mage_es.Completion"
    raise UsageError(
        f"The model {model.name} returned {reply!r:.80}, and not {wanted}: have "
        "`async def complete(self, request)` return Completion(text=..., input_tokens=..., output_tokens=...)."
    )


class Preflight:
    """What a model can tell before a run begins with it. The defaults tell nothing: derive from this to answer."""

    def context(self) -> int:
        """Return how many tokens a prompt and its reply may have together, or 0 if unknown."""
        return 0

    async def require_served(self) -> list[str]:
        """Return what to say at the start of a run. Raises `PrerequisiteError` for a model that its server does not
        know; a server that cannot be reached shows at the first call."""
        return []

    async def require_room(self, first: Callable[[], Request]) -> None:
        """Raise `PrerequisiteError` if a run's first prompt is too long, for a model whose tokens only it can count."""


@runtime_checkable
class Batching(Protocol):
    """A model whose provider takes many requests at once, at a lower price.

    A batch outlives the process that submitted it: its id is enough to find it again.
    """

    name: str

    async def submit(self, requests: Mapping[str, Request]) -> str:
        """Submit requests by custom id (at most 64 letters, digits, hyphens, underscores); return the batch's id.

        Raises `ModelFault`: nothing was submitted, as far as is known.
        """

    async def has_ended(self, batch_id: str) -> bool:
        """Return whether the batch is complete. Raises `ModelFault`."""

    async def replies(self, batch_id: str) -> Mapping[str, Completion | Fault]:
        """Return the outcomes of a complete batch by custom id. Raises `ModelFault`."""


def recordable(completion: Completion) -> Completion:
    """Return a completion in a form that a log can hold: Unicode, names on one line, counts that can be summed, loops
    named.

    Raises `ModelFault` if it is longer than any call asks for.
    """
    if len(completion.text) > LONGEST_REPLY:
        problem = f"a reply of {len(completion.text)} characters; {LONGEST_REPLY} are read at most"
        raise ModelFault(Fault("malformed", problem))
    names = {name: shortened(getattr(completion, name)) for name in ("stop_reason", "provider_id", "served_by")}
    said = {name: without_halves(text) for name, text in (names | {"text": completion.text}).items()}
    said["stop_reason"] = stop_of(said["stop_reason"], completion.text)
    counts = {name: min(max(0, getattr(completion, name)), MOST_TOKENS) for name in _COUNTS}
    return msgspec.structs.replace(completion, **said, **counts)


def stop_of(stop_reason: str, *texts: str) -> str:
    """Return a stop reason: `loop` instead of `length` if one of the texts, such as the thinking, ends in a loop."""
    return _LOOP if stop_reason == _LENGTH and any(map(is_looping, texts)) else stop_reason


def is_cut(stop_reason: str) -> bool:
    return stop_reason in (_LENGTH, _LOOP)


def reason_of(reply: Completion | ModelCalled) -> Literal["", "truncated", "looped", "empty", "refused"]:
    """Return what a reply lacks to be an answer, or ""."""
    if is_cut(reply.stop_reason):
        return "looped" if reply.stop_reason == _LOOP else "truncated"
    if reply.stop_reason == "refused":
        return "refused"
    return "" if reply.text.strip() else "empty"


def request_after(request: Request, reply: Completion | ModelCalled, *, most: int) -> Request | None:
    """Return the request to make after a reply that is not an answer, or None if repeating is pointless. After a reply
    cut at its limit it has `most` tokens, if that is more, unless the reply looped; after one without text it is
    unchanged."""
    if reply.stop_reason != _LENGTH:
        return request if reply.stop_reason == "end" and not reply.text.strip() else None
    # Without token counts it is unknown what cut it.
    is_reached = not reply.output_tokens or reply.output_tokens >= _REACHED * request.max_tokens
    return msgspec.structs.replace(request, max_tokens=most) if is_reached and most > request.max_tokens else None
