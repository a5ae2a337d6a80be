"""Sealed segments are open data: Polars and DuckDB read those of many runs as one table, without this package.

The glob `runs/*/log/seg/*[0-9].parquet` takes the events and leaves out the vectors (`*.vec.parquet`). A segment has a
column for each event type that occurs in it, so runs differ in their columns: Polars puts them together with
`pl.concat(..., how="diagonal_relaxed")`, DuckDB with `union_by_name`. The texts below are run as they stand.
"""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from mage_es.events.log import Log
from mage_es.events.vocabulary import AnswerJudged, BanditUpdated, Draft, EdgeAdded
from tests.events.samples import clock, remembered
from tests.kit.plain_events import plain

ACCURACY_POLARS = """
import glob
import polars as pl

segments = sorted(glob.glob("runs/*/log/seg/*[0-9].parquet"))
events = pl.concat([pl.scan_parquet(segment) for segment in segments], how="diagonal_relaxed")
accuracy = (
    events.filter(pl.col("type") == "answer.judged")
    .select("run", pl.col("answer_judged").struct.unnest())
    .filter(pl.col("purpose") == "fresh")
    .group_by("run", "iteration")
    .agg(pl.col("correct").mean().alias("accuracy"), pl.len().alias("questions"))
    .sort("run", "iteration")
    .collect()
)
"""

ACCURACY_DUCKDB = """
SELECT run, answer_judged.iteration AS iteration,
       avg(answer_judged.correct::INT) AS accuracy, count(*) AS questions
FROM read_parquet('runs/*/log/seg/*[0-9].parquet', union_by_name = true)
WHERE type = 'answer.judged' AND answer_judged.purpose = 'fresh'
GROUP BY ALL ORDER BY ALL
"""

ARMS_POLARS = """
import glob
import polars as pl

segments = sorted(glob.glob("runs/*/log/seg/*[0-9].parquet"))
events = pl.concat([pl.scan_parquet(segment) for segment in segments], how="diagonal_relaxed")
arms = (
    events.filter(pl.col("type") == "bandit.updated")
    .select(pl.col("bandit_updated").struct.unnest())
    .group_by("bandit", "arm")
    .agg((pl.col("reward_micro").mean() / 1e6).alias("reward"), pl.len().alias("pulls"))
    .sort("reward", "arm", descending=[True, False])
    .collect()
)
"""

ARMS_DUCKDB = """
SELECT bandit_updated.bandit AS bandit, bandit_updated.arm AS arm,
       avg(bandit_updated.reward_micro) / 1e6 AS reward, count(*) AS pulls
FROM read_parquet('runs/*/log/seg/*[0-9].parquet', union_by_name = true)
WHERE type = 'bandit.updated'
GROUP BY ALL ORDER BY reward DESC, arm
"""


def answered(iteration: int, number: int, *, correct: bool, purpose: Any = "fresh") -> Draft:
    event = AnswerJudged(
        iteration=iteration,
        purpose=purpose,
        question_id=f"q{number}",
        task_type="ages",
        skill="algebra",
        answer="7",
        score_micro=1_000_000 if correct else 0,
        correct=correct,
        strict=True,
        judge="number",
    )
    return Draft(event=event, iteration=iteration, phase="evaluate", ordinal=number)


def rewarded(number: int, arm: str, reward_micro: int) -> Draft:
    event = plain(BanditUpdated, key="ages", arm=arm, question_id=f"q{number}", reward_micro=reward_micro)
    return Draft(event=event, iteration=0, phase="update", ordinal=number)


def edge() -> Draft:
    return Draft(event=EdgeAdded(kind="requires", source="a", target="b"), iteration=-1, phase="open")


def write(path: Path, run: str, *segments: list[Draft]) -> None:
    """Write a run with one segment for each list: a log that is closed seals."""
    Log.create(path / "runs" / run / "log", run=run, clock=clock()).close()
    for drafts in segments:
        with Log.open(path / "runs" / run / "log", clock=clock()) as log:
            log.append(drafts)


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs whose segments have different columns; the first segment of all has neither answers nor rewards."""
    write(
        tmp_path,
        "a",
        [edge()],
        [answered(0, n, correct=n < 3) for n in range(4)] + [rewarded(1, "deep", 1_000_000), remembered(1)],
        [answered(1, 9, correct=True), answered(1, 10, correct=False, purpose="revisit")],
    )
    write(tmp_path, "b", [answered(0, n, correct=n < 1) for n in range(2)] + [rewarded(2, "deep", 500_000)])
    write(tmp_path, "c", [rewarded(3, "wide", 250_000), edge()])
    monkeypatch.chdir(tmp_path)


def by_polars(text: str, name: str) -> list[tuple[object, ...]]:
    names: dict[str, Any] = {}
    exec(text, names)
    rows: list[tuple[object, ...]] = names[name].rows()
    return rows


ACCURACY = [("a", 0, 0.75, 4), ("a", 1, 1.0, 1), ("b", 0, 0.5, 2)]
ARMS = [("search", "deep", 0.75, 2), ("search", "wide", 0.25, 1)]


def test_polars_has_accuracy_by_run_and_iteration() -> None:
    assert by_polars(ACCURACY_POLARS, "accuracy") == ACCURACY


def test_duckdb_has_accuracy_by_run_and_iteration() -> None:
    assert duckdb.sql(ACCURACY_DUCKDB).fetchall() == ACCURACY


def test_polars_has_arms_by_reward() -> None:
    assert by_polars(ARMS_POLARS, "arms") == ARMS


def test_duckdb_has_arms_by_reward() -> None:
    assert duckdb.sql(ARMS_DUCKDB).fetchall() == ARMS


def test_a_field_that_a_later_release_added_is_no_obstacle(tmp_path: Path) -> None:
    segment = next(tmp_path.glob("runs/b/log/seg/*[0-9].parquet"))
    later = pl.col("answer_judged").struct.with_fields(pl.lit("sure").alias("confidence"))
    folder = tmp_path / "runs" / "d" / "log" / "seg"
    folder.mkdir(parents=True)
    pl.read_parquet(segment).with_columns(pl.lit("d").alias("run"), later).write_parquet(folder / segment.name)
    expected = [*ACCURACY, ("d", 0, 0.5, 2)]
    assert by_polars(ACCURACY_POLARS, "accuracy") == expected
    assert duckdb.sql(ACCURACY_DUCKDB).fetchall() == expected


def test_every_event_is_in_the_one_table_and_vectors_are_beside(tmp_path: Path) -> None:
    total = duckdb.sql("SELECT count(*) FROM read_parquet('runs/*/log/seg/*[0-9].parquet', union_by_name = true)")
    segments = [pl.scan_parquet(path) for path in tmp_path.glob("runs/*/log/seg/*[0-9].parquet")]
    in_polars = pl.concat(segments, how="diagonal_relaxed")
    # 14 facts, and the records of the sealing of two segments: those of the newest are in the write-ahead files.
    assert total.fetchall() == [(16,)]
    assert in_polars.select(pl.len()).collect().item() == 16
    vectors = duckdb.sql("SELECT field, len(vector) FROM read_parquet('runs/*/log/seg/*.vec.parquet')").fetchall()
    assert vectors == [("memory_appended.embedding", 4)]
