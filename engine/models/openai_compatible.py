"""`openai/<model>?base_url=`: any server that speaks /v1/chat/completions, such as vLLM, Ollama or llama.cpp.

Rules
    - The official client makes one attempt and no more: retrying is engine/models/line.py's, where each is recorded.
    - A whole reply must be there within `timeout` seconds, so that a server that drips cannot hold a call for ever.
    - Streamed, a reply may be silent for `stall` seconds at most: a server that hangs is noticed long before the
      timeout, and a proxy between that ends silent connections has nothing to end.
    - With `context` given, a prompt that may be longer is refused here, for servers that would cut it silently.
    - How many calls are in flight is the line's affair: the client limits no connections and keeps idle ones.
    - A block `<think>...</think>` at the start of a reply is the model's thinking and no part of the answer.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.engine.models.clients import TIMEOUT, as_faults, key_of
from mage_es.engine.models.context import require_fit
from mage_es.engine.models.faults import Fault, ModelFault, shortened, without_key
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.spec import ModelSpec
from mage_es.events.errors import PrerequisiteError, UsageError, nearest

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
_STOPS = {"stop": "end", "length": "length", "content_filter": "filtered", "tool_calls": "tool"}


class OpenAICompatible:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.text
        self._spec = spec
        self._url = spec.options.get("base_url", DEFAULT_URL)
        self._key = key_of(spec, "OPENAI_API_KEY", needed=self._url == DEFAULT_URL)
        self._timeout = spec.number("timeout", TIMEOUT)
        self._context, self._stall = int(spec.number("context", 0)), spec.number("stall", STALL)
        self._is_streamed = spec.is_on("stream")
        self._fixed = _fixed_fields(spec)
        self._seed = int(spec.number("seed", 0)) if "seed" in spec.options else None
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
        return read_completion(reply, key=self._key)

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
        return AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._url,
            max_retries=0,
            timeout=httpx2.Timeout(self._timeout, connect=min(10.0, self._timeout), read=self._longest_silence()),
            http_client=DefaultAsyncHttpxClient(
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0)
            ),
        )

    def _longest_silence(self) -> float:
        return min(self._stall, self._timeout) if self._is_streamed else self._timeout

    def _fields(self, request: Request) -> dict[str, Any]:
        limit = self._spec.options.get("max_tokens_field", "max_tokens")
        fields: dict[str, Any] = {
            "model": self._spec.model,
            "messages": [{"role": "user", "content": request.prompt}],
            "temperature": request.temperature,
            limit: request.max_tokens,
            **self._fixed,
        }
        if self._seed is not None:
            fields["seed"] = self._seed + request.sample
        if request.reply_schema and (form := _reply_form(self._spec, request.reply_schema)):
            fields["response_format"] = form
        return fields


def read_completion(reply: ChatCompletion, *, key: str = "") -> Completion:
    """Return what a chat completion says, but `key` where it repeats that.

    Raises `ModelFault` for a reply without text, or one that was withheld.
    """
    if not getattr(reply, "choices", None):
        raise ModelFault(Fault("malformed", "the reply has no choices"))
    choice = reply.choices[0]
    message = choice.message
    refusal = getattr(message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        raise ModelFault(
            Fault(
                "filtered", shortened(without_key(refusal or "the provider's content filter withheld the reply", key))
            )
        )
    apart = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or ""
    thinking, text = split_thinking(message.content or "")
    if not text.strip():
        raise ModelFault(Fault("empty", "the reply has no text" + (" after its thinking" if thinking or apart else "")))
    usage = reply.usage
    given = getattr(usage, "prompt_tokens_details", None)
    made = getattr(usage, "completion_tokens_details", None)
    return Completion(
        text=without_key(text, key),
        input_tokens=usage.prompt_tokens if usage else 0,
        output_tokens=usage.completion_tokens if usage else 0,
        cached_tokens=(getattr(given, "cached_tokens", 0) or 0) if given else 0,
        thinking_tokens=(getattr(made, "reasoning_tokens", 0) or 0) if made else 0,
        stop_reason=_STOPS.get(choice.finish_reason or "", without_key(choice.finish_reason or "end", key)),
        provider_id=without_key(reply.id or "", key),
    )


def split_thinking(text: str) -> tuple[str, str]:
    """Return (thinking, answer) of a reply; thinking that was cut off leaves no answer."""
    found = _THINKING.match(text)
    return (found.group(1).strip(), text[found.end() :]) if found else ("", text)


def _fixed_fields(spec: ModelSpec) -> dict[str, Any]:
    """Return the fields that every request of this spec has."""
    fields: dict[str, Any] = {}
    if "thinking" in spec.options:
        fields["extra_body"] = {"chat_template_kwargs": {"enable_thinking": spec.is_on("thinking")}}
    return fields


def _reply_form(spec: ModelSpec, schema: str) -> dict[str, Any] | None:
    """Return how the typed reply is asked for."""
    way = spec.options.get("structured", "json_schema")
    if way == "none":
        return None
    if way == "json_object":
        return {"type": "json_object"}
    if way == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "reply", "schema": msgspec.json.decode(schema)}}
    raise UsageError(f"{spec.text}: structured={way!r}.{nearest(way, ['json_schema', 'json_object', 'none'])}")
