"""The official Anthropic SDK against a server on loopback, well-behaved and not."""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
import pytest

from mage_es.engine.agents.skill_discovery import TEMPLATES
from mage_es.engine.briefs import JudgeReply
from mage_es.engine.providers.anthropic_api import Anthropic, read_message
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request, reason_of
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.session.judge import StrictReply
from mage_es.events.errors import PrerequisiteError, UsageError
from tests.engine.providers.provider import provider
from tests.hostile.server import Reply, Said, hostile

Came = TypeVar("Came")


def model(url: str, more: str = "") -> Anthropic:
    return Anthropic(parse_spec(f"anthropic/claude-sonnet-5?base_url={url}{more}"))


def ask(served: Anthropic, request: Request) -> Completion:
    return run(served, lambda: served.complete(request))


def run(served: Anthropic, step: Callable[[], Coroutine[Any, Any, Came]]) -> Came:
    async def once() -> Came:
        try:
            return await step()
        finally:
            await served.close()

    return asyncio.run(once())


def test_a_reply_comes_with_its_tokens_and_the_providers_id() -> None:
    with provider(answer=lambda body: "it is 7") as server:
        completion = ask(model(server.anthropic_url), Request(prompt="How many are there?", max_tokens=9))
        body = server.asked[0].body
    assert completion == Completion(text="it is 7", input_tokens=4, output_tokens=3, provider_id="msg_1")
    assert (body["model"], body["max_tokens"]) == ("claude-sonnet-5", 9)
    assert "temperature" not in body


def test_a_typed_reply_is_asked_for_with_a_schema_that_allows_nothing_else() -> None:
    schema = '{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}}'
    with provider() as server:
        ask(model(server.anthropic_url, "&effort=low"), Request(prompt="?", reply_schema=schema))
        ask(model(server.anthropic_url, "&structured=none&temperature=send"), Request(prompt="?", reply_schema=schema))
        ask(model(server.anthropic_url, "&structured=tool"), Request(prompt="?", reply_schema=schema))
        typed, free, called = (asked.body for asked in server.asked)
    assert typed["output_config"]["effort"] == "low"
    sent = typed["output_config"]["format"]["schema"]
    assert sent["additionalProperties"] is False
    assert sent["properties"]["a"]["items"]["additionalProperties"] is False
    assert "output_config" not in free
    assert free["temperature"] == 0.0
    assert called["tool_choice"] == {"type": "tool", "name": "reply"} and "output_config" not in called
    assert called["tools"][0]["input_schema"]["properties"]["a"]["type"] == "array"
    assert "this form" in free["messages"][0]["content"]
    assert [typed["messages"][0]["content"], called["messages"][0]["content"]] == ["?", "?"]


def test_a_call_of_a_tool_is_the_reply_where_there_is_no_text() -> None:
    called = {"type": "tool_use", "id": "t", "name": "reply", "input": {"a": [1]}}
    assert read_message({"content": [called], "stop_reason": "tool_use"}).text == '{"a":[1]}'
    other = {**called, "name": "calculate"}
    assert read_message({"content": [other], "stop_reason": "tool_use"}).text == "", "of another tool than is offered"
    both = [{"type": "text", "text": "So it is."}, called]
    assert read_message({"content": both, "stop_reason": "tool_use"}).text == "So it is."


def test_the_system_message_is_a_field_of_its_own_marked_for_the_cache() -> None:
    request = Request(system="Do this.", prompt="With that.")
    with provider() as server:
        for asked, more in ((request, ""), (request, "&cache=omit"), (Request(prompt="With that."), "")):
            ask(model(server.anthropic_url, more), asked)
        kept, omitted, without = (asked.body for asked in server.asked)
    assert kept["system"] == [{"type": "text", "text": "Do this.", "cache_control": {"type": "ephemeral"}}]
    assert omitted["system"] == "Do this."
    assert "system" not in without
    assert all(body["messages"] == [{"role": "user", "content": "With that."}] for body in (kept, omitted, without))


