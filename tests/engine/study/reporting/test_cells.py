"""Means, deviations and paired differences, against figures worked out by hand."""

from collections.abc import Mapping

import polars as pl
import pytest

from mage_es.engine.run.exams import RIGHT_BY_QUESTION, SCORES_BY_QUESTION, sign_test
from mage_es.engine.study.reporting.cells import BY_SEED, OF_MEAN, cell_of, difference


def scores(by_seed: Mapping[int, Mapping[str, float]]) -> pl.DataFrame:
    rows = [(seed, name, value) for seed, found in by_seed.items() for name, value in found.items()]
    return pl.DataFrame(rows, {"seed": pl.Int64, "question": pl.String, "value": pl.Float64}, orient="row")


@pytest.mark.paper("tables, cells")
def test_a_cell_has_the_mean_and_the_deviation_of_a_sample() -> None:
    cell = cell_of([60.0, 70.0, 80.0])
    assert cell and (cell.mean, cell.sd, cell.n, cell.interval) == (70.0, 10.0, 3, None)


def test_one_value_has_no_deviation_and_no_value_is_no_cell() -> None:
    cell = cell_of([60.0])
    assert cell and (cell.sd, cell.n) == (None, 1)
    assert cell_of([]) is None


def test_the_interval_of_a_mean_is_students() -> None:
    cell = cell_of([60.0, 70.0, 80.0], interval=OF_MEAN)
    assert cell and cell.interval
    # t(0.975, 2 degrees) = 4.30265, error 10 / sqrt(3)
    assert cell.interval.high - 70 == pytest.approx(4.30265 * 10 / 3**0.5, abs=1e-3)
    assert cell.interval.p is None  # a mean is compared with nothing


def test_several_seeds_are_compared_seed_by_seed() -> None:
    one = {1: {"a": 1.0, "b": 1.0}, 2: {"a": 1.0, "b": 0.0}, 3: {"a": 1.0, "b": 1.0}}
    other = {1: {"a": 1.0, "b": 0.0}, 2: {"a": 0.0, "b": 0.0}, 4: {"a": 0.0, "b": 0.0}}
    cell = difference(scores(one), scores(other))
    assert cell and cell.interval
    assert (cell.mean, cell.sd, cell.n) == (50.0, 0.0, 2)  # seed 3 and seed 4 have no partner
    assert (cell.interval.method, cell.interval.pairs, cell.interval.p) == (BY_SEED, 2, 0.0)


@pytest.mark.paper("tables, main results")
def test_one_seed_is_compared_question_by_question() -> None:
    one = {7: {f"q{n}": float(n < 30) for n in range(40)} | {"only here": 1.0}}
    other = {7: {f"q{n}": float(n < 20) for n in range(40)}}
    cell = difference(scores(one), scores(other))
    assert cell and cell.interval
    assert (cell.mean, cell.sd, cell.n, cell.interval.pairs) == (25.0, None, 1, 40)
    assert cell.interval.method == RIGHT_BY_QUESTION
    assert 5 < cell.interval.low < 12 and 40 < cell.interval.high <= 44  # 25 ± 1.96 * 100 * sqrt(.25 * .75 / 40), wider
    assert cell.interval.p == pytest.approx(2 * 0.5**10)


def test_graded_scores_of_one_seed_are_resampled_the_same_every_time() -> None:
    one = {7: {f"q{n}": 0.9 if n < 30 else 0.4 for n in range(40)}}
    other = {7: {f"q{n}": 0.9 if n < 20 else 0.4 for n in range(40)}}
    cell = difference(scores(one), scores(other))
    assert cell and cell.interval
    assert cell.interval.method == SCORES_BY_QUESTION and 5 < cell.interval.low < 12.5 < cell.interval.high <= 20
    assert difference(scores(one), scores(other)) == cell


def test_without_a_common_seed_there_is_a_difference_and_no_interval() -> None:
    cell = difference(scores({1: {"a": 1.0}}), scores({2: {"a": 0.0}}))
    assert cell and (cell.mean, cell.sd, cell.interval) == (100.0, None, None)
    assert difference(scores({1: {"a": 1.0}}), scores({})) is None


def test_the_sign_test_is_exact_and_two_sided() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(3, 2) == pytest.approx(1.0)
