"""`anthropic/<model>`: Claude through the official SDK, or any server that speaks /v1/messages.

Rules
    - The system message, which many calls share, is marked for the provider's cache. If it is shorter than the model's
      smallest cacheable length (1,024 tokens or more, depending on the model), it is not cached, at no extra cost.
    - A batch sends many requests in one call, and their replies are fetched when it has ended;
      engine/providers/batches.py makes batches.
    - Newer models decide for themselves how much to think, or do not think (`thinking` on, off); a token budget is for
      models before Opus 4.7.
    - Current models take no temperature; it is sent only if the spec says `temperature=send`. A reply is recorded, so a
      replay does not depend on whether the provider would give it again.
    - A schema is sent as the SDK would send it: parts that the provider does not accept (such as bounds) are moved into
      the descriptions.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import msgspec

from mage_es.engine.providers.clients import (
    Tokens,
    budget_of,
    other_name,
    read_as,
    text_and_thinking,
    without_key,
    worded,
)
from mage_es.engine.providers.served import ServedModel
from mage_es.engine.seams.faults import Fault, ModelFault, fault_of_status, shortened
from mage_es.engine.seams.model import Completion, Request, chat_of, stop_of
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.errors import UsageError

_CHOICES = {"structured": ("json_schema", "tool", "none"), "temperature": ("omit", "send"), "cache": ("send", "omit")}
"""Options with a fixed choice of values, the default first."""
_LEAST_BUDGET = 1024
"""The smallest thinking budget that the provider accepts, in tokens."""
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status equivalent to an error inside a batch; 500 for any other."""

_STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "pause_turn": "pause",
    "refusal": "refused",
}


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: Any = None
    """A tool call. With `structured=tool` the only tool is `reply`, and its arguments are the reply."""


class _OutputDetails(msgspec.Struct):
    thinking_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    output_tokens_details: _OutputDetails | None = None


class _Reply(msgspec.Struct):
    content: list[_Block]
    id: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None
    model: Any = None


class _Error(msgspec.Struct):
    type: str | None = None
    message: str | None = None


class _Errored(msgspec.Struct):
    error: _Error | None = None


class _Result(msgspec.Struct):
    type: str
    message: Any = None
    error: _Errored | None = None


class _Batch(msgspec.Struct):
    id: Annotated[str, msgspec.Meta(pattern=r"^[\w-]{1,200}\Z")]
    """An id is recorded and becomes part of addresses: one that no request can carry would block a run for ever."""


class _Standing(msgspec.Struct):
    processing_status: str


class _Entry(msgspec.Struct):
    custom_id: str
    result: Any = None