def test_tokens_read_from_a_cache_and_written_into_one_are_told_apart_within_the_input() -> None:
    with provider(answer=lambda body: "it is 7") as server:
        server.usage = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
        completion = ask(model(server.anthropic_url), Request(prompt="How many are there?"))
    assert (completion.input_tokens, completion.cached_tokens, completion.cache_write_tokens) == (124, 100, 20)


def test_the_name_by_which_the_provider_calls_the_model_is_told_where_it_is_another() -> None:
    async def batched(served: Anthropic) -> str:
        try:
            batch = await served.submit({"c0": Request(prompt="How many?")})
            while not await served.has_ended(batch):
                pass
            came = (await served.replies(batch))["c0"]
            return came.served_by if isinstance(came, Completion) else "no reply"
        finally:
            await served.close()

    with provider(answer=lambda body: "it is 7") as server:
        names = []
        for name in ("claude-sonnet-5", "claude-sonnet-5-20261101"):
            server.name_of = lambda asked, name=name: name  # type: ignore[misc]
            names.append(ask(model(server.anthropic_url), Request(prompt="How many?")).served_by)
            names.append(asyncio.run(batched(model(server.anthropic_url))))
    assert names == ["", "", "claude-sonnet-5-20261101", "claude-sonnet-5-20261101"]


def test_a_batch_comes_back_by_custom_id_whatever_the_order_with_the_fault_of_each_request() -> None:
    fates = ["", "expired", "canceled", "overloaded_error", "invalid_request_error", "authentication_error", ""]

    async def whole() -> dict[str, Completion | Fault]:
        served = model(server.anthropic_url)
        try:
            batch = await served.submit({f"c{n}": Request(prompt=f"question {n}") for n in range(len(fates))})
            looks = 1
            while not await served.has_ended(batch):
                looks += 1
            assert looks == 1 + server.polls
            return await served.replies(batch)
        finally:
            await served.close()

    with provider(answer=lambda body: f"to {body['messages'][0]['content']}") as server:
        server.fate = lambda number: fates[number]
        came = asyncio.run(whole())
    assert list(came) == [f"c{n}" for n in reversed(range(len(fates)))]
    replies = {name: each for name, each in came.items() if isinstance(each, Completion)}
    assert {name: each.text for name, each in replies.items()} == {"c0": "to question 0", "c6": "to question 6"}
    assert all(each.batched for each in replies.values())
    kinds = {name: each.kind for name, each in came.items() if isinstance(each, Fault)}
    assert kinds == {"c1": "timeout", "c2": "timeout", "c3": "busy", "c4": "rejected", "c5": "denied"}


@pytest.mark.parametrize(
    ("fault_name", "kind"), [("cut", "connection"), ("html", "malformed"), ("reset", "connection")]
)
@pytest.mark.parametrize("trouble", [0, 1, 2], ids=["submit", "has_ended", "replies"])
def test_whatever_goes_wrong_about_a_batch_is_a_fault_and_passes(fault_name: str, kind: str, trouble: int) -> None:
    async def whole() -> list[str]:
        served, kinds = model(server.anthropic_url), list[str]()
        steps: list[Callable[[], Awaitable[Any]]] = [
            lambda: served.submit({"c0": Request(prompt="?")}),
            lambda: served.has_ended("msgbatch_1"),
            lambda: served.replies("msgbatch_1"),
        ]
        try:
            for step in [steps[0], *steps[1 : trouble + 1], steps[trouble]]:
                try:
                    await step()
                except ModelFault as error:
                    kinds.append(error.fault.kind)
            return kinds
        finally:
            await served.close()

    with provider() as server:
        server.polls = -1
        server.plan = lambda number: fault_name if number == trouble else ""
        assert asyncio.run(whole()) == [kind]


@pytest.mark.parametrize("name", [3, "", "..", "../../models", "a?b", "a\nb", "\0", "m" * 999])
def test_a_batch_whose_id_no_request_can_carry_is_refused_before_it_is_recorded(name: object) -> None:
    with hostile(lambda said: Reply(200, {"id": name, "processing_status": "in_progress"})) as url:
        served = model(url)
        with pytest.raises(ModelFault) as raised:
            run(served, lambda: served.submit({"c0": Request(prompt="?")}))
    assert raised.value.fault.kind == "malformed"


