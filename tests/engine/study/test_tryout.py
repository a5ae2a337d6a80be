"""`try`: one command says what a model got with nothing, with plain nearest cases and with what it learned."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.study.cli.tryout import verdict
from mage_es.engine.study.tryout import TryoutReport, tryout
from mage_es.events.errors import Interrupted
from tests.engine.study.test_ring import Imitator, tickets

__all__ = ["tickets"]
pytestmark = pytest.mark.slow


@pytest.fixture
def report(tickets: Config, tmp_path: Path) -> TryoutReport:
    return tried(tickets, tmp_path, Imitator())


def tried(config: Config, folder: Path, learner: Imitator, runtime: Runtime | None = None) -> TryoutReport:
    models = Models(learner, open_model("builtin/reference", "guidance"))
    return tryout(config, runs_dir=folder / "runs", models=models, name="t", runtime=runtime)


def test_all_methods_are_asked_the_same_questions_and_the_verdict_names_their_counts(report: TryoutReport) -> None:
    rows = {row.method: row for row in report.ring.rows}
    assert set(rows) == {"zero_shot", "nearest_label", "knn", "mage"} and {row.total for row in rows.values()} == {12}
    said = " ".join(verdict(report))
    for name in ("zero_shot", "knn", "mage"):
        assert str(rows[name].correct) in said
    assert f"{report.gain.points:+.0f} points" in said and "test/imitator" in said
    assert report.gain.points == pytest.approx(100 * (rows["mage"].correct - rows["zero_shot"].correct) / 12)


@pytest.mark.parametrize(
    ("shown", "words"),
    [("better", "That is a gain."), ("worse", "do without the memory"), ("level", "That shows no gain")],
)
def test_what_the_interval_does_not_exclude_is_not_called_a_gain(report: TryoutReport, shown: str, words: str) -> None:
    said = " ".join(verdict(msgspec.structs.replace(report, shown=shown)))
    assert words in said and sum(other in said for other in ("a gain.", "a loss", "no gain")) == 1


def test_a_look_up_that_is_as_good_as_any_model_is_said_to_be(report: TryoutReport) -> None:
    solved = msgspec.structs.replace(report, is_look_up=True, looked_up=5)
    assert "a look-up solves these tasks" in " ".join(verdict(solved))
    assert "MAGE itself answered 5 of 12" in " ".join(verdict(solved))
    assert "look-up" not in " ".join(verdict(msgspec.structs.replace(report, is_look_up=False)))


def test_a_stopped_one_goes_on_and_asks_nothing_twice(tickets: Config, tmp_path: Path) -> None:
    learner, calls = Imitator(), 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 20

    with pytest.raises(Interrupted):
        tried(tickets, tmp_path, learner, Runtime(stop=stop, workers=1))
    before = len(learner.asked)
    assert before
    went_on = tried(tickets, tmp_path, learner)
    asked = len(learner.asked)
    assert tried(tickets, tmp_path, learner).ring == went_on.ring and len(learner.asked) == asked
