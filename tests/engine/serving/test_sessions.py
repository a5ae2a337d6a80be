"""Conversations that name no session are told apart by what was said in them, replies included."""

import json
from itertools import combinations, count
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.serving.replies import ReplyReader
from mage_es.engine.serving.sessions import Sessions
from mage_es.engine.serving.shapes import Turn, read
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened
from mage_es.events.vocabulary.serving import RequestShape
from tests.engine.serving.bodies import SHAPES
from tests.kit.plain_events import plain

Item = dict[str, Any]
Transcript = tuple[str, ...]


class Proxy:
    """Sessions behind a proxy that sees bodies alone: requests as clients send them, replies as servers do."""

    def __init__(self, shape: RequestShape) -> None:
        self.shape, self.sessions = shape, Sessions(lambda key, session: int(session[4:]) % 2 == 1)
        self._numbers = count(1)

    def ask(
        self, items: list[Item], reply: bytes | None, *, is_retry: bool = False, named: str = "", **more: Any
    ) -> str:
        """Take a request and its reply, None for one that breaks off; return the session of the request."""
        name = "input" if self.shape == "responses" else "messages"
        reading = read(self.shape, json.dumps({name: items, **more}).encode())
        inference = f"inf-{next(self._numbers)}"
        session = named or self.sessions.session_of("", reading, is_retry=is_retry) or inference
        self.sessions.opened(opened(inference, session, reading.turns[-1].sha256))
        reader = ReplyReader(self.shape, "text/event-stream" if reply and reply.startswith(b"data") else "")
        reader.feed(reply or b"")
        turn = reading.turns[-1].sha256 if reading.is_new else ""
        self.sessions.closed(closing(reader, inference, turn, is_whole=reply is not None))
        return session


def opened(inference: str, session: str, turn: str) -> InferenceOpened:
    return plain(
        InferenceOpened, inference=inference, session=session, treatment="none", probability=1.0, turn_sha256=turn
    )


def closing(reader: ReplyReader, inference: str, turn: str, *, is_whole: bool) -> InferenceClosed:
    outcome: Any = "answered" if is_whole else "left"
    times = {"latency_s": 0.1, "overhead_s": 0.001}
    return reader.usage().closing(inference, turn, outcome, status=200, problem="", is_whole=is_whole, **times)


def said(shape: RequestShape, text: str, call: str = "") -> tuple[bytes, list[Item]]:
    """Return a whole reply, and what a client puts into its next request for it, results of tools included."""
    if shape == "chat":
        calls = [{"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        message: Item = {"role": "assistant", "content": text, **({"tool_calls": calls} if call else {})}
        result = [{"role": "tool", "tool_call_id": call, "content": "7"}] if call else []
        return json.dumps({"id": "r", "choices": [{"index": 0, "message": message}]}).encode(), [message, *result]
    if shape == "messages":
        content = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": text}]
        content += [{"type": "tool_use", "id": call, "name": "f", "input": {}}] if call else []
        results = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "7"}]}]
        reply = {"id": "r", "type": "message", "role": "assistant", "content": content}
        kept = {"role": "assistant", "content": content[1:]}
        return json.dumps(reply).encode(), [kept, *(results if call else [])]
    output: list[Item] = [{"type": "reasoning", "id": "rs", "summary": []}]
    output += [{"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]
    output += [{"type": "function_call", "id": "fc", "call_id": call, "name": "f", "arguments": "{}"}] if call else []
    results = [{"type": "function_call_output", "call_id": call, "output": "7"}]
    return json.dumps({"id": "r", "output": output}).encode(), [*output[1:], *(results if call else [])]


def user(text: str) -> Item:
    return {"role": "user", "content": text}


def streamed(shape: RequestShape, text: str) -> bytes:
    half = len(text) // 2
    pieces = [" " + text[:half], text[half:] + "\n"]  # as servers begin and end, and clients cut off
    if shape == "chat":
        events: list[Item] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    elif shape == "messages":
        events = [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}} for piece in pieces]
    else:
        events = [{"type": "response.output_text.delta", "delta": piece} for piece in pieces]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**64))
def test_of_conversations_in_any_order_no_two_that_differ_share_a_session(shape: RequestShape, seed: int) -> None:
    dice, proxy, calls = Random(seed), Proxy(shape), count()
    clients: list[list[Item]] = [[] for _ in range(dice.randint(2, 6))]
    transcripts: list[Transcript] = [()] * len(clients)
    of_session: dict[str, set[Transcript]] = {}
    firsts = 0
    for _ in range(25):
        who = dice.randrange(len(clients))
        turn, reply = dice.choice(["Hi", "How much?"]), dice.choice(["Hello!", "What do you mean?"])
        has_call = dice.random() < 0.2
        call = f"call_{next(calls)}" if has_call else ""
        body, kept = said(shape, reply, call)
        items = [*clients[who], user(turn)]
        session = proxy.ask(items, streamed(shape, reply) if not call and dice.random() < 0.5 else body)
        asked = (*transcripts[who], turn)
        if not transcripts[who]:
            firsts += 1
            assert session not in of_session, "a first turn begins a conversation, whoever said the same before"
        of_session.setdefault(session, set()).add(asked)
        clients[who], transcripts[who] = [*items, *kept], (*asked, reply + "()" * has_call)
        if has_call:  # what the tools gave comes without a new turn
            body, kept = said(shape, reply)
            assert proxy.ask(clients[who], body) == session
            clients[who] += kept
            transcripts[who] = (*transcripts[who], reply)
    for transcripts_of in of_session.values():
        for one, other in combinations(sorted(transcripts_of, key=len), 2):
            assert other[: len(one)] == one
    assert len(of_session) == firsts


