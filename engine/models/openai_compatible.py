"""`openai/<model>?base_url=`: any server that speaks /v1/chat/completions, such as vLLM, Ollama or llama.cpp.

Rules
    - The official client makes one attempt and no more: retrying is engine/models/line.py's, where each is recorded.
    - A whole reply must be there within `timeout` seconds, so that a server that drips cannot hold a call for ever.
    - Streamed, a reply may be silent for `stall` seconds at most: a server that hangs is noticed long before the
      timeout, and a proxy between that ends silent connections has nothing to end.
    - With `context` given, a prompt that may be longer is refused here, for servers that would cut it silently.
    - How many calls are in flight is the line's affair: the client limits no connections and keeps idle ones.
    - A block `<think>...</think>` at the start of a reply is the model's thinking and no part of the answer; where a
      chat template has opened it already, only its end is in the reply.
    - A reply is taken for nothing but what it says: whatever has another shape than the protocol's is a fault.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.engine.models.clients import TIMEOUT, Tokens, as_faults, key_of, read_as, require_way_out
from mage_es.engine.models.context import require_fit
from mage_es.engine.models.faults import Fault, ModelFault, other_name, shortened, without_key
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.spec import ModelSpec
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion

OPTIONS = (
    "base_url",
    "timeout",
    "structured",
    "key_env",
    "seed",
    "thinking",
    "max_tokens_field",
    "context",
    "stream",
    "stall",
)
"""`structured`: how a typed reply is asked for, `json_schema` (default), `json_object` or `none`; `thinking`: on or
off, for chat templates that know `enable_thinking`; `max_tokens_field`: `max_tokens` or `max_completion_tokens`;
`context`: tokens of prompt and reply together; `stream`: on or off (default); `stall`: seconds between two pieces."""

DEFAULT_URL = "https://api.openai.com/v1"
STALL = 120.0
"""Seconds that a streamed reply may be silent, before its first piece too."""

_THINKING = re.compile(r"\A\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)
_THINKING_ENDS = "</think>"
_STOPS = {"stop": "end", "length": "length", "content_filter": "filtered", "tool_calls": "tool"}
_FORMS = ("json_schema", "json_object", "none")
_LIMITS = ("max_tokens", "max_completion_tokens")


class _Part(msgspec.Struct):
    """A piece of a reply that comes in several, as those of models that think may."""

    type: str = ""
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """Return what it says, without the pieces that are no text."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Given(msgspec.Struct):
    cached_tokens: Tokens | None = None


class _Made(msgspec.Struct):
    reasoning_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _Given | None = None
    completion_tokens_details: _Made | None = None


class _Reply(msgspec.Struct):
    """What is read of a chat completion."""

    choices: list[_Choice] | None = None
    id: str | int | None = None
    usage: _Usage | None = None
    error: Any = None
    model: Any = None


