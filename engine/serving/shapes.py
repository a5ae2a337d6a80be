"""The requests of three APIs, read and added to without changing any other byte: chat completions, responses, messages.

Rules
    - A turn is a user message with text. One without, such as an image or the results of tools, is none.
    - What is no JSON in UTF-8, or no such request, has no turns; it goes on as it came.
    - Of a key that is given twice the last counts, as in the servers' own parsers.
    - A turn is named by the conversation up to and with it: role and content of each message, and what tools were
      asked and said, decoded. What clients change later is left out: `cache_control`, thoughts, ids, and whether a
      text is written as one string or as a part. `system`, `instructions` and tools are left out, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import numpy as np

from mage_es.events.vocabulary.serving import RequestShape

_TEXTS = ("text", "input_text", "output_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_FLEETING = ("cache_control", "id", "status")
"""What a client may leave out when it gives an item back."""
_SAYING = ("user", "system", "developer")
"""Roles of messages that are no reply: a turn is new until there is one."""


class Turn(NamedTuple):
    """What a user says in one message: its text parts, each on lines of its own."""

    text: str
    sha256: str
    """Names the conversation up to and with this turn; 64 hexadecimal digits."""


class Reading(NamedTuple):
    model: str
    is_stream: bool
    turns: Sequence[Turn]
    is_new: bool
    """Whether the latest turn waits for its first reply: no message but those of users and systems follows it."""
    previous: str
    """Response that a request of the responses API goes on from; else empty."""


class _Whole(msgspec.Struct, gc=False):
    model: object = ""
    stream: object = False
    messages: object = ()
    input: object = ()
    previous_response_id: object = ""


class _Body(msgspec.Struct, gc=False):
    messages: msgspec.Raw = msgspec.Raw(b"[]")
    input: msgspec.Raw = msgspec.Raw(b"[]")


class _Item(msgspec.Struct, gc=False):
    role: object = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class _Part(msgspec.Struct, gc=False):
    type: object = None
    text: msgspec.Raw = msgspec.Raw(b"null")


_whole_of = msgspec.json.Decoder(_Whole).decode
_body_of = msgspec.json.Decoder(_Body).decode
_items_of = msgspec.json.Decoder(list[_Item]).decode
_parts_of = msgspec.json.Decoder(list[_Part]).decode
_text_of = msgspec.json.Decoder(str).decode
_bytes_of = msgspec.json.Encoder(order="deterministic").encode


def read(shape: RequestShape, body: bytes) -> Reading:
    """Return what a request says; one that is not understood has no turns."""
    try:
        if not body.isascii():
            body.decode()  # the decoder does not look into strings that it passes over
        whole = _whole_of(body)
        is_responses = shape == "responses"
        previous = _worded(whole.previous_response_id) if is_responses else ""
        turns, is_new = _turns(whole.input if is_responses else whole.messages, [shape, previous])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Reading(model="", is_stream=False, turns=(), is_new=False, previous="")
    return Reading(_worded(whole.model), whole.stream is True, turns, is_new, previous)


def spliced(shape: RequestShape, body: bytes, notes: Mapping[int, str]) -> bytes:
    """Return the body with each note before the first text of its turn, which is given by its number in
    `Reading.turns`; every other byte is as it was.

    Raises `ValueError` for a turn that the body does not have.
    """
    return put(body, starts_of(shape, body), notes) if notes else body


def starts_of(shape: RequestShape, body: bytes) -> Sequence[int]:
    """Return where the first text of each turn starts in the body of a request: the place after its opening quote.

    In that text and not in a part of its own, so that the results of tools stay first in a turn that has some, as
    Anthropic's API wants it, and a turn has as many parts as the client gave it.
    """
    start = _address(body)
    return [_address(first) - start + 1 for first in _first_texts(shape, body)]


def put(body: bytes, starts: Sequence[int], notes: Mapping[int, str]) -> bytes:
    """Return the body with each note at the start of its turn. Raises as `spliced` does."""
    pieces, at = list[bytes](), 0
    for number, note in sorted(notes.items()):
        if not 0 <= number < len(starts):
            raise ValueError(f"The request has {len(starts)} turns, numbered from 0: there is no turn {number}.")
        pieces += (body[at : starts[number]], msgspec.json.encode(note)[1:-1])
        at = starts[number]
    return b"".join((*pieces, body[at:]))


def _turns(said: object, start: list[str]) -> tuple[Sequence[Turn], bool]:
    """Return the turns of a conversation, and whether the last of them is new."""
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return (), False
    chain, since, turns, is_new = sha256(_bytes_of(start)), list[Any](), list[Turn](), False
    for item in items:
        role = item.get("role")
        texts = _texts(item.get("content")) if role == "user" else []
        since += _essence(item)
        if "".join(texts).strip():
            chain.update(_bytes_of(since))
            turns.append(Turn("\n".join(texts), chain.hexdigest()))
            since, is_new = [], True
        elif role not in _SAYING:
            is_new = False
    return turns, is_new


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) and all(isinstance(part, dict) for part in content) else []
    return [part["text"] for part in parts if part.get("type") in _TEXTS and isinstance(part.get("text"), str)]


def _first_texts(shape: RequestShape, body: bytes) -> Iterator[msgspec.Raw]:
    """Yield the first text of each turn as it is in the body."""
    whole = _body_of(body)
    said = whole.input if shape == "responses" else whole.messages
    for item in [_Item("user", said)] if _is(said, b'"') else _items_of(said):
        raws = list[msgspec.Raw]()
        if item.role == "user" and _is(item.content, b'"'):
            raws = [item.content]
        elif item.role == "user" and _is(item.content, b"["):
            with suppress(msgspec.ValidationError):
                raws = [part.text for part in _parts_of(item.content) if part.type in _TEXTS and _is(part.text, b'"')]
        if "".join(map(_text_of, raws)).strip():
            yield raws[0]


def _essence(item: dict[str, Any]) -> list[Any]:
    """Return what names an item: of a message its role and parts, of a thought nothing."""
    if (role := item.get("role")) is not None:
        content = item.get("content") or []
        return [role, _kept(content) if isinstance(content, list) else [content]]
    return [] if item.get("type") in _THOUGHTS else [{key: item[key] for key in item if key not in _FLEETING}]


def _kept(parts: list[Any]) -> list[Any]:
    """Return the parts of a message without what clients change later; a text as a mere string."""
    kept = list[Any]()
    for part in parts:
        if not isinstance(part, dict):
            kept.append(part)
        elif part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            kept.append(part["text"])
        elif part.get("type") not in _THOUGHTS:
            part.pop("cache_control", None)
            if isinstance(inner := part.get("content"), list):  # the result of a tool has parts of its own
                part["content"] = _kept(inner)
            kept.append(part)
    return kept


def _worded(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is(raw: msgspec.Raw, first: bytes) -> bool:
    return memoryview(raw)[:1] == first


def _address(buffer: bytes | msgspec.Raw) -> int:
    """Return where a buffer lies in memory: what was decoded as `Raw` is a view into the body."""
    return int(np.frombuffer(buffer, np.uint8).__array_interface__["data"][0])