@pytest.mark.parametrize("is_whole", [True, False])
def test_one_that_names_no_session_joins_none_that_a_client_named(is_whole: bool) -> None:
    proxy = Proxy("chat")
    reply, kept = said("chat", "7")
    first, later = [user("What is 3 + 4?")], [user("What is 3 + 4?"), *kept, user("And 5?")]
    assert proxy.ask(first, reply if is_whole else None, named="mine-1") == "mine-1"
    assert proxy.ask(first, None, is_retry=True) == "inf-2"
    assert proxy.ask(later, reply) == "inf-2"
    assert proxy.ask(later, reply, named="mine-1") == "mine-1"


def test_two_that_begin_alike_part_as_soon_as_their_replies_differ() -> None:
    proxy = Proxy("chat")
    (first, a), (second, b) = said("chat", "Hello!"), said("chat", "Good day.")
    sessions = [proxy.ask([user("Hi")], reply) for reply in (first, second)]
    assert sessions == ["inf-1", "inf-2"]
    assert [proxy.ask([user("Hi"), *reply, user("Well?")], None) for reply in (a, b)] == sessions


def test_of_two_that_are_the_same_to_the_letter_each_goes_on_once() -> None:
    proxy, (reply, kept) = Proxy("chat"), said("chat", "Hello!")
    begun = {proxy.ask([user("Hi")], reply) for _ in range(3)}
    gone_on = {proxy.ask([user("Hi"), *kept, user(f"Number {number}")], reply) for number in range(3)}
    assert len(begun) == 3 and gone_on == begun


def test_of_two_that_are_the_same_to_the_letter_the_newer_goes_on_and_not_one_that_was_left() -> None:
    proxy, (reply, kept) = Proxy("chat"), said("chat", "Hello!")
    for turn in ("Well?", "So?"):
        proxy.ask([user("Hi")], reply)  # and never again
        newer = proxy.ask([user("Hi")], reply)
        assert proxy.ask([user("Hi"), *kept, user(turn)], reply) == newer


def test_who_asks_is_no_one_else_and_a_process_that_missed_a_reply_goes_on_where_one_waits() -> None:
    proxy, (reply, kept) = Proxy("chat"), said("chat", "Hello!")
    mine, other = (proxy.ask([user("Hi")], reply, user=name) for name in ("me", "you"))
    assert [proxy.ask([user("Hi"), *kept, user("So?")], reply, user=name) for name in ("you", "me")] == [other, mine]
    claude = Proxy("messages")
    reply, kept = said("messages", "Hello!")
    names = [{"metadata": {"user_id": name}} for name in ("me", "you")]
    mine, other = (claude.ask([user("Hi")], reply, **name) for name in names)
    assert claude.ask([user("Hi"), *kept, user("So?")], reply, **names[1]) == other
    lost = proxy.ask([user("Lost?")], None)
    assert proxy.ask([user("Lost?"), *kept, user("And now?")], None) == lost
    for _ in range(2):
        proxy.ask([user("Twice lost?")], None)
    assert proxy.ask([user("Twice lost?"), *kept, user("And now?")], None) == "inf-9", "no one knows whose it is"


def test_of_a_session_under_which_a_client_sends_everything_the_newest_turns_are_kept() -> None:
    sessions = Sessions(lambda key, session: False)
    turns = [Turn("x", sha256_text(str(number))) for number in range(600)]
    for number, turn in enumerate(turns):
        sessions.opened(opened(f"inf-{number}", "app", turn.sha256))
    assert [known is not None for known in sessions.shown("", "app", turns)] == [False] * 88 + [True] * 512


def test_what_a_client_rewrote_is_new_from_where_it_parts() -> None:
    proxy, (first, kept) = Proxy("chat"), said("chat", "Hello!")
    (second, more), forged = said("chat", "Four."), {"role": "assistant", "content": "Five."}
    session = proxy.ask([user("Hi")], first)
    assert proxy.ask([user("Hi"), *kept, user("2 + 2?")], second) == session
    assert proxy.ask([user("Hi"), *kept, user("2 + 2?"), forged, user("Sure?")], None) == session
    assert proxy.ask([user("Hi"), *kept, user("3 + 3?")], None) == session, "a turn that was edited"
    assert proxy.ask([user("Hi"), forged, user("2 + 2?"), *more, user("Sure?")], None) != session


@pytest.mark.parametrize("text", ["<think>Let me see.</think>\n\nHello!", "Let me see.</think>Hello!", "Hello!"])
def test_thoughts_that_a_client_cuts_out_make_no_other_conversation(text: str) -> None:
    proxy, (reply, kept) = Proxy("chat"), said("chat", text)
    session = proxy.ask([user("Hi")], reply)
    without = [{**kept[0], "content": "Hello!"}]
    assert {proxy.ask([user("Hi"), *each, user("Well?")], None) for each in (kept, without)} == {session}
