"""Tables of scoring itself: who decided, whether rule and judge agree, and what the official metrics say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.run.exams import RULE, RecordedExam
from mage_es.engine.run.questions import recorded_benchmark
from mage_es.engine.seams.benchmark import SPLITS, Benchmark, Question, scored
from mage_es.engine.study.reporting.cells import TableRow, cell_of, columns
from mage_es.engine.study.reporting.places import Placement
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import Study, TableBody, table
from mage_es.engine.study.score import ByVerdict, measures_of
from mage_es.engine.verbs.agreement import kappa
from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, EpisodeStepped, ModelCalled

HOTPOTQA = "hotpotqa"
CROSS_CHECK = ("em", "f1", "lenient")
"""The metrics beside the verdict; appendix, HotpotQA cross-check."""


@table(
    "judging",
    "Rule and judge",
    "section 4.1, baselines and scoring; appendix, cross-check",
    "percent of the answers of a run, mean ± sd over the runs of all systems; agreement: strict rule and verdict both "
    "right or both wrong, with Cohen's kappa",
)
def judging(study: Study) -> TableBody:
    """Return who decided answers, and how far the strict rule and the verdicts agree, in evolution and in exams.

    [tables, judges] With Cohen's kappa.
    """
    body: list[TableRow] = []
    for benchmark in sorted({run.begun.benchmark for run in study.learning}):
        here = [run for run in study.learning if run.begun.benchmark == benchmark]
        examined = [pl.concat([exam.answers for exam in run.exams]) for run in here if run.exams]
        for where, every in (("evolution", [run.answers for run in here]), ("exams", examined)):
            if answers := [each for each in every if not each.is_empty()]:
                *shares, kappas = zip(*map(agreement, answers), strict=True)
                cells = (cell_of(map(len, answers), "count"), *map(cell_of, shares), cell_of(kappas, "value"))
                body.append((benchmark, where, *cells))
    heads = (
        *columns("Benchmark", "Answers of", "n"),
        *columns("rule", "judge", group="decided by"),
        *columns("right", "strictly right", "agreement", "kappa"),
    )
    note = "The rule first: a judge is asked what it leaves undecided, near misses and cross-checked wrong ones."
    return TableBody(heads, body, [note])


def agreement(answers: pl.DataFrame) -> tuple[float, ...]:
    """Return how many answers, in percent, the rule and a judge decided, are right, are strictly right, and are right
    by both or by neither; last Cohen's kappa of the strict rule and the verdict."""
    correct, strict = answers["correct"], answers["strict"]
    rule, *shares = (
        int(kind.sum()) / len(answers) for kind in (answers["judge"] == RULE, correct, strict, correct == strict)
    )
    percents = (100 * share for share in (rule, 1 - rule, *shares))
    return *percents, kappa(list(zip(correct, strict, strict=True)))


@table(
    "metrics",
    "Official metrics of the same replies",
    "appendix, cross-checks",
    "the benchmark's own metrics on the recorded replies of the final exams, mean ± sd over seeds",
)
def metrics(study: Study) -> TableBody:
    """Return the benchmark's own metrics of the final exams' replies, one row for each benchmark, system and metric."""
    measured, problems = _all_measured(study, study.places)

    def rows(place: Placement) -> Iterator[TableRow]:
        for name in dict.fromkeys(name for one in measured[place] for name in one):
            yield place.system, name, cell_of((one[name] for one in measured[place] if name in one), "value")

    return study.by_place(list(measured), columns("System", "Metric", "Value"), rows, problems)


