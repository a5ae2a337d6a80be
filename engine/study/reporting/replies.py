"""The recorded replies of exams, and their official metrics."""

from collections.abc import Mapping
from pathlib import Path

from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.run.exams import RecordedExam
from mage_es.engine.run.questions import recorded_benchmark
from mage_es.engine.seams.benchmark import SPLITS, Benchmark, Question, scored
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.score import ByVerdict, measures_of
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, EpisodeStepped, ModelCalled


def measured(run: RecordedRun, exam: RecordedExam, data_dir: Path | None) -> Mapping[str, float]:
    """Return the benchmark's own metrics of an exam.

    Raises `UsageError`, `PrerequisiteError` or `LogDamaged` where there are none.
    """
    benchmark, has_gold = recorded_benchmark(run.reader, run.begun, data_dir=data_dir)
    if not has_gold:
        raise UsageError(f"this copy of {run.run.id} was made without its gold answers.")
    measures = measures_of(benchmark)
    if isinstance(measures, ByVerdict):
        raise UsageError("it has no metrics besides the verdict.")
    questions = {q.id: q for split in SPLITS for q in benchmark.questions(split)}
    replies = sorted(_scored(run, exam, benchmark, questions).items())
    known = [(questions[name], Prediction(name, value)) for name, value in replies if name in questions]
    return measures.total([(asked, measures.measure(asked, said, strict=False)) for asked, said in known])


def replies_of(run: RecordedRun, exam: RecordedExam) -> Mapping[str, object]:
    """Return the last reply to each question of an exam as it was recorded; for an episode, its actions."""
    reader, answered = run.log_of(exam), set(exam.answers["question_id"])
    if exam.episodes.is_empty():
        return {name: texts[name] for name, texts in _replies(reader).items() if name in answered and name in texts}
    steps: dict[str, dict[int, str]] = {}
    for event in reader.of(EpisodeStepped):
        if event.purpose == "exam" and event.episode_id in answered:
            steps.setdefault(event.episode_id, {})[event.step] = event.action
    return {name: [action for _, action in sorted(taken.items())] for name, taken in steps.items()}


def _scored(
    run: RecordedRun, exam: RecordedExam, benchmark: Benchmark, questions: Mapping[str, Question]
) -> Mapping[str, object]:
    """Return the reply that was scored for each question of an exam: after a vote, the winner rather than the last one.

    If the answer comes from no single reply (ReAct finishes with an action), it is the answer itself, "" for none.
    """
    if not exam.episodes.is_empty():
        return replies_of(run, exam)
    reader = run.log_of(exam)
    replies, wanted = _replies(reader), questions.keys() & set(exam.answers["question_id"])
    found: dict[str, object] = dict.fromkeys(wanted, "")  # a question without an answer was nevertheless asked
    for event in reader.of(AnswerJudged):
        name, texts = event.question_id, replies.get(event.question_id, {})
        if name not in wanted:
            continue
        found[name] = texts[name] if texts.keys() == {name} else f"Answer: {event.answer}" if event.answer else ""
        for text in texts.values() if len(texts) > 1 else ():
            if scored(benchmark, questions[name], text).answer == event.answer:
                found[name] = text
    return found


def _replies(reader: LogReader) -> Mapping[str, Mapping[str, str]]:
    """Return the execution model's texts by question and by what each call is about, in the order of the log."""
    found: dict[str, dict[str, str]] = {}
    for event in reader.of(ModelCalled):
        if event.tier == "execution":
            for name in (event.about, event.about.rpartition("/")[0]):
                found.setdefault(name, {})[event.about] = event.text
    return found
