"""Reading the requests of three APIs, and adding to them without changing any other byte: chat completions, responses,
messages.

Rules
    - A turn is a user message with text. One without text, such as an image or tool results, does not count.
    - Anything but such a request as JSON in UTF-8 has no turns; it is sent as it came. Neither has a conversation of
      more than MOST messages, which would keep a thread busy for long.
    - If a key is given twice, the last one counts, as in the servers' own parsers.
    - A turn is named by the conversation up to and including it: role and content of each message, tool calls and their
      results, decoded. What clients change later is left out: `cache_control`, thoughts, ids, and whether a text is
      written as one string or as a part. `system`, `instructions` and tools are left out too. The name begins with who
      asks, if the request says so.
    - Cases go before a turn as separate turns only if that turn begins the conversation, which thus stays in one piece:
      put before a later turn's whole conversation, they would cost it the provider's cache, and nothing may come
      between a tool call and its result. Any other turn has everything at the start of its text.
    - A conversation with the first reply to a turn is named by the turn and what the reply said: its words and its
      first tool call. Surrounding blanks do not count, nor do thoughts, which many clients cut out.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np

from mage_es.engine.served.notes import Note
from mage_es.events.vocabulary.serving import RequestShape

MOST = 10_000
_TEXTS = ("text", "input_text", "output_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_FLEETING = ("cache_control", "id", "status")
"""What a client may leave out when it sends an item back."""
_SYSTEMS = ("system", "developer")
_SAYING = ("user", *_SYSTEMS)
"""Roles of messages that are not replies: a turn is new until there is a reply."""


class Turn(NamedTuple):
    """What a user says in one message: its text parts, each on its own lines."""

    text: str
    sha256: str
    """Names the conversation up to and including this turn; 64 hexadecimal digits."""
    replied_sha256: str = ""
    """Names the conversation up to and including the first reply to it; empty if it has none yet."""
    is_first: bool = True
    """Whether only system messages precede it, so that other turns can be put before it."""


class Reading(NamedTuple):
    model: str
    is_stream: bool
    turns: Sequence[Turn]
    is_new: bool
    """Whether the latest turn waits for its first reply: only user and system messages follow it, or the client has
    begun the reply."""
    previous: str
    """Response that a request of the responses API continues; else empty."""
    is_begun: bool = False
    """Whether the client has begun the reply, for the model to go on with (prefill)."""


class _Whole(msgspec.Struct, gc=False):
    model: object = ""
    stream: object = False
    messages: object = ()
    input: object = ()
    previous_response_id: object = ""
    user: object = ""
    safety_identifier: object = ""
    prompt_cache_key: object = ""
    metadata: object = ()


class _Body(msgspec.Struct, gc=False):
    messages: msgspec.Raw = msgspec.Raw(b"[]")
    input: msgspec.Raw = msgspec.Raw(b"[]")


class _Item(msgspec.Struct, gc=False):
    role: object = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class _Part(msgspec.Struct, gc=False):
    type: object = None
    text: msgspec.Raw = msgspec.Raw(b"null")


class Place(NamedTuple):
    """Where a turn is in the body of a request: the start of its message, of its first text after the opening quote,
    and the end of the message if that is plain text (else 0). `mark` is how each message before it begins."""

    message: int
    text: int
    end: int = 0
    mark: bytes = b""


_MARKS: Mapping[RequestShape, bytes] = {"responses": b'"type":"message",'}
"""What a message needs besides role and content: servers of the responses API other than OpenAI's refuse a reply
without its type (llama.cpp)."""


_whole_of = msgspec.json.Decoder(_Whole).decode
_body_of = msgspec.json.Decoder(_Body).decode
_items_of = msgspec.json.Decoder(list[_Item]).decode
_raws_of = msgspec.json.Decoder(list[msgspec.Raw]).decode
_parts_of = msgspec.json.Decoder(list[_Part]).decode
_text_of = msgspec.json.Decoder(str).decode
_bytes_of = msgspec.json.Encoder(order="deterministic").encode


def read(shape: RequestShape, body: bytes) -> Reading:
    """Return a request's reading; one that is not understood has no turns."""
    try:
        if not body.isascii():
            body.decode()  # the decoder does not look into strings that it skips
        whole = _whole_of(body)
        is_responses = shape == "responses"
        previous = _worded(whole.previous_response_id) if is_responses else ""
        start = [shape, previous, *_askers(shape, whole)]
        said = whole.input if is_responses else whole.messages
        turns, is_new = _turns(said, start, previous=previous)
        is_begun = bool(turns) and isinstance(said, list) and _is_begun(said)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Reading(model="", is_stream=False, turns=(), is_new=False, previous="")
    return Reading(_worded(whole.model), whole.stream is True, turns, is_new or is_begun, previous, is_begun)


