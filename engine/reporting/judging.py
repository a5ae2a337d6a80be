"""Tables of scoring itself: who decided, whether rule and judge agree, and what the official metrics say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeGuard

from mage_es.engine.agreement import kappa
from mage_es.engine.benchmarks.measuring import Measured, Measures, Prediction
from mage_es.engine.benchmarks.protocol import Benchmark, Question
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.judging import NOBODY
from mage_es.engine.reporting.cells import Entry, Gap, Table, columns
from mage_es.engine.reporting.recorded import RULE, Answer, Recorded, Sat
from mage_es.engine.reporting.statistics import cell_of
from mage_es.engine.reporting.study import Study
from mage_es.engine.reporting.systems import Place
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import AnswerJudged, EpisodeStepped, ModelCalled

HOTPOTQA = "hotpotqa"
CROSS_CHECK = ("em", "f1", "lenient")
"""Its metrics beside the verdict; appendix, HotpotQA cross-check."""


class Agreement(NamedTuple):
    """Shares in percent of some answers, and Cohen's kappa of the strict rule and the verdict."""

    by_rule: float
    by_judge: float
    by_nobody: float
    right: float
    strictly_right: float
    agreeing: float
    kappa: float


def judging(study: Study) -> Table:
    """Return who decided answers, and how far the strict rule and the verdicts agree, in evolution and in exams."""
    runs = [run for run in study.counted if not run.baseline]
    body: list[tuple[Entry, ...]] = []
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        here = [run for run in runs if run.begun.benchmark == benchmark]
        for where, answers in (("evolution", [run.answers for run in here]), ("exams", [_sat(run) for run in here])):
            found = [agreement(each) for each in answers if each]
            if found:
                count = cell_of((len(each) for each in answers if each), "count") or Gap()
                shares = [cell_of(values) or Gap() for values in zip(*(f[:-1] for f in found), strict=True)]
                body.append((benchmark, where, count, *shares, cell_of((f.kappa for f in found), "value") or Gap()))
    decided = columns("rule", "judge", "nobody", group="decided by")
    return Table(
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
        notes=("The rule first: a judge is asked about what it leaves undecided or, where cross-checked, wrong.",),
    )


def agreement(answers: Sequence[Answer]) -> Agreement:
    """Return who decided some answers, at least one, and how far strict rule and verdict agree."""
    total = len(answers)
    right, strict = (sum(values) / total for values in zip(*((a.correct, a.strict) for a in answers), strict=True))
    agreeing = sum(a.correct == a.strict for a in answers) / total
    rule, nobody = (sum(a.judge == who for a in answers) / total for who in (RULE, NOBODY))
    return Agreement(
        100 * rule,
        100 * (1 - rule - nobody),
        100 * nobody,
        100 * right,
        100 * strict,
        100 * agreeing,
        kappa([(answer.correct, answer.strict) for answer in answers]),
    )


def _sat(run: Recorded) -> list[Answer]:
    return [answer for exam in run.exams for answer in exam.answers.values()]


def metrics(study: Study) -> Table:
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
            body.append((*head.cells(place), place.system, name, cell_of(values, "value") or Gap()))
    return Table(
        name="metrics",
        title="Official metrics of the same replies",
        place="appendix, cross-checks",
        measure="the benchmark's own metrics on the recorded replies of the final exams, mean ± sd over seeds",
        columns=(*head.columns, *columns("System", "Metric", "Value")),
        rows=tuple(body),
        notes=(*((head.note,) if head.note else ()), *problems),
    )


def hotpotqa(study: Study) -> Table:
    """Return HotpotQA's accuracy, exact match, F1 and lenient F1 for every system, the highest accuracy first."""
    places = [place for place in study.places if place.benchmark == HOTPOTQA and study.exams(place)]
    head = study.head(places, "learner", "teacher", "setting")
    body, problems = list[tuple[float, tuple[Entry, ...]]](), list[str]()
    for place in places:
        measured, problem = _measured(study, place)
        problems += [problem] if problem and problem not in problems else []
        reached = study.reached(place)
        cells = (cell_of(100 * one[name] for one in measured if name in one) or Gap() for name in CROSS_CHECK)
        method = study.called(place.system, [place])
        body.append((getattr(reached, "mean", -1.0), (*head.cells(place), method, reached, *cells)))
    return Table(
        name="hotpotqa",
        title="HotpotQA under three metrics",
        place="tab:hotpot_emf1",
        measure="percent of the final exam's answers, mean ± sd over seeds; lenient: F1 of at least 0.5",
        columns=(*head.columns, *columns("Method", "Verdict", "EM", "F1", "Lenient")),
        rows=tuple(row for _, row in sorted(body, key=lambda pair: -pair[0])),
        notes=tuple(filter(None, (head.note, *problems))),
    )


