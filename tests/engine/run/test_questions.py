"""A run needs nothing but its folder: its questions travel with it, and what changed in their source is told."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from mage_es.engine.auditing.verify import VerifyReport, verify
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.benchmarks.tasks import scorers
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.questions import all_questions, changes, stored_questions
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.engine.upkeep.memory import memories
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.ask import ask
from mage_es.engine.viewing.show import show
from mage_es.events.errors import Interrupted, LogDamaged, PrerequisiteError, SequenceConflict, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from tests.engine.conftest import SMALL

THINGS = ("bell", "cart", "drum", "fork", "gate", "horn", "kite", "lamp", "mill", "nail", "oven", "pump", "rope")
RUNTIME = Runtime(workers=2)


def rows(count: int = 60) -> list[dict[str, str]]:
    """Tasks that no two of which are alike, each with an answer that stands nowhere else."""
    return [
        {
            "id": f"t{number}",
            "question": f"Who {THINGS[number % 13]} {number * 7} the {THINGS[number * 5 % 11]} of {number * number}?",
            "answer": f"canary{number}x",
            "type": "naming",
        }
        for number in range(count)
    ]


def write(path: Path, tasks: list[dict[str, str]]) -> Path:
    path.write_text("\n".join(map(json.dumps, tasks)))
    return path


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on own tasks that was stopped in its second iteration, and whose file of tasks is gone."""
    folder = tmp_path_factory.mktemp("own")
    file, seen = write(folder / "mine.jsonl", rows()), list[ProgressNote]()
    config = Config(
        benchmark=f"tasks/{file}?scorer=exact",
        execution="builtin/analogist",
        iterations=2,
        pool=8,
        held_out=6,
        anchors=4,
    )
    runtime = Runtime(workers=2, observer=seen.append, stop=lambda: any(note.iteration == 1 for note in seen))
    with pytest.raises(Interrupted):
        evolve(config, runs_dir=folder / "runs", runtime=runtime, run_id="r")
    file.unlink()
    return find_run(folder / "runs", "r")


@pytest.fixture
def copied(begun: Run, tmp_path: Path) -> Callable[..., Run]:
    """A function that backs the run up, with or without gold, and restores it in another folder."""

    def copy(*, gold: bool = True) -> Run:
        backup(begun, str(tmp_path / "backup"), gold=gold)
        restore(str(tmp_path / "backup"), runs_dir=tmp_path / "elsewhere", name="again")
        return find_run(tmp_path / "elsewhere", "again")

    return copy


def planned(run: Run) -> QuestionPlanned:
    return list(LogReader(run.log_path).of(QuestionPlanned))[-1]


def questions_check(report: VerifyReport) -> tuple[bool, str]:
    return next((check.ok, check.detail) for check in report.checks if check.name == "questions")


@pytest.mark.slow
def test_a_restored_run_is_shown_asked_examined_reported_and_resumed_without_its_tasks(
    copied: Callable[..., Run],
) -> None:
    run = copied()
    shown = show(run, planned(run).question_id)
    assert shown.prompt_verified and shown.expected == f"canary{shown.question_id[1:]}x"
    assert ask(run, "Who rings the bell?").task_type == "naming"
    assert replay(run).checks
    assert resume(run, runtime=RUNTIME).state == "finished"
    assert examine(run, questions=3, runtime=RUNTIME).total == 3
    assert memories(run, at="latest")
    report = verify(run)
    assert report.ok
    assert questions_check(report)[1] == "60 texts are those that the run began with; 60 gold answers"


def test_a_copy_without_gold_holds_no_held_out_answer_and_says_so(copied: Callable[..., Run]) -> None:
    run = copied(gold=False)
    held_out = {"canary" + name[1:] + "x" for name in _held_out(run)}
    stored = b"".join(
        json.dumps(pq.read_table(path).to_pylist(), default=repr).encode() for path in run.path.rglob("*.parquet")
    )
    assert held_out and b"canary" in stored  # memories of what was learned hold answers; that is what they are
    assert not [name for name in held_out if name.encode() in stored]
    shown = show(run, planned(run).question_id)
    assert shown.prompt_verified and shown.expected is None
    assert ask(run, "Who rings the bell?").task_type == "naming"
    report = verify(run)
    assert report.ok and "without their gold answers" in questions_check(report)[1]
    for verb in (resume, examine):
        with pytest.raises(PrerequisiteError, match="has no gold answers"):
            verb(run, runtime=RUNTIME)


