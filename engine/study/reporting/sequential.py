"""The table of sequential environments: task score, strict success, peak over iterations, replies without an action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from mage_es.engine.study.reporting.cells import Entry, StudyTable, columns
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import Study
from mage_es.engine.study.reporting.systems import FULL, Placement

PUBLISHED = {
    "webshop": (
        ("RetroAgent (in-context, Qwen-7B reference)", "87.6", "78.9"),
        ("RetroAgent (RL-trained reflection)", "88.9", "82.3"),
    )
}
"""What the paper quotes from others: configuration, task score, strict success; none of it was measured here."""


def sequential(study: Study) -> StudyTable:
    """Return a row for each configuration of each sequential environment, including the exams before evolution.

    [tables, sequential environments] The exam's scores and the peak of the evaluations are separate columns, with the
    share of replies that named no action.
    """
    places = [place for place in study.places if study.is_sequential(place.benchmark)]
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    for benchmark in sorted({place.benchmark for place in places}):
        here = [place for place in places if place.benchmark == benchmark]
        body += [
            (*head.cells(place), "before evolution", *_before(study, place)) for place in here if place.system == FULL
        ]
        body += [(*head.cells(place), place.system, *_row(study, place)) for place in here]
        for who, score, strict in PUBLISHED.get(benchmark, ()):
            blank = [""] * (len(head.columns) - 1)
            body.append((benchmark, *blank, f"{who}, published", score, strict, *[""] * 5))
    exam = columns("Task score", "Strict success", "Achievements", "No action", group="exam")
    course = columns("Peak score", "Iterations", "No action", group="over iterations")
    return StudyTable(
        name="sequential",
        title="Sequential environments",
        place="tab:sequential_main, tab:sequential",
        measure="percent, mean ± sd over seeds; exam: episodes never seen, after the last iteration; peak: the best "
        "iteration's mean score on fresh episodes; no action: share of replies that named none",
        columns=(*head.columns, *columns("Configuration"), *exam, *course),
        rows=tuple(body),
        notes=head.notes,
    )


def _before(study: Study, place: Placement) -> list[Entry]:
    exams = study.exams(place, at="start").values()
    played = [exam.episodes for exam in exams]
    return [*_scores(study, place, at="start"), *_shares(played), "", "", ""]


def _row(study: Study, place: Placement) -> list[Entry]:
    runs = list(study.at(place).values())
    played = [exam.episodes for exam in study.exams(place).values()]
    evolved = [run.episodes.filter(pl.col("purpose") != "exam") for run in runs]
    peaks = [run.by_iteration("fresh", "score")["value"].max() for run in runs]
    iterations = cell_of((len(run.iterations) for run in runs if run.iterations), "count")
    return [
        *_scores(study, place, at="end"),
        *_shares(played),
        cell_of(float(peak) for peak in peaks if isinstance(peak, float)),
        iterations,
        cell_of(_unparsed(each) for each in evolved if not each.is_empty()),
    ]


def _scores(study: Study, place: Placement, *, at: Literal["start", "end"]) -> list[Entry]:
    return [study.reached(place, measure, at=at) for measure in ("score", "strict")]


def _shares(exams: Sequence[pl.DataFrame]) -> list[Entry]:
    """Return achievements per episode, and the share of replies without an action, over the exams."""
    played = [episodes for episodes in exams if not episodes.is_empty()]
    reached = (int(episodes["achievements"].list.len().sum()) / len(episodes) for episodes in played)
    return [cell_of(reached, "value"), cell_of(map(_unparsed, played))]


def _unparsed(episodes: pl.DataFrame) -> float:
    """Return the share of steps, in percent, whose reply named no action."""
    steps, unparsed = (int(episodes[name].sum()) for name in ("steps", "unparsed"))
    return 100 * unparsed / steps if steps else 0.0
