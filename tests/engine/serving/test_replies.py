"""What a reply took and said is read from its bytes as they pass, in pieces of any size."""

import gzip
import json
import zlib
from random import Random
from typing import Any

import pytest

from mage_es.engine.serving.replies import MOST_BYTES, ReplyReader, ReplyUsage
from mage_es.events.vocabulary.serving import RequestShape

CHAT_USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}
RESPONSES_USAGE = {"input_tokens": 12, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 8}}
MESSAGES_USAGE = {"input_tokens": 2, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 8, "output_tokens": 3}
RESPONSE = {
    "id": "r1",
    "object": "response",
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "It is ☃."}]},
    ],
    "usage": RESPONSES_USAGE,
}
MESSAGE: dict[str, Any] = {
    "id": "r1",
    "type": "message",
    "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "It is ☃."}],
    "usage": MESSAGES_USAGE,
}
WHOLE: dict[RequestShape, dict[str, Any]] = {
    "chat": {
        "id": "r1",
        "choices": [
            {"index": 1, "message": {"content": "no"}},
            {"index": 0, "message": {"role": "assistant", "content": "It is ☃."}},
        ],
        "usage": CHAT_USAGE,
    },
    "responses": RESPONSE,
    "messages": MESSAGE,
}


def _chunk(word: str) -> dict[str, Any]:
    return {"id": "r1", "choices": [{"index": 0, "delta": {"content": word}}], "usage": None}


def _block(kind: str, word: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: word}}


EVENTS: dict[RequestShape, list[Any]] = {
    "chat": [_chunk("It is"), _chunk(" ☃."), {"id": "r1", "choices": [], "usage": CHAT_USAGE}],
    "responses": [
        {"type": "response.created", "response": {"id": "r1", "output": [], "usage": None}},
        {"type": "response.output_text.delta", "delta": "It is"},
        {"type": "response.function_call_arguments.delta", "delta": "no"},
        {"type": "response.completed", "response": RESPONSE},
    ],
    "messages": [
        {
            "type": "message_start",
            "message": {**MESSAGE, "content": [], "usage": {**MESSAGES_USAGE, "output_tokens": 1}},
        },
        _block("thinking", "Hm."),
        _block("text", "It is"),
        _block("text", " ☃."),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    ],
}
SAID = ReplyUsage(12, 8, 3, "It is ☃.", "r1")
SHAPES = list(WHOLE)


def stream(shape: RequestShape, end: str = "\n", events: int | None = None) -> bytes:
    pieces = [f": ping{end}{end}"]
    for event in EVENTS[shape][:events]:
        # An event may have its data in several lines.
        data = "".join(f"data: {line}{end}" for line in json.dumps(event, indent=1, ensure_ascii=False).splitlines())
        pieces.append(f"event: {event.get('type')}{end}{data}{end}")
    return ("".join(pieces) + f"data: [DONE]{end}{end}").encode()


def usage_of(shape: RequestShape, reply: bytes) -> ReplyUsage:
    """Return what a reply took and said, given all its bytes: JSON, or the events of its stream."""
    reader = ReplyReader(shape, "" if reply.lstrip().startswith(b"{") else "text/event-stream")
    reader.feed(reply)
    return reader.usage()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_reply_is_read_however_it_is_cut_into_pieces_and_however_its_lines_end(shape: RequestShape, end: str) -> None:
    dice = Random(1)
    for raw, kind in (
        (json.dumps(WHOLE[shape]).encode(), "application/json"),
        (stream(shape, end), "text/event-stream; charset=utf-8"),
    ):
        assert usage_of(shape, raw) == SAID
        for packed, encoding in ((raw, ""), (gzip.compress(raw), "gzip")):
            reader, at = ReplyReader(shape, kind, encoding), 0
            while at < len(packed):
                step = dice.randint(1, 9)
                reader.feed(packed[at : at + step])
                at += step
            assert reader.usage() == SAID


def test_a_chat_stream_without_usage_and_one_that_broke_off_leave_it_unknown() -> None:
    assert usage_of("chat", stream("chat", events=2)) == ReplyUsage(text="It is ☃.", id="r1")
    assert usage_of("messages", stream("messages", events=3)) == ReplyUsage(12, 8, 1, "It is", "r1")
    assert usage_of("responses", stream("responses", events=2)) == ReplyUsage(text="It is", id="r1")


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_no_reply_is_unknown_and_raises_nothing(shape: RequestShape) -> None:
    odd: list[Any] = [{"usage": 3}, {"choices": 1}, {"choices": [{"message": {"content": [7]}}]}, {"content": [None]}]
    odd += [{"error": {"message": "no"}}, {"usage": {"prompt_tokens": "3", "input_tokens": -1}}, {"output": [3]}, [], 7]
    for body in (b"", b"Bad Gateway", b"{", b'{"a":' * 9000, *(json.dumps(value).encode() for value in odd)):
        assert usage_of(shape, body) == ReplyUsage()
        assert usage_of(shape, b"data: " + body + b"\n\n") == ReplyUsage()
    for encoding in ("gzip", "br", "zstd"):
        reader = ReplyReader(shape, "application/json", encoding)
        reader.feed(json.dumps(WHOLE[shape]).encode())
        assert reader.usage() == ReplyUsage()


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_reply_without_end_and_one_that_swells_are_not_held(kind: str) -> None:
    endless = ReplyReader("chat", kind)
    for _ in range(MOST_BYTES // 2**20 + 2):
        endless.feed(b"data: " + b"x" * 2**20)
    swollen = ReplyReader("chat", kind, "gzip")
    squeeze = zlib.compressobj(wbits=31)
    swollen.feed(squeeze.compress(b" " * (3 * MOST_BYTES)) + squeeze.flush())
    for reader in (endless, swollen):
        assert reader._size <= 2 * MOST_BYTES
        assert not sum(map(len, reader._held))
        assert reader.usage() == ReplyUsage()
