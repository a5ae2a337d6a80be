"""A run on questions that nobody sorted: guidance sorts some of them, and all others go where they are nearest."""

import json
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.players.worlds.wordmath.generator import generate
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled, QuestionPlanned, RunStarted, TaskTypeCreated


@pytest.mark.slow
@pytest.mark.paper("section 4.1, task types")
def test_own_tasks_without_types_get_them_from_guidance_in_the_run_and_in_its_exam(tmp_path: Path) -> None:
    asked = [generate(3, "evolution", index) for index in range(200)]
    rows = [{"id": q.id, "question": q.question, "answer": q.gold, "solution": q.solution} for q in asked]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = Config(
        benchmark=f"tasks/{file}?scorer=number",
        execution="builtin/analogist",
        iterations=1,
        pool=20,
        held_out=20,
        anchors=0,
        guard="off",
    )
    evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(), run_id="r")

    log = LogReader(find_run(tmp_path, "r").log_path)
    types = {each.task_type for each in log.of(TaskTypeCreated)}
    assert len(types) > 2
    assert next(log.of(RunStarted)).task_type_source == "induced"
    assert len({each.task_type for each in log.of(QuestionPlanned)}) > 2
    assert {each.task_type for each in log.of(QuestionPlanned)} <= types
    shown = [each.about for each in log.of(ModelCalled) if each.purpose == "task_types_v1"]
    assert shown == ["questions/0", "questions/64", "questions/128"][: len(shown)] and shown

    exam = examine(find_run(tmp_path, "r"), runtime=Runtime())
    assert exam.task_type_source == "induced"
    assert {each.name for each in exam.task_types} <= types and exam.guidance_calls == 0
