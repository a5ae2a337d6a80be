"""The verb `score`: predictions from any source, measured by a benchmark's own metrics.

Rules
    - Every question of the records counts, as upstream does: a missing prediction is measured as an empty one.
    - A prediction for an unknown question, or a second one for the same question, is an error: a total over the wrong
      questions would mean nothing.
    - A judge, if there is one, sees every prediction; its opinion is reported beside the metrics and changes none.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from mage_es.engine.askings.agreement import Agreement, JudgeCase, agreement
from mage_es.engine.benchmarks.measuring import Measured, Prediction, PredictionForm, means, text_of
from mage_es.engine.benchmarks.records import listed, read_records
from mage_es.engine.benchmarks.registry import open_benchmark, open_records
from mage_es.engine.seams.benchmark import Benchmark, Question, scored
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.session.judge import template_of
from mage_es.engine.study.opinions import Judge, opinions_of
from mage_es.events.errors import UsageError


class ScoredPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one prediction; None for a metric in which upstream does not count it."""

    id: str
    answer: str
    metrics: Mapping[str, float | None]
    missing: bool = False


class ScoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of a set of predictions: one by one in the order of the records, and in total."""

    benchmark: str
    strict: bool
    questions: int
    missing: int
    totals: Mapping[str, float]
    predictions: tuple[ScoredPrediction, ...]
    judge: Agreement | None = None


@runtime_checkable
class Measures(Protocol):
    """Additional methods of a benchmark that can measure predictions made elsewhere."""

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Never raises: what cannot be read is wrong."""
        ...

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]: ...


class ByVerdict(NamedTuple):
    """The metrics of a benchmark without its own: its scorer's verdict."""

    benchmark: Benchmark

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        verdict = scored(self.benchmark, question, prediction.text)
        is_right = verdict.strict if strict else verdict.correct
        return Measured(verdict.answer, {"accuracy": float(is_right), "score": verdict.score})

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        return means(measured)


def score(
    name: str,
    *,
    records: Path | None,
    predictions: Path,
    strict: bool,
    seed: int,
    data_dir: Path | None,
    judge: Judge | None = None,
) -> ScoreReport:
    """Measure the predictions of a file: JSON lines (or an array) of `{"id": ..., "prediction": ...}`.

    `records` is an upstream file with the questions, None for the test split (all questions of a benchmark
    without one); `strict`: upstream to the letter.

    Raises:
        UsageError: No such benchmark, a prediction for a question that is not in the records, or a judge for episodes.
        PrerequisiteError: A file is missing or malformed, or the judge cannot be reached.
        BudgetReached: The judge's next call could cost more than may be spent.
    """
    benchmark = open_records(name, records) if records else open_benchmark(name, seed=seed, data_dir=data_dir)
    if judge is not None and is_sequential(benchmark):
        raise UsageError(f"The tasks of {name} are episodes, which their environment scores: omit --judge.")
    # All of a user's own tasks are measured, though a run would divide them.
    questions = benchmark.questions("test") or benchmark.questions("evolution")
    form: PredictionForm = getattr(benchmark, "predictions", "text")
    read = read_records(predictions, dict[str, Any], partial(_prediction, form))
    given = _by_id(read.items, questions, predictions)
    measures, agreed = measures_of(benchmark), None
    measured = [
        (question, measures.measure(question, given.get(question.id, Prediction(question.id, None)), strict=strict))
        for question in questions
    ]
    totals = dict(measures.total(measured))
    if judge is not None:
        opinions, agreed = _judged(benchmark, questions, given, judge, strict=strict)
        measured = [
            (question, one._replace(metrics={**one.metrics, "judge": opinions.get(question.id, 0.0)}))
            for question, one in measured
        ]
        totals["judge"] = sum(opinions.values()) / max(1, len(questions))
    return ScoreReport(
        benchmark=name,
        strict=strict,
        questions=len(questions),
        missing=len(questions) - len(given),
        totals=totals,
        predictions=tuple(
            ScoredPrediction(id=question.id, answer=one.answer, metrics=one.metrics, missing=question.id not in given)
            for question, one in measured
        ),
        judge=agreed,
    )


