"""The table of sequential environments: task score, strict success, peak over iterations, replies without an action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mage_es.engine.reporting.cells import Entry, Gap, Table, columns
from mage_es.engine.reporting.recorded import Played, Recorded
from mage_es.engine.reporting.statistics import cell_of
from mage_es.engine.reporting.study import Study
from mage_es.engine.reporting.systems import FULL, Place

PUBLISHED = {
    "webshop": (
        ("RetroAgent (in-context, Qwen-7B reference)", "87.6", "78.9"),
        ("RetroAgent (RL-trained reflection)", "88.9", "82.3"),
    )
}
"""What the paper quotes of others: configuration, task score, strict success; none of it was measured here."""


def sequential(study: Study) -> Table:
    """Return a row for each configuration of each sequential environment, the exams before evolution among them."""
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
    return Table(
        name="sequential",
        title="Sequential environments",
        place="tab:sequential_main, tab:sequential",
        measure="percent, mean ± sd over seeds; exam: episodes never seen, after the last iteration; peak: the best "
        "iteration's mean score on fresh episodes; no action: share of replies that named none",
        columns=(*head.columns, *columns("Configuration"), *exam, *course),
        rows=tuple(body),
        notes=(head.note,) if head.note else (),
    )


def _before(study: Study, place: Place) -> list[Entry]:
    exams = study.exams(place, at="start").values()
    played = [exam.episodes for exam in exams]
    return [*_scores(study, place, at="start"), *_shares(played), "", "", ""]


def _row(study: Study, place: Place) -> list[Entry]:
    runs = list(study.at(place).values())
    played = [exam.episodes for exam in study.exams(place).values()]
    evolved = [[e for e in run.episodes if e.purpose != "exam"] for run in runs]
    iterations = cell_of((len(run.iterations) for run in runs if run.iterations), "count")
    return [
        *_scores(study, place, at="end"),
        *_shares(played),
        cell_of(peak for run in runs if (peak := peak_of(run)) is not None) or Gap(),
        iterations or Gap(),
        cell_of(_unparsed(each) for each in evolved if each) or Gap(),
    ]


def _scores(study: Study, place: Place, *, at: str) -> list[Entry]:
    if at == "start":
        return [study.reached(place, measure, at="start") for measure in ("score", "strict")]
    return [study.reached(place, measure) for measure in ("score", "strict")]


def _shares(exams: Sequence[Sequence[Played]]) -> list[Entry]:
    """Return achievements an episode, and the share of replies without an action, over the exams."""
    reached = (sum(e.achievements for e in episodes) / len(episodes) for episodes in exams if episodes)
    return [cell_of(reached, "value") or Gap(), cell_of(_unparsed(each) for each in exams if each) or Gap()]


def _unparsed(episodes: Iterable[Played]) -> float:
    """Return the share of steps, in percent, whose reply named no action."""
    steps, unparsed = 0, 0
    for episode in episodes:
        steps, unparsed = steps + episode.steps, unparsed + episode.unparsed
    return 100 * unparsed / steps if steps else 0.0


def peak_of(run: Recorded) -> float | None:
    """Return the best iteration's mean score on fresh questions, in percent; None before the first iteration."""
    means = [100 * sum(a.score for a in answers) / len(answers) for answers in run.series("fresh").values()]
    return max(means, default=None)
