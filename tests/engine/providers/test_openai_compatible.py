"""The OpenAI-compatible client against a server on loopback, well-behaved and not."""

import asyncio
import sys

import msgspec
import pytest

from mage_es.engine.providers.openai_compatible import OpenAICompatible, read_completion
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import Completion, Request, reason_of
from mage_es.engine.seams.spec import parse_spec
from mage_es.events.errors import PrerequisiteError, UsageError
from tests.engine.providers.provider import provider
from tests.hostile.server import Reply, hostile


def model(url: str, more: str = "") -> OpenAICompatible:
    return OpenAICompatible(parse_spec(f"openai/exec?base_url={url}{more}"))


def ask(served: OpenAICompatible, request: Request) -> Completion:
    async def once() -> Completion:
        try:
            return await served.complete(request)
        finally:
            await served.close()

    return asyncio.run(once())


def fault(kind: str, *, more: str = "") -> tuple[str, int]:
    with provider(faults=[kind] * 9) as server:
        with pytest.raises(ModelFault) as raised:
            ask(model(server.openai_url, more), Request(prompt="How many?"))
        # The client does not retry on its own. One with little time may be out of it before it asked.
        assert len(server.asked) == 1 or ("timeout" in more and not server.asked)
        return raised.value.fault.kind, raised.value.fault.status


def test_a_reply_comes_with_its_tokens_and_the_providers_id() -> None:
    with provider(answer=lambda body: "it is 7") as server:
        completion = ask(model(server.openai_url), Request(prompt="How many are there?", temperature=0.5, max_tokens=9))
        asked = server.asked[0]
    assert completion == Completion(text="it is 7", input_tokens=4, output_tokens=3, provider_id="chatcmpl-1")
    assert asked.body["model"] == "exec"
    assert (asked.body["temperature"], asked.body["max_tokens"]) == (0.5, 9)


def test_the_system_message_goes_before_the_users_and_is_part_of_what_is_hashed() -> None:
    request = Request(system="Do this.", prompt="With that.")
    with provider() as server:
        ask(model(server.openai_url), request)
        assert server.asked[0].body["messages"] == [
            {"role": "system", "content": "Do this."},
            {"role": "user", "content": "With that."},
        ]
        ask(model(server.openai_url, "&system=joined"), request)
        assert server.asked[1].body["messages"] == [{"role": "user", "content": "Do this.\n\nWith that."}]
    assert len({request.sha256, Request(prompt=request.text).sha256, Request(prompt="With that.").sha256}) == 3


def test_several_samples_of_a_prompt_are_calls_of_their_own_and_no_seed_makes_them_alike() -> None:
    once = Request(prompt="?", temperature=0.7)
    samples = [once, *(msgspec.structs.replace(once, sample=number) for number in (1, 2))]
    assert len({request.sha256 for request in samples}) == 3
    with provider() as server:
        for request in samples:
            ask(model(server.openai_url, "&seed=5"), request)
        ask(model(server.openai_url), samples[1])
        assert [asked.body.get("seed") for asked in server.asked] == [5, 6, 7, None]


SCHEMA = {"type": "object", "properties": {"rules": {"type": "array", "items": {"type": "string"}}}}


def test_a_typed_reply_is_asked_for_by_its_schema_and_in_words_where_nothing_enforces_that() -> None:
    request = Request(prompt="?", reply_schema=msgspec.json.encode(SCHEMA).decode())
    with provider() as server:
        for structured in ("json_schema", "tool", "json_object", "none"):
            ask(model(server.openai_url, f"&structured={structured}"), request)
        bodies = [asked.body for asked in server.asked]
    assert [body.get("response_format", {}).get("type") for body in bodies] == [
        "json_schema",
        None,
        "json_object",
        None,
    ]
    assert bodies[0]["response_format"]["json_schema"] == {"name": "reply", "schema": SCHEMA}
    assert bodies[1]["tools"][0]["function"]["parameters"] == SCHEMA
    assert bodies[1]["tool_choice"] == {"type": "function", "function": {"name": "reply"}}
    told = '?\n\nThe JSON object has this form: {"rules": [string, ...]}'
    assert [body["messages"][-1]["content"] for body in bodies] == ["?", "?", told, told]


