"""Tables along the iterations: how the graph grew, and which earlier failures were answered right when asked again."""

from __future__ import annotations

import polars as pl

from mage_es.engine.study.reporting.cells import Entry, StudyTable, columns
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import Study

_SIZES = {
    "Skills": "skills",
    "Failure memories": "failure memories",
    "Success memories": "success memories",
    "Principles": "principles",
    "Task types covered": "task types covered",
    "of": "task types",
    "Nodes": "nodes",
    "Edges": "edges",
}
"""The table's columns, and those of `RecordedRun.growth`; a task type is covered once it has been a target of
EVOLVE."""

_RECOVERY = {
    "iteration": pl.Int64,
    "fresh": pl.Float64,
    "recovered share": pl.Float64,
    "revisits": pl.Int64,
    "recovered": pl.Int64,
    "solved": pl.Int64,
    "failed": pl.Int64,
}


def growth(study: Study) -> StudyTable:
    """Return sizes of the graph at the end of each iteration (start: before the first), one block for each system.

    [tables, graph growth] A type is covered once EVOLVE had it as a target.
    """
    places = study.full()
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    for place in places:
        grown = pl.concat([run.growth for run in study.at(place).values()]).sort("iteration")
        for (k,), rows in grown.group_by("iteration", maintain_order=True):
            sizes = (cell_of(rows[size], "count") for size in _SIZES.values())
            body.append((*head.cells(place), "start" if k == -1 else str(k), *sizes))
    return StudyTable(
        name="growth",
        title="Graph growth",
        place="tab:growth",
        measure="sizes at the end of each iteration, mean ± sd over seeds",
        columns=(*head.columns, *columns("Iteration", *_SIZES)),
        rows=tuple(body),
        notes=head.notes,
    )


def recovery_of(run: RecordedRun) -> pl.DataFrame:
    """Return for each iteration the accuracy of `fresh` questions and of revisits in percent, and counts.

    `solved` are the questions ever answered right so far, `failed` those whose latest answer is wrong.
    """
    asked = run.answers.filter(pl.col("purpose").is_in(["fresh", "revisit"]))
    rows = []
    for k in run.iterations:
        now, so_far = asked.filter(iteration=k), asked.filter(pl.col("iteration") <= k)
        fresh, again = (now.filter(purpose=purpose)["correct"] for purpose in ("fresh", "revisit"))
        shares = (100 * right.sum() / len(right) if len(right) else None for right in (fresh, again))
        latest = so_far.group_by("question_id", maintain_order=True).agg(pl.col("correct").last())["correct"]
        solved = so_far.filter("correct")["question_id"].n_unique()
        rows.append((k, *shares, len(again), again.sum(), solved, (~latest).sum()))
    return pl.DataFrame(rows, schema=_RECOVERY, orient="row")


def recovery(study: Study) -> StudyTable:
    """Return per iteration how many earlier failures were answered right when they were asked again.

    [tables, recovery] Sums are computed; the paper's column adds up to 68, not 78.
    """
    places = study.full()
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    for place in places:
        runs = [recovery_of(run) for run in study.at(place).values()]
        every = pl.concat(runs).sort("iteration")
        if every.is_empty():
            body.append((*head.cells(place), "0", *[None] * 6))
            continue
        for (k,), rows in every.group_by("iteration", maintain_order=True):
            cells = (
                cell_of(rows[name].drop_nulls(), "percent" if kind == pl.Float64 else "count")
                for name, kind in list(_RECOVERY.items())[1:]
            )
            body.append((*head.cells(place), str(k), *cells))
        recovered = cell_of((int(run["recovered"].sum()) for run in runs), "count")
        body.append((*head.cells(place), "sum", "", "", "", recovered, "", ""))
    names = ("New questions, accuracy", "Revisits, accuracy", "Revisits", "Recovered", "Solved pool", "Failed pool")
    return StudyTable(
        name="recovery",
        title="Recovery of earlier failures",
        place="tab:recovery_example",
        measure="accuracy of the evaluation in evolution (fresh questions, not the exam) in percent, and counts; "
        "mean ± sd over seeds",
        columns=(*head.columns, *columns("Iteration", *names)),
        rows=tuple(body),
        notes=(
            *head.notes,
            "Solved pool: questions ever answered right. Failed pool: questions whose failure is still open.",
        ),
    )
