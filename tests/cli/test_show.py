"""`mage-es show` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.viewing.cli.show import _texts
from mage_es.engine.viewing.transcript import CallReport
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, QuestionPlanned

Command = Callable[..., Any]


@pytest.fixture
def judged(runs_dir: Path) -> AnswerJudged:
    """Return the last fresh verdict of the run."""
    events = list(LogReader(runs_dir / "first" / "log").of(AnswerJudged))
    return [event for event in events if event.purpose == "fresh"][-1]


def test_a_question_is_shown_as_it_was_asked(mage: Command, judged: AnswerJudged) -> None:
    outcome = mage("show", judged.question_id, "--json")
    report = json.loads(outcome.out)
    assert (outcome.code, report["prompt_verified"], report["correct"]) == (0, True, judged.correct)
    assert outcome.err.endswith("Next: mage-es exam first\n")
    assert report["answer"] == judged.answer
    shown = mage("show", judged.question_id, "--iteration", "1").out
    assert f"Question {judged.question_id}" in shown
    assert report["prompt"] in shown and report["reply"] in shown
    assert all(member["memory_id"] in shown for member in report["bundle"])


def test_an_iteration_that_does_not_exist_is_a_usage_error(mage: Command, judged: AnswerJudged) -> None:
    outcome = mage("show", judged.question_id, "--iteration", "9")
    assert (outcome.code, "iteration 9" in outcome.err) == (2, True)


def test_a_question_that_was_never_asked_is_a_usage_error(mage: Command, judged: AnswerJudged) -> None:
    outcome = mage("show", judged.question_id + "x")
    assert (outcome.code, outcome.out) == (2, "")
    assert judged.question_id[:8] in outcome.err


def test_every_call_of_a_chain_is_shown_with_its_prompt_and_sources(mage: Command, runs_dir: Path) -> None:
    plans = list(LogReader(runs_dir / "first" / "log").of(QuestionPlanned))
    chain = [p for p in plans if p.chain and p.purpose == "fresh"][-1]
    shown = mage("show", chain.question_id, "--iteration", str(chain.iteration)).out
    for place in range(1, 1 + len(chain.chain)):
        assert f"{place}. Prompt of Learner (execution tier) about {chain.question_id}/{place}:\n" in shown
    assert f"call/{chain.question_id}/1 at " in shown
    assert "DOES NOT MATCH" not in shown


@pytest.mark.slow
def test_an_episode_is_shown_step_by_step_to_its_end_and_leads_to_an_exam(mage: Command) -> None:
    small = ("--iterations", "1", "--pool", "4", "--held-out", "2", "--anchors", "2", "--explore-episodes", "1")
    assert mage("evolve", "workshop", *small, "--run-id", "w").code == 0
    plans = list(LogReader(Path("runs") / "w" / "log").of(QuestionPlanned))
    played = next(plan.question_id for plan in plans if plan.purpose == "anchor")
    outcome = mage("show", played)
    assert "Step 1: " in outcome.out and ". The episode ends." in outcome.out
    assert "Also asked: start/snapshot" in outcome.err
    assert outcome.err.endswith("Next: mage-es exam w\n")


def test_the_turns_of_a_prompt_are_printed_apart_by_their_roles() -> None:
    prompt = "How many legs have 2 cats?\n\n8\n\nAnd 3 hens?"
    call = CallReport(
        about="q",
        tier="execution",
        agent="Learner",
        system="Answer.",
        prompt=prompt,
        verified=True,
        sources=(),
        reply="6",
        turns=(prompt.index("8"), prompt.index("And")),
    )
    _, *said = _texts(1, call)
    assert said == [
        "System:\nAnswer.",
        "User:\nHow many legs have 2 cats?",
        "Assistant:\n8",
        "User:\nAnd 3 hens?",
        "Reply:\n6",
    ]
