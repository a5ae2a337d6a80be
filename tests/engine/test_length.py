"""Servers whose replies are no answers: cut in their thinking, empty, refused, enormous, or of a form not asked for."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.config import Config
from mage_es.engine.players.analogist.model import reply
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from tests.bench.length import measured, never_stops, repeats_itself, thinks
from tests.engine.providers.provider import Answer, Provider, Said, provider, request_of

pytestmark = pytest.mark.slow

SMALL = {"benchmark": "wordmath", "iterations": 1, "pool": 12, "held_out": 10, "anchors": 4}


def events(run: Run, *types: type) -> list[Any]:
    return list(LogReader(run.log_path).of(*types))


def ran(folder: Path, server: Provider, *, kind: str = "openai", options: str = "", **changes: Any) -> Run:
    url = server.openai_url if kind == "openai" else server.anthropic_url
    config = Config(**{**SMALL, **changes, "execution": f"{kind}/exec?base_url={url}{options}"})
    evolve(config, runs_dir=folder, runtime=Runtime(workers=4), run_id="r")
    return find_run(folder, "r")


def test_a_server_that_thinks_900_tokens_is_asked_once_for_almost_every_answer(tmp_path: Path) -> None:
    found = measured(thinks, tmp_path, pool=40)
    assert found.calls_per_prompt <= 1.1
    assert (found.identical, found.unanswered) == (0, 0)
    assert found.right and found.thought > 0.9 * found.tokens > 100_000


def test_a_server_that_never_stops_leaves_every_question_a_wrong_answer_that_was_truncated(tmp_path: Path) -> None:
    found = measured(never_stops, tmp_path, pool=10)
    assert found.calls_per_prompt <= 1.1
    assert (found.identical, found.unanswered, found.right) == (0, 0, 0)
    assert found.truncated == found.questions and found.cut == found.calls


def test_a_server_that_repeats_itself_is_asked_once_for_each_answer_and_never_with_a_higher_limit(
    tmp_path: Path,
) -> None:
    found = measured(repeats_itself, tmp_path, pool=10)
    assert found.looped == found.questions and (found.right, found.truncated) == (0, 0)
    assert found.calls == found.prompts == found.cut


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_thinking_that_repeats_itself_is_seen_though_it_is_in_no_record(tmp_path: Path, kind: str) -> None:
    def answer(body: dict[str, Any]) -> Said:
        return Said(None, "length", made=body["max_tokens"], aside="Wait, is it 3?\n" * 100)

    with provider(answer=answer) as server:
        run = ran(tmp_path, server, kind=kind, bandits=False, pool=4, anchors=2)
        asked = len(server.asked)
    judged = events(run, v.AnswerJudged)
    assert {(e.reason, e.answer) for e in judged} == {("looped", "")} and asked == len(judged)


def over(limit: int) -> Callable[[dict[str, Any]], Said]:
    """A model whose reply takes more tokens than a limit, and is right to say 7 with twice as many."""

    def answer(body: dict[str, Any]) -> Said:
        most = body["max_tokens"]
        return (
            Said("Step by step...", "length", made=most) if most <= limit else Said("So it is\n#### 7", made=limit + 1)
        )

    return answer


def test_a_reply_that_was_cut_is_asked_again_once_with_a_doubled_limit_which_later_phases_begin_with(
    tmp_path: Path,
) -> None:
    with provider(answer=over(100)) as server:
        run = ran(tmp_path, server, max_tokens=100, bandits=False)
        limits = [asked.body["max_tokens"] for asked in server.asked]
    anchors = [e for e in events(run, v.ModelCalled) if e.purpose == "anchor" and e.iteration < 0]
    assert sorted(limits[:8]) == [100] * 4 + [200] * 4 and set(limits[8:]) == {200}
    assert [(e.attempt, e.stop_reason) for e in anchors if e.about == anchors[0].about] == [(0, "length"), (1, "end")]
    assert len({e.request_sha256 for e in anchors}) == len(anchors) == 8
    assert {e.max_tokens for e in events(run, v.QuestionPlanned) if e.iteration < 0} == {0}
    assert {e.max_tokens for e in events(run, v.QuestionPlanned) if e.iteration == 0} == {200}
    assert {e.answer for e in events(run, v.AnswerJudged)} == {"7"}
    assert {e.reason for e in events(run, v.AnswerJudged)} == {""}


def test_what_is_cut_even_then_is_wrong_whatever_it_said_after_thinking(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Said:
        right = reply(request_of(body)).splitlines()[-1]
        return Said(f"<think>3?</think>\n{right}\nAnd then", "length", made=body["max_tokens"])

    with provider(answer=answer) as server:
        run = ran(tmp_path, server)
    judged = events(run, v.AnswerJudged)
    assert {(e.correct, e.score_micro, e.reason) for e in judged} == {(False, 0, "truncated")}
    assert all(e.answer for e in judged)
    assert not events(run, v.AnswerUnanswered, v.CallFailed)
    assert not [e for e in events(run, v.MemoryAppended) if e.outcome == "success_memory"]


def test_a_context_that_leaves_no_room_for_a_longer_reply_is_not_asked_for_one(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Said:
        return Said("<think>so", "length", made=min(body["max_tokens"], 900))

    with provider(answer=answer) as server:
        run = ran(tmp_path, server, max_tokens=2000)
        assert server.asked[0].body["max_tokens"] == 2000
    anchors = [e for e in events(run, v.ModelCalled) if e.iteration < 0 and e.tier == "execution"]
    assert {e.attempt for e in anchors} == {0}
    assert {e.reason for e in events(run, v.AnswerJudged)} == {"truncated"}


def test_a_raised_limit_that_the_server_refuses_leaves_the_reply_that_was_cut(tmp_path: Path) -> None:
    def treat(number: int) -> str:
        return "400" if server.asked[number].body["max_tokens"] > 100 else ""

    with provider(answer=over(100), faults=treat) as server:
        run = ran(tmp_path, server, max_tokens=100, bandits=False)
    judged = events(run, v.AnswerJudged)
    assert {e.reason for e in judged} == {"truncated"} and not events(run, v.AnswerUnanswered)
    first = [e for e in judged if e.iteration < 0]
    shown = show(run, first[0].question_id, data_dir=None, iteration=-1)
    assert shown.reply == "Step by step..." and shown.prompt_verified


def test_a_run_stopped_between_a_cut_reply_and_the_raised_call_goes_on_with_that(tmp_path: Path) -> None:
    with provider(answer=over(100)) as server:
        config = Config(**{**SMALL, "max_tokens": 100}, execution=f"openai/exec?base_url={server.openai_url}")
        stop = Runtime(workers=1, stop=lambda: len(server.asked) >= 3)
        with pytest.raises(Interrupted):
            evolve(config, runs_dir=tmp_path, runtime=stop, run_id="r")
        run = find_run(tmp_path, "r")
        resume(run, config=None, data_dir=None, runtime=Runtime(workers=1))
        asked = len(server.asked)
    called = [e for e in events(run, v.ModelCalled) if e.tier == "execution"]
    keys = {(e.iteration, e.purpose, e.about, e.attempt, e.request_sha256) for e in called}
    assert len(keys) == len(called) == asked
    assert all(check.equal for check in replay(run).checks)


HUGE = "I think it is 3. " * 12_000
UNASKED: Sequence[tuple[str, Said, str, set[str]]] = [
    ("another language", Said("Die Antwort ist sieben.\n#### 7"), "", {"7"}),
    ("an empty string", Said(""), "empty", {""}),
    ("blanks", Said(" \n\n "), "empty", {""}),
    ("200 KB", Said(HUGE + "\n#### 7"), "", {"7"}),
    ("JSON", Said(json.dumps({"reasoning": "3 + 4", "answer": 7}) + "\n#### 7"), "", {"7"}),
    ("a tool call", Said(None, "tool_calls"), "empty", {""}),
    ("unclosed thinking", Said("<think>3 + 4 is 7\n#### 9"), "empty", {""}),
    ("parts", Said([{"type": "text", "text": "So it is\n"}, {"type": "text", "text": "#### 7"}]), "", {"7"}),
    ("thinking aside", Said("#### 7", aside="#### 9"), "", {"7"}),
    ("thinking in the middle", Said("Well.\n<think>\n#### 9\n</think>\n#### 7"), "", {"7"}),
]


OTHERWISE = ("an empty string", "a tool call", "parts", "thinking aside")
"""What the two protocols have in different forms; the other texts are texts in both."""


@pytest.mark.parametrize(
    ("kind", "said", "reason", "answers"),
    [
        pytest.param(kind, *row[1:], id=f"{row[0]}-{kind}")
        for row in UNASKED
        for kind in ("openai", "anthropic")
        if kind == "openai" or row[0] in OTHERWISE
    ],
)
def test_whatever_a_model_says_has_a_verdict_or_a_reason_and_is_asked_twice_at_most(
    tmp_path: Path, kind: str, said: Said, reason: str, answers: set[str]
) -> None:
    said_so: Answer = lambda body: said  # noqa: E731
    with provider(answer=said_so) as server:
        run = ran(tmp_path, server, kind=kind, bandits=False, pool=4, anchors=2)
        asked = len(server.asked)
    judged = events(run, v.AnswerJudged)
    assert len(judged) == len(events(run, v.QuestionPlanned)) and not events(run, v.AnswerUnanswered, v.CallFailed)
    assert {e.reason for e in judged} == {reason}
    assert {e.answer for e in judged} == answers
    assert asked <= (2 if reason else 1) * len(judged)
    assert not any("#### 9" in e.text for e in events(run, v.ModelCalled) if e.tier == "execution")
    assert not any("#### 9" in e.reasoning for e in events(run, v.MemoryAppended))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_refusal_is_a_wrong_answer_and_asked_once(tmp_path: Path, kind: str) -> None:
    with provider(faults=lambda number: "refusal") as server:
        run = ran(tmp_path, server, kind=kind, bandits=False)
        asked = len(server.asked)
    judged = events(run, v.AnswerJudged)
    assert {(e.reason, e.correct) for e in judged} == {("refused", False)}
    assert len(judged) == asked and not events(run, v.AnswerUnanswered)
