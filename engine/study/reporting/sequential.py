"""The table of sequential environments: task score, strict success, peak over iterations, replies without an action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from mage_es.engine.study.reporting.cells import Entry, Row, columns
from mage_es.engine.study.reporting.recorded import RecordedRun, State
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import VARYING, Study, TableBody, table
from mage_es.engine.study.reporting.systems import FULL, Placement

PUBLISHED = {
    "webshop": (
        ("RetroAgent (in-context, Qwen-7B reference)", "87.6", "78.9"),
        ("RetroAgent (RL-trained reflection)", "88.9", "82.3"),
    )
}
"""What the paper quotes from others: configuration, task score, strict success; none of it was measured here."""


@table(
    "sequential",
    "Sequential environments",
    "tab:sequential_main, tab:sequential",
    "percent, mean ± sd over seeds; exam: episodes never seen, after the last iteration; peak: the best iteration's "
    "mean score on fresh episodes; no action: share of replies that named none",
)
def sequential(study: Study) -> TableBody:
    """Return a row for each configuration of each sequential environment, including the exams before evolution.

    [tables, sequential environments] The exam's scores and the peak of the evaluations are separate columns, with the
    share of replies that named no action.
    """
    places = [place for place in study.places if study.is_sequential(place.benchmark)]
    head = study.head(places, *VARYING)
    body: list[Row] = []
    for benchmark in sorted({place.benchmark for place in places}):
        here = [place for place in places if place.benchmark == benchmark]
        full = [place for place in here if place.system == FULL]
        body += [(*head.cells(each), "before evolution", *_exam(study, each, "start"), "", "", "") for each in full]
        body += [(*head.cells(each), each.system, *_exam(study, each), *_course(study, each)) for each in here]
        for who, score, strict in PUBLISHED.get(benchmark, ()):
            blank = [""] * (len(head.columns) - 1)
            body.append((benchmark, *blank, f"{who}, published", score, strict, *[""] * 5))
    exam = columns("Task score", "Strict success", "Achievements", "No action", group="exam")
    course = columns("Peak score", "Iterations", "No action", group="over iterations")
    return TableBody((*head.columns, *columns("Configuration"), *exam, *course), body, head.notes)


def _exam(study: Study, place: Placement, at: State = "end") -> Sequence[Entry]:
    played = [exam.episodes for exam in study.exams(place, at).values() if not exam.episodes.is_empty()]
    reached = (int(episodes["achievements"].list.len().sum()) / len(episodes) for episodes in played)
    scores = (study.reached(place, measure, at) for measure in ("score", "strict"))
    return *scores, cell_of(reached, "value"), cell_of(map(_unparsed, played))


def _course(study: Study, place: Placement) -> Sequence[Entry]:
    runs = study.at(place).values()
    evolved = (run.episodes.filter(pl.col("purpose") != "exam") for run in runs)
    return (
        cell_of(_peaks(runs)),
        cell_of((len(run.iterations) for run in runs if run.iterations), "count"),
        cell_of(_unparsed(each) for each in evolved if not each.is_empty()),
    )


def _peaks(runs: Iterable[RecordedRun]) -> Iterable[float]:
    """Return the mean score of each run's best iteration on fresh episodes, in percent."""
    for run in runs:
        fresh = run.answers.filter(purpose="fresh").group_by("iteration")
        means = fresh.agg(score=100 * pl.col("score").sum() / pl.len())
        if isinstance(peak := means["score"].max(), float):
            yield peak


def _unparsed(episodes: pl.DataFrame) -> float:
    """Return the share of steps, in percent, whose reply named no action."""
    steps, unparsed = (int(episodes[name].sum()) for name in ("steps", "unparsed"))
    return 100 * unparsed / steps if steps else 0.0
