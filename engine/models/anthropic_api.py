"""`anthropic/<model>`: Claude through the official SDK, or any server that speaks /v1/messages.

Rules
    - The SDK makes one attempt and no more: retrying is engine/models/line.py's, where each attempt is recorded.
    - Current models take no temperature; it is sent only where the spec says `temperature=send`. A reply is recorded,
      so a replay does not depend on whether the provider would give it again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.engine.models.faults import Fault, ModelFault, fault_of_status, shortened, without_key
from mage_es.engine.models.openai_compatible import TIMEOUT, key_of
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.spec import ModelSpec
from mage_es.events.errors import PrerequisiteError, UsageError, nearest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message

OPTIONS = ("base_url", "timeout", "structured", "key_env", "effort", "temperature")
"""`structured`: `json_schema` (default) or `none`; `effort`: low to max; `temperature`: `send` or `omit` (default)."""

_STOPS = {"end_turn": "end", "stop_sequence": "end", "max_tokens": "length", "tool_use": "tool", "pause_turn": "pause"}


class Anthropic:
    """A Claude model."""

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.text
        self._spec = spec
        self._key = key_of(spec, "ANTHROPIC_API_KEY", needed="base_url" not in spec.options)
        self._timeout = spec.number("timeout", TIMEOUT)
        self._client: AsyncAnthropic | None = None
        for option, known in (("structured", ["json_schema", "none"]), ("temperature", ["send", "omit"])):
            if (given := spec.options.get(option, known[0])) not in known:
                raise UsageError(f"{spec.text}: {option}={given!r}.{nearest(given, known)}")

    async def complete(self, request: Request) -> Completion:
        """Return Claude's reply. Raises `ModelFault`, and `PrerequisiteError` where SDK or key is missing."""
        client = self._client = self._client or self._connect()
        import anthropic

        try:
            async with asyncio.timeout(self._timeout):
                reply = await client.messages.create(**self._fields(request))
        except TimeoutError:
            raise ModelFault(Fault("timeout", f"no whole reply within {self._timeout:g} s")) from None
        except anthropic.APITimeoutError as error:
            raise ModelFault(Fault("timeout", self._heard(str(error)))) from None
        except anthropic.APIStatusError as error:
            told = error.response.headers.get("retry-after")
            raise ModelFault(fault_of_status(error.status_code, self._heard(_words(error)), retry_after=told)) from None
        except anthropic.APIConnectionError as error:
            raise ModelFault(
                Fault("connection", self._heard(f"{client.base_url}: {error.__cause__ or error}"))
            ) from None
        except (anthropic.APIError, ValueError) as error:
            raise ModelFault(Fault("malformed", self._heard(str(error)))) from None
        return read_message(reply, key=self._key)

    def _heard(self, words: str) -> str:
        return shortened(without_key(words, self._key))

    async def close(self) -> None:
        """Close the connections that are kept open."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connect(self) -> AsyncAnthropic:
        try:
            import httpx2
            from anthropic import AsyncAnthropic
        except ImportError as error:
            raise PrerequisiteError(
                f"{self.name} needs the package anthropic: python -m pip install 'mage-es[anthropic]'"
            ) from error
        return AsyncAnthropic(
            api_key=self._key or "none",
            base_url=self._spec.options.get("base_url"),
            max_retries=0,
            timeout=httpx2.Timeout(self._timeout, connect=min(10.0, self._timeout)),
        )

    def _fields(self, request: Request) -> dict[str, Any]:
        output: dict[str, Any] = {}
        if "effort" in self._spec.options:
            output["effort"] = self._spec.options["effort"]
        if request.reply_schema and self._spec.options.get("structured", "json_schema") == "json_schema":
            schema = closed(msgspec.json.decode(request.reply_schema))
            output["format"] = {"type": "json_schema", "schema": schema}
        fields: dict[str, Any] = {
            "model": self._spec.model,
            "max_tokens": request.max_tokens,
            "messages": [{"role": "user", "content": request.prompt}],
        }
        if output:
            fields["output_config"] = output
        if self._spec.options.get("temperature") == "send":
            fields["extra_body"] = {"temperature": request.temperature}
        return fields


def read_message(reply: Message, *, key: str = "") -> Completion:
    """Return what a message says, but `key` where it repeats that.

    Raises `ModelFault` for a reply without text, or one that was refused.
    """
    blocks = getattr(reply, "content", None)
    if not isinstance(blocks, list):
        raise ModelFault(Fault("malformed", "the reply has no content blocks"))
    if reply.stop_reason == "refusal":
        raise ModelFault(Fault("filtered", "the model refused to answer"))
    if reply.stop_reason == "model_context_window_exceeded":
        raise ModelFault(Fault("too_long", "the prompt and reply do not fit the model's context window"))
    text = "".join(block.text for block in blocks if block.type == "text")
    if not text.strip():
        raise ModelFault(Fault("empty", f"the reply has no text (stop reason {reply.stop_reason})"))
    usage = reply.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details = getattr(usage, "output_tokens_details", None)
    return Completion(
        text=without_key(text, key),
        input_tokens=usage.input_tokens + cached + written,
        output_tokens=usage.output_tokens,
        cached_tokens=cached,
        thinking_tokens=(getattr(details, "thinking_tokens", 0) or 0) if details else 0,
        stop_reason=_STOPS.get(reply.stop_reason or "", reply.stop_reason or "end"),
        provider_id=reply.id or "",
    )


def closed(schema: Any) -> Any:
    """Return a JSON schema whose objects all refuse further properties, as the provider demands."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    return {**inner, "additionalProperties": False} if schema.get("type") == "object" else inner


def _words(error: Any) -> str:
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    return str(inner["message"]) if isinstance(inner, dict) and inner.get("message") else str(error.message)
