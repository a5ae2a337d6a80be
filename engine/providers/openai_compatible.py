"""`openai/<model>?base_url=`: any server that speaks /v1/chat/completions, such as vLLM, Ollama or llama.cpp.

Rules
    - A streamed reply may be silent for at most `stall` seconds: a hanging server is noticed long before the timeout,
      and a proxy that closes silent connections does not interfere. If a reply repeats itself, the connection is closed
      and the reply treated as if its limit had cut it: the server stops, and the number of tokens is unknown.
    - If the length of the context is known, from `context` or from a server's refusal, a reply's limit is lowered to
      the room that its prompt leaves. A prompt that leaves too little room is refused here, because some servers would
      cut it silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.engine.providers.clients import (
    OPENAI,
    SYSTEMS,
    Tokens,
    budget_of,
    fitting,
    other_name,
    read_as,
    template_of,
    text_and_thinking,
    told_context,
    without_key,
    worded,
)
from mage_es.engine.providers.served import ServedModel
from mage_es.engine.seams.faults import Fault, ModelFault, shortened
from mage_es.engine.seams.loops import is_looping
from mage_es.engine.seams.model import Completion, Request, chat_of, stop_of
from mage_es.engine.seams.spec import ModelSpec
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI

STALL = 120.0
"""Seconds for which a streamed reply may be silent, even before its first piece."""

_LOOKED_EVERY, _LOOKED_TYPED = 4_000, 1_000
"""Characters of a streamed reply between two searches for a loop: in general, and for a typed reply, which is short."""
_STOPS = {"stop": "end", "content_filter": "refused", "tool_calls": "tool"}
_ENFORCED = ("json_schema", "tool")
_FORMS = ("json_schema", "tool", "json_object", "none")
_FIELDS = ("chat_template_kwargs", "reasoning_effort")
_EFFORTS = {"on": "medium", "off": "none"}
_LIMITS = ("max_tokens", "max_completion_tokens")


class _Part(msgspec.Struct):
    """A piece of a reply that comes in several, as with some models that think."""

    type: str = ""
    text: str | None = None
    thinking: Any = None


class _Function(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    """A tool call. With `structured=tool` the only tool is `reply`, and its arguments are the reply."""

    function: _Function | None = None

    @property
    def reply(self) -> str:
        return (self.function.arguments or "") if self.function and self.function.name == "reply" else ""


class _Message(msgspec.Struct):
    content: str | list[_Part | str] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: list[_Call] | None = None

    @property
    def parts(self) -> list[_Part]:
        parts = self.content if isinstance(self.content, list) else [self.content or ""]
        return [_Part("text", part) if isinstance(part, str) else part for part in parts]

    @property
    def said(self) -> str:
        return "".join(part.text or "" for part in self.parts if part.type == "text")

    @property
    def text(self) -> str:
        return (
            self.said if self.said.strip() else next((call.reply for call in self.tool_calls or [] if call.reply), "")
        )

    @property
    def aside(self) -> str:
        """The thinking that is kept separate from the text, in one of the fields that servers use for it."""
        said = self.reasoning_content or self.reasoning or [part.thinking for part in self.parts if part.thinking]
        return str(said or "")


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
    total_tokens: Tokens | None = None
    prompt_tokens_details: _Given | None = None
    completion_tokens_details: _Made | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice] | None = None
    id: str | int | None = None
    usage: _Usage | None = None
    error: Any = None
    model: Any = None


class _PieceOfChoice(msgspec.Struct):
    index: int | None = None
    delta: _Message | None = None
    finish_reason: str | None = None


class _Piece(msgspec.Struct):
    """An event of a streamed reply."""

    choices: list[_PieceOfChoice] | None = None
    id: str | int | None = None
    usage: _Usage | None = None
    model: Any = None


class OpenAICompatible(ServedModel):
    """Options: `structured`: how a typed reply is asked for, `json_schema` (default), `tool`, `json_object` or `none`;
    `thinking`: auto (default), on, off, or tokens to think in; `thinking_field`: how to say so, `chat_template_kwargs`
    (vLLM, SGLang, llama.cpp) or `reasoning_effort` (Ollama, OpenAI; no number of tokens); `temperature`: `send`
    (default) or `omit`; `max_tokens_field`: `max_tokens` or `max_completion_tokens`; `system`: `apart` (default), or
    `joined` to the user's message, for chat templates that refuse one (Gemma 2); `context`: tokens of prompt and reply
    together; `stream`: on or off (default); `stall`: seconds between two pieces.
    """

    OPTIONS = (
        *("base_url", "timeout", "structured", "key_env", "seed", "thinking", "thinking_field", "temperature"),
        *("max_tokens_field", "system", "context", "stream", "stall"),
    )
    PACKAGE, CLIENT, KEY, URL, LIST = "openai", "AsyncOpenAI", *OPENAI, "/models"

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        stall = spec.seconds("stall", STALL)
        self._context, self._is_streamed = spec.whole("context", 0), spec.is_on("stream")
        if self._is_streamed:
            self._silence = min(stall, self._timeout)
        self._joined = spec.chosen("system", SYSTEMS) == "joined"
        self._form, self._limit = spec.chosen("structured", _FORMS), spec.chosen("max_tokens_field", _LIMITS)
        self._is_heated = spec.chosen("temperature", ("send", "omit")) == "send"
        self._field = spec.chosen("thinking_field", _FIELDS[::-1] if self.url == self.URL else _FIELDS)
        if self._field == "reasoning_effort" and isinstance(self._thinking, int):
            raise UsageError(f"{spec.text}: reasoning_effort takes no number of tokens. Say thinking=on, off or auto.")
        self._seed = spec.whole("seed", 0) if "seed" in spec.options else None

    async def complete(self, request: Request) -> Completion:
        limit = fitting(request, self._context)
        try:
            async with self._connected() as client:
                reply = await self._reply(client, self._fields(request, limit), is_typed=bool(request.reply_schema))
                return read_completion(reply, asked=self.spec.model, key=self.key)
        except ModelFault as error:
            if error.fault.kind == "too_long":
                self._context = self._context or told_context(error.fault.message)
                if fitting(request, self._context) < limit:
                    raise ModelFault(error.fault._replace(kind="no_room")) from None
            raise

    def context(self) -> int:
        if self._context or self.url == self.URL:
            return self._context
        try:
            return self.listed().context(self.spec.model)
        except ModelFault:
            return 0  # an absent server shows at the first call

    async def _reply(self, client: AsyncOpenAI, fields: dict[str, Any], *, is_typed: bool) -> object:
        if not self._is_streamed:
            return await client.chat.completions.create(**fields)
        # Always closed, since a server may go on sending what is no longer read.
        async with await client.chat.completions.create(
            **fields, stream=True, stream_options={"include_usage": True}
        ) as pieces:
            whole = await put_together(pieces, is_typed=is_typed)
        if whole.choices and not whole.choices[0].finish_reason:
            raise ModelFault(Fault("connection", f"{self.url}: the stream ended before the reply was whole"))
        return whole

    def _fields(self, request: Request, limit: int) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": self.spec.model,
            "messages": chat_of(worded(request, is_enforced=self._form in _ENFORCED), joined=self._joined),
            self._limit: limit,
            **self._thought(request),
        }
        if self._is_heated:
            fields["temperature"] = request.temperature
        if self._seed is not None:
            fields["seed"] = self._seed + request.sample
        if request.reply_schema:
            fields |= _reply_form(self._form, msgspec.json.decode(request.reply_schema))
        return fields

    def _thought(self, request: Request) -> dict[str, Any]:
        """Return the fields that say whether, and for how long, the model is to think."""
        if self._thinking == "auto":
            return {}
        if not isinstance(self._thinking, int) and self._field == "reasoning_effort":
            return {"reasoning_effort": _EFFORTS[self._thinking]}
        body: dict[str, Any] = {"chat_template_kwargs": template_of(self._thinking, request)}
        if isinstance(self._thinking, int):
            body["thinking_token_budget"] = budget_of(self._thinking, request)  # vLLM's own field, which it enforces
        return {"extra_body": body}


async def put_together(pieces: AsyncIterator[object], *, is_typed: bool = False) -> _Reply:
    """Return the completion that the pieces form; it lacks choices if no piece had any, and a finish if none came.

    Raises `ModelFault` for a piece of any other shape.
    """
    every = _LOOKED_TYPED if is_typed else _LOOKED_EVERY
    said, aside, given, refusal = _Watched(every), _Watched(_LOOKED_EVERY), _Watched(every), list[str]()
    calls: list[_Function] = []  # only the first piece of a call names the tool
    whole, has_choice, finish = _Reply(), False, None
    async for each in pieces:
        piece = read_as(_Piece, each, what="piece of a chat completion")
        whole.id, whole.usage, whole.model = (
            piece.id or whole.id,
            piece.usage or whole.usage,
            piece.model or whole.model,
        )
        for choice in piece.choices or ():
            if choice.index:  # another reply to the same request, which was not asked for
                continue
            has_choice, finish, delta = True, choice.finish_reason or finish, choice.delta or _Message()
            if said.adds_loop(delta.said) or aside.adds_loop(delta.aside):
                finish = "length"
                break
            refusal.append(delta.refusal or "")
            for called in (call.function for call in delta.tool_calls or () if call.function):
                begun = _Function(called.name, "") if called.name or not calls else calls.pop()
                calls.append(_Function(begun.name, f"{begun.arguments}{called.arguments or ''}"))
                if given.adds_loop(called.arguments or ""):
                    finish, calls = "length", [_Function(begun.name, given.text)]
        if said.loops or aside.loops or given.loops:
            break
    message = _Message(said.text, "".join(refusal), reasoning=aside.text, tool_calls=[*map(_Call, calls)])
    whole.choices = [_Choice(message, finish)] if has_choice else []
    return whole


class _Watched:
    """A text that comes in pieces, and whether it loops: this is checked at the same places, however the text is
    divided."""

    def __init__(self, every: int) -> None:
        self._every, self._pieces, self._length, self._looked, self.loops = every, list[str](), 0, 0, False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def adds_loop(self, piece: str) -> bool:
        """Add a piece and return whether the text now loops; if so, drop everything after the point at which the loop
        is recognised."""
        self._pieces.append(piece)
        self._length += len(piece)
        while not self.loops and self._length - self._looked >= self._every:
            self._looked += self._every
            begun = self.text[: self._looked]
            self.loops = is_looping(begun)
            if self.loops:
                self._pieces = [begun]
        return self.loops


def read_completion(reply: object, *, asked: str = "", key: str = "") -> Completion:
    """Return a chat completion of the model `asked` as a completion, without `key`; missing token counts are 0.

    Raises `ModelFault` for a reply of another shape.
    """
    read = read_as(_Reply, reply, what="chat completion")
    if not read.choices:
        detail = f": {read.error}" if read.error else ""
        raise ModelFault(Fault("malformed", shortened(without_key(f"the reply has no choices{detail}", key))))
    message, finish = read.choices[0].message, read.choices[0].finish_reason or "end"
    usage = read.usage or _Usage()
    given, made = usage.prompt_tokens_details or _Given(), usage.completion_tokens_details or _Made()
    input_tokens = usage.prompt_tokens or 0
    # Some servers count thinking only in the total.
    output_tokens = max(usage.completion_tokens or 0, (usage.total_tokens or 0) - input_tokens)
    stop = _STOPS.get(finish, without_key(finish, key))
    text, thinking = text_and_thinking(
        message.text, message.aside, output_tokens=output_tokens, reported=made.reasoning_tokens
    )
    return Completion(
        text=without_key(text, key),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=min(given.cached_tokens or 0, input_tokens),
        thinking_tokens=thinking,
        stop_reason="refused" if message.refusal else stop_of(stop, message.text, message.said, message.aside),
        provider_id=without_key(str(read.id or ""), key),
        served_by=other_name(read.model, asked, key),
    )


def _reply_form(form: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that ask for a typed reply, or none if only the words of the prompt ask for it."""
    match form:
        case "json_schema":
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}
        case "tool":
            reply = {"name": "reply", "description": "Give the reply.", "parameters": schema}
            chosen = {"type": "function", "function": {"name": "reply"}}
            return {"tools": [{"type": "function", "function": reply}], "tool_choice": chosen}
    return {} if form == "none" else {"response_format": {"type": "json_object"}}