def test_a_call_of_a_tool_is_the_reply_where_there_is_no_text() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "reply", "arguments": '{"rules": []}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = {"id": "x", "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    assert read_completion(told).text == '{"rules": []}'
    call["function"] = {"name": "calculate", "arguments": "{}"}
    assert read_completion(told).text == "", "of another tool than the one that is offered"
    spoken = {**message, "content": "So it is."}
    assert read_completion({"choices": [{"message": spoken, "finish_reason": "stop"}]}).text == "So it is."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault_name", "kind", "status"),
    [
        ("408", "busy", 408),
        ("409", "busy", 409),
        ("429", "busy", 429),
        ("529", "busy", 529),
        ("500", "server", 500),
        ("503", "server", 503),
        ("400", "rejected", 400),
        ("401", "denied", 401),
        ("403", "denied", 403),
        ("404", "missing", 404),
        ("too long", "no_room", 400),
        ("reset", "connection", 0),
        ("cut", "connection", 0),
        ("truncated", "malformed", 0),
        ("shape", "malformed", 0),
    ],
)
def test_every_fault_is_told_by_its_kind(fault_name: str, kind: str, status: int) -> None:
    assert fault(fault_name) == (kind, status)


@pytest.mark.parametrize("fault_name", ["silence", "drip"])
def test_a_server_that_is_silent_or_drips_is_given_up_after_the_timeout(fault_name: str) -> None:
    assert fault(fault_name, more="&timeout=0.3") == ("timeout", 0)


def test_nobody_listening_is_a_connection_fault() -> None:
    with pytest.raises(ModelFault) as raised:
        ask(model("http://127.0.0.1:9/v1"), Request(prompt="?"))
    assert raised.value.fault.kind == "connection"


@pytest.mark.parametrize(
    ("message", "text", "thinking"),
    [
        ({"content": "<think>so and so</think>\n\nIt is 7"}, "It is 7", 8),
        ({"content": "<think>cut off in the middle"}, "", 10),
        ({"content": "so, it is 13?\n</think>\n\nIt is 7"}, "It is 7", 8),  # opened by the chat template
        ({"content": "It is 7", "reasoning_content": "so and so"}, "It is 7", 6),
        ({"content": "It is 7", "reasoning": "so and so"}, "It is 7", 6),
        ({"content": None, "reasoning": {"summary": "so"}}, "", 10),
        ({"content": ["It is ", {"type": "text", "text": "7"}]}, "It is 7", 0),
    ],
)
def test_thinking_is_no_part_of_the_answer_and_its_tokens_go_by_its_share(
    message: object, text: str, thinking: int
) -> None:
    came = said(reply(message=message, usage={"prompt_tokens": 5, "completion_tokens": 10}))
    assert isinstance(came, Completion)
    assert (came.text, came.thinking_tokens) == (text, thinking)


def test_tokens_of_thinking_are_those_that_the_provider_tells() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 90, "completion_tokens_details": {"reasoning_tokens": 80}}
    came = said(reply(message={"content": "<think>hm</think>It is 7"}, usage=usage))
    assert isinstance(came, Completion) and (came.output_tokens, came.thinking_tokens) == (90, 80)


