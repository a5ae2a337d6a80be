"""What a provider is asked before a run, and what is said of each way in which it may disappoint."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.benchmarks.registry import with_own_models
from mage_es.engine.config import Config
from mage_es.engine.models.registry import open_model
from mage_es.engine.providers import doctor, served
from mage_es.engine.providers.doctor import DoctorCheck, FirstPrompt, first_prompts, trial
from mage_es.engine.seams.model import Request
from mage_es.engine.verbs.data import tasks_of
from tests.engine.providers.provider import provider
from tests.engine.study.test_ring import THINGS
from tests.hostile.server import Reply, Respond, Said, completion, embedding, failure, hostile, message

CONFIG = Config(benchmark="wordmath")
TYPED = '{"greeting": "hello"}'
FIRST = FirstPrompt(Request(prompt="How many are 3 and 4?"), str.strip)
FORM = FirstPrompt(
    Request(prompt="Greet me.", reply_schema='{"type": "object"}'),
    lambda text: "" if "greeting" not in text else "a form",
)
CANARY = "sk-canary-0123456789abcdef"


def healthy(said: Said) -> Reply:
    """A server that does all that is asked of it."""
    if "/models" in said.path:
        return Reply(200, {"object": "list", "data": [{"id": "exec", "max_model_len": 32_768}, {"id": "other"}]})
    if said.path.endswith("/messages"):
        return message(TYPED if "output_config" in said.body else "hello")
    return completion(TYPED if "response_format" in said.body else "hello")


def but(path: str, reply: Reply) -> Respond:
    """A healthy server with another reply on one path."""
    return lambda said: reply if path in said.path else healthy(said)


def serving(**model: Any) -> Respond:
    return but("/models", Reply(200, {"object": "list", "data": [model]}))


def checked(spec: str, tier: Any, first: list[FirstPrompt]) -> list[DoctorCheck]:
    model = open_model(spec, tier)
    assert isinstance(model, served.ServedModel)
    return list(trial(model, tier, CONFIG, first))


def asked(
    respond: Respond, tier: Any = "guidance", *, kind: str = "openai", options: str = ""
) -> dict[str, DoctorCheck]:
    with hostile(respond) as url:
        base = f"{url}/v1" if kind == "openai" else url
        found = checked(f"{kind}/exec?base_url={base}{options}", tier, [FIRST if tier == "execution" else FORM])
        return {finding.name.removeprefix(f"{tier} "): finding for finding in found}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_server_that_does_all_that_is_needed_has_no_finding_but_good_ones(kind: str) -> None:
    found = asked(healthy, kind=kind)
    assert list(found) == ["endpoint", "context", "trial", "reply"]
    assert re.fullmatch(
        r"One trial call: \d+ tokens in and [1-9]\d* out, which no ledger counts.", found["trial"].detail
    )
    assert {finding.state for finding in found.values()} == {"ok"}


def test_a_proxy_that_no_client_can_use_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://me:secret@there:x")
    monkeypatch.setenv("NO_PROXY", "")
    found = asked(healthy)["endpoint"]
    assert found.state == "failed" and "ALL_PROXY" in found.detail and "secret" not in found.detail


def test_options_of_the_spec_hold_for_the_doctor_too() -> None:
    assert {finding.state for finding in asked(healthy, options="&timeout=1000&seed=5").values()} == {"ok"}


def test_a_name_that_is_not_served_is_told_with_the_nearest_and_nothing_else_is_asked() -> None:
    found = asked(serving(id="exec-7b"))
    assert list(found) == ["endpoint"] and found["endpoint"].state == "failed"
    assert "does not serve exec. Did you mean exec-7b?" in found["endpoint"].detail


@pytest.mark.parametrize("served", ["exec:latest", "exec-20260101", "exec-2026-01-01"])
def test_a_tag_or_a_date_behind_the_name_is_the_same_model(served: str) -> None:
    assert asked(serving(id=served))["endpoint"].state == "ok"


@pytest.mark.parametrize(("context", "state"), [(4_000, "failed"), (13_000, "optional"), (17_000, "ok")])
def test_the_context_is_held_against_what_prompts_and_replies_take(context: int, state: str) -> None:
    found = asked(serving(id="exec", max_model_len=context))
    assert found["context"].state == state
    assert bool(found["context"].remedy) == (state != "ok")


@pytest.mark.parametrize(("tier", "state"), [("judge", "ok"), ("execution", "optional"), ("guidance", "failed")])
def test_a_judge_needs_little_context_and_guidance_much(tier: str, state: str) -> None:
    assert asked(serving(id="exec", max_model_len=6_000), tier)["context"].state == state


@pytest.mark.parametrize(
    ("model", "options", "remedy"),
    [
        (
            {"max_model_len": 8_192},
            "",
            "(vLLM: --max-model-len 16096; Ollama: OLLAMA_CONTEXT_LENGTH=16096, and context=",
        ),
        ({"max_model_len": 32_768}, "&context=8192", "Set context=16096 in the spec: the provider serves 32768"),
    ],
)
def test_how_a_context_is_made_longer_is_said_in_the_words_of_who_serves(
    model: dict[str, int], options: str, remedy: str
) -> None:
    found = asked(serving(id="exec", **model), options=options)["context"]
    assert (found.state, remedy in found.remedy) == ("optional", True), found
    assert "; briefs are cut to what" in found.remedy


def test_a_context_that_the_spec_says_and_the_server_has_not_is_found() -> None:
    found = asked(serving(id="exec", max_model_len=16_000), options="&context=32000")
    assert found["context"].state == "failed" and "context=16000" in found["context"].remedy


def test_without_a_word_of_the_context_nothing_is_said_of_it() -> None:
    assert "context" not in asked(serving(id="exec"))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("text", ["hello", f"Here it is: {TYPED}"])
def test_free_text_where_a_form_was_asked_for_is_told(kind: str, text: str) -> None:
    free = completion(text) if kind == "openai" else message(text)
    found = asked(but("/messages" if kind == "anthropic" else "/chat", free), kind=kind)["reply"]
    assert found.state == "optional" and "enforces response_format" in found.remedy


def test_a_server_that_refuses_the_form_is_told_what_to_say_instead() -> None:
    def refusing(said: Said) -> Reply:
        return failure(400, "unknown field response_format") if "response_format" in said.body else healthy(said)

    found = asked(refusing)["reply"]
    assert found.state == "failed" and "structured=none" in found.remedy and "unknown field" in found.detail


@pytest.mark.parametrize(
    ("status", "state", "remedy"),
    [(401, "failed", "OPENAI_API_KEY"), (403, "failed", "OPENAI_API_KEY"), (429, "optional", "try again")],
)
@pytest.mark.parametrize("path", ["/models", "/chat"])
def test_what_is_refused_is_told_with_what_mends_it(path: str, status: int, state: str, remedy: str) -> None:
    found = list(asked(but(path, failure(status, "no")), "execution").values())[-1]
    assert found.state == state and remedy in found.remedy


def test_a_server_that_lists_no_models_is_asked_all_the_same() -> None:
    found = asked(but("/models", failure(404, "what?")))
    assert found["endpoint"].state == "ok" and found["reply"].state == "ok"


def test_what_is_no_list_of_models_is_no_endpoint() -> None:
    found = asked(but("/models", Reply(200, ["hello"])))
    assert found["endpoint"].state == "failed" and "base_url" in found["endpoint"].remedy


def thinking(tokens: int, limit_of: list[int]) -> Respond:
    """A server that thinks so many tokens before its seven, cut where the request says."""

    def respond(said: Said) -> Reply:
        if "/chat" not in said.path:
            return healthy(said)
        limit = said.body["max_tokens"]
        limit_of.append(limit)
        is_cut = tokens >= limit
        thought = "".join(f"Is it {number}? " for number in range(99))
        message = {"role": "assistant", "content": "" if is_cut else "7", "reasoning_content": thought}
        choice = {"index": 0, "message": message, "finish_reason": "length" if is_cut else "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": min(tokens + 1, limit)}
        return Reply(200, {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})

    return respond


@pytest.mark.parametrize(
    ("tokens", "state", "limits", "told", "remedy"),
    [
        (900, "ok", [4096], "whole: 901 tokens, 900 of them thinking; its answer: 7", ""),
        (5000, "optional", [4096, 8192], "the first was no answer", "thinking=off"),
        (
            10**6,
            "failed",
            [4096, 8192],
            "its reply was cut: 8192 tokens, 8192 of them",
            "--max-tokens, set thinking=off",
        ),
    ],
)
def test_a_trial_says_whether_the_reply_was_whole_and_how_long_it_thought_and_what_to_set(
    tokens: int, state: str, limits: list[int], told: str, remedy: str
) -> None:
    asked_with: list[int] = []
    found = asked(thinking(tokens, asked_with), "execution")["reply"]
    assert (found.state, asked_with) == (state, limits)
    assert told in found.detail and remedy in found.remedy


def test_a_trial_of_a_model_that_repeats_itself_asks_once_and_says_so() -> None:
    def respond(said: Said) -> Reply:
        if "/chat" not in said.path:
            return healthy(said)
        asked_with.append(said.body["max_tokens"])
        message = {"role": "assistant", "content": "The answer is 7.\n" * 200}
        usage = {"prompt_tokens": 9, "completion_tokens": said.body["max_tokens"]}
        choice = {"index": 0, "message": message, "finish_reason": "length"}
        return Reply(200, {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})

    asked_with: list[int] = []
    found = asked(respond, "execution")["reply"]
    assert (found.state, asked_with) == ("failed", [4096])
    assert "repeats itself" in found.detail and "--answer-temperature" in found.remedy


@pytest.mark.parametrize(
    ("message", "state", "told", "remedy"),
    [
        ({"content": None, "reasoning_content": "It is 7."}, "failed", "no text (stop reason end", "parser"),
        ({"content": ""}, "failed", "no text", "thinking=off"),
        ({"content": None, "tool_calls": [{"id": "a"}]}, "failed", "no text", "thinking=off"),
        ({"content": None, "refusal": "I will not."}, "failed", "refuses", "Choose a model"),
    ],
)
def test_a_reply_that_is_no_answer_is_told_with_what_may_help(
    message: dict[str, object], state: str, told: str, remedy: str
) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 90}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    reply = Reply(200, {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})
    found = asked(but("/chat", reply), "execution")["reply"]
    assert found.state == state and told in found.detail and remedy in found.remedy


def test_an_answer_that_is_not_found_in_a_whole_reply_is_told_with_its_end() -> None:
    nothing = FirstPrompt(Request(prompt="?"), lambda text: "")
    with hostile(healthy) as url:
        found = list(checked(f"openai/exec?base_url={url}/v1", "execution", [nothing]))[-1]
    assert found.state == "optional" and "without an answer" in found.detail and "hello" in found.detail


def test_the_trial_is_the_benchmarks_own_first_prompt_for_each_tier() -> None:
    prompts = first_prompts(config := with_own_models(CONFIG), tasks_of(config, None))
    first, *others = prompts["execution"]
    assert len({first.request.text, *(other.request.text for other in others)}) == 3
    assert "####" in first.request.text
    assert first.read("So it is\n#### 7") == "7"
    (guidance,), (judge,) = prompts["guidance"], prompts["judge"]
    assert guidance.read("no form at all") == "" != guidance.request.reply_schema
    assert judge.read('{"score": 1, "reason": "equal"}')
    elsewhere = first_prompts(Config(benchmark="gsm8k"), None)
    assert elsewhere["execution"][0].request.system == first.request.system


def test_guidance_is_tried_by_a_prompt_that_the_run_asks() -> None:
    config = with_own_models(Config(benchmark="wordmath", skill_splitting=False))
    (guidance,) = first_prompts(config, world := tasks_of(config, None))["guidance"]
    first = world.questions[world.setting.evolution[0]].question
    assert first in guidance.request.prompt and '"brief":"failure_memories"' in guidance.request.prompt
    assert guidance.read('{"memories": []}') == "a FailureReply"


def test_nobody_at_the_address_is_told_at_once() -> None:
    with hostile(healthy) as url:
        pass
    (found,) = checked(f"openai/exec?base_url={url}/v1", "execution", [FIRST])
    assert found.state == "failed" and "Start the server" in found.remedy


def test_a_server_that_does_not_answer_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "TIMEOUT_S", 0.2)
    import threading

    with hostile(lambda said: Reply(200, {"slept": threading.Event().wait(1.0)})) as url:
        (found,) = checked(f"openai/exec?base_url={url}/v1", "execution", [FIRST])
    assert found.state == "failed" and "within 0.2 s" in found.detail


def test_a_key_that_comes_back_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", CANARY)

    def echo(said: Said) -> Reply:
        return failure(401, f"not {said.headers['authorization']}")

    found = asked(echo, options="&key_env=OWN_KEY")["endpoint"]
    assert "[key]" in found.detail and CANARY not in str(found) and "OWN_KEY" in found.remedy


def diagnosed(*, calls: bool = True, **changes: str) -> dict[str, DoctorCheck]:
    config = with_own_models(Config(benchmark="wordmath", **changes))  # type: ignore[arg-type]
    found = [*doctor.models(config, calls=calls), *doctor.embedder(config.embedder, calls=calls)]
    return {finding.name: finding for finding in found}


def test_nobody_is_asked_where_no_calls_are_wanted() -> None:
    paths: list[str] = []

    def counting(said: Said) -> Reply:
        paths.append(said.path)
        return embedding(said.body["input"]) if said.path.endswith("/embeddings") else healthy(said)

    with hostile(counting) as url:
        spec = f"openai/exec?base_url={url}/v1"
        quiet = diagnosed(calls=False, execution=spec, embedder=spec)
        assert paths == [] and "execution endpoint" not in quiet and "not asked" in quiet["embedder"].detail
        asked = diagnosed(execution=spec, embedder=spec)
    assert paths.count("/v1/models") == 1 and paths.count("/v1/chat/completions") == 3
    assert asked["execution endpoint"].state == "ok" and "36 dimensions" in asked["embedder"].detail


def test_guidance_that_a_run_would_never_ask_is_not_tried_and_it_is_said_why(tmp_path: Path) -> None:
    rows = [f"Ticket {n}: the {thing} is gone,{label},tickets" for n in range(9) for thing, label in THINGS.items()]
    (tmp_path / "tickets.csv").write_text("\n".join(["question,answer,task_type", *rows]) + "\n")
    labels = ",".join(THINGS.values())
    paths = list[str]()

    def counting(said: Said) -> Reply:
        paths.append(said.path)
        return healthy(said)

    with hostile(counting) as url:
        config = Config(
            benchmark=f"tasks/{tmp_path}/tickets.csv?scorer=choice&labels={labels}",
            execution="builtin/reference",
            guidance=f"openai/exec?base_url={url}/v1",
            held_out=4,
            anchors=4,
        )
        told, begun = tried(config)
        assert (begun, paths) == ([], []) and "never asks it: nothing would read what it writes" in told.detail
        told, begun = tried(msgspec.structs.replace(config, prompt_refinement=True))
        assert "Asking openai/exec: " in begun[0] and "/v1/chat/completions" in paths and "never" not in told.detail


def tried(config: Config) -> tuple[DoctorCheck, list[str]]:
    """Return what is said of the guidance model, and what is announced before."""
    begun = list[str]()
    found = doctor.diagnose(config, runs_dir=Path("runs"), data_dir=None, now=1, say=begun.append)
    return next(each for each in found.checks if each.name == "guidance model"), begun


def test_embedded_models_are_asked_nothing() -> None:
    found = diagnosed()
    assert set(found) == {"execution model", "guidance model", "embedder"}


def test_a_missing_key_is_told_with_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    found = diagnosed(guidance="anthropic/claude-opus-4-8")["guidance model"]
    assert found.state == "failed" and found.remedy == "export ANTHROPIC_API_KEY=..."


def test_an_embedders_server_that_is_away_is_not_waited_for() -> None:
    with hostile(healthy) as url:
        pass
    spec = f"openai/e?base_url={url}/v1"
    found = diagnosed(embedder=spec)["embedder"]
    assert found.state == "failed" and "/v1/embeddings" in found.remedy
    assert spec in found.detail and "timeout=" not in found.detail and "doctor" not in found.detail


@pytest.mark.parametrize("tells", [True, False])
def test_of_an_embedders_server_it_is_told_whether_tokens_can_be_counted(tells: bool) -> None:
    with provider() as server:
        server.tells_tokens = tells
        found = diagnosed(embedder=f"openai/e?base_url={server.openai_url}")
    assert found["embedder"].state == "ok"
    assert found["embedder tokens"].state == ("ok" if tells else "optional")
    assert ("--max-calls" in found["embedder tokens"].remedy) is not tells
