"""Tables of scoring itself: who decided, whether rule and judge agree, and what the official metrics say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.run.exams import RULE, RecordedExam
from mage_es.engine.run.questions import recorded_benchmark
from mage_es.engine.seams.benchmark import SPLITS, Benchmark, Question, scored
from mage_es.engine.study.reporting.cells import Entry, StudyTable, columns
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import Study
from mage_es.engine.study.reporting.systems import Placement
from mage_es.engine.verbs.agreement import kappa
from mage_es.engine.verbs.score import ByVerdict, measures_of
from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, EpisodeStepped, ModelCalled

HOTPOTQA = "hotpotqa"
CROSS_CHECK = ("em", "f1", "lenient")
"""The metrics beside the verdict; appendix, HotpotQA cross-check."""


class Deciders(NamedTuple):
    """Shares in percent of some answers, and Cohen's kappa of the strict rule and the verdict."""

    by_rule: float
    by_judge: float
    right: float
    strictly_right: float
    agreeing: float
    kappa: float


def judging(study: Study) -> StudyTable:
    """Return who decided answers, and how far the strict rule and the verdicts agree, in evolution and in exams.

    [tables, judges] With Cohen's kappa.
    """
    runs = [run for run in study.counted if not run.baseline]
    body: list[tuple[Entry, ...]] = []
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        here = [run for run in runs if run.begun.benchmark == benchmark]
        examined = [pl.concat([exam.answers for exam in run.exams]) for run in here if run.exams]
        for where, every in (("evolution", [run.answers for run in here]), ("exams", examined)):
            answers = [each for each in every if not each.is_empty()]
            found = [agreement(each) for each in answers]
            if found:
                count = cell_of(map(len, answers), "count")
                shares = [cell_of(values) for values in zip(*(f[:-1] for f in found), strict=True)]
                body.append((benchmark, where, count, *shares, cell_of((f.kappa for f in found), "value")))
    decided = columns("rule", "judge", group="decided by")
    return StudyTable(
        name="judging",
        title="Rule and judge",
        place="section 4.1, baselines and scoring; appendix, cross-check",
        measure="percent of the answers of a run, mean ± sd over the runs of all systems; agreement: "
        "strict rule and verdict both right or both wrong, with Cohen's kappa",
        columns=(
            *columns("Benchmark", "Answers of", "n"),
            *decided,
            *columns("right", "strictly right", "agreement", "kappa"),
        ),
        rows=tuple(body),
        notes=("The rule first: a judge is asked what it leaves undecided, near misses and cross-checked wrong ones.",),
    )


def agreement(answers: pl.DataFrame) -> Deciders:
    correct, strict, judge = answers["correct"], answers["strict"], answers["judge"]
    rule, right, strictly_right, agreeing = (
        int(kind.sum()) / len(answers) for kind in (judge == RULE, correct, strict, correct == strict)
    )
    return Deciders(
        by_rule=100 * rule,
        by_judge=100 * (1 - rule),
        right=100 * right,
        strictly_right=100 * strictly_right,
        agreeing=100 * agreeing,
        kappa=kappa(list(zip(correct, strict, strict=True))),
    )


def metrics(study: Study) -> StudyTable:
    """Return the benchmark's own metrics of the final exams' replies, one row for each benchmark, system and metric."""
    places = [place for place in study.places if study.exams(place)]
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    problems: list[str] = []
    for place in places:
        measured, problem = _measured(study, place)
        if problem and problem not in problems:
            problems.append(problem)
        for name in dict.fromkeys(name for one in measured for name in one):
            values = (one[name] for one in measured if name in one)
            body.append((*head.cells(place), place.system, name, cell_of(values, "value")))
    return StudyTable(
        name="metrics",
        title="Official metrics of the same replies",
        place="appendix, cross-checks",
        measure="the benchmark's own metrics on the recorded replies of the final exams, mean ± sd over seeds",
        columns=(*head.columns, *columns("System", "Metric", "Value")),
        rows=tuple(body),
        notes=(*head.notes, *problems),
    )


def hotpotqa(study: Study) -> StudyTable:
    """Return HotpotQA's accuracy, exact match, F1 and lenient F1 for every system, the highest accuracy first."""
    places = [place for place in study.places if place.benchmark == HOTPOTQA and study.exams(place)]
    head = study.head(places, "learner", "teacher", "setting")
    body, problems = list[tuple[float, tuple[Entry, ...]]](), list[str]()
    for place in places:
        measured, problem = _measured(study, place)
        problems += [problem] if problem and problem not in problems else []
        reached = study.reached(place)
        cells = (cell_of(100 * one[name] for one in measured if name in one) for name in CROSS_CHECK)
        method = study.called(place.system, [place])
        body.append((getattr(reached, "mean", -1.0), (*head.cells(place), method, reached, *cells)))
    return StudyTable(
        name="hotpotqa",
        title="HotpotQA under three metrics",
        place="tab:hotpot_emf1",
        measure="percent of the final exam's answers, mean ± sd over seeds; lenient: F1 of at least 0.5",
        columns=(*head.columns, *columns("Method", "Verdict", "EM", "F1", "Lenient")),
        rows=tuple(row for _, row in sorted(body, key=lambda pair: -pair[0])),
        notes=(*head.notes, *problems),
    )


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
    reader = _log_of(run, exam)
    answered = set(exam.answers["question_id"])
    if not exam.episodes.is_empty():
        return {name: list(actions) for name, actions in _actions(reader).items() if name in answered}
    return {name: texts[name] for name, texts in _replies(reader).items() if name in answered and name in texts}


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
        if event.question_id not in wanted:
            continue
        name, texts = event.question_id, replies.get(event.question_id, {})
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


def _actions(reader: LogReader) -> Mapping[str, Iterable[str]]:
    found: dict[str, dict[int, str]] = {}
    for event in reader.of(EpisodeStepped):
        if event.purpose == "exam":
            found.setdefault(event.episode_id, {})[event.step] = event.action
    return {name: [steps[step] for step in sorted(steps)] for name, steps in found.items()}
