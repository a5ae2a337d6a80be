"""The beginning of a report: what was learned, on what evidence and at what cost, in at most ten lines."""

from typing import get_args

import polars as pl

from mage_es.engine.study.reporting.cells import Cell
from mage_es.engine.study.reporting.places import Placement
from mage_es.engine.study.reporting.recorded import ExamState
from mage_es.engine.study.reporting.study import Measure, Study
from mage_es.events.vocabulary import Tier

MOST = 10
"""How many lines the beginning has, including the first and the last two."""


def in_words(study: Study) -> list[str]:
    """Return one line on the runs, one on each full system if there is room, and three on exams, cost and words."""
    learning, baselines = study.learning, len(study.counted) - len(study.learning)
    exams = sum(len(run.exams) for run in learning)
    several = "run" if len(learning) == 1 else "runs"
    head = f"{study.folder}: {len(learning)} {several} that learned, with exams: {exams}; baselines: {baselines}."
    results = [_result(study, place) for place in study.full()]
    room = MOST - 3
    if len(results) > room:
        results[room - 1 :] = [f"... and {len(results) - room + 1} more, in the tables below."]
    # With several exams of a state, the best could have been picked.
    before, after = (sum(len(run.taken_of(state)) for run in learning) for state in get_args(ExamState))
    used = list[str]()
    for tier in get_args(Tier):
        booked = study.booked.filter(pl.col("part") != "exams", tier=tier)
        if calls := booked["calls"].sum():
            price = "price unknown" if booked["usd"].null_count() else f"${booked['usd'].sum():.2f}"
            used.append(f"{calls:,} of {tier} ({price})")
    return [
        head,
        *results,
        f"Exams taken: {before} before and {after} after learning, in {len(learning)} {several}.",
        f"Model calls without exams: {', '.join(used) or 'none'}.",
        "Right or wrong is counted on held-out questions; `mage-es explain WORD` explains any word below.",
    ]


def _result(study: Study, place: Placement) -> str:
    measure: Measure = "score" if study.is_sequential(place.benchmark) else "accuracy"
    name = f"{study.titles.get(place.benchmark, place.benchmark)} with {place.learner}"
    after, before = study.reached(place, measure), study.reached(place, measure, at="start")
    if after is None:
        return f"{name}: no exam at the end yet, so nothing is known of questions it never saw."
    share = "right" if measure == "accuracy" else "of the score"
    exams = study.exams(place).values()
    recalled, asked = sum(exam.recalled for exam in exams), sum(len(exam.answers) for exam in exams)
    without = f" ({recalled} of {asked} recalled, without a call)" if recalled else ""
    now = f"{after.mean:.0f} % {share} after learning, on questions it never saw{without}"
    if before is None:
        return f"{name}: {now}; the share before is not known."
    rival = study.over_strongest(place)
    ahead = f"; {_points(rival)} over the strongest baseline" if rival else ""
    return f"{name}: {before.mean:.0f} % -> {now} ({_points(study.over_start(place, measure))}){ahead}."


def _points(gain: Cell | None) -> str:
    if gain is None:
        return "no difference could be paired"
    between = f", 95 % interval {gain.interval.low:+.0f} to {gain.interval.high:+.0f}" if gain.interval else ""
    return f"{gain.mean:+.0f} points{between}"
