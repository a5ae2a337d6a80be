"""Runs with a model behind a server that misbehaves: what is counted, what is said, and what is kept."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mage_es.engine.players.analogist.model import reply
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from tests.engine.providers.provider import provider, request_of
from tests.few_words import IN_A_PROCESS

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
SMALL = ("--iterations", "1", "--pool", "30", "--held-out", "20", "--anchors", "10", "--run-id", "r")
FAULTS = ("reset", "429", "500", "503", "529", "408", "truncated", "cut", "shape")
CANARY = "sk-canary-0123456789abcdef"


def solved(body: dict[str, Any]) -> str:
    """Answer as the embedded learner would."""
    return reply(request_of(body))


def one_in_ten(number: int) -> str:
    """Treat a tenth of the requests badly, always the same ones."""
    random = Random(number)
    return random.choice(FAULTS) if random.random() < 0.1 else ""


def events(folder: Path, *types: type[v.Event]) -> list[Any]:
    return list(LogReader(folder / "runs" / "r" / "log").of(*types))


def test_with_a_tenth_of_the_calls_failing_every_question_is_accounted_for_to_the_call_and_token(
    mage: Command, tmp_path: Path
) -> None:
    with provider(answer=solved, faults=one_in_ten) as server:
        outcome = mage("evolve", "wordmath", *SMALL, "--execution", f"openai/exec?base_url={server.openai_url}")
    assert outcome.code == 0, outcome.err
    planned = [(e.iteration, e.purpose, e.question_id) for e in events(tmp_path, v.QuestionPlanned)]
    settled = [(e.iteration, e.purpose, e.question_id) for e in events(tmp_path, v.AnswerJudged, v.AnswerUnanswered)]
    # Of the anchors some are planned and then carried, as enough others were asked.
    settled += {(e.iteration, "anchor", e.question_id) for e in events(tmp_path, v.AnswerCarried)} & set(planned)
    assert sorted(planned) == sorted(settled) and len(set(planned)) == len(planned)
    called = [e for e in events(tmp_path, v.ModelCalled) if e.tier == "execution"]
    assert set(Counter((e.iteration, e.purpose, e.about, e.attempt) for e in called).values()) == {1}
    failed = events(tmp_path, v.CallFailed)
    assert len(failed) == sum(bool(one_in_ten(number)) for number in range(len(server.asked))) > 0
    shown = json.loads(mage("runs", "show", "r", "--json").out)["ledger"]
    rows = [row for row in shown if row["tier"] == "execution"]
    assert sum(row["calls"] for row in rows) == server.served == len(server.asked) - len(failed)
    assert sum(row["input_tokens"] for row in rows) == server.input_tokens
    assert sum(row["output_tokens"] for row in rows) == server.output_tokens
    assert sum(row["failures"] for row in rows) == len(failed)
    assert {row["usd"] for row in rows} == {0.0}
    table = mage("runs", "show", "r").out
    assert "costs nothing" in table
    total = next(line.split() for line in table.splitlines() if line.startswith("execution  all"))
    assert total[2:6] == [str(server.served), "0", str(len(failed)), str(len(failed))]
    assert (total[6], total[9]) == (str(server.input_tokens), str(server.output_tokens))
    assert mage("verify", "r").code == 0
    assert mage("replay", "r").code == 0


def test_a_name_that_moves_to_another_model_within_a_run_is_on_record_and_shown(mage: Command, tmp_path: Path) -> None:
    with provider(answer=solved) as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        assert mage("evolve", "wordmath", *SMALL, "--execution", spec).code == 0
        assert "exec (" not in mage("runs", "show", "r").out
        before = json.loads(mage("runs", "show", "r", "--json").out)
        assert before["served"] == {}
        server.name_of = lambda asked: f"exec-2026-{'01' if server.served <= 12 else '05'}"
        server.served = 0
        (tmp_path / "runs" / "r").rename(tmp_path / "runs" / "before")
        assert mage("evolve", "wordmath", *SMALL, "--execution", spec, "--workers", "1").code == 0
    calls = [e for e in events(tmp_path, v.ModelCalled) if e.tier == "execution"]
    names = Counter(e.served_by for e in calls)
    assert names == {"exec-2026-01": 12, "exec-2026-05": len(calls) - 12}
    shown = json.loads(mage("runs", "show", "r", "--json").out)
    assert shown["served"] == {spec: dict(names)}
    told = f"MORE THAN ONE MODEL answered: exec-2026-01 (12 calls), exec-2026-05 ({len(calls) - 12} calls)"
    assert f"{spec}: {told}" in mage("runs", "show", "r").out
    question = next(e.about for e in calls if e.purpose == "fresh" and e.served_by == "exec-2026-05").partition("/")[0]
    assert "Reply of exec-2026-05:" in mage("show", question, "r").out
    closed = events(tmp_path, v.IterationClosed)
    (tmp_path / "runs" / "r").rename(tmp_path / "runs" / "after")
    (tmp_path / "runs" / "before").rename(tmp_path / "runs" / "r")
    assert [e.digests for e in closed] == [e.digests for e in events(tmp_path, v.IterationClosed)]
    assert all(call.served_by == "" for call in events(tmp_path, v.ModelCalled) if call.tier == "guidance")


def test_no_more_calls_are_in_flight_than_connections_are_allowed(mage: Command) -> None:
    with provider(answer=solved, latency_s=0.01) as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        words = ("--execution", spec, "--workers", "16", "--max-connections", "3")
        assert mage("evolve", "wordmath", *SMALL, *words).code == 0
        assert server.most_in_flight == 3


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_a_provider_that_refuses_every_call_ends_the_run_at_once_with_the_remedy(mage: Command, status: str) -> None:
    with provider(faults=[status] * 99) as server:
        url = server.openai_url
        outcome = mage("evolve", "wordmath", *SMALL, "--execution", f"openai/exec?base_url={url}", "--workers", "1")
    assert outcome.code == 4
    assert len(server.asked) == 1
    assert "refuses every call" in outcome.err and "mage-es doctor" in outcome.err
    assert "Resume it with: mage-es resume r" in outcome.err


def test_a_model_that_is_not_served_is_told_with_those_that_are_and_leaves_no_run(
    mage: Command, tmp_path: Path
) -> None:
    with provider(answer=solved, faults=["404"] * 2) as server:
        few = ("--execution", f"openai/exce?base_url={server.openai_url}", "--questions", "2", "--run-id", "b")
        for words in (("evolve", "wordmath", *SMALL, *few[:2]), ("baseline", "zero_shot_cot", "wordmath", *few)):
            outcome = mage(*words)
            assert (outcome.code, "does not serve exce. Did you mean exec?" in outcome.err) == (4, True)
            assert not (tmp_path / "runs").exists()
        outcome = mage("baseline", "zero_shot_cot", "wordmath", *few)  # a server that answers to any name
        assert (
            outcome.code == 0 and "exce?base_url" in outcome.err and "no model writes for zero_shot_cot" in outcome.err
        )
        assert "does not list exce, but it answers. Did you mean exec? One trial call: " in outcome.err


def test_a_server_that_dies_in_the_middle_and_comes_back_costs_nothing_but_the_calls_in_flight(
    mage: Command, tmp_path: Path
) -> None:
    with provider(answer=solved, faults=lambda number: "" if number < 25 else "401") as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        outcome = mage("evolve", "wordmath", *SMALL, "--execution", spec)
        assert outcome.code == 4
        before = len(events(tmp_path, v.ModelCalled))
        server.plan = lambda number: ""
        resumed = mage("resume", "r")
    assert resumed.code == 0, resumed.err
    said = int(resumed.err.split("in flight when it stopped: ")[1].split(".")[0])
    called = [e for e in events(tmp_path, v.ModelCalled) if e.tier == "execution"]
    assert before > 20 and set(Counter((e.iteration, e.purpose, e.about) for e in called).values()) == {1}
    assert 0 <= server.served - len(called) <= said <= 8
    assert not events(tmp_path, v.AnswerUnanswered)


def test_a_killed_run_says_to_the_call_what_it_makes_again(mage: Command, tmp_path: Path) -> None:
    with provider(answer=solved, faults=lambda number: "" if number < 25 else "silence") as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        words = ["evolve", "wordmath", *SMALL, "--execution", spec, "--workers", "5"]
        code = f"{IN_A_PROCESS}import sys; from mage_es.cli import main; main(sys.argv[1:])"
        child = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        until = time.monotonic() + 600
        # Five workers: once the fifth silent call has come, the twenty-five replies before it are on record.
        while len(server.asked) < 30 and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        before = len([e for e in events(tmp_path, v.ModelCalled) if e.tier == "execution"])
        assert len(server.asked) == 30 and before == 25
        server.plan = lambda number: ""
        resumed = mage("resume", "r")
    assert resumed.code == 0, resumed.err
    assert "because they were in flight when it stopped: 5." in resumed.err
    called = [e for e in events(tmp_path, v.ModelCalled) if e.tier == "execution"]
    assert set(Counter((e.iteration, e.purpose, e.about) for e in called).values()) == {1}
    assert len(server.asked) == len(called) + 5


def test_a_budget_ends_a_run_with_exit_code_3_and_outlives_the_session_until_another_is_given(
    mage: Command, tmp_path: Path
) -> None:
    outcome = mage("evolve", "wordmath", *SMALL, "--max-calls", "12")
    assert outcome.code == 3
    assert "budget of 12 calls is reached" in outcome.err
    assert "Resume it with: mage-es resume r --max-calls N\n" in outcome.err
    assert "Run r: wordmath, seed 42, unfinished" in outcome.out
    (tmp_path / "mage-es.toml").write_text("max_calls = 1000\n")
    plain = mage("resume", "r")
    assert plain.code == 3 and "Budget over all sessions, as recorded: 12 calls." in plain.err
    more = mage("resume", "r", "--max-calls", "none")
    assert more.code == 0 and "Budget over all sessions: no limit (before: 12 calls)." in more.err


def test_dollars_are_refused_for_a_model_that_nobody_priced(
    mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key-1234")  # a key that is missing would be told first
    outcome = mage("evolve", "wordmath", *SMALL, "--execution", "openai/gpt-unheard-of", "--max-usd", "1")
    assert outcome.code == 2
    assert "[[price]]" in outcome.err and "--max-calls" in outcome.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("status", ["401", "500", "400"])
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_key_reaches_no_log_no_message_and_no_traceback(
    mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, kind: str
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    faults = ["", "echo " + status, *["", "401"] * 50]
    with provider(answer=lambda body: f"I was given {CANARY}", faults=faults) as server:
        url = server.openai_url if kind == "openai" else server.anthropic_url
        spec = f"{kind}/exec?base_url={url}&key_env=CANARY_KEY"
        outcome = mage("evolve", "wordmath", *SMALL, "--execution", spec, "--workers", "1")
        traced = mage("resume", "r", "--workers", "1", "--debug").err
    assert "Traceback" in traced
    assert any(CANARY in value for asked in server.asked for value in asked.headers.values())
    assert outcome.code == 4
    assert CANARY not in outcome.err + outcome.out + traced
    records = LogReader(tmp_path / "runs" / "r" / "log").records()
    assert CANARY not in str(list(records))
    assert [e for e in events(tmp_path, v.ModelCalled) if "I was given [key]" in e.text]
    assert [e for e in events(tmp_path, v.CallFailed) if "[key]" in e.problem]
    for path in (tmp_path / "runs").rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def test_a_dry_run_shows_calls_tokens_and_dollars_and_begins_no_run(mage: Command, tmp_path: Path) -> None:
    words = ("evolve", "wordmath", *SMALL[:-2], "--guidance", "anthropic/claude-opus-4-8", "--dry-run")
    outcome = mage(*words)
    assert outcome.code == 0
    assert "low  expected  high" in " ".join(outcome.out.split("\n")[1].split()).replace(" ", "  ")
    assert "platform.claude.com" in outcome.out
    assert "Next: mage-es evolve wordmath" in outcome.err
    assert "--dry-run" not in outcome.err and "--benchmark" not in outcome.err
    assert not (tmp_path / "runs").exists()
    tiers = json.loads(mage(*words, "--json").out)["tiers"]
    assert [tier["tier"] for tier in tiers] == ["execution", "guidance"]


def test_an_exam_stops_at_its_budget_with_exit_code_3_and_goes_on_by_the_command_that_it_names(
    mage: Command, runs_dir: Path
) -> None:
    cut = mage("exam", "first", "--questions", "8", "--max-calls", "3")
    assert cut.code == 3
    assert "budget of 3 calls is reached" in cut.err
    assert "Continue with: mage-es exam first --questions 8 --max-calls 3" in cut.err
    whole = mage("exam", "first", "--questions", "8", "--max-calls", "40", "--json")
    assert whole.code == 0, whole.err
    assert "Resuming the exam first/0001-latest: 3 of its questions are settled already." in whole.err
    again = mage("exam", "first", "--questions", "8", "--json")
    assert json.loads(again.out)["repeated"] and json.loads(again.out)["total"] == 8
    # A question may take several calls; none is made twice.
    assert json.loads(whole.out)["execution_calls"] == json.loads(again.out)["execution_calls"] < 40


def test_a_question_may_have_a_budget(mage: Command, runs_dir: Path) -> None:
    question = "Ana packs 4 boxes with 6 jars each. She gives 5 jars away. How many jars are left?"
    assert mage("ask", question, "--max-calls", "20", "--max-usd", "1").code == 0


def test_a_missing_client_is_told_before_a_run_is_begun(
    mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    outcome = mage("evolve", "wordmath", *SMALL, "--execution", "openai/exec?base_url=http://127.0.0.1:9/v1")
    assert outcome.code == 4
    assert "python -m pip install 'mage-es[openai]'" in outcome.err
    assert not (tmp_path / "runs").exists()


def test_an_exam_whose_provider_goes_away_goes_on_without_paying_twice(mage: Command) -> None:
    with provider(answer=solved) as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        # Without bandits every question of the exam takes one call.
        assert mage("evolve", "wordmath", *SMALL, "--no-bandits", "--execution", spec).code == 0
        before = len(server.asked)
        server.plan = lambda number: "401" if number >= before + 7 else ""
        cut = mage("exam", "r", "--workers", "1")
        assert cut.code == 4 and "Continue with: mage-es exam r" in cut.err
        server.plan, served = lambda number: "", server.served
        whole = mage("exam", "r", "--json")
    assert whole.code == 0, whole.err
    assert server.served - served == 20 - 7 and json.loads(whole.out)["execution_calls"] == 20
