"""`try`: one command says what a model got with nothing, with plain nearest cases and with what it learned."""

import random
import sys
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.study.cli.tryout import verdict
from mage_es.engine.study.tryout import ByModel, TryoutReport, tryout
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned
from tests.engine.study.test_ring import Imitator, tickets
from tests.kit.models import Saying

__all__ = ["tickets"]
pytestmark = pytest.mark.slow


@pytest.fixture
def report(tickets: Config, tmp_path: Path) -> TryoutReport:
    return tried(tickets, tmp_path, Imitator())


def tried(config: Config, folder: Path, learner: Model, runtime: Runtime | None = None) -> TryoutReport:
    models = Models(learner, open_model("builtin/reference", "guidance"))
    return tryout(config, runs_dir=folder / "runs", models=models, name="t", runtime=runtime)


def test_all_methods_are_asked_the_same_questions_and_the_verdict_names_their_counts(
    report: TryoutReport, tmp_path: Path
) -> None:
    rows = {row.method: row for row in report.ring.rows}
    assert set(rows) == {"zero_shot", "nearest_label", "knn", "mage"} and {row.total for row in rows.values()} == {12}
    said = " ".join(verdict(report))
    for name in ("zero_shot", "knn", "mage"):
        assert str(rows[name].correct) in said
    reader = LogReader(find_run(tmp_path / "runs", report.run_id).log_path)
    learned = {plan.question_id for plan in reader.of(QuestionPlanned) if plan.purpose == "fresh"}
    learned |= {memory.question_id for memory in reader.of(MemoryAppended)}
    assert f"after learning from {len(learned)} questions" in said and len(learned) <= report.ring.learned
    assert f"{report.gain.points:+.0f} points" in said and "test/imitator" in said
    assert report.gain.points == pytest.approx(100 * (rows["mage"].correct - rows["zero_shot"].correct) / 12)


def test_what_was_learned_is_a_gain_that_goes_when_the_answers_of_memories_are_exchanged(report: TryoutReport) -> None:
    assert report.is_gain
    said = " ".join(verdict(report))
    assert "That is a gain." in said and f"exchanged it got {report.controlled[0]} of 12" in said


@pytest.mark.parametrize(("shown", "words"), [("worse", "do without the memory"), ("level", "That shows no gain")])
def test_what_the_interval_does_not_exclude_is_not_called_a_gain(report: TryoutReport, shown: str, words: str) -> None:
    said = " ".join(verdict(msgspec.structs.replace(report, shown=shown, under_control=None, is_gain=False)))
    assert words in said and sum(other in said for other in ("a gain.", "a loss", "no gain")) == 1


class Parrot:
    """Knows no label; repeats that of the last case."""

    name = "test/parrot"

    async def complete(self, request: Request) -> Completion:
        *cases, _ = request.messages
        return Completion(text=cases[-1] if cases else "Answer: none of them", input_tokens=9, output_tokens=2)


def lots(folder: Path, *, by_colour: bool = False) -> Config:
    """Tickets whose label is drawn by lot; or, for those who look, is their colour."""
    lot = random.Random(3)
    rows = []
    for number in range(120):
        label = lot.choice(["left", "right"])
        colour = f"{label} hand" if by_colour else "no hand"
        rows.append(
            f"Parcel {number * 37 % 1000} of {lot.choice('ABCDEFGH')} weighs {lot.randrange(99)},{label},{colour}"
        )
    (folder / "lots.csv").write_text("\n".join(["question,answer,task_type", *rows]) + "\n")
    return Config(
        benchmark=f"tasks/{folder}/lots.csv?scorer=choice&labels=left,right", seed=7, held_out=40, anchors=4, pool=20
    )


def test_labels_drawn_by_lot_are_no_gain_though_a_model_learns_from_memories_which_there_are(tmp_path: Path) -> None:
    report = tried(lots(tmp_path), tmp_path, Parrot())
    assert report.shown == "better" and not report.is_gain
    said = " ".join(verdict(report))
    assert "not which one is right" in said and "a gain." not in said
    assert "The commonest answer among those learned from, '" in said


def test_a_column_that_gives_answers_away_is_no_measure_of_memory(tmp_path: Path) -> None:
    report = tried(lots(tmp_path, by_colour=True), tmp_path, Parrot())
    assert report.data.leaks and report.shown == "better" and not report.is_gain
    said = " ".join(verdict(report))
    assert "That does not measure the memory" in said and "a gain." not in said


def test_a_look_up_that_is_as_good_as_any_model_is_said_to_be(report: TryoutReport) -> None:
    solved = msgspec.structs.replace(report, is_look_up=True)
    assert "A look-up solves these tasks" in " ".join(verdict(solved))
    assert "A look-up" not in " ".join(verdict(msgspec.structs.replace(report, is_look_up=False)))


def test_what_the_nearest_cases_answer_is_no_gain_of_a_model_that_gets_nothing_right(
    tickets: Config, tmp_path: Path
) -> None:
    report = tried(tickets, tmp_path, Saying("test/mute", "", input_tokens=9, output_tokens=0))
    rows = {row.method: row for row in report.ring.rows}
    assert report.is_gain and report.recalled_right == rows["mage"].correct > 0
    assert report.by_model == ByModel(asked=12 - report.recalled, right=0, alone=0)
    assert report.unread == {"empty": 12} and not report.is_models
    said = " ".join(verdict(report))
    assert "That is a gain of the look-up." in said and "12 empty" in said
    assert f"MAGE recalled {report.recalled} of 12" in said and "--no-recall" in said


def test_against_calls_that_failed_without_memory_nothing_is_gained(tickets: Config, tmp_path: Path) -> None:
    class Refusing(Imitator):
        async def complete(self, request: Request) -> Completion:
            if len(request.messages) == 1 and "lamp" not in request.messages[-1]:
                raise ModelFault(Fault("rejected", "not today", 422))
            return await super().complete(request)

    report = tried(tickets, tmp_path, Refusing())
    rows = {row.method: row for row in report.ring.rows}
    lamps = rows["zero_shot"].correct  # it says amber to all, which only a lamp is
    assert rows["mage"].correct == rows["zero_shot"].total == 12 and report.unread == {"rejected": 12 - lamps}
    assert report.gain.interval.pairs == lamps > 0
    assert report.shown == "level" and not report.is_gain


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


def test_answers_that_nothing_could_decide_are_in_no_count_and_each_count_says_of_how_many(
    tickets: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "def settles(reply, task):\n    return task.gold in reply or ('floor 5' in task.question and 1 / 0)\n"
    (tmp_path / "doubtful_rule.py").write_text(rule)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.chdir(tmp_path)
    ruled = tickets.benchmark.partition("?")[0] + "?scorer=doubtful_rule:settles"
    report = tried(msgspec.structs.replace(tickets, benchmark=ruled), tmp_path, Imitator())
    rows = {row.method: row for row in report.ring.rows}
    nothing, mage = rows["zero_shot"], rows["mage"]
    assert nothing.undecided > 0 and nothing.total + nothing.undecided == mage.total + mage.undecided == 12
    assert report.gain.interval.pairs <= nothing.total < mage.total
    said = " ".join(verdict(report))
    assert f"alone got {nothing.correct} of {nothing.total} right, and {mage.correct} of {mage.total} after" in said
    assert f"in no count: {nothing.undecided} of zero_shot" in said