class OpenAICompatible:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.text
        self._spec = spec
        self._url = spec.options.get("base_url", DEFAULT_URL)
        self._key = key_of(spec, "OPENAI_API_KEY", needed=self._url == DEFAULT_URL)
        self._timeout, self._stall = spec.seconds("timeout", TIMEOUT), spec.seconds("stall", STALL)
        self._context, self._is_streamed = spec.whole("context", 0), spec.is_on("stream")
        self._form, self._limit = spec.chosen("structured", _FORMS), spec.chosen("max_tokens_field", _LIMITS)
        self._fixed = _fixed_fields(spec)
        self._seed = spec.whole("seed", 0) if "seed" in spec.options else None
        self._client: AsyncOpenAI | None = None

    async def complete(self, request: Request) -> Completion:
        """Return the server's reply. Raises `ModelFault`, and `PrerequisiteError` where the client is missing."""
        require_fit(request, self._context)
        client = self._client = self._client or self._connect()
        import openai

        try:
            async with asyncio.timeout(self._timeout):
                with as_faults(openai, url=self._url, key=self._key, silence=self._longest_silence()):
                    reply = await self._reply(client, request)
        except TimeoutError:
            raise ModelFault(Fault("timeout", f"no whole reply within {self._timeout:g} s")) from None
        return read_completion(reply, asked=self._spec.model, key=self._key)

    async def _reply(self, client: AsyncOpenAI, request: Request) -> ChatCompletion:
        """Return the whole reply, put together where it comes in pieces."""
        fields = self._fields(request)
        if not self._is_streamed:
            reply: ChatCompletion = await client.chat.completions.create(**fields)
            return reply
        from mage_es.engine.models.streaming import put_together

        pieces = await client.chat.completions.create(**fields, stream=True, stream_options={"include_usage": True})
        whole = await put_together(pieces)
        if whole.choices and not whole.choices[0].finish_reason:
            raise ModelFault(Fault("connection", f"{self._url}: the stream ended before the reply was whole"))
        return whole

    async def close(self) -> None:
        """Close the connections that are kept open."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connect(self) -> AsyncOpenAI:
        try:
            import httpx2
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient
        except ImportError as error:
            raise PrerequisiteError(
                f"{self.name} needs the package openai: python -m pip install 'mage-es[openai]'"
            ) from error
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0)
        require_way_out(self.name)
        return AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._url,
            max_retries=0,
            timeout=httpx2.Timeout(self._timeout, connect=min(10.0, self._timeout), read=self._longest_silence()),
            http_client=DefaultAsyncHttpxClient(limits=limits),
        )

    def _longest_silence(self) -> float:
        return min(self._stall, self._timeout) if self._is_streamed else self._timeout

    def _fields(self, request: Request) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": self._spec.model,
            "messages": [{"role": "user", "content": request.prompt}],
            "temperature": request.temperature,
            self._limit: request.max_tokens,
            **self._fixed,
        }
        if self._seed is not None:
            fields["seed"] = self._seed + request.sample
        if request.reply_schema and (form := _reply_form(self._form, request.reply_schema)):
            fields["response_format"] = form
        return fields


def read_completion(reply: object, *, asked: str = "", key: str = "") -> Completion:
    """Return what a chat completion of the model `asked` for says, but `key` where it repeats that.

    Tokens that the server does not tell count as none.

    Raises:
        ModelFault: A reply of another shape, without text, or one that was withheld.
    """
    read = read_as(_Reply, reply, what="chat completion")
    if not read.choices:
        told = f": {read.error}" if read.error else ""
        raise ModelFault(Fault("malformed", shortened(without_key(f"the reply has no choices{told}", key))))
    message, finish = read.choices[0].message, read.choices[0].finish_reason or "end"
    if message.refusal or finish == "content_filter":
        words = message.refusal or "the provider's content filter withheld the reply"
        raise ModelFault(Fault("filtered", shortened(without_key(words, key))))
    thinking, text = split_thinking(message.text)
    if not text.strip():
        has_thought = thinking or message.reasoning_content or message.reasoning
        after, why = " after its thinking" if has_thought else "", without_key(finish, key)
        raise ModelFault(Fault("empty", shortened(f"the reply has no text{after} (finish reason {why})")))
    usage = read.usage or _Usage()
    given, made = usage.prompt_tokens_details or _Given(), usage.completion_tokens_details or _Made()
    input_tokens = usage.prompt_tokens or 0
    return Completion(
        text=without_key(text, key),
        input_tokens=input_tokens,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=min(given.cached_tokens or 0, input_tokens),
        thinking_tokens=made.reasoning_tokens or 0,
        stop_reason=_STOPS.get(finish, without_key(finish, key)),
        provider_id=without_key(str(read.id or ""), key),
        served_by=other_name(read.model, asked, key),
    )


def split_thinking(text: str) -> tuple[str, str]:
    """Return (thinking, answer) of a reply; thinking that was cut off leaves no answer."""
    if found := _THINKING.match(text):
        return found.group(1).strip(), text[found.end() :]
    before, ends, after = text.partition(_THINKING_ENDS)
    return (before.strip(), after.lstrip()) if ends and "<think>" not in before else ("", text)


def _fixed_fields(spec: ModelSpec) -> dict[str, Any]:
    """Return the fields that every request of this spec has."""
    fields: dict[str, Any] = {}
    if "thinking" in spec.options:
        fields["extra_body"] = {"chat_template_kwargs": {"enable_thinking": spec.is_on("thinking")}}
    return fields


def _reply_form(form: str, schema: str) -> dict[str, Any] | None:
    """Return how a typed reply is asked for, None where nothing but its prompt asks for it."""
    if form == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": msgspec.json.decode(schema)}}
    return None if form == "none" else {"type": "json_object"}