def test_results_are_fetched_from_the_provider_and_what_is_unreadable_among_them_costs_its_own_calls_only() -> None:
    message = {"content": [{"type": "text", "text": "7"}], "usage": {"input_tokens": 1, "output_tokens": 1}}
    sound = {"custom_id": "c0", "result": {"type": "succeeded", "message": message}}
    odd: list[object] = [3, None, [], {}, {"custom_id": [1]}, {"custom_id": "c0", "result": {"type": "expired"}}]
    lines = [b"{cut", b"[" * 10**5, b"\xff", b"", msgspec.json.encode(sound), *map(msgspec.json.encode, odd)]
    elsewhere = "http://127.0.0.2:9/results"
    asked: list[Said] = []

    def respond(said: Said) -> Reply:
        asked.append(said)
        is_results = said.path.endswith("/results")
        return Reply(200, b"\n".join(lines) if is_results else {"processing_status": "ended", "results_url": elsewhere})

    with hostile(respond) as url:
        served = model(url)
        came = run(served, lambda: served.replies("msgbatch_1"))
    assert list(came) == ["c0"] and getattr(came["c0"], "text", "") == "7"
    assert [said.path for said in asked] == ["/v1/messages/batches/msgbatch_1/results"]


def test_a_key_that_a_batch_repeats_is_blotted_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "sk-canary-0123456789")

    async def whole() -> dict[str, Completion | Fault]:
        served = model(server.anthropic_url, "&key_env=CANARY_KEY")
        try:
            batch = await served.submit({"c0": Request(prompt="?")})
            return await served.replies(batch)
        finally:
            await served.close()

    with provider(answer=lambda body: "it is sk-canary-0123456789") as server:
        server.polls = -1
        (came,) = asyncio.run(whole()).values()
    assert isinstance(came, Completion) and came.text == "it is [key]"


@pytest.mark.parametrize("form", [JudgeReply, StrictReply, *(reply for _, reply in TEMPLATES.values())])
def test_every_form_of_reply_is_sent_without_what_the_provider_refuses(form: type[msgspec.Struct]) -> None:
    schema = msgspec.json.encode(msgspec.json.schema(form)).decode()
    with provider() as server:
        ask(model(server.anthropic_url), Request(prompt="?", reply_schema=schema))
        sent = server.asked[0].body["output_config"]["format"]["schema"]
    told = json.dumps(sent)
    assert not re.search(r'"(minimum|maximum|minLength|maxLength|pattern|maxItems|default)": ', told)
    objects = [part for part in sent["$defs"].values() if part["type"] == "object"]
    assert objects and all(part["additionalProperties"] is False for part in objects)
    assert ("{minimum: 0, maximum: 1}" in told) == (form is JudgeReply)


def test_an_address_in_the_environment_is_not_followed_since_no_record_would_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with provider() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-key-1234")
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # or it would be sent
        monkeypatch.setenv("NO_PROXY", "")
        served = Anthropic(parse_spec("anthropic/claude-sonnet-5"))
        with pytest.raises(ModelFault, match=r"https://api\.anthropic\.com"):
            ask(served, Request(prompt="?"))
        assert not server.asked


def message(**fields: object) -> object:
    """Return a message as the SDK hands one on, which it has held against nothing."""
    from anthropic._models import construct_type
    from anthropic.types import Message

    text = [{"type": "text", "text": "7"}]
    whole = {"id": "m", "type": "message", "role": "assistant", "content": text, "stop_reason": "end_turn", **fields}
    return construct_type(value=whole, type_=Message)


