"""The verb `score`: predictions that were made anywhere, measured by a benchmark's own metrics.

Rules
    - Every question of the records counts, as upstream has it: one without a prediction is measured as an empty one.
    - A prediction for a question that is not there, or a second one for the same question, is an error: a total over
      the wrong questions would say nothing.
    - A judge, where there is one, is asked about every prediction; what it says stands beside the metrics and changes
      none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import msgspec

from mage_es.engine.agreement import Agreement, Case, Judge, agreement, hear
from mage_es.engine.benchmarks.measuring import Measured, Measures, Prediction, means
from mage_es.engine.benchmarks.protocol import Benchmark, Question
from mage_es.engine.benchmarks.records import listed, read_records
from mage_es.engine.benchmarks.registry import open_benchmark, open_records
from mage_es.engine.environments.protocol import is_sequential
from mage_es.engine.judging import template_of
from mage_es.events.errors import UsageError


class ScoredPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """What the metrics say of one prediction; None where upstream does not count it for a metric."""

    id: str
    answer: str
    metrics: Mapping[str, float | None]
    missing: bool = False


class ScoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the metrics say of a set of predictions, one by one in the order of the records, and together."""

    benchmark: str
    strict: bool
    questions: int
    missing: int
    totals: Mapping[str, float]
    predictions: tuple[ScoredPrediction, ...]
    judge: Agreement | None = None
    """How far a judge agrees with the rule, where one was asked."""


class ByVerdict(NamedTuple):
    """The metrics of a benchmark that has none of its own: its scorer's verdict."""

    benchmark: Benchmark

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Return `accuracy`, and the `score` where the scorer gives parts of a point."""
        verdict = self.benchmark.score(question, prediction.text)
        is_right = verdict.strict if strict else verdict.correct
        return Measured(verdict.answer, {"accuracy": float(is_right), "score": verdict.score})

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        """Return the means."""
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
    """Measure the predictions of a file.

    Args:
        name: The benchmark.
        records: An upstream file, all of whose questions count; None: the benchmark's test split.
        predictions: JSON lines (or an array) of `{"id": ..., "prediction": ...}`.
        strict: Upstream to the letter.
        seed: Seed of a generated benchmark.
        data_dir: Folder of all data sets.
        judge: Whom to ask about every prediction, too.

    Raises:
        UsageError: No such benchmark, a prediction for no question of the records, or a judge of episodes.
        PrerequisiteError: A file is missing or malformed, or the judge cannot be reached.
        BudgetReached: The judge's next call could cost more than may be spent.
    """
    benchmark = open_records(name, records) if records else open_benchmark(name, seed=seed, data_dir=data_dir)
    if judge is not None and is_sequential(benchmark):
        raise UsageError(f"The tasks of {name} are episodes, which their environment scores: leave --judge out.")
    questions = benchmark.questions("test")
    given = _by_id(read_records(predictions, dict[str, Any], _prediction).items, questions, predictions)
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
    benchmark: Benchmark,
    questions: Sequence[Question],
    given: Mapping[str, Prediction],
    judge: Judge,
    *,
    strict: bool,
) -> tuple[Mapping[str, float], Agreement]:
    """Return a judge's score of each prediction by question, and how far it agrees with the rule."""
    cases = []
    for question in questions:
        if question.id in given:
            text = _said(given[question.id])
            verdict = benchmark.score(question, text)
            cases.append(Case(question, text, verdict, verdict.strict if strict else verdict.correct))
    template = template_of(benchmark)
    opinions = hear(cases, judge, template)
    scores = {case.question.id: said.score for case, said in zip(cases, opinions, strict=True)}
    return scores, agreement(cases, opinions, model=judge.model.name, template=template)


def _said(prediction: Prediction) -> str:
    """Return what a prediction says as one text: of a list its items, one after another."""
    return "; ".join(map(str, prediction.value)) if isinstance(prediction.value, list) else prediction.text


def measures_of(benchmark: Benchmark) -> Measures:
    """Return a benchmark's own metrics, or its scorer's verdict as one."""
    return benchmark if has_measures(benchmark) else ByVerdict(benchmark)


def has_measures(benchmark: object) -> TypeGuard[Measures]:
    """Return whether a benchmark has metrics of its own."""
    return hasattr(benchmark, "measure") and hasattr(benchmark, "total")


def _prediction(position: int, row: dict[str, Any]) -> Prediction:
    missing = [key for key in ("id", "prediction") if key not in row]
    if missing:
        raise ValueError(f"{missing[0]}: is missing; expected an object with id and prediction")
    parts = {key: value for key, value in row.items() if key not in ("id", "prediction")}
    return Prediction(str(row["id"]), row["prediction"], parts)


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
            f"{listed(problems, 'such predictions')}\nNothing was measured. {len(questions)} questions count, called "
            f"{some}, ...; those of another split or file count with --records FILE."
        )
    return given
