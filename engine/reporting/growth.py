"""Tables along the iterations: how the graph grew, and which earlier failures were answered right when asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mage_es.engine.reporting.cells import Entry, Gap, Table, Unit, columns
from mage_es.engine.reporting.recorded import Growth, Recorded
from mage_es.engine.reporting.statistics import cell_of
from mage_es.engine.reporting.study import Study

_SIZES: tuple[tuple[str, Unit, Callable[[Growth], float]], ...] = (
    ("Skills", "count", lambda grown: grown.skills),
    ("Failure memories", "count", lambda grown: grown.memories.get("failure_memory", 0)),
    ("Success memories", "count", lambda grown: grown.memories.get("success_memory", 0)),
    ("Principles", "count", lambda grown: grown.memories.get("principle", 0)),
    ("Task types covered", "count", lambda grown: grown.covered),
    ("of", "count", lambda grown: grown.task_types),
    ("Nodes", "count", lambda grown: grown.nodes),
    ("Edges", "count", lambda grown: grown.edges),
)
"""What is counted of the graph; a task type is covered once EVOLVE had it as a target."""


def growth(study: Study) -> Table:
    """Return sizes of the graph at the end of each iteration (start: before the first), one block for each system."""
    places = [place for place in study.full()]
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    for place in places:
        by_run = [{grown.iteration: grown for grown in run.growth} for run in study.at(place).values()]
        for k in sorted({k for rows in by_run for k in rows}):
            found = [rows[k] for rows in by_run if k in rows]
            sizes = (cell_of(map(size, found), unit) or Gap() for _, unit, size in _SIZES)
            body.append((*head.cells(place), _iteration(k), *sizes))
    return Table(
        name="growth",
        title="Graph growth",
        place="tab:growth",
        measure="sizes at the end of each iteration, mean ± sd over seeds",
        columns=(*head.columns, *columns("Iteration", *(name for name, _, _ in _SIZES))),
        rows=tuple(body),
        notes=(head.note,) if head.note else (),
    )


class Recovery(NamedTuple):
    """An iteration's fresh accuracy in percent, its revisits, those answered right, and both pools at its end."""

    iteration: int
    fresh: float | None
    revisited: int
    recovered: int
    solved: int
    failed: int


def recovery_of(run: Recorded) -> list[Recovery]:
    """Return each iteration's revisits; `solved` counts questions ever answered right, `failed` open failures."""
    fresh, revisits = run.series("fresh"), run.series("revisit")
    solved, failed, rows = set[str](), set[str](), list[Recovery]()
    for k in run.iterations:
        new, again = fresh.get(k, ()), revisits.get(k, ())
        for answer in (*new, *again):
            (solved if answer.correct else failed).add(answer.question_id)
            if answer.correct:
                failed.discard(answer.question_id)
        accuracy = 100 * sum(a.correct for a in new) / len(new) if new else None
        rows.append(Recovery(k, accuracy, len(again), sum(a.correct for a in again), len(solved), len(failed)))
    return rows


def recovery(study: Study) -> Table:
    """Return per iteration how many earlier failures were answered right when they were asked again."""
    places = [place for place in study.full()]
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    for place in places:
        by_run = [{row.iteration: row for row in recovery_of(run)} for run in study.at(place).values()]
        for k in sorted({k for rows in by_run for k in rows}):
            body.append((*head.cells(place), str(k), *_recovered([rows[k] for rows in by_run if k in rows])))
        if any(by_run):
            body.append((*head.cells(place), "sum", "", "", "", *_sum(by_run), "", ""))
        else:
            body.append((*head.cells(place), "0", study.gap(place), *[Gap()] * 5))
    names = ("New questions, accuracy", "Revisits, accuracy", "Revisits", "Recovered", "Solved pool", "Failed pool")
    return Table(
        name="recovery",
        title="Recovery of earlier failures",
        place="tab:recovery_example",
        measure="accuracy of the evaluation in evolution (fresh questions, not the exam) in percent, and counts; "
        "mean ± sd over seeds",
        columns=(*head.columns, *columns("Iteration", *names)),
        rows=tuple(body),
        notes=(
            *((head.note,) if head.note else ()),
            "Solved pool: questions ever answered right. Failed pool: questions whose failure is still open.",
        ),
    )


def _recovered(rows: Sequence[Recovery]) -> list[Entry]:
    asked = [row for row in rows if row.revisited]
    return [
        cell_of(row.fresh for row in rows if row.fresh is not None) or Gap(),
        cell_of(100 * row.recovered / row.revisited for row in asked) or Gap(),
        *(
            _count(values)
            for values in zip(*((r.revisited, r.recovered, r.solved, r.failed) for r in rows), strict=True)
        ),
    ]


def _count(values: Iterable[float]) -> Entry:
    return cell_of(values, "count") or Gap()


def _sum(by_run: Sequence[dict[int, Recovery]]) -> list[Entry]:
    return [_count(sum(row.recovered for row in rows.values()) for rows in by_run)]


def _iteration(iteration: int) -> str:
    return "start" if iteration < 0 else str(iteration)
