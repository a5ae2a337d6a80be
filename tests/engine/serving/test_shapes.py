"""What requests say is read, and notes are put in; every other byte is the client's."""

import copy
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.served.notes import Note
from mage_es.engine.serving.shapes import MOST, read, spliced
from mage_es.events.vocabulary.serving import RequestShape
from tests.engine.serving.bodies import SHAPES, items_of, request, spelling

NOTE = '<notes>"{}" \\ ä ☃\n\t[1] </notes>\n\n'


def noted(text: str, *turns: tuple[str, str]) -> Note:
    return Note(text, (), turns)


def shas(shape: RequestShape, body: Any) -> list[str]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [turn.sha256 for turn in read(shape, raw).turns]


def changed(before: Any, after: Any) -> list[tuple[Any, Any]]:
    """Return the leaves that differ, in the order of the first."""
    if isinstance(before, dict) and isinstance(after, dict) and list(before) == list(after):
        return [pair for key in before for pair in changed(before[key], after[key])]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [pair for pair_of in zip(before, after, strict=True) for pair in changed(*pair_of)]
    return [] if before == after and type(before) is type(after) else [(before, after)]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=700)
@given(seed=st.integers(0, 2**64))
def test_notes_are_the_only_change_and_taken_out_again_leave_the_very_bytes(shape: RequestShape, seed: int) -> None:
    dice = Random(seed)
    made = request(dice, shape)
    body = spelling(dice, made.body)
    reading = read(shape, body)
    assert [
        turn.text.rpartition("\n\n")[2].endswith(text) for turn, text in zip(reading.turns, made.texts, strict=True)
    ]
    assert all(turn.text.endswith(text) for turn, text in zip(reading.turns, made.texts, strict=True))
    assert (reading.model, reading.is_new) == ("m-1", made.is_new)
    assert reading.is_stream is made.body.get("stream", False)
    assert reading.previous == made.body.get("previous_response_id", "")

    notes = {number: NOTE.format(number) for number in range(len(made.texts)) if dice.random() < 0.6}
    out = spliced(shape, body, {number: noted(text) for number, text in notes.items()})

    differing = changed(json.loads(body), json.loads(out))
    assert differing == [(made.firsts[number], notes[number] + made.firsts[number]) for number in sorted(notes)]
    for number in notes:
        out = out.replace(json.dumps(NOTE.format(number), ensure_ascii=False)[1:-1].encode(), b"")
    assert out == body

    names = shas(shape, body)
    assert len(set(names)) == len(names)
    assert shas(shape, spelling(dice, made.body)) == names, "another spelling is the same conversation"
    if isinstance(items := items_of(made), list):
        assert shas(shape, {**made.body, "tools": [], "system": "", key_of(shape): moved(items)}) == names
        longer = [*items, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And now?"}]
        assert shas(shape, {**made.body, key_of(shape): longer})[:-1] == names, "what comes later renames nothing"
        other = copy.deepcopy(items)
        other.insert(0, {"role": "user", "content": "Before."})
        assert not set(shas(shape, {**made.body, key_of(shape): other})) & set(names)


CASES = (('Who takes "it"?\n', "☃ sales"), ("And this?", "I look.\nbilling"))


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=300)
@given(seed=st.integers(0, 2**64))
def test_cases_are_turns_before_the_client_s_own_and_taken_out_again_leave_the_very_bytes(
    shape: RequestShape, seed: int
) -> None:
    dice = Random(seed)
    made = request(dice, shape)
    body = spelling(dice, made.body)
    note = noted(dice.choice(["", NOTE]), *CASES)
    out = spliced(shape, body, {0: note})

    said = json.loads(body)[key_of(shape)]
    items = said if isinstance(said, list) else [{"role": "user", "content": said}]
    first = next(place for place, item in enumerate(items) if item.get("role") == "user")
    # The responses API of llama.cpp refuses a reply without a type.
    typed = {"type": "message"} if shape == "responses" else {}
    shown = [
        {**typed, "role": role, "content": text}
        for turn in CASES
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    found = json.loads(out)[key_of(shape)]
    assert found[:first] == items[:first] and found[first : first + 4] == shown
    differing = changed(items[first:], found[first + 4 :])
    assert differing == ([(made.firsts[0], note.text + made.firsts[0])] if note.text else [])
    assert read(shape, body).turns[0].is_first is not bool(made.body.get("previous_response_id"))
    assert not any(turn.is_first for turn in read(shape, body).turns[1:])

    for piece in (*(json.dumps(turn, ensure_ascii=False, separators=(",", ":")) + "," for turn in shown), ""):
        out = out.replace(piece.encode(), b"", 1)
    out = out.replace(json.dumps(note.text, ensure_ascii=False)[1:-1].encode(), b"", 1)
    if isinstance(said, str):
        before, _, after = out.partition(b'[{"role":"user","content":')
        end = json.JSONDecoder(strict=False).raw_decode(after.decode())[1]
        text, rest = after.decode()[:end].encode(), after.decode()[end:].encode()
        out = before + text + rest.removeprefix(b"}]")
    assert out == body


def test_a_turn_is_first_where_only_systems_and_thoughts_are_before_it() -> None:
    def is_first(*before: Any) -> bool:
        body = {"input": [*before, {"role": "user", "content": "hi"}]}
        return read("responses", json.dumps(body).encode()).turns[-1].is_first

    assert is_first() and is_first({"role": "system", "content": "x"}, {"role": "developer", "content": "y"})
    assert is_first({"type": "reasoning", "id": "r", "summary": []})
    assert not is_first({"role": "user", "content": "before"}) and not is_first({"role": "assistant", "content": "yes"})
    assert not is_first({"role": "user", "type": "reasoning", "content": [{"type": "input_image", "image_url": ""}]})
    assert not is_first({"type": "function_call_output", "call_id": "c", "output": "2"})


def key_of(shape: RequestShape) -> str:
    return "input" if shape == "responses" else "messages"


def moved(items: list[Any]) -> list[Any]:
    """Return a conversation as a client sends it again: marks for the cache elsewhere, no thoughts, no ids."""
    items = [item for item in copy.deepcopy(items) if item.get("type") != "reasoning"]
    for number, item in enumerate(items):
        if item.get("type") == "function_call":
            del item["id"]
        if isinstance(item.get("content"), str) and item["role"] == "user":
            item["content"] = [{"type": "text", "text": item["content"]}]
        if isinstance(item.get("content"), list):
            item["content"] = [part for part in item["content"] if part["type"] != "thinking"]
            for part in item["content"]:
                part.pop("cache_control", None)
            if number % 2:
                item["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return items


HOSTILE = {
    "nothing": b"",
    "no JSON": b"{messages}",
    "no object": b'["messages"]',
    "a mark before it": b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "hi"}]}',
    "no UTF-8 in a text": b'{"messages": [{"role": "user", "content": "\xff"}]}',
    "no UTF-8 elsewhere": b'{"x": "\xff", "messages": [{"role": "user", "content": "hi"}]}',
    "half a character": b'{"messages": [{"role": "user", "content": "\\ud83d"}]}',
    "too deep": b'{"messages": [{"role": "user", "content": "hi"}], "x": ' + b"[" * 90000 + b"]" * 90000 + b"}",
    "too deep a message": b'{"messages": [{"role": "user", "content": ' + b"[" * 90000 + b"]" * 90000 + b"}]}",
    "no end": b'{"messages": [{"role": "user", "content": "hi"}]',
    "more after it": b'{"messages": [{"role": "user", "content": "hi"}]}{}',
    "a message that is none": b'{"messages": ["hi", {"role": "user", "content": "hi"}]}',
    "messages that are none": b'{"messages": {"role": "user", "content": "hi"}}',
    "a part that is none": b'{"messages": [{"role": "user", "content": ["hi", {"type": "text", "text": "hi"}]}]}',
    "no text": b'{"messages": [{"role": "user", "content": [{"type": "text", "text": 7}, {"type": ["text"]}]}]}',
    "blanks": b'{"messages": [{"role": "user", "content": " \\n"}]}',
    "a number": b'{"messages": [{"role": "user", "content": 7}]}',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_not_understood_has_no_turns_and_goes_on_as_it_came(body: bytes) -> None:
    for shape in SHAPES:
        assert not read(shape, body).turns
        assert spliced(shape, body, {}) == body