def test_output_that_a_provider_counts_in_the_sum_alone_is_counted() -> None:
    came = said(reply(usage={"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 47}))
    assert isinstance(came, Completion) and came.output_tokens == 42


@pytest.mark.parametrize("stream", ["", "&stream=on"])
@pytest.mark.parametrize(("fault_name", "reason"), [("empty", "empty"), ("refusal", "refused"), ("filter", "refused")])
def test_a_reply_that_is_no_answer_is_a_reply_all_the_same(fault_name: str, reason: str, stream: str) -> None:
    with provider(faults=[fault_name]) as server:
        came = ask(model(server.openai_url, stream), Request(prompt="?"))
    assert reason_of(came) == reason


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ("", {}),
        ("&thinking=auto", {}),
        ("&thinking=off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("&thinking=on", {"chat_template_kwargs": {"enable_thinking": True}}),
        (
            "&thinking=500",
            {"chat_template_kwargs": {"enable_thinking": True, "thinking_budget": 500}, "thinking_token_budget": 500},
        ),
        (
            "&thinking=2000",  # a quarter of the limit is left for the answer
            {"chat_template_kwargs": {"enable_thinking": True, "thinking_budget": 750}, "thinking_token_budget": 750},
        ),
        ("&thinking=off&thinking_field=reasoning_effort", {"reasoning_effort": "none"}),
        ("&thinking=on&thinking_field=reasoning_effort", {"reasoning_effort": "medium"}),
    ],
)
def test_thinking_is_switched_in_the_words_of_each_server(options: str, fields: dict[str, object]) -> None:
    with provider() as server:
        ask(model(server.openai_url, options), Request(prompt="?", max_tokens=1000))
        (asked,) = server.asked
    known = ("chat_template_kwargs", "thinking_token_budget", "reasoning_effort")
    assert {name: asked.body[name] for name in known if name in asked.body} == fields


def test_openai_itself_knows_efforts_only_and_a_model_of_one_temperature_is_sent_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-1234")
    with pytest.raises(UsageError, match="reasoning_effort takes no number of tokens"):
        OpenAICompatible(parse_spec("openai/gpt-5?thinking=500"))
    with provider() as server:
        ask(model(server.openai_url, "&temperature=omit"), Request(prompt="?"))
        assert "temperature" not in server.asked[0].body


def said(reply: object) -> Completion | str:
    """Return what is read of a reply as the client hands it on, or what is wrong with it."""
    from openai._models import construct_type
    from openai.types.chat import ChatCompletion

    try:
        return read_completion(construct_type(value=reply, type_=ChatCompletion))
    except ModelFault as error:
        return f"{error.fault.kind}: {error.fault.message}"


def reply(*, message: object = None, choices: object = None, **fields: object) -> dict[str, object]:
    one = [{"index": 0, "message": message or {"role": "assistant", "content": "7"}, "finish_reason": "stop"}]
    return {"id": "c", "object": "chat.completion", "choices": one if choices is None else choices, **fields}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("<html>sign in", "not a chat completion"),
        (None, "not a chat completion"),
        ([1, 2], "not a chat completion"),
        (reply(choices=[]), "no choices"),
        (reply(choices=[None]), "not a chat completion"),
        (reply(choices="abc"), "not a chat completion"),
        (reply(choices={"a": 1}), "not a chat completion"),
        (reply(choices=[{"finish_reason": "stop"}]), "not a chat completion"),
        (reply(choices=[{"message": {"content": "7"}, "finish_reason": {}}]), "not a chat completion"),
        (reply(message={"content": 7}), "not a chat completion"),
        (reply(usage={"prompt_tokens": "3"}), "not a chat completion"),
        (reply(usage={"prompt_tokens": -3}), "not a chat completion"),
        (reply(usage={"prompt_tokens": 2**70}), "not a chat completion"),
        ({"error": {"message": "overloaded"}}, "no choices: {'message': 'overloaded'}"),
    ],
)
def test_a_reply_of_another_shape_is_malformed_and_nothing_worse(document: object, told: str) -> None:
    came = said(document)
    assert isinstance(came, str) and came.startswith("malformed: ") and told in came


@pytest.mark.parametrize(("status", "kind"), [(200, "malformed"), (403, "denied")])
def test_a_web_page_in_place_of_a_reply_is_one_clear_line(status: int, kind: str) -> None:
    page = Reply(status, b"<!doctype html><title>Sign in</title>" + b"<p>" * 500, {"content-type": "text/html"})
    with hostile(lambda said: page) as url:
        served = model(f"{url}/v1")
        for call in (lambda: ask(served, Request(prompt="?")), served.listed):
            with pytest.raises(ModelFault, match="answers with a web page, such as a proxy's login") as raised:
                call()
            assert raised.value.fault.kind == kind and "<" not in raised.value.fault.message


def test_a_call_of_a_tool_without_arguments_is_a_reply_without_text() -> None:
    called = {"content": None, "tool_calls": [{"id": "a", "type": "function"}], "reasoning_content": "hm"}
    came = said(reply(choices=[{"message": called, "finish_reason": "tool_calls"}]))
    assert isinstance(came, Completion) and (came.text, came.stop_reason) == ("", "tool")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, (0, 0, 0)),
        ({}, (0, 0, 0)),
        ({"prompt_tokens": None, "completion_tokens": None}, (0, 0, 0)),
        ({"prompt_tokens": 5}, (5, 0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}, (5, 2, 4)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 99}}, (5, 2, 5)),
    ],
)
def test_what_a_server_does_not_tell_of_its_tokens_counts_as_none(usage: object, tokens: tuple[int, int, int]) -> None:
    came = said(reply(usage=usage))
    assert isinstance(came, Completion)
    assert (came.input_tokens, came.output_tokens, came.cached_tokens) == tokens


def test_a_reply_in_pieces_is_their_text_and_half_a_character_can_be_recorded() -> None:
    pieces = [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "it is 7 \ud83d"}]
    came = said(reply(message={"content": pieces}, id=17))
    assert isinstance(came, Completion)
    assert (came.text, came.provider_id) == ("it is 7 \ufffd", "17")


@pytest.mark.parametrize("more", ["&structured=xml", "&max_tokens_field=limit", "&timeout=0", "&context=-1", "&seed=x"])
def test_an_option_with_a_value_that_it_does_not_know_is_refused_before_any_call(more: str) -> None:
    with pytest.raises(UsageError):
        model("http://127.0.0.1:9/v1", more)