def _judged(
    benchmark: Benchmark, questions: Sequence[Question], given: Mapping[str, Prediction], judge: Judge, *, strict: bool
) -> tuple[Mapping[str, float], Agreement]:
    cases = []
    for question in questions:
        if said := given.get(question.id):
            text = "; ".join(map(text_of, said.value)) if isinstance(said.value, list) else said.text
            verdict = scored(benchmark, question, text)
            cases.append(JudgeCase(question, text, verdict, verdict.strict if strict else verdict.correct))
    template = template_of(benchmark)
    opinions = opinions_of(cases, judge, template)
    scores = {case.question.id: opinion.score for case, opinion in zip(cases, opinions, strict=True)}
    return scores, agreement(cases, opinions, model=judge.model.name, template=template)


def measures_of(benchmark: Benchmark) -> Measures:
    return benchmark if isinstance(benchmark, Measures) else ByVerdict(benchmark)


def _prediction(form: PredictionForm, position: int, row: dict[str, Any]) -> Prediction:
    missing = [key for key in ("id", "prediction") if key not in row]
    if missing:
        raise ValueError(f"{missing[0]}: is missing; expected an object with id and prediction")
    if type(row["id"]) not in (str, int):
        raise ValueError(f"id: expected a text or a whole number, found {text_of(row['id'])[:60]}")
    parts = {key: value for key, value in row.items() if key not in ("id", "prediction")}
    prediction = Prediction(text_of(row["id"]), row["prediction"], parts)
    if problem := problem_with(prediction, form):
        raise ValueError(problem)
    return prediction


def _by_id(predictions: Sequence[Prediction], questions: Sequence[Question], path: Path) -> Mapping[str, Prediction]:
    known, given, problems = {question.id for question in questions}, dict[str, Prediction](), list[str]()
    for prediction in predictions:
        if prediction.id not in known:
            problems.append(f"{path}: there is no question {prediction.id!r}")
        elif prediction.id in given:
            problems.append(f"{path}: two predictions for {prediction.id!r}")
        given[prediction.id] = prediction
    if problems:
        some = ", ".join(question.id for question in questions[:3])
        raise UsageError(
            f"{listed(problems, 'such predictions')}\nNothing was measured. The {len(questions)} questions are called "
            f"{some}, ...; for those of another split or file pass --records FILE."
        )
    return given


def problem_with(prediction: Prediction, form: PredictionForm) -> str:
    """Return what is wrong with the types of a prediction, "" if nothing; a missing one (null) is always fine."""
    parts = ((name, prediction.parts.get(name), _PARTS[name]) for name in _PARTS)
    for name, value, (words, kinds) in (("prediction", prediction.value, _FORMS[form]), *parts):
        if value is not None and not any(_fits(value, kind) for kind in kinds):
            shown = text_of(value)
            return f"{name}: expected {words}, found {shown if len(shown) <= 60 else f'{shown[:60]}...'}"
    return ""


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


_FORMS: Mapping[PredictionForm, tuple[str, tuple[Any, ...]]] = {
    "text": ("a text", (str,)),
    "tokens": ("a text or a list of texts", (str, list[str])),
    "actions": ("a text, a list of texts or a list of whole numbers", (str, list[str], list[int])),
    "json": ("a text, a number or a list", (str, int, float, list)),
}
_PARTS: Mapping[str, tuple[str, tuple[Any, ...]]] = {
    "supporting_facts": ("a list", (list,)),
    "sp": ("a list", (list,)),
    "program": ("a text or a list of texts", (str, list)),
    "is_correct": ("true or false", (bool,)),
}
"""Other fields of predictions that benchmarks read."""
