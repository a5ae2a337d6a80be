"""What a reply used and said, read from its bytes as they pass: chat completions, responses, messages.

It reads a copy: whatever it does not understand counts as unknown, and nothing is raised.
"""

import zlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from mage_es.engine.serving.shapes import calls_of, replied
from mage_es.events.vocabulary.serving import InferenceClosed, RequestShape

MOST_BYTES = 2**24
"""Most bytes held of one reply, or of one event of a stream; the rest is not read."""
_TEXTS = ("text", "output_text")
_ENDS = ("message_stop", "response.completed", "response.incomplete", "response.failed")
_value_of = msgspec.json.Decoder().decode


class ReplyUsage(NamedTuple):
    """What a reply used, in tokens, -1 if it does not say; what it said, and its id, empty if it has none."""

    input: int = -1
    """Tokens of the whole prompt, including those read from the cache or written to it."""
    cached: int = -1
    output: int = -1
    text: str = ""
    id: str = ""
    call: str = ""
    """Id of its first tool call."""

    def closing(
        self,
        inference: str,
        turn_sha256: str,
        outcome: Literal["answered", "left", "failed", "bypassed", "cut"],
        *,
        status: int = 0,
        problem: str = "",
        latency_s: float = 0.0,
        overhead_s: float = 0.0,
        is_whole: bool = False,
    ) -> InferenceClosed:
        """Return the end of the inference that this replied to. `turn_sha256` names the turn that it is the first reply
        to, "" for none; only a complete reply continues the conversation."""
        return InferenceClosed(
            inference=inference,
            outcome=outcome,
            status=status,
            problem=problem,
            input_tokens=self.input,
            cached_tokens=self.cached,
            output_tokens=self.output,
            latency_us=round(1e6 * latency_s),
            overhead_us=round(1e6 * overhead_s),
            reply=self.text,
            reply_id=self.id,
            reply_sha256=replied(turn_sha256, self.text, self.call) if is_whole and turn_sha256 else "",
        )


class ReplyReader:
    """Reads a reply as it passes, in pieces of any size: JSON or server-sent events, plain or compressed with gzip.

    `content_type` and `encoding` are those of its headers.
    """

    def __init__(self, shape: RequestShape, content_type: str, encoding: str = "") -> None:
        self._shape = shape
        self._is_stream = "event-stream" in content_type.lower()
        self._inflater = zlib.decompressobj(32 + zlib.MAX_WBITS) if encoding.lower() in ("gzip", "x-gzip") else None
        self._is_lost = not self._inflater and encoding.lower() not in ("", "identity")
        self._held, self._size = list[bytes](), 0
        self._event, self._event_size = list[bytes](), 0
        self._usage, self._texts, self._whole_text, self._id = dict[str, Any](), list[str](), "", ""
        self._call = ""
        self._length = 0
        self.is_done = False
        """Whether a stream said that it is complete: clients read no further, and usually hang up before its last
        byte."""

    def feed(self, piece: bytes) -> None:
        if self._is_lost:
            return
        if self._inflater:
            try:
                piece = self._inflater.decompress(piece, MOST_BYTES)
            except zlib.error:
                piece, self._is_lost = b"", True
            self._is_lost |= bool(self._inflater.unconsumed_tail)  # a bomb
        if self._is_stream and (b"\n" in piece or b"\r" in piece):
            *lines, rest = [*b"".join((*self._held, piece)).splitlines(keepends=True), b""]
            if lines and not lines[-1].endswith(b"\n"):  # one that ends in \r may continue with \n
                rest = lines.pop()
            self._held, self._size = [rest], len(rest)
            for line in lines:
                self._read_line(line)
        else:
            self._held.append(piece)
            self._size += len(piece)
        if self._size + self._event_size > MOST_BYTES:
            self._is_lost = True
        if self._is_lost:
            self._held, self._event = [], []

    def usage(self) -> ReplyUsage:
        """Return what is known after the last piece."""
        if self._is_stream:
            self._read_line(b"".join(self._held))
            self._read_line(b"")
        elif not self._is_lost:
            self._read(b"".join(self._held))
        self._held = []
        return ReplyUsage(
            *_tokens(self._shape, self._usage), self._whole_text or "".join(self._texts), self._id, self._call
        )

    def _read_line(self, line: bytes) -> None:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            self._event.append(line[5:])
            self._event_size += len(line)
        elif not line and self._event:
            self._read(b"\n".join(self._event))
            self._event, self._event_size = [], 0

    def _read(self, data: bytes) -> None:
        try:
            value = _value_of(data)
        except (msgspec.MsgspecError, RecursionError):
            self.is_done |= data.strip() == b"[DONE]"
            return
        if not isinstance(value, dict):
            return
        self.is_done |= value.get("type") in _ENDS
        # An event of the responses or messages API has the reply, or its beginning, inside.
        reply = next((held for key in ("response", "message") if isinstance(held := value.get(key), dict)), value)
        for part in (reply, value):
            if isinstance(usage := part.get("usage"), dict):
                self._usage.update((key, count) for key, count in usage.items() if count is not None)
        if isinstance(name := reply.get("id"), str) and name:
            self._id = name
        self._call = self._call or next(_calls(self._shape, reply, value), "")
        if whole := "".join(_wholes(self._shape, reply)):
            self._whole_text = whole
        elif (piece := _piece(self._shape, value)) and self._length < MOST_BYTES:
            self._texts.append(piece)
            self._length += len(piece)