def test_a_conversation_of_more_messages_than_anyone_reads_has_no_turns() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * (MOST // 2)
    assert len(read("chat", json.dumps({"messages": said}).encode()).turns) == MOST // 2
    assert not read("chat", json.dumps({"messages": [*said, said[0]]}).encode()).turns


def test_of_a_key_that_is_given_twice_the_last_counts_as_in_the_servers_own_parsers() -> None:
    body = (
        b'{"messages": [{"role": "user", "content": "old"}], "model": "a", "model": "b", "messages": '
        b'[{"role": "tool", "content": "one", "r\\u006fle": "user", '
        b'"content": [{"type": "text", "text": "x", "text": "two"}]}]}'
    )
    assert [turn.text for turn in read("chat", body).turns] == ["two"]
    assert read("chat", body).model == "b"
    assert spliced("chat", body, {0: noted("!")}) == body.replace(b'"two"', b'"!two"')


def test_numbers_that_no_machine_word_holds_stay_as_they_were() -> None:
    body = b'{"messages": [{"role": "user", "content": "hi", "n": 1E400}], "seed": 1.10, "big": ' + b"9" * 5000 + b"}"
    assert spliced("chat", body, {}) == body
    small = (
        b'{"messages": [{"role": "user", "content": "hi"}], "seed": 1.10, "e": -0e0, "big": 123456789012345678901234}'
    )
    assert spliced("chat", small, {0: noted("!")}) == small.replace(b'"hi"', b'"!hi"')


def test_a_note_goes_before_the_first_text_of_a_turn_and_the_results_of_tools_stay_first() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "20"}]}
    texts = [{"type": "text", "text": "The manual."}, {"type": "text", "text": "How warm is it?"}]
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    body = {"messages": [called, {"role": "user", "content": [result, *texts]}]}
    out = json.loads(spliced("messages", json.dumps(body).encode(), {0: noted("Notes. ")}))
    assert out["messages"][1]["content"] == [result, {"type": "text", "text": "Notes. The manual."}, texts[1]]


