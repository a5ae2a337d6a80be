"""A typed reply is read however a model wraps it, repaired where it slipped, and refused where it was cut off."""

from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.seams.replies import objects_in, read_reply, schema_of


class Item(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    arguments: str = ""
    weight: int = 0


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    rules: tuple[str, ...]


class Items(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Item, ...]


class Perhaps(msgspec.Struct, frozen=True, kw_only=True):
    item: Item | None


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    template: str = ""
    strategy: str = ""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    share: Annotated[float, msgspec.Meta(ge=0, le=1)]


LIST = '["it is {x}", "don\'t stop"]'
RULES = Rules(rules=("it is {x}", "don't stop"))


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('{"rules": ["it is {x}", "don\'t stop"]}', id="bare"),
        pytest.param('```json\n{"rules": ["it is {x}", "don\'t stop"]}\n```', id="gpt-fence"),
        pytest.param('Of {a, b} and {x : x > 0}:\n{"rules": ["it is {x}", "don\'t stop"]}\nSo {y} holds.', id="prose"),
        pytest.param('<think>{"rules": ["no"]}</think>\n{"rules": ["it is {x}", "don\'t stop"]}', id="qwen-thinks"),
        pytest.param('{"rules": ["no"]}\n</think>{"rules": ["it is {x}", "don\'t stop"]}', id="thinking-was-open"),
        pytest.param('{"rules": ["draft"]} Better: {"rules": ["it is {x}", "don\'t stop"]}', id="draft-first"),
        pytest.param(
            '<tool_call>\n{"name": "f", "arguments": {"rules": ["it is {x}", "don\'t stop"]}}\n</tool_call>', id="qwen"
        ),
        pytest.param(
            '<tool_call>{"name": "f", "arguments": "{\\"rules\\": [\\"it is {x}\\", \\"don\'t stop\\"]}"}</tool_call>',
            id="qwen-arguments-as-text",
        ),
        pytest.param(
            '<function=f><parameter=rules>["it is {x}", "don\'t stop"]</parameter></function>', id="qwen-coder"
        ),
        pytest.param(
            '<|python_tag|>{"type": "function", "name": "f", "parameters": {"rules": ["it is {x}", "don\'t stop"]}}',
            id="llama",
        ),
        pytest.param('<function=f>{"rules": ["it is {x}", "don\'t stop"]}</function>', id="llama-3"),
        pytest.param(
            '[TOOL_CALLS] [{"name": "f", "arguments": {"rules": ["it is {x}", "don\'t stop"]}}]', id="mistral"
        ),
        pytest.param(
            '<function_calls><invoke name="f"><parameter name="rules">["it is {x}", "don\'t stop"]</parameter>'
            "</invoke></function_calls>",
            id="claude-in-words",
        ),
        pytest.param(
            '{"type": "tool_use", "id": "t", "name": "f", "input": {"rules": ["it is {x}", "don\'t stop"]}}',
            id="claude",
        ),
        pytest.param(
            '{"tool_calls": [{"function": {"name": "f", "arguments": "{\\"rules\\": [\\"it is {x}\\", '
            '\\"don\'t stop\\"]}"}}]}',
            id="gpt-call",
        ),
        pytest.param('{"rules": ["it is {x}", "don\'t stop",],}', id="trailing-commas"),
        pytest.param("{'rules': ['it is {x}', 'don't stop'], 'sure': True, 'none': None}", id="python"),
        pytest.param('{rules: ["it is {x}", /* and */ "don\'t stop"]}', id="javascript"),
        pytest.param('{"rules": ["it is {x}", "don\'t stop"]', id="a-missing-bracket"),
        pytest.param('```json\n{"rules": ["it is {x}", "don\'t stop"\n```', id="missing-brackets-in-a-fence"),
        pytest.param('["it is {x}", "don\'t stop"]', id="the-list-alone"),
        pytest.param('{"answer": {"rules": ["it is {x}", "don\'t stop"]}}', id="wrapped"),
    ],
)
def test_every_family_of_models_is_understood(reply: str) -> None:
    assert read_reply(reply, Rules) == (RULES, "")


def test_quotation_marks_within_a_text_need_no_escape() -> None:
    assert read_reply('{"rules": ["when it says "rest", subtract", "b"]}', Rules)[0] == Rules(
        rules=('when it says "rest", subtract', "b")
    )


@pytest.mark.parametrize(
    ("reply", "stop_reason"),
    [
        ('{"items": [{"name": "a"}, {"name": "b"}', "length"),
        ('{"items": [{"name": "a"}, {"name": "b', "end"),
        ('{"items": [{"name": "a"}, ', "end"),
        ('{"items": [{"name": "a"},\n```', "end"),
        ('<think>{"items": [{"name": "a"}]} and', "length"),
    ],
)
def test_of_a_reply_that_was_cut_off_half_of_the_items_are_not_taken_for_all(reply: str, stop_reason: str) -> None:
    assert read_reply(reply, Items, stop_reason=stop_reason)[0] is None