@pytest.mark.parametrize(
    "fields",
    [
        {"content": None},
        {"content": "7"},
        {"content": [None]},
        {"content": [{"type": "text", "text": 7}]},
        {"stop_reason": {}},
        {"id": 5},
        {"usage": {"input_tokens": "5"}},
        {"usage": {"input_tokens": -5}},
    ],
)
def test_a_message_of_another_shape_is_malformed_and_nothing_worse(fields: dict[str, object]) -> None:
    with pytest.raises(ModelFault, match="the reply is not a message") as raised:
        read_message(message(**fields))
    assert raised.value.fault.kind == "malformed"


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "output_tokens_details": None}])
def test_what_a_server_does_not_tell_of_its_tokens_counts_as_none(usage: object) -> None:
    read = read_message(message(usage=usage, content=[{"type": "thinking"}, {"type": "text", "text": "7 \ud83d"}]))
    assert (read.text, read.input_tokens, read.output_tokens) == ("7 \ufffd", 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault_name", "kind", "status"),
    [
        ("429", "busy", 429),
        ("529", "busy", 529),
        ("500", "server", 500),
        ("400", "rejected", 400),
        ("401", "denied", 401),
        ("404", "missing", 404),
        ("too long", "too_long", 400),
        ("reset", "connection", 0),
        ("cut", "connection", 0),
        ("truncated", "malformed", 0),
    ],
)
def test_every_fault_is_told_by_its_kind(fault_name: str, kind: str, status: int) -> None:
    with provider(faults=[fault_name] * 9) as server:
        with pytest.raises(ModelFault) as raised:
            ask(model(server.anthropic_url), Request(prompt="How many?"))
        assert len(server.asked) == 1  # the SDK does not retry on its own
    assert (raised.value.fault.kind, raised.value.fault.status) == (kind, status)


@pytest.mark.parametrize(("fault_name", "reason"), [("empty", "empty"), ("refusal", "refused")])
def test_a_reply_that_is_no_answer_is_a_reply_all_the_same(fault_name: str, reason: str) -> None:
    with provider(faults=[fault_name]) as server:
        assert reason_of(ask(model(server.anthropic_url), Request(prompt="?"))) == reason


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_a_reply_that_was_cut_says_so_and_its_thinking_is_counted_by_its_share(stop: str) -> None:
    content = [{"type": "thinking", "thinking": "so and so"}, {"type": "text", "text": "It"}]
    read = read_message(message(content=content, stop_reason=stop, usage={"input_tokens": 1, "output_tokens": 22}))
    assert (read.text, read.stop_reason, read.thinking_tokens) == ("It", "length", 18)


@pytest.mark.parametrize(
    ("options", "thinking"),
    [
        ("", None),
        ("&thinking=on", {"type": "adaptive"}),
        ("&thinking=off", {"type": "disabled"}),
        ("&thinking=2000", {"type": "enabled", "budget_tokens": 2000}),
        ("&thinking=9000", {"type": "enabled", "budget_tokens": 3072}),  # less than max_tokens, or it is refused
    ],
)
def test_thinking_is_switched_as_claude_knows_it(options: str, thinking: object) -> None:
    with provider() as server:
        ask(model(server.anthropic_url, options), Request(prompt="?", max_tokens=4096))
        assert server.asked[0].body.get("thinking") == thinking


@pytest.mark.parametrize("options", ["&thinking=1023", "&thinking=maybe", "&thinking=on&temperature=send"])
def test_thinking_that_claude_would_refuse_is_refused_before_any_call(options: str) -> None:
    with pytest.raises(UsageError):
        model("http://127.0.0.1:9", options)


@pytest.mark.parametrize("fault_name", ["silence", "drip"])
def test_a_server_that_is_silent_or_drips_is_given_up_after_the_timeout(fault_name: str) -> None:
    with provider(faults=[fault_name]) as server, pytest.raises(ModelFault) as raised:
        ask(model(server.anthropic_url, "&timeout=0.3"), Request(prompt="?"))
    assert raised.value.fault.kind == "timeout"


def test_without_a_key_nothing_is_sent_to_the_provider_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError, match="export ANTHROPIC_API_KEY"):
        Anthropic(parse_spec("anthropic/claude-sonnet-5"))


def test_a_client_that_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'mage-es\[anthropic\]'"):
        ask(model("http://127.0.0.1:9"), Request(prompt="?"))