@table(
    "hotpotqa",
    "HotpotQA under three metrics",
    "tab:hotpot_emf1",
    "percent of the final exam's answers, mean ± sd over seeds; lenient: F1 of at least 0.5",
)
def hotpotqa(study: Study) -> TableBody:
    """Return HotpotQA's accuracy, exact match, F1 and lenient F1 for every system, the highest accuracy first."""
    measured, problems = _all_measured(study, [place for place in study.places if place.benchmark == HOTPOTQA])

    def rows(place: Placement) -> Iterator[TableRow]:
        cells = (cell_of(100 * one[name] for one in measured[place] if name in one) for name in CROSS_CHECK)
        yield study.called(place.system, [place]), study.reached(place), *cells

    best = sorted(measured, key=lambda place: -getattr(study.reached(place), "mean", -1.0))
    return study.by_place(best, columns("Method", "Verdict", "EM", "F1", "Lenient"), rows, problems)


def _all_measured(
    study: Study, places: Iterable[Placement]
) -> tuple[Mapping[Placement, list[Mapping[str, float]]], Sequence[str]]:
    """Return the metrics of each placement that has final exams, and why there are none for some."""
    found = {place: _measured(study, place) for place in places if study.exams(place)}
    problems = dict.fromkeys(problem for _, problem in found.values() if problem)
    return {place: measured for place, (measured, _) in found.items()}, list(problems)


def _measured(study: Study, place: Placement) -> tuple[list[Mapping[str, float]], str]:
    """Return the metrics of each seed's final exam, or why there are none."""
    found = []
    for seed, exam in study.exams(place).items():
        run = study.at(place)[seed]
        try:
            benchmark, has_gold = recorded_benchmark(run.reader, run.begun, data_dir=study.data_dir)
        except (LogDamaged, PrerequisiteError, UsageError) as error:
            return [], f"{place.benchmark}: {error}"
        if not has_gold:
            return [], f"{place.benchmark}: this copy of {run.run.id} was made without its gold answers."
        measures = measures_of(benchmark)
        if isinstance(measures, ByVerdict):
            return [], f"{place.benchmark} has no metrics but the verdict."
        questions = {q.id: q for split in SPLITS for q in benchmark.questions(split)}
        replies = sorted(_scored(run, exam, benchmark, questions).items())
        known = [(questions[name], Prediction(name, value)) for name, value in replies if name in questions]
        found.append(measures.total([(asked, measures.measure(asked, said, strict=False)) for asked, said in known]))
    return found, ""


def replies_of(run: RecordedRun, exam: RecordedExam) -> Mapping[str, object]:
    """Return the last reply to each question of an exam as it was recorded; for an episode, its actions."""
    reader, answered = _log_of(run, exam), set(exam.answers["question_id"])
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
    """Return the reply that was scored for each question of an exam: after a vote, the winner and not the last one.

    If the answer comes from no single reply (ReAct finishes with an action), it is the answer itself, "" for none.
    """
    if not exam.episodes.is_empty():
        return replies_of(run, exam)
    reader = _log_of(run, exam)
    replies, wanted = _replies(reader), questions.keys() & set(exam.answers["question_id"])
    found: dict[str, object] = dict.fromkeys(sorted(wanted), "")  # a question without an answer was nevertheless asked
    for event in reader.of(AnswerJudged):
        name, texts = event.question_id, replies.get(event.question_id, {})
        if name not in wanted:
            continue
        found[name] = texts[name] if texts.keys() == {name} else f"Answer: {event.answer}" if event.answer else ""
        for text in texts.values() if len(texts) > 1 else ():
            if scored(benchmark, questions[name], text).answer == event.answer:
                found[name] = text
    return found


def _log_of(run: RecordedRun, exam: RecordedExam) -> LogReader:
    return LogReader(run.run.exams_path / exam.name / "log") if exam.name else run.reader


def _replies(reader: LogReader) -> Mapping[str, Mapping[str, str]]:
    """Return the execution model's texts by question and by what each call is about, in the order of the log."""
    found: dict[str, dict[str, str]] = {}
    for event in reader.of(ModelCalled):
        if event.tier == "execution":
            for name in (event.about, event.about.rpartition("/")[0]):
                found.setdefault(name, {})[event.about] = event.text
    return found