def test_a_key_goes_to_the_server_and_is_demanded_where_one_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "canary-1234")
    with provider() as server:
        ask(model(server.openai_url, "&key_env=MY_KEY"), Request(prompt="?"))
        assert server.asked[0].headers["authorization"] == "Bearer canary-1234"
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(PrerequisiteError, match="export MY_KEY"):
        ask(model("http://127.0.0.1:9/v1", "&key_env=MY_KEY"), Request(prompt="?"))


def test_a_client_that_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'mage-es\[openai\]'"):
        ask(model("http://127.0.0.1:9"), Request(prompt="?"))


@pytest.mark.parametrize("stream", ["", "&stream=on"])
def test_the_name_by_which_a_server_calls_the_model_is_told_where_it_is_another_without_the_key(
    monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setenv("CANARY_KEY", "canary-1234")
    with provider(answer=lambda body: "it is 7") as server:
        served = []
        for name in ("exec", "exec-2026-05-01", "exec canary-1234", "", "x" * 999):
            server.name_of = lambda asked, name=name: name  # type: ignore[misc]
            asked = model(server.openai_url, f"&key_env=CANARY_KEY{stream}")
            served.append(ask(asked, Request(prompt="How many?")).served_by)
    assert served == ["", "exec-2026-05-01", "exec [key]", "", "x" * 297 + "..."]


# ---------------------------------------------------------------- streamed


def test_a_streamed_reply_is_the_same_whole_with_its_tokens() -> None:
    with provider(answer=lambda body: "<think>hm</think>it is\n\n7 then") as server:
        whole = ask(model(server.openai_url), Request(prompt="How many are there?"))
        streamed = ask(model(server.openai_url, "&stream=on"), Request(prompt="How many are there?"))
        fields = server.asked[1].body
    assert streamed == Completion(**{**msgspec.structs.asdict(whole), "provider_id": "chatcmpl-2"})
    assert streamed.text == "it is\n\n7 then" and streamed.output_tokens == 4
    assert (fields["stream"], fields["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize(
    ("fault_name", "kind"),
    [
        ("reset", "connection"),
        ("429", "busy"),
        ("500", "server"),
        ("too long", "no_room"),
        ("cut", "connection"),
        ("unfinished", "connection"),
        ("broken off", "malformed"),
        ("shape", "malformed"),
    ],
)
def test_every_fault_of_a_stream_is_told_by_its_kind(fault_name: str, kind: str) -> None:
    assert fault(fault_name, more="&stream=on")[0] == kind


def test_a_stream_that_repeats_itself_is_hung_up_on_at_the_same_place_however_it_is_divided() -> None:
    text = "That makes 7, and the answer is 7.\n" * 2000
    with provider(answer=lambda body: text) as server:
        reply = ask(model(server.openai_url, "&stream=on"), Request(prompt="?"))
        assert ask(model(server.openai_url), Request(prompt="?")).stop_reason == "end"  # a whole reply may loop
    assert (reply.text, reply.stop_reason, reason_of(reply)) == (text[:4000], "loop", "looped")
    sent = streamed(choice({"reasoning_content": text[:4999]}), choice({"reasoning_content": text}))
    with hostile(lambda said: Reply(200, sent, {"content-type": "text/event-stream"})) as url:
        thought = ask(model(f"{url}/v1", "&stream=on"), Request(prompt="?"))
    assert (thought.text, thought.stop_reason) == ("", "loop")


@pytest.mark.parametrize("kind", ["content", "tool"])
@pytest.mark.parametrize("looping", ["The answer is 8. ", "\n"])
def test_a_typed_reply_that_repeats_itself_is_ended_long_before_its_limit(kind: str, looping: str) -> None:
    text = '{"score": 0.5, "reason": "' + looping * 9000
    call = {"index": 0, "function": {"name": "reply", "arguments": text}}
    sent = streamed(choice({"content": text} if kind == "content" else {"tool_calls": [call]}))
    request = Request(prompt="?", reply_schema='{"type": "object", "properties": {}}')
    with hostile(lambda said: Reply(200, sent, {"content-type": "text/event-stream"})) as url:
        reply = ask(model(f"{url}/v1", f"&stream=on&structured={'tool' if kind == 'tool' else 'json_schema'}"), request)
    assert (reply.text, reason_of(reply)) == (text[:1000], "looped")


def streamed(*pieces: object) -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(piece) + b"\n\n" for piece in pieces) + b"data: [DONE]\n\n"


def choice(delta: object, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, **more}]}