def test_what_was_whole_before_the_cut_counts_and_the_cut_is_named_where_nothing_was() -> None:
    assert read_reply('{"rules": ["a"]} I chose th', Rules, stop_reason="length")[0] == Rules(rules=("a",))
    assert "stopped because of: length" in read_reply('{"rules": ["a", "b"', Rules, stop_reason="length")[1]


def test_values_of_another_kind_become_what_is_wanted_and_what_cannot_is_named() -> None:
    told = '{"items": [{"name": 18, "arguments": {"a": 1}, "weight": "3"}, {"name": "b", "arguments": null}]}'
    assert read_reply(told, Items)[0] == Items(items=(Item(name="18", arguments='{"a": 1}', weight=3), Item(name="b")))
    assert "weight" in read_reply('{"items": [{"name": "a", "weight": "much"}]}', Items)[1]
    assert "no JSON" in read_reply("I would rather not.", Items)[1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"item": ' * 50_000 + "1" + "}" * 50_000, "nested too deep"),
        ('{"share": NaN}', "float"),
        ('{"share": "inf"}', "float"),
        ('{"share": 1e999}', "float"),
        ('{"share": 2}', "<= 1"),
    ],
)
def test_a_reply_that_says_no_such_thing_has_a_problem(text: str, problem: str) -> None:
    found, told = read_reply(text, Share)
    assert found is None and problem in told


def test_half_a_character_is_replaced() -> None:
    assert read_reply('{"rules": ["a\\ud800b"]}', Rules)[0] == Rules(rules=("a?b",))


def test_tex_that_reads_as_an_escape_is_kept() -> None:
    assert read_reply(r'{"rules": ["\frac{1}{2} and \beta"]}', Rules)[0] == Rules(rules=(r"\frac{1}{2} and \beta",))


def test_nothing_where_something_may_be_missing_is_a_reply() -> None:
    assert read_reply('{"item": null}', Perhaps)[0] == Perhaps(item=None)
    assert read_reply('{"item": {"name": "a", "weight": 2.0}}', Perhaps)[0] == Perhaps(item=Item(name="a", weight=2))


def test_thinking_that_was_never_closed_leaves_nothing() -> None:
    assert read_reply('<thinking>so {"rules": ["a"]}', Rules)[0] is None


PIECES = st.sampled_from(
    [
        *('{"items": [', '{"name": "a"}', "{'name': 'b'", "{", "}", "[", "]", '"', "'", ",", ":", "\\", "\n```"),
        *("```json\n", "<think>", "</think>", "<tool_call>", '"arguments": ', "null", "1e999", "NaN", "é", "\ud800"),
    ]
)


def test_an_object_without_any_field_of_a_form_that_requires_none_is_no_reply() -> None:
    for text in ("{} is all that I can say.", '{"name": "reply"}'):
        assert read_reply(text, Slots) == (None, "Object has none of the fields template, strategy")
    wrapped = '{"name": "reply", "arguments": {"strategy": "Count twice."}}'
    assert read_reply(wrapped, Slots) == (Slots(strategy="Count twice."), "")


@given(st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join), st.sampled_from(["end", "length", "tool"]))
def test_no_reply_makes_the_reader_fail(text: str, stop_reason: str) -> None:
    for form in (Rules, Items, Perhaps):
        found, problem = read_reply(text, form, stop_reason=stop_reason)
        assert (found is None) == bool(problem)
    list(objects_in(text))


@given(st.lists(st.text()), st.text(alphabet=st.characters(exclude_characters="{}[]<>`\"'")))
def test_what_was_written_as_json_is_read_as_it_was_meant(rules: list[str], prose: str) -> None:
    told = msgspec.json.encode({"rules": [rule.replace("\f", "").replace("\b", "") for rule in rules]}).decode()
    found, _ = read_reply(f"{prose}{told}{prose}", Rules)
    assert found is not None and msgspec.to_builtins(found) == msgspec.json.decode(told) | {
        "rules": tuple(msgspec.json.decode(told)["rules"])
    }


@pytest.mark.parametrize(
    "text",
    [
        *('{"' * 100_000, "[{'" * 5_000, '{"a":' * 5_000, '{"a": "' + "\\" * 20_000, "<parameter=x>" * 15_000),
        *('{"a":1}' * 30_000, '{"a":' + " " * 200_000 + "x"),
    ],
)
def test_a_long_reply_that_is_no_json_is_read_in_bounded_work(text: str) -> None:
    assert read_reply(text, Items)[0] is None


def test_a_schema_lets_no_field_be_left_out_though_the_reader_does() -> None:
    item = msgspec.json.decode(schema_of(Items))["$defs"]["Item"]
    assert item["required"] == ["name", "arguments", "weight"] and "default" not in str(item)
