"""Requests as clients make them, in all three shapes: conversations of Python's values, and their spellings as JSON."""

import json
from random import Random
from typing import Any, NamedTuple

from mage_es.events.vocabulary.serving import RequestShape

SHAPES: tuple[RequestShape, ...] = ("chat", "responses", "messages")
Item = dict[str, Any]
_PIXELS = "iVBORw0KGgo" * 30
_KIND = {"chat": "text", "responses": "input_text", "messages": "text"}
_SAID = ("What is 3 + 4?", 'a "quoted" \\ path\n', "ä ☃ 🚀", "\u2028{}[],:", "</user>")
_LETTERS = 'ab"\\/\b\f\n\r\t\x00\x7f {}[]:,é☃\u2029\ufeff🚀\U0010ffff'
_UNKNOWN = ("x_new", "metadata", "Content", "ro le", "text ")
_VALUES = (None, 1e-7, 10**30, [], {"role": "user", "content": "no turn"}, [[1, {"text": "no"}]], True)


class Made(NamedTuple):
    """A request, and what is known of it."""

    shape: RequestShape
    body: Item
    texts: list[str]
    """Of each user turn its last text."""
    firsts: list[str]
    """And its first."""
    is_new: bool


def items_of(made: Made) -> Any:
    return made.body["input" if made.shape == "responses" else "messages"]


def request(dice: Random, shape: RequestShape) -> Made:
    """Return a request of one to four exchanges, with tools, images and thoughts as that API has them."""
    if shape == "responses" and dice.random() < 0.2:
        text = _text(dice)
        return Made(shape, _body(dice, shape, text), [text], [text], is_new=True)
    items, said, firsts, is_new, reply = list[Item](), list[str](), list[str](), False, list[Item]()
    if shape != "messages" and dice.random() < 0.5:
        items.append({"role": dice.choice(["system", "developer"]), "content": _text(dice)})
    for _ in range(dice.randint(1, 4)):
        said.append(_text(dice))
        items.append(_user(dice, shape, said[-1]))
        content = items[-1]["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        firsts.append(next(part["text"] for part in parts if "text" in part))
        is_new = dice.random() < 0.3
        reply = [] if is_new else _reply(dice, shape)
        items += reply
    has_image = dice.random() < 0.1
    if has_image:
        items.append({"role": "user", "content": [_image(shape)]})  # says nothing
    is_new |= len(reply) == 1 and not has_image  # words after a turn, at the end, are the begin of a reply to it
    return Made(shape, _body(dice, shape, items), said, firsts, is_new)


def spelling(dice: Random, body: Item) -> bytes:
    """Return a request as JSON in some order of keys, with some blanks and escapes."""
    form = dice.choice([(",", ":"), (", ", ": "), (" ,\n", "\t:  ")])
    indent, is_ascii = dice.choice([None, None, 1]), dice.random() < 0.5
    told = json.dumps(_shuffled(dice, body), ensure_ascii=is_ascii, separators=form, indent=indent)
    return (dice.choice(["", "\n "]) + told + dice.choice(["", " \r\n"])).encode()


def _text(dice: Random) -> str:
    if dice.random() < 0.5:
        return dice.choice(_SAID)
    return "x" + "".join(dice.choices(_LETTERS, k=dice.randint(0, 12)))


def _unknown(dice: Random) -> Item:
    return {dice.choice(_UNKNOWN): dice.choice(_VALUES) for _ in range(dice.randint(0, 2))}


def _body(dice: Random, shape: RequestShape, said: Any) -> Item:
    body = {"model": "m-1", **_unknown(dice), "input" if shape == "responses" else "messages": said}
    if dice.random() < 0.5:
        body["stream"] = dice.random() < 0.5
    if dice.random() < 0.5:
        body["tools"] = [{"type": "function", "name": "calculate", "input_schema": {"messages": [], "input": "x"}}]
    if shape == "messages" and dice.random() < 0.5:
        body["system"] = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    if shape == "responses" and dice.random() < 0.5:
        body |= {"instructions": "Be kind.", "previous_response_id": "resp_0"}
    return body


def _user(dice: Random, shape: RequestShape, text: str) -> Item:
    """Return a user's message whose last text is this."""
    part: Item = {"type": _KIND[shape], "text": text}
    if shape == "messages" and dice.random() < 0.5:
        part["cache_control"] = {"type": "ephemeral"}
    look, image = {"type": _KIND[shape], "text": "Look:"}, _image(shape)
    content = dice.choice([text, [part], [image, part], [look, part, image], [part, {"type": "new", "of": 1}]])
    kind = {"type": "message"} if shape == "responses" and dice.random() < 0.5 else {}
    return {**kind, **_unknown(dice), "role": "user", "content": content}


def _reply(dice: Random, shape: RequestShape) -> list[Item]:
    """Return what a model said: a text, or the call of a tool with its result and a text."""
    text, has_tool = _text(dice), dice.random() < 0.5
    if shape == "chat":
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"role": "user"}'}}
        called = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "7"},
        ]
        return [*(called if has_tool else []), {"role": "assistant", "content": text, "name": "a"}]
    if shape == "responses":
        called = [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "7"}]},
        ]
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        return [*(called if has_tool else []), message]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "7"}]}
    called = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"role": "user"}}]},
        {"role": "user", "content": [result]},
    ]
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    message = {"role": "assistant", "content": [thought, {"type": "text", "text": text}]}
    return [*(called if has_tool else []), message]


def _image(shape: RequestShape) -> Item:
    if shape == "chat":
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXELS}"}}
    if shape == "responses":
        return {"type": "input_image", "image_url": f"data:image/png;base64,{_PIXELS}"}
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXELS}}


def _shuffled(dice: Random, value: Any) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: _shuffled(dice, value[key]) for key in keys}
    return [_shuffled(dice, each) for each in value] if isinstance(value, list) else value