SAID = (choice({"content": "it is "}), choice({"content": "7"}), choice({}, finish_reason="stop"))


@pytest.mark.parametrize(
    "sent",
    [
        b"\xef\xbb\xbf" + streamed(*SAID),
        streamed({}, *SAID, {"choices": None}, choice(None), {"choices": [{}]}),
        streamed(*SAID, {"choices": [{"index": 1, "delta": {"content": "another"}, "finish_reason": "length"}]}),
        streamed(choice({"content": [{"type": "text", "text": "it is "}]}), *SAID[1:]),
    ],
)
def test_what_a_stream_says_besides_the_reply_changes_nothing_in_it(sent: bytes) -> None:
    with hostile(lambda said: Reply(200, sent, {"content-type": "text/event-stream"})) as url:
        reply = ask(model(f"{url}/v1", "&stream=on"), Request(prompt="?"))
    assert (reply.text, reply.stop_reason) == ("it is 7", "end")


@pytest.mark.parametrize("part", [3, [1], None])
@pytest.mark.parametrize("place", ["event", "choices", "choice", "delta", "content", "tool_calls", "call", "usage"])
def test_a_piece_of_a_stream_in_another_shape_is_malformed_and_nothing_worse(place: str, part: object) -> None:
    pieces = {
        "event": part,
        "choices": {"choices": part},
        "choice": {"choices": [part]},
        "delta": choice(part),
        "content": choice({"content": part}),
        "tool_calls": choice({"tool_calls": part}),
        "call": choice({"tool_calls": [part]}),
        "usage": {"choices": [], "usage": part},
    }
    sent = streamed(SAID[0], pieces[place], *SAID[1:])
    with hostile(lambda said: Reply(200, sent, {"content-type": "text/event-stream"})) as url:
        served = model(f"{url}/v1", "&stream=on")
        if part is None and place not in ("event", "choice", "call"):
            assert ask(served, Request(prompt="?")).text == "it is 7"
            return
        with pytest.raises(ModelFault) as raised:
            ask(served, Request(prompt="?"))
    assert raised.value.fault.kind == "malformed"


@pytest.mark.parametrize("fault_name", ["silence", "stall"])
def test_a_stream_that_falls_silent_is_noticed_long_before_the_timeout(fault_name: str) -> None:
    assert fault(fault_name, more="&stream=on&stall=0.3&timeout=25") == ("timeout", 0)


@pytest.mark.slow
def test_a_slow_stream_is_waited_for_while_it_says_something() -> None:
    words = " ".join(["word"] * 45)  # a tenth of a second each: longer than it may be silent
    with provider(answer=lambda body: words, faults=["drip"]) as server:
        reply = ask(model(server.openai_url, "&stream=on&stall=4"), Request(prompt="?"))
    assert reply.text == words


def test_a_stream_that_never_ends_is_given_up_after_the_timeout() -> None:
    assert fault("drip", more="&stream=on&stall=5&timeout=0.25") == ("timeout", 0)


# ---------------------------------------------------------------- context


def test_a_prompt_that_may_be_longer_than_the_context_reaches_no_server() -> None:
    with provider() as server:
        small = model(server.openai_url, "&context=100")
        assert ask(small, Request(prompt="word " * 20, max_tokens=20)).text
        assert ask(small, Request(prompt="word " * 20, max_tokens=90)).text
        with pytest.raises(ModelFault, match="do not fit the 100 allowed") as raised:
            ask(small, Request(prompt="word " * 60, max_tokens=20))
        assert [asked.body["max_tokens"] for asked in server.asked] == [20, 46]
    assert (raised.value.fault.kind, raised.value.fault.status) == ("too_long", 0)


@pytest.mark.slow
def test_many_calls_at_once_keep_their_connections_for_the_next() -> None:
    with provider(latency_s=0.3) as server:
        served = model(server.openai_url)

        async def twice() -> None:
            for _ in range(2):
                await asyncio.gather(*(served.complete(Request(prompt="?")) for _ in range(150)))
            await served.close()

        asyncio.run(twice())
        assert server.connections <= 150


def test_a_server_that_names_its_context_is_asked_again_for_what_fits() -> None:
    with provider(faults=["too long"]) as server:
        unknown = model(server.openai_url)
        with pytest.raises(ModelFault, match="maximum context length") as raised:
            ask(unknown, Request(prompt="word " * 20))
        assert raised.value.fault.passes
        assert ask(unknown, Request(prompt="word " * 20)).text
        assert [asked.body["max_tokens"] for asked in server.asked] == [4096, 1994]
