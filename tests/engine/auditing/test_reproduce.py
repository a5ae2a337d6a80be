"""Reproducing a run: everything computed again, and a part of it asked again."""

import shutil
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.reproduce import NAME, ReproduceReport, reproduce
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Event, ModelCalled, Record
from tests.engine.conftest import SMALL
from tests.engine.forgery import replace

pytestmark = pytest.mark.slow


class Solver:
    """A model of the user's; `wise` it answers as the stand-in does."""

    name = "mine/solver"

    def __init__(self, *, wise: bool) -> None:
        self._inner, self.wise, self.asked = open_model("builtin/analogist", "execution"), wise, 0

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        return (
            await self._inner.complete(request)
            if self.wise
            else Completion(text="#### 7", input_tokens=1, output_tokens=1)
        )


def asked_again(report: ReproduceReport) -> Check:
    return next(check for check in report.checks if check.name.startswith(NAME))


def test_a_run_by_a_stand_in_is_reproduced_and_one_with_another_reply_is_not(small_run: Run, tmp_path: Path) -> None:
    report = reproduce(small_run, share=0.1)
    [asked] = report.asked
    assert report.ok and asked.asked == asked.same > 3 and asked.recorded_right == asked.right
    assert reproduce(small_run, share=0.1).asked == report.asked != reproduce(small_run, share=0.1, seed=2).asked
    run = Run(small_run.id, tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)

    def padded(record: Record) -> Event:
        is_it = isinstance(record.event, ModelCalled) and record.event.tier == "execution"
        return msgspec.structs.replace(record.event, text=f"{record.event.text} ") if is_it else record.event

    replace(run.log_path, tmp_path, padded)
    report = reproduce(run, share=0.1)
    assert not report.ok and not asked_again(report).ok and report.asked[0].same == 0


def test_replies_far_better_than_the_model_that_is_said_to_have_given_them_are_not_its_own(tmp_path: Path) -> None:
    wise = Solver(wise=True)
    models = Models(wise, open_model("builtin/reference", "guidance"), None)
    evolve(SMALL, models=models, runs_dir=tmp_path, runtime=Runtime(workers=2), run_id="mine")
    run = find_run(tmp_path, "mine")
    untold = reproduce(run)
    assert untold.ok and asked_again(untold).doubt and "must be believed" in asked_again(untold).detail
    assert reproduce(run, share=1.0, execution=wise).asked[0].problem == ""
    poor = Solver(wise=False)
    report = reproduce(run, share=1.0, execution=poor)
    assert not report.ok and poor.asked and "the recorded replies are not its own" in asked_again(report).detail


def test_replies_far_worse_than_the_model_that_is_said_to_have_given_them_are_not_its_own(tmp_path: Path) -> None:
    wise, poor = Solver(wise=True), Solver(wise=False)
    models = Models(wise, open_model("builtin/reference", "guidance"), None)
    config = msgspec.structs.replace(SMALL, held_out=200)
    evolve(config, models=models, runs_dir=tmp_path, runtime=Runtime(workers=2), run_id="mine")
    run = find_run(tmp_path, "mine")
    examine(run, at="start", execution=poor, questions=100)
    examine(run, execution=wise, questions=100)
    report = reproduce(run, share=1.0, execution=wise)
    [asked] = report.asked
    assert asked.right > asked.recorded_right and asked.p < 0.001
    assert not report.ok and "the recorded replies are not its own" in asked_again(report).detail


def test_a_share_that_is_none_is_refused(small_run: Run) -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        reproduce(small_run, share=5)