def test_golds_that_are_brought_back_count_again(copied: Callable[..., Run], begun: Run) -> None:
    run = copied(gold=False)
    shutil.copytree(begun.log_path / "golds", run.log_path / "golds")
    assert resume(run, runtime=RUNTIME).state == "finished"


def test_without_the_users_scorer_a_run_is_shown_and_asked_but_takes_no_exam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(
        benchmark="given",
        execution="builtin/analogist",
        iterations=1,
        pool=4,
        held_out=4,
        anchors=0,
        task_types="input",
    )
    evolve(config, tasks=rows(24), scorer=lambda reply, task: task.gold in reply, runs_dir=tmp_path, runtime=RUNTIME)
    run = find_run(tmp_path)
    monkeypatch.setattr(scorers, "_GIVEN", {})  # as in another process
    assert show(run, planned(run).question_id).prompt_verified
    assert ask(run, "Who rings the bell?").task_type == "naming"
    with pytest.raises(UsageError, match=r"scorer .* cannot be loaded"):
        examine(run, runtime=RUNTIME)
    assert not run.exams()


def test_a_place_that_has_the_golds_takes_no_backup_without(begun: Run, tmp_path: Path) -> None:
    backup(begun, str(tmp_path))
    with pytest.raises(SequenceConflict, match="already holds the gold answers"):
        backup(begun, str(tmp_path), gold=False)


def test_damaged_questions_are_named_not_backed_up_and_not_restored(copied: Callable[..., Run], tmp_path: Path) -> None:
    run = copied()
    golds = next((run.log_path / "golds").iterdir())
    for broken in (golds, next((tmp_path / "backup" / "log" / "questions").iterdir())):
        broken.write_bytes(broken.read_bytes()[:-1] + b"?")
    (run.log_path / "golds" / "mine.txt").touch()
    ok, detail = questions_check(verify(run))
    assert not ok
    assert golds.name in detail and "60 questions" in detail and "mine.txt is not the log's" in detail
    with pytest.raises(LogDamaged, match=golds.name):
        backup(run, str(tmp_path / "other"))
    with pytest.raises(LogDamaged, match="is damaged: it is not what was backed up"):
        restore(str(tmp_path / "backup"), runs_dir=tmp_path / "elsewhere", name="third")


def test_the_questions_that_a_run_has_stored_are_those_that_its_benchmark_makes(small_run: Run) -> None:
    # So a run that continues it, on the same data, need not make them again.
    made = all_questions(open_benchmark(SMALL.benchmark, seed=SMALL.seed, data_dir=None))
    assert stored_questions(LogReader(small_run.log_path), SMALL.benchmark) == (made, True)


def test_a_row_that_is_named_by_its_place_has_moved_and_was_not_edited() -> None:
    asked = [_question(f"task-evolution-{place}", text) for place, text in enumerate("abc")]
    moved = [_question(f"task-evolution-{place}", text) for place, text in enumerate("xabc")]
    places = ", ".join(f"task-evolution-{place}" for place in range(3))
    assert changes(asked, moved) == f"1 added (task-evolution-0), 3 moved ({places})"
    assert changes(asked, asked) == ""


def test_without_gold_answers_only_texts_are_compared() -> None:
    known = _question("q", "a")
    other = msgspec.structs.replace(known, gold="43")
    assert changes([known], [other]) == "1 edited (q)"
    assert changes([known], [other], gold=False) == ""


def _question(name: str, text: str) -> Question:
    return Question(id=name, benchmark="b", split="evolution", task_type="t", question=text, gold="42")


def _held_out(run: Run) -> list[str]:
    from mage_es.engine.run.world import reopen_world

    return list(reopen_world(LogReader(run.log_path), data_dir=None).setting.held_out)