def test_an_image_of_many_megabytes_passes_untouched() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 6_000_000}}
    content = [{"type": "text", "text": "What is this?"}, image]
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]}).encode()
    assert spliced("chat", body, {0: noted("!")}) == body.replace(b'"What', b'"!What')


def test_a_turn_is_new_until_it_has_a_reply_and_results_of_tools_are_none() -> None:
    def reading(*messages: Any) -> tuple[list[str], bool]:
        found = read("messages", json.dumps({"messages": messages}).encode())
        return [turn.text for turn in found.turns], found.is_new

    asked = {"role": "user", "content": "How warm is it?"}
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "20"}
    assert reading(asked) == (["How warm is it?"], True)
    assert reading(asked, called) == (["How warm is it?"], False)
    assert reading(asked, called, {"role": "user", "content": [result]}) == (["How warm is it?"], False)
    assert reading(asked, {"role": "user", "content": [{"type": "image", "source": {}}]}) == (["How warm is it?"], True)
    begun = {"role": "assistant", "content": "It is"}
    assert reading(asked, begun) == (["How warm is it?"], True), "the model goes on with what the client began"
    assert reading(asked, begun, begun)[1] is reading(begun)[1] is False
    more = {"role": "user", "content": [result, {"type": "text", "text": "In Fahrenheit?"}]}
    assert reading(asked, called, more) == (["How warm is it?", "In Fahrenheit?"], True)


def test_a_note_for_a_turn_that_is_not_there_is_refused() -> None:
    body = b'{"messages": [{"role": "user", "content": "hi"}]}'
    for number in (-1, 1):
        with pytest.raises(ValueError, match=f"1 turns, numbered from 0: there is no turn {number}"):
            spliced("chat", body, {number: noted("!")})
