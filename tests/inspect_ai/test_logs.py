"""Exams as logs of Inspect: its own programs read them, their numbers agree, and no subject's text is in them."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log, recompute_metrics

from mage_es import (
    Config,
    Models,
    Run,
    UsageError,
    evolve,
    examine,
    export_inspect,
    open_model,
    resume,
    show,
)
from mage_es.engine.exports.inspect_logs import WITHHELD
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ExamClosed, ModelCalled, QuestionPlanned
from tests.engine.pears import CANARIES, SUBJECTS, Echo, models_with, stopped
from tests.kit.models import Saying

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Inspect's own


def samples_of(log: EvalLog) -> list[EvalSample]:
    assert log.samples is not None
    return log.samples


def read(logs: Path) -> list[EvalLog]:
    return [read_eval_log(str(logs / name)) for name in ("0001-start.eval", "0002-latest.eval")]


def test_accuracy_and_stderr_are_those_of_the_exam_and_those_that_inspect_computes_anew(run: Run, logs: Path) -> None:
    closed = list(LogReader(run.log_path).of(ExamClosed))
    assert closed[0].correct != closed[1].correct
    for log, exam in zip(read(logs), closed, strict=True):
        assert log.results is not None and log.results.completed_samples == exam.total == 20
        [score] = log.results.scores
        share = exam.correct / exam.total
        assert score.metrics["accuracy"].value == share
        assert score.metrics["stderr"].value == pytest.approx(math.sqrt(share * (1 - share) / (exam.total - 1)))
        right = [each.id for each in samples_of(log) if each.scores and each.scores["correct"].value == "C"]
        assert len(right) == exam.correct
        before = score.model_dump()["metrics"]
        log.eval.scorers = None
        recompute_metrics(log)
        assert log.results.scores[0].metrics["accuracy"].value == before["accuracy"]["value"]


def test_both_exams_are_listed_and_neither_is_taken_for_a_failed_try_of_the_other(logs: Path) -> None:
    tasks = [(log.eval.task_id, log.eval.tags) for log in read(logs)]
    assert len({task for task, _ in tasks}) == 2
    assert [tags for _, tags in tasks] == [["0001-start"], ["0002-latest"]]


def test_the_transcript_has_every_call_with_its_prompt_reply_and_time(run: Run, logs: Path) -> None:
    calls = [(call.model, call.text) for call in LogReader(run.exam("0002-latest").log_path).of(ModelCalled)]
    samples = samples_of(read_eval_log(str(logs / "0002-latest.eval"), resolve_attachments=True))
    events = [event for each in samples for event in each.events]
    assert all(isinstance(event, ModelEvent) for event in events)
    assert sorted((event.model, event.output.completion) for event in events) == sorted(calls)
    for sample in samples:
        [*_, last] = sample.events
        assert [each.text for each in last.input] == [each.text for each in sample.messages[:-1]]
        assert last.completed and (last.completed - last.timestamp).total_seconds() == last.working_time


def test_a_sample_is_the_question_as_it_was_asked_with_its_memories_and_usage(run: Run, logs: Path) -> None:
    log = read(logs)[1]
    own = LogReader(run.exam("0002-latest").log_path)
    plans = {plan.question_id: plan for plan in own.of(QuestionPlanned)}
    assert {each.id for each in samples_of(log)} == {*plans}
    assert any(each.metadata["memories"] for each in samples_of(log))
    for sample in samples_of(log):
        shown, plan = show(run, str(sample.id), exam=2), plans[str(sample.id)]
        assert (sample.target, sample.output.completion) == (shown.expected, shown.reply)
        assert sample.messages[-2].text == shown.prompt[-len(sample.messages[-2].text) :]
        assert str(sample.input) in sample.messages[-2].text and sample.messages[-1].text == shown.reply
        assert sample.metadata["memories"] == [*(each.memory_id for each in plan.memories), *plan.principles]
    calls = list(own.of(ModelCalled))
    [used] = log.stats.model_usage.values()
    assert used.total_tokens == sum(call.input_tokens + call.output_tokens for call in calls)
    assert used.total_tokens == sum(each.model_usage[log.eval.model].total_tokens for each in samples_of(log))


def test_inspects_command_line_lists_and_dumps_them(logs: Path) -> None:
    def inspect(*words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "inspect_ai", *words], capture_output=True, text=True, check=True)
        return done.stdout

    assert {Path(each.name).name for each in list_eval_logs(str(logs))} == {"0001-start.eval", "0002-latest.eval"}
    listed = json.loads(inspect("log", "list", "--json", "--absolute", "--log-dir", str(logs)))
    assert len(listed) == 2
    dumped = json.loads(inspect("log", "dump", str(logs / "0002-latest.eval")))
    assert dumped["status"] == "success" and len(dumped["samples"]) == 20
    assert dumped["eval"]["metadata"]["run"] == "small"


def test_a_copy_without_gold_answers_gives_samples_without_targets(run: Run, tmp_path: Path) -> None:
    backup(run, str(tmp_path / "copy"), gold=False)
    restore(str(tmp_path / "copy"), runs_dir=tmp_path / "runs", name="bare")
    export_inspect(tmp_path / "runs" / "bare", tmp_path / "logs")
    log = read(tmp_path / "logs")[1]
    assert {each.target for each in samples_of(log)} == {""}
    assert all(each.input and each.scores for each in samples_of(log))


def test_no_word_of_a_subject_is_in_a_log_whoever_has_the_keys(tmp_path: Path) -> None:
    echo = Echo()
    run = stopped(tmp_path / "runs", echo)
    resume(run, models=models_with(echo))
    examine(run, execution=echo)
    [exported] = export_inspect(run, tmp_path / "logs").logs
    log = read_eval_log(str(tmp_path / "logs" / exported.file))
    said = json.dumps(log.model_dump(mode="json")).casefold()
    assert not [canary for canary in CANARIES.values() if canary in said] and "sealed:" not in said
    secret = {str(each.id) for each in samples_of(log) if each.input == WITHHELD}
    assert secret == {str(each.id) for each in samples_of(log) if SUBJECTS[str(each.id)]} != set()
    assert all(each.scores and each.scores["correct"].value in ("C", "I") for each in samples_of(log))
    assert any(each.target for each in samples_of(log))


def test_what_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    with pytest.raises(UsageError, match="not an empty folder"):
        export_inspect(run, tmp_path / "full")
    with pytest.raises(UsageError, match="no finished exam by event 1: `mage-es exam small`"):
        export_inspect(run, tmp_path / "new", until="seq:1")
    assert not (tmp_path / "new").exists()


def test_scores_that_lie_between_are_beside_right_and_wrong(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{k}", "question": f"Name fruit {k} and its colour", "answer": f"pear {k} green"} for k in range(30)
    ]
    config = Config(benchmark="tasks/fruit?scorer=f1", iterations=1, pool=8, held_out=8, anchors=4)
    fruit = Saying("fruit", "Answer: pear 3 green")  # which a score by F1 finds partly right
    models = Models(fruit, open_model("builtin/reference", "guidance"))
    evolve(config, tasks=rows, models=models, runs_dir=tmp_path / "runs", run_id="fruit")
    exam = examine(tmp_path / "runs" / "fruit", execution=fruit)
    [exported] = export_inspect(tmp_path / "runs" / "fruit", tmp_path / "logs").logs
    log = read_eval_log(str(tmp_path / "logs" / exported.file))
    assert log.results is not None
    means = {score.name: next(iter(score.metrics.values())).value for score in log.results.scores}
    assert means == {"correct": exam.correct / exam.total, "score": pytest.approx(2 / 3, abs=1e-6)}