def _measured(study: Study, place: Place) -> tuple[list[Mapping[str, float]], str]:
    """Return the metrics of each seed's final exam, or why there are none."""
    found = []
    for seed, exam in study.exams(place).items():
        run = study.at(place)[seed]
        try:
            benchmark = open_benchmark(place.benchmark, seed=run.begun.seed, data_dir=study.data_dir)
        except (PrerequisiteError, UsageError) as error:
            return [], f"{place.benchmark}: {error}"
        if not _measures(benchmark):
            return [], f"{place.benchmark} has no metrics but the verdict."
        questions = {q.id: q for split in ("evolution", "test") for q in benchmark.questions(split)}
        pairs = _pairs(questions, _scored(run, exam, benchmark, questions), benchmark.measure)
        found.append(benchmark.total(pairs))
    return found, ""


def _pairs(
    questions: Mapping[str, Question], replies: Mapping[str, object], measure: Callable[..., Measured]
) -> list[tuple[Question, Measured]]:
    known = [(questions[name], Prediction(name, value)) for name, value in sorted(replies.items()) if name in questions]
    return [(question, measure(question, prediction, strict=False)) for question, prediction in known]


def replies_of(run: Recorded, exam: Sat) -> Mapping[str, object]:
    """Return the last reply to each question of an exam as it was recorded, of an episode its actions."""
    reader = _log_of(run, exam)
    if exam.episodes:
        return {name: list(actions) for name, actions in _actions(reader).items() if name in exam.answers}
    return {name: texts[name] for name, texts in _replies(reader).items() if name in exam.answers and name in texts}


def _scored(run: Recorded, exam: Sat, benchmark: Benchmark, questions: Mapping[str, Question]) -> Mapping[str, object]:
    """Return of each question of an exam the reply that was scored: of a vote the one that won, not the last one.

    Where the answer is that of no single reply (ReAct finishes with an action) it is the answer itself, "" for none.
    """
    if exam.episodes:
        return replies_of(run, exam)
    reader, found = _log_of(run, exam), dict[str, object]()
    replies = _replies(reader)
    for _, event in reader.events({AnswerJudged: ("purpose", "question_id", "answer")}):
        if not isinstance(event, AnswerJudged) or event.question_id not in exam.answers.keys() & questions.keys():
            continue
        name, texts = event.question_id, replies.get(event.question_id, {})
        found[name] = texts[name] if texts.keys() == {name} else f"Answer: {event.answer}" if event.answer else ""
        for text in texts.values() if len(texts) > 1 else ():
            if benchmark.score(questions[name], text).answer == event.answer:
                found[name] = text
    return found


def _log_of(run: Recorded, exam: Sat) -> LogReader:
    return LogReader(run.run.exams_path / exam.name / "log") if exam.name else run.reader


def _replies(reader: LogReader) -> Mapping[str, Mapping[str, str]]:
    """Return the execution model's texts by question and by what each call is about, in the order of the log."""
    found: dict[str, dict[str, str]] = {}
    for _, event in reader.events({ModelCalled: ("tier", "about", "text")}):
        if isinstance(event, ModelCalled) and event.tier == "execution":
            for name in (event.about, event.about.rpartition("/")[0]):
                found.setdefault(name, {})[event.about] = event.text
    return found


def _actions(reader: LogReader) -> Mapping[str, Iterable[str]]:
    found: dict[str, dict[int, str]] = {}
    for _, event in reader.events({EpisodeStepped: ("purpose", "episode_id", "step", "action")}):
        if isinstance(event, EpisodeStepped) and event.purpose == "exam":
            found.setdefault(event.episode_id, {})[event.step] = event.action
    return {name: [steps[step] for step in sorted(steps)] for name, steps in found.items()}


def _measures(benchmark: Benchmark) -> TypeGuard[_Measurable]:
    return hasattr(benchmark, "measure") and hasattr(benchmark, "total")


class _Measurable(Benchmark, Measures, Protocol):
    """A benchmark that measures predictions."""
