"""Runs whose vectors come from a server: looked at without it, and never continued with another model's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned, RunStarted
from tests.engine.providers.provider import Provider, provider

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
SMALL = ("--iterations", "1", "--pool", "20", "--held-out", "20", "--anchors", "10", "--run-id", "r")


def begin(mage: Command, server: Provider, *more: str, benchmark: str = "wordmath") -> None:
    spec = f"openai/embed?base_url={server.openai_url}"
    outcome = mage("evolve", benchmark, *SMALL, "--embedder", spec, *more)
    assert outcome.code == 0, outcome.err


def first_question(folder: Path) -> str:
    for record in LogReader(folder / "runs" / "r" / "log").records({QuestionPlanned}):
        assert isinstance(record.event, QuestionPlanned)
        return record.event.question_id
    raise AssertionError("no question was planned")


@pytest.mark.paper("beyond the paper, served vectors")
def test_replay_verify_and_every_look_at_a_run_ask_the_embedder_for_nothing(mage: Command, tmp_path: Path) -> None:
    with provider() as server:
        begin(mage, server)
        before = len(server.asked)
        server.plan = lambda number: "401"
        looks = [("replay", "r", "--until", "iter-0"), ("verify", "r"), ("runs", "show", "r"), ("memory", "list", "r")]
        looks += [
            ("show", first_question(tmp_path), "r"),
            ("export", "r", "--format", "csv", "--to", str(tmp_path / "out")),
        ]
        outcomes = {look: mage(*look) for look in looks}
        assert len(server.asked) == before
        assert {look: outcome.err for look, outcome in outcomes.items() if outcome.code} == {}
        replayed = mage("replay", "r", "--until", "iter-0", "--json")
    checks = json.loads(replayed.out)["checks"]
    assert checks and all(check["recorded"] == check["rebuilt"] for check in checks)


def test_what_if_never_asks_the_embedder_and_refuses_what_depends_on_its_vectors(mage: Command) -> None:
    with provider() as server:
        begin(mage, server, "--bandits")
        before = len(server.asked)
        guard = mage("what-if", "r", "--guard", "off")
        arm = mage("what-if", "r", "--arm", "direct")
        assert len(server.asked) == before
    assert guard.code == 0 and arm.code == 2
    assert "vectors of openai/embed" in arm.err and "whose calls may cost something" in arm.err


@pytest.mark.paper("section 3.5, strategy floor")
def test_what_a_run_was_started_with_is_in_its_first_event_and_its_floor_is_measured(
    mage: Command, tmp_path: Path
) -> None:
    with provider() as server:
        begin(mage, server)
        spec = f"openai/embed?base_url={server.openai_url}"
    started = next(LogReader(tmp_path / "runs" / "r" / "log").of(RunStarted))
    assert isinstance(started, RunStarted)
    assert (started.embedder, started.embedder_dimension) == (spec, 128)
    assert len(started.embedder_sha256) == 64


@pytest.mark.paper("beyond the paper, identity of embedders")
def test_another_model_behind_the_same_name_is_refused_wherever_a_vector_is_needed(mage: Command) -> None:
    with provider() as server:
        begin(mage, server)
        server.embed = lambda texts: [[float(len(text)), *(1.0 for _ in range(127))] for text in texts]
        for words in (("resume", "r"), ("exam", "r"), ("ask", "How many are left?", "r")):
            outcome = mage(*words)
            assert outcome.code == 4, words
            assert "was started with embedder_sha256" in outcome.err


def test_an_episode_is_shown_with_the_vectors_of_the_very_model_or_not_at_all(mage: Command, tmp_path: Path) -> None:
    with provider() as server:
        begin(mage, server, "--pool", "2", "--held-out", "2", "--anchors", "0", "--guard", "off", benchmark="workshop")
        words = ("show", first_question(tmp_path), "r")
        assert mage(*words).code == 0
        server.embed = lambda texts: [[float(len(text)), *(1.0 for _ in range(127))] for text in texts]
        outcome = mage(*words)
    assert outcome.code == 4 and "gives different vectors than when the run was started" in outcome.err


def test_what_a_served_embedder_takes_is_shown_and_ends_a_session_at_the_budget(mage: Command, tmp_path: Path) -> None:
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 65)]
    (tmp_path / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    with provider() as server:
        own = ("mine.csv", "--scorer", "number", "--embedder", f"openai/embed?base_url={server.openai_url}")
        own = (*own, "--execution", "builtin/analogist")
        stopped = mage("evolve", *own, *SMALL, "--pool", "8", "--held-out", "6", "--anchors", "4", "--max-calls", "14")
        assert stopped.code == 3 and "--max-calls" in stopped.err
        assert mage("resume", "r", "--max-calls", "none").code == 0
        asked = server.embedded
        exam = mage("exam", "r")
        assert exam.code == 0 and " embedder calls, " in exam.out + exam.err
        examined = json.loads(mage("exam", "r", "--json").out)["embedder_calls"]
        assert 0 < examined <= server.embedded - asked
        shown = mage("runs", "show", "r")
    rows = [row for row in json.loads(mage("runs", "show", "r", "--json").out)["ledger"] if row["tier"] == "embedder"]
    assert sum(row["calls"] for row in rows) == asked and {row["purpose"] for row in rows} == {"fingerprint", "vectors"}
    assert "embedder" in shown.out and "fingerprint" in shown.out
