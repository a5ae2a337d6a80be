"""`mage-es publish` and `mage-es gain` from the outside."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import find_run
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.rules.feedback import Feedback
from tests.engine.serving.talking import said
from tests.engine.serving.test_live import QUESTION

Command = Callable[..., Any]


@pytest.fixture
def served(runs_dir: Path) -> LiveRun:
    """A run that was served to a hundred sessions, half of them held back, of which each gave feedback."""
    live = LiveRun.open(find_run(runs_dir, "first"), learn="propose", holdback=0.5)

    async def serve() -> None:
        for number in range(100):
            prepared = live.prepare(said(f"{QUESTION} Case {number}."), "chat", session=f"s{number}")
            await asyncio.wrap_future(live.submit(prepared))
            name, right = prepared.opened.inference, prepared.opened.treatment != "holdback"
            about = {"inference_id": name, "idempotency_key": name}
            await live.give_feedback(Feedback(metric="resolved", value=right, **about))
        about["idempotency_key"] += "/shown"
        await live.give_feedback(Feedback(metric="shown", value={"answer": "37", "reasoning": "72 - 35"}, **about))

    asyncio.run(serve())
    live.close()
    return live


@pytest.mark.slow
def test_a_served_run_is_published_and_its_gain_told(mage: Command, served: LiveRun) -> None:
    refused = mage("publish", "first-served")
    assert refused.code == 2 and "--yes" in refused.err and "Asking 20 prompts of anchors at most" in refused.err
    outcome = mage("publish", "first-served", "--yes")
    assert outcome.code == 0 and "new sessions see iter-3" in outcome.out and "accepted" in outcome.out
    assert "nothing to publish" in mage("publish", "first-served").out
    assert "2 iterations of publishing" in mage("runs", "show", "first-served").out
    told = mage("gain", "first-served")
    assert told.code == 0 and "100 sessions" in told.out and "Newcombe" in told.out
    report = json.loads(mage("gain", "first-served", "--metric", "resolved", "--json").out)
    [row, *_] = report["gains"]
    assert row["low"] < row["difference"] < row["high"] and report["least"] == 20
    assert row["with_memory"] + row["held_back"] == 100
    assert "none: " in told.out, "tokens were never counted, so there is nothing to compare"
    verdict = mage("verify", "first-served")
    assert verdict.code == 0, verdict.out


@pytest.mark.slow
def test_what_was_not_served_and_what_was_not_measured_is_refused(mage: Command, served: LiveRun) -> None:
    for command in ("publish", "gain"):
        outcome = mage(command, "first")
        assert outcome.code == 2 and "never served" in outcome.err and "mage-es serve first" in outcome.err
    outcome = mage("gain", "first-served", "--metric", "resolve")
    assert outcome.code == 2 and "Did you mean resolved?" in outcome.err
