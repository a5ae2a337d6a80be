"""Anchors become cases once they have judged a run for the last time, and no anchor is shown one."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, MemoryRefused, PhaseCompleted, QuestionPlanned, SplitCommitted
from tests.engine.test_recall import TASKS, Learner

pytestmark = pytest.mark.slow
CONFIG = Config(benchmark="tickets", seed=3, iterations=2, pool=24, held_out=24, anchors=8)
LEARNER = Learner(knows=False)


def begun(folder: Path, name: str = "r", *, config: Config = CONFIG, **settings: Any) -> Run:
    models = Models(LEARNER, open_model("builtin/reference", "guidance"))
    given = {"models": models, "runs_dir": folder, "runtime": Runtime(workers=1), "run_id": name}
    evolve(config, tasks=TASKS, **given, **settings)
    return find_run(folder, name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    begun(folder)
    return folder


def of_anchors(run: Run) -> list[tuple[int, MemoryAppended]]:
    return [(seq, case) for seq, case in LogReader(run.log_path).numbered(MemoryAppended) if case.phase == "snapshot"]


def test_each_anchor_is_a_case_with_its_right_answer_after_it_was_asked_for_the_last_time(folder: Path) -> None:
    run = find_run(folder, "r")
    reader = LogReader(run.log_path)
    cases, (anchors,) = of_anchors(run), [each for each in reader.of(SplitCommitted) if each.split == "anchors"]
    golds = {task["question"]: task["answer"] for task in TASKS}
    assert len(cases) == anchors.size == 8 and all(case.answer == golds[case.question] for _, case in cases)
    last = max(seq for seq, plan in reader.numbered(QuestionPlanned) if plan.purpose in ("anchor", "bare", "again"))
    marks = [seq for seq, mark in reader.numbered(PhaseCompleted) if mark.phase == "snapshot"]
    assert marks[-2] < last < cases[0][0] <= cases[-1][0] < marks[-1] and not [*reader.of(MemoryRefused)]


def test_exams_are_shown_cases_of_anchors_and_the_run_is_verified(folder: Path) -> None:
    run = find_run(folder, "r")
    examine(run, execution=LEARNER)
    names = {case.memory_id for _, case in of_anchors(run)}
    plans = LogReader(run.exams()[-1].log_path).of(QuestionPlanned)
    assert any(hit.memory_id in names for plan in plans for hit in plan.memories)
    checks = verify(run).checks
    assert [check.detail for check in checks if not check.ok] == []
    assert ", 8 of anchors (against the others) against" in next(each.detail for each in checks if each.name == "leaks")


def test_in_a_run_that_continues_this_one_no_anchor_is_shown_a_case_of_one(folder: Path) -> None:
    child = begun(folder, "child", from_run=find_run(folder, "r"))
    names = {case.memory_id for _, case in of_anchors(child)}
    assert len(names) == 8
    shown = [
        (plan.purpose, hit.memory_id in names)
        for plan in LogReader(child.log_path).of(QuestionPlanned)
        for hit in plan.memories
    ]
    assert ("fresh", True) in shown and ("anchor", False) in shown and ("anchor", True) not in shown
    assert [check.detail for check in verify(child).checks if not check.ok] == []


def test_where_no_missed_question_is_a_case_or_answers_are_reasoned_no_anchor_is_one(
    tmp_path: Path, small_run: Run
) -> None:
    assert of_anchors(begun(tmp_path, config=msgspec.structs.replace(CONFIG, cases=False))) == []
    assert of_anchors(small_run) == []