class Anthropic(ServedModel):
    """Options: `structured`: `json_schema` (default), `tool` or `none`; `effort`: low to max; `thinking`: auto
    (default), on, off, or tokens to think in (at least 1,024); `temperature`: `send` or `omit` (default); `cache`:
    `send` (default) or `omit` the mark that asks the provider to keep the system message.
    """

    OPTIONS = ("base_url", "timeout", "structured", "key_env", "effort", "thinking", "temperature", "cache")
    PACKAGE, CLIENT, KEY = "anthropic", "AsyncAnthropic", "ANTHROPIC_API_KEY"
    URL, LIST = "https://api.anthropic.com", "/v1/models?limit=1000"
    """Given explicitly, since an address that the SDK finds in the environment would not be recorded."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        self._chosen = {option: spec.chosen(option, known) for option, known in _CHOICES.items()}
        if isinstance(self._thinking, int) and self._thinking < _LEAST_BUDGET:
            raise UsageError(
                f"{spec.text}: Claude needs at least {_LEAST_BUDGET} tokens to think. Give more, or thinking=off."
            )
        if self._thinking not in ("auto", "off") and self._chosen["temperature"] == "send":
            raise UsageError(f"{spec.text}: Claude accepts no temperature while it thinks. Omit temperature=send.")

    async def complete(self, request: Request) -> Completion:
        async with self._connected() as client:
            return self._read(await client.messages.create(**self._fields(request)))

    async def submit(self, requests: Mapping[str, Request]) -> str:
        entries: Any = [{"custom_id": name, "params": self._params(request)} for name, request in requests.items()]
        async with self._connected() as client:
            return read_as(_Batch, await client.messages.batches.create(requests=entries), what="batch").id

    async def has_ended(self, batch_id: str) -> bool:
        async with self._connected() as client:
            batch = read_as(_Standing, await client.messages.batches.retrieve(batch_id), what="batch")
            return batch.processing_status == "ended"

    async def replies(self, batch_id: str) -> dict[str, Completion | Fault]:
        import httpx2

        found: dict[str, Completion | Fault] = {}
        async with self._connected() as client:
            # Not the SDK's `results`, which follows the address in the batch's reply, and sends the key there.
            path = f"/v1/messages/batches/{batch_id}/results"
            for entry in _entries((await client.get(path, cast_to=httpx2.Response)).content):
                came = self._came_of(entry.result)
                if isinstance(came, Completion) or entry.custom_id not in found:
                    found[entry.custom_id] = came
        return found

    def _read(self, message: object) -> Completion:
        return read_message(message, asked=self.spec.model, key=self.key)

    def _came_of(self, entry: object) -> Completion | Fault:
        try:
            result = read_as(_Result, entry, what="result of a batch")
            if result.type == "succeeded":
                return msgspec.structs.replace(self._read(result.message), batched=True)
        except ModelFault as error:
            return error.fault
        if result.type == "errored":
            fault = (result.error and result.error.error) or _Error()
            words = shortened(without_key(f"{fault.type}: {fault.message}", self.key))
            return fault_of_status(_STATUSES.get(fault.type or "", 500), words)
        return Fault("timeout", f"the batch ended before its turn came ({result.type})")

    def _fields(self, request: Request) -> dict[str, Any]:
        fields = self._params(request)
        if "temperature" in fields:  # for which the SDK has no parameter
            fields["extra_body"] = {"temperature": fields.pop("temperature")}
        return fields

    def _params(self, request: Request) -> dict[str, Any]:
        output: dict[str, Any] = {}
        if "effort" in self.spec.options:
            output["effort"] = self.spec.options["effort"]
        form, fixed = self._chosen["structured"], dict[str, Any]()
        if request.reply_schema and form == "tool":
            schema = msgspec.json.decode(request.reply_schema)
            fixed["tools"] = [{"name": "reply", "description": "Give the reply.", "input_schema": schema}]
            fixed["tool_choice"] = {"type": "tool", "name": "reply"}
        elif request.reply_schema and form == "json_schema":
            from anthropic import transform_schema

            schema = transform_schema(msgspec.json.decode(request.reply_schema))
            output["format"] = {"type": "json_schema", "schema": schema}
        without_system = msgspec.structs.replace(request, system="")
        fields: dict[str, Any] = {
            "model": self.spec.model,
            "max_tokens": request.max_tokens,
            "messages": chat_of(worded(without_system, is_enforced=form != "none"), joined=False),
            **fixed,
        }
        if request.system:
            fields["system"] = self._system(request.system)
        if output:
            fields["output_config"] = output
        if self._thinking != "auto":
            fields["thinking"] = _thought(self._thinking, request)
        if self._chosen["temperature"] == "send":
            fields["temperature"] = request.temperature
        return fields

    def _system(self, text: str) -> str | list[dict[str, Any]]:
        if self._chosen["cache"] == "omit":
            return text
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def _thought(thinking: str | int, request: Request) -> dict[str, Any]:
    if isinstance(thinking, int) and (budget := budget_of(thinking, request)) >= _LEAST_BUDGET:
        return {"type": "enabled", "budget_tokens": budget}
    return {"type": "adaptive" if thinking == "on" else "disabled"}


def read_message(reply: object, *, asked: str = "", key: str = "") -> Completion:
    """Return a message of the model `asked` as a completion, without `key`; missing token counts are 0.

    Raises `ModelFault` for a reply of any other shape.
    """
    read = read_as(_Reply, reply, what="message")
    said = "".join(block.text or "" for block in read.content if block.type == "text")
    called = [block.input for block in read.content if (block.type, block.name) == ("tool_use", "reply")]
    said = said if said.strip() or not called else json.dumps(called[0], ensure_ascii=False, separators=(",", ":"))
    aside = "".join(block.thinking or "" for block in read.content)
    usage = read.usage or _Usage()
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details = usage.output_tokens_details or _OutputDetails()
    stop, output_tokens = read.stop_reason or "end", usage.output_tokens or 0
    text, thinking = text_and_thinking(said, aside, output_tokens=output_tokens, reported=details.thinking_tokens)
    return Completion(
        text=without_key(text, key),
        input_tokens=(usage.input_tokens or 0) + cached + written,
        output_tokens=output_tokens,
        cached_tokens=cached,
        thinking_tokens=thinking,
        stop_reason=stop_of(_STOPS.get(stop, without_key(stop, key)), said, aside),
        provider_id=without_key(read.id or "", key),
        cache_write_tokens=written,
        served_by=other_name(read.model, asked, key),
    )


def _entries(results: bytes) -> list[_Entry]:
    """Return the entries of a batch's results, one per line, without unreadable lines, which cost one call each.

    Raises `ModelFault` if no line can be read, as when something other than the provider answers.
    """
    lines, entries = [line for line in results.splitlines() if line.strip()], list[_Entry]()
    for line in lines:
        with suppress(ModelFault, ValueError, RecursionError):
            entries.append(read_as(_Entry, json.loads(line), what="result of a batch"))
    if lines and not entries:
        raise ModelFault(Fault("malformed", "the reply has no results of a batch"))
    return entries