def replied(turn_sha256: str, words: str, call: str) -> str:
    """Return the name of a conversation with a reply to its latest turn, by the reply's words and the id of its first
    tool call; empty for a reply without either."""
    words = words.rpartition("</think>")[2].strip()
    return sha256(_bytes_of([turn_sha256, words, call])).hexdigest() if words or call else ""


def spliced(shape: RequestShape, body: bytes, notes: Mapping[int, Note]) -> bytes:
    """Return the body with each note before its turn, which is given by its number in `Reading.turns`: the note's turns
    before the turn's message, its text before the message's first text; every other byte is unchanged.

    Raises `ValueError` for a turn that the body does not have.
    """
    return put(body, places_of(shape, body), notes) if notes else body


def places_of(shape: RequestShape, body: bytes) -> Sequence[Place]:
    """Return where each turn of a request is.

    A note's text goes into the first text rather than a separate part, so that tool results stay first in a turn, as
    Anthropic's API requires, and a turn keeps as many parts as the client gave it.
    """
    start, whole, mark = _address(body), _body_of(body), _MARKS.get(shape, b"")
    said = whole.input if shape == "responses" else whole.messages
    if _is(said, b'"'):
        at = _address(said) - start
        return [Place(at, at + 1, at + len(memoryview(said)), mark)] if _text_of(said).strip() else []
    texts = zip(_raws_of(said), map(_first_text, _items_of(said)), strict=True)
    return [
        Place(_address(raw) - start, _address(text) - start + 1, 0, mark) for raw, text in texts if text is not None
    ]


def put(body: bytes, places: Sequence[Place], notes: Mapping[int, Note]) -> bytes:
    """Return the body with each note before its turn. Raises what `spliced` raises."""
    pieces, at = list[bytes](), 0
    for number, note in sorted(notes.items()):
        if not 0 <= number < len(places):
            raise ValueError(f"The request has {len(places)} turns, numbered from 0: there is no turn {number}.")
        message, text, end, mark = places[number]
        said = zip(("user", "assistant") * len(note.turns), chain.from_iterable(note.turns), strict=True)
        before = b"".join(_message(mark, role, words) for role, words in said)
        # A plain text is a conversation of one message, and is written as such.
        opening, closing = (b"[", b'{"role":"user","content":') if end and before else (b"", b"")
        pieces += (body[at:message], opening, before, closing, body[message:text], msgspec.json.encode(note.text)[1:-1])
        at = text
        if opening:
            pieces += (body[text:end], b"}]")
            at = end
    return b"".join((*pieces, body[at:]))


def _message(mark: bytes, role: str, text: str) -> bytes:
    return b'{%s"role":"%s","content":%s},' % (mark, role.encode(), msgspec.json.encode(text))


def _turns(said: object, start: list[str], *, previous: str) -> tuple[Sequence[Turn], bool]:
    """Return the turns of a conversation, and whether the last of them is new."""
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said
    if not isinstance(items, list) or len(items) > MOST or not all(isinstance(item, dict) for item in items):
        return (), False
    named, since, turns, is_new = sha256(_bytes_of(start)), list[Any](), list[Turn](), False
    is_first = not previous
    for place, item in enumerate(items, start=1):
        role = item.get("role")
        texts = _texts(item.get("content")) if role == "user" else []
        since += _essence(item)
        if "".join(texts).strip():
            named.update(_bytes_of(since))
            name = named.hexdigest()
            turns.append(Turn("\n".join(texts), name, replied(name, *_reply(items, place)), is_first))
            since, is_new = [], True
        elif role not in _SAYING:
            is_new = False
        is_first = is_first and (role in _SYSTEMS or (role is None and item.get("type") in _THOUGHTS))
    return turns, is_new


