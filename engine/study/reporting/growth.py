"""Tables along the iterations: how the graph grew, and which earlier failures were answered right when asked again."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from mage_es.engine.study.reporting.cells import TableRow, cell_of, columns
from mage_es.engine.study.reporting.places import Placement
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import Study, TableBody, table

_SIZES = (
    *("skills", "failure memories", "success memories", "principles"),
    *("task types covered", "task types", "nodes", "edges"),
)
"""The sizes shown, of `RecordedRun.growth`; a task type is covered once it has been a target of EVOLVE."""
_SHARES = ("New questions, accuracy", "Revisits, accuracy")
_COUNTS = ("Revisits", "Recovered", "Solved pool", "Failed pool")


@table("growth", "Graph growth", "tab:growth", "sizes at the end of each iteration, mean ± sd over seeds")
def growth(study: Study) -> TableBody:
    """Return sizes of the graph at the end of each iteration (start: before the first), one block for each system.

    [tables, graph growth] A type is covered once EVOLVE had it as a target.
    """

    def rows(place: Placement) -> Iterator[TableRow]:
        grown = pl.concat([run.growth for run in study.at(place).values()]).sort("iteration")
        for (k,), sizes in grown.group_by("iteration", maintain_order=True):
            yield "start" if k == -1 else str(k), *(cell_of(sizes[size], "count") for size in _SIZES)

    heads = ("of" if size == "task types" else size.capitalize() for size in _SIZES)
    return study.by_place(study.full(), columns("Iteration", *heads), rows)


def recovery_of(run: RecordedRun) -> pl.DataFrame:
    """Return for each iteration the accuracy of fresh questions and of revisits in percent, and counts.

    The solved pool are the questions ever answered right so far, the failed pool those whose latest answer is wrong.
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
    schema = {"iteration": pl.Int64, **dict.fromkeys(_SHARES, pl.Float64), **dict.fromkeys(_COUNTS, pl.Int64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


@table(
    "recovery",
    "Recovery of earlier failures",
    "tab:recovery_example",
    "accuracy of the evaluation in evolution (fresh questions, not the exam) in percent, and counts; mean ± sd over "
    "seeds",
)
def recovery(study: Study) -> TableBody:
    """Return per iteration how many earlier failures were answered right when they were asked again.

    [tables, recovery] Sums are computed; the paper's column adds up to 68, not 78.
    """

    def rows(place: Placement) -> Iterator[TableRow]:
        runs = [recovery_of(run) for run in study.at(place).values()]
        every = pl.concat(runs).sort("iteration")
        if every.is_empty():
            yield "0", *[None] * 6
            return
        for (k,), found in every.group_by("iteration", maintain_order=True):
            shares = (cell_of(found[name].drop_nulls()) for name in _SHARES)
            yield str(k), *shares, *(cell_of(found[name], "count") for name in _COUNTS)
        yield "sum", "", "", "", cell_of((int(run["Recovered"].sum()) for run in runs), "count"), "", ""

    note = "Solved pool: questions ever answered right. Failed pool: questions whose failure is still open."
    return study.by_place(study.full(), columns("Iteration", *_SHARES, *_COUNTS), rows, [note])