def _wholes(shape: RequestShape, reply: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of a complete reply."""
    if shape == "chat":
        yield from _said(_inside(_first(reply.get("choices")), "message", "content"))
    elif shape == "messages":
        yield from _said(reply.get("content"))
    elif isinstance(output := reply.get("output"), list):
        for item in output:
            yield from _said(_inside(item, "content"))


def _calls(shape: RequestShape, reply: dict[str, Any], event: dict[str, Any]) -> Iterator[str]:
    """Yield the ids of tool calls in a reply, or in one of its events."""
    if shape == "chat":
        choice = _first(reply.get("choices"))
        held = [_inside(choice, "message"), _inside(choice, "delta")]
    elif shape == "messages":
        held = [reply, {"content": [event.get("content_block")]}]
    else:
        output = reply.get("output")
        held = [*(output if isinstance(output, list) else []), event.get("item")]
    for each in held:
        yield from calls_of(each) if isinstance(each, dict) else ()


def _piece(shape: RequestShape, event: dict[str, Any]) -> str:
    """Return the text that an event adds; empty if it adds none."""
    if shape == "chat":
        return "".join(_said(_inside(_first(event.get("choices")), "delta", "content")))
    if shape == "messages":
        piece = _inside(event, "delta", "text")
    else:
        piece = event.get("delta") if event.get("type") == "response.output_text.delta" else ""
    return piece if isinstance(piece, str) else ""


def _said(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if _inside(part, "type") in _TEXTS and isinstance(text := part.get("text"), str):
                yield text


def _first(choices: object) -> object:
    """Return the first choice; each event of a stream names its choice."""
    found = choices if isinstance(choices, list) else []
    return next((choice for choice in found if _inside(choice, "index") in (0, None)), None)


def _inside(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _tokens(shape: RequestShape, usage: dict[str, Any]) -> tuple[int, int, int]:
    if shape == "chat":
        cached = _inside(usage, "prompt_tokens_details", "cached_tokens")
        return _count(usage.get("prompt_tokens")), _count(cached), _count(usage.get("completion_tokens"))
    prompt, output = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    if shape == "responses":
        return prompt, _count(_inside(usage, "input_tokens_details", "cached_tokens")), output
    cached, made = (_count(usage.get(f"cache_{way}_input_tokens")) for way in ("read", "creation"))
    return (prompt + max(cached, 0) + max(made, 0) if prompt >= 0 else -1), cached, output


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else -1