def _is_begun(items: list[dict[str, Any]]) -> bool:
    """Return whether a conversation ends with a user's turn and words of the assistant's: the model adds to these."""
    turn, last = ({}, *items)[-2:]
    is_reply = last.get("role") == "assistant" and not any(calls_of(last))
    return is_reply and turn.get("role") == "user" and bool("".join(_texts(turn.get("content"))).strip())


def _askers(shape: RequestShape, whole: _Whole) -> list[str]:
    """Return who asks, or what the client keeps separate, as far as a request says."""
    within = whole.metadata.get("user_id") if shape == "messages" and isinstance(whole.metadata, dict) else ""
    named = [_worded(each) for each in (whole.user, whole.safety_identifier, whole.prompt_cache_key, within)]
    return named if any(named) else []


def _reply(items: Sequence[dict[str, Any]], place: int) -> tuple[str, str]:
    """Return the words of the reply that begins at a place, and the id of its first tool call."""
    words, call = list[str](), ""
    for at in range(place, len(items)):  # an iterator would step over all items before it, for each turn
        item = items[at]
        role, kind = item.get("role"), item.get("type")
        if role in ("user", "tool", "function") or (isinstance(kind, str) and kind.endswith("_output")):
            break
        if role not in _SAYING:
            words += _texts(item.get("content"))
            call = call or next(calls_of(item), "")
    return "".join(words), call


def calls_of(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the ids of the tool calls in a message or an item of a reply, in each API's form."""
    held = [reply.get("call_id")]
    for parts in (reply.get("tool_calls"), reply.get("content")):
        held += [part.get("id") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    yield from (name for name in held if isinstance(name, str) and name)


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) and all(isinstance(part, dict) for part in content) else []
    return [part["text"] for part in parts if part.get("type") in _TEXTS and isinstance(part.get("text"), str)]


def _first_text(item: _Item) -> msgspec.Raw | None:
    """Return the first text of a turn as in the body, or None for an item that is not a turn."""
    raws = list[msgspec.Raw]()
    if item.role == "user" and _is(item.content, b'"'):
        raws = [item.content]
    elif item.role == "user" and _is(item.content, b"["):
        with suppress(msgspec.ValidationError):
            raws = [part.text for part in _parts_of(item.content) if part.type in _TEXTS and _is(part.text, b'"')]
    return raws[0] if "".join(map(_text_of, raws)).strip() else None


def _essence(item: dict[str, Any]) -> list[Any]:
    """Return what an item is named by: for a message its role and parts, for a thought nothing."""
    if (role := item.get("role")) is not None:
        content = item.get("content") or []
        return [role, _stable_parts(content) if isinstance(content, list) else [content]]
    return [] if item.get("type") in _THOUGHTS else [{key: item[key] for key in item if key not in _FLEETING}]


def _stable_parts(parts: list[Any]) -> list[Any]:
    """Return the parts of a message without what clients change later; a text becomes a plain string."""
    kept = list[Any]()
    for part in parts:
        if not isinstance(part, dict):
            kept.append(part)
        elif part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            kept.append(part["text"])
        elif part.get("type") not in _THOUGHTS:
            part.pop("cache_control", None)
            if isinstance(inner := part.get("content"), list):  # the result of a tool has parts of its own
                part["content"] = _stable_parts(inner)
            kept.append(part)
    return kept


def _worded(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is(raw: msgspec.Raw, first: bytes) -> bool:
    return memoryview(raw)[:1] == first


def _address(buffer: bytes | msgspec.Raw) -> int:
    """Return a buffer's address in memory: a decoded `Raw` is a view into the body."""
    return int(np.frombuffer(buffer, np.uint8).__array_interface__["data"][0])
