"""Logs of Inspect as own tasks, and as predictions to score."""

import json
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ModelOutput
from inspect_ai.scorer import choice, match
from inspect_ai.solver import multiple_choice

from mage_es import PrerequisiteError, Run
from mage_es.engine.benchmarks.files import VARIABLE
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.study.score import score
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ExamClosed
from tests.cli.conftest import Command, mage
from tests.inspect_ai.evaluating import evaluated, reply

__all__ = ["mage"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Inspect's own


def sums(folder: Path, *, epochs: int = 1) -> Path:
    samples = [
        Sample(id=k, input=f"What is {k} + {k}?", target=str(2 * k), metadata={"category": "sum", "subject": "maths"})
        for k in range(1, 9)
    ]

    def replied(said: list[ChatMessage], *_: object) -> ModelOutput:
        k = int(said[-1].text.split()[2])
        return reply(f"It is {2 * k if k > 2 else 0}")

    return evaluated(folder, Task(dataset=samples, scorer=match(numeric=True), epochs=epochs), replied)


def test_samples_are_tasks_once_each_with_their_metadata_as_columns(tmp_path: Path) -> None:
    log = sums(tmp_path, epochs=2)
    tasks = open_benchmark(f"{log}?scorer=number", seed=1, data_dir=None)
    questions = {question.id: question for question in tasks.questions("evolution")}
    assert {*questions} == {str(k) for k in range(1, 9)}
    assert (questions["3"].question, questions["3"].gold) == ("What is 3 + 3?", "6")
    assert {question.task_type for question in questions.values()} == {"sum"}
    assert {question.subject for question in questions.values()} == {""}


def test_choices_are_options(tmp_path: Path) -> None:
    samples = [Sample(input="Which is a fruit?", choices=["stone", "pear"], target="B")]
    task = Task(dataset=samples, solver=multiple_choice(), scorer=choice())
    log = evaluated(tmp_path, task, lambda *_: reply("ANSWER: B"))
    [question] = open_benchmark(f"{log}?scorer=choice", seed=1, data_dir=None).questions("evolution")
    assert question.question == "Which is a fruit?\nA. stone\nB. pear" and question.gold == "B"


def test_score_agrees_with_inspect_on_its_log_and_with_the_exam_on_ours(
    mage: Command, tmp_path: Path, run: Run, logs: Path
) -> None:
    log = sums(tmp_path)
    outcome = mage("score", str(log), "--scorer", "number", "--predictions", str(log), "--json")
    assert json.loads(outcome.out)["totals"]["accuracy"] == 6 / 8, outcome.err

    report = score("wordmath", records=None, predictions=logs / "0002-latest.eval", strict=False, seed=7, data_dir=None)
    right = sum(each.metrics["accuracy"] or 0 for each in report.predictions if not each.missing)
    assert right == list(LogReader(run.log_path).of(ExamClosed))[1].correct


def test_a_log_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: Path) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    fat = [Sample(input="x" * 2_000_000, target="1")]
    log = evaluated(tmp_path, Task(dataset=fat, scorer=match()), lambda *_: reply("1"))
    with pytest.raises(PrerequisiteError, match="over the limit of 1 MiB"):
        open_benchmark(f"{log}?scorer=number", seed=1, data_dir=None)
