"""An exam as its log tells it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multinomial

from mage_es.engine.run.exams import RecordedExam, by_question, exam_records, paired, read_exam, sign_test
from mage_es.events.log import LogReader
from tests.engine.study.reporting.conftest import Bench, called, played


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "runs")


def exam(bench: Bench, letters: str, *facts: Any) -> RecordedExam:
    run = bench.run("r", after=letters, facts={"latest": facts})
    [record] = exam_records(LogReader(run.log_path))
    return read_exam(record.log(run), record)


def test_an_exam_has_its_verdicts_calls_and_episodes(bench: Bench) -> None:
    facts = (called("q0"), called("q1", tier="judge"), played("q0", score=0.5, steps=3, unparsed=1))
    found = exam(bench, "1j0", *facts)
    assert (found.name, found.marker, found.control, found.closed) == ("0001-latest", "latest", "none", True)
    assert found.answers["question_id"].to_list() == ["q0", "q1", "q2"]
    assert found.answers["judge"].to_list() == ["rule", "some/judge", "rule"]
    assert found.ledger.total("judge").calls == 1 and found.episodes["steps"].to_list() == [3]


def test_the_seconds_of_a_question_are_those_of_all_its_calls_to_the_execution_model(bench: Bench) -> None:
    calls = (called("q0/1", ms=200), called("q0/2", ms=300), called("q1", ms=500))
    aside = (called("q1", ms=900, tier="judge"), called("elsewhere", ms=900))
    assert exam(bench, "10", *calls, *aside).seconds == pytest.approx(0.5)


def test_a_baseline_is_an_exam_in_its_own_log(bench: Bench) -> None:
    reader = LogReader(bench.baseline("b", "react", "101").log_path)
    found = read_exam(reader)
    assert (found.marker, found.control, found.head_seq, found.closed) == ("latest", "none", reader.head.seq, True)
    assert found.answers["correct"].to_list() == [True, False, True]


@pytest.mark.slow
def test_an_interval_leaves_out_no_gain_exactly_where_the_sign_test_does() -> None:
    found = {(won, lost): paired(won, lost, 20) for won in range(13) for lost in range(13 - won)}
    for (won, lost), (low, high) in found.items():
        assert (low > 0 or high < 0) == (sign_test(won, lost) < 0.05), (won, lost)
        assert -1 <= low <= (won - lost) / 20 <= high <= 1, (won, lost)
        assert found[lost, won] == pytest.approx((-high, -low))


@pytest.mark.slow
def test_an_interval_holds_the_true_difference_in_95_of_100_samples_whatever_it_is() -> None:
    asked = 10
    tables = [(won, lost) for won in range(asked + 1) for lost in range(asked + 1 - won)]
    ends = np.array([paired(won, lost, asked) for won, lost in tables])
    for changed in np.linspace(0.05, 1, 12):
        for share in np.linspace(0, 1, 9):
            true = changed * (2 * share - 1)
            chances = [changed * share, changed * (1 - share), 1 - changed]
            weights = multinomial.pmf([(won, lost, asked - won - lost) for won, lost in tables], asked, chances)
            covered = (ends[:, 0] <= true + 1e-9) & (true - 1e-9 <= ends[:, 1])
            assert weights[covered].sum() >= 0.95, (changed, share)


def test_five_questions_won_and_none_lost_are_no_gain_yet_and_nothing_asked_says_nothing() -> None:
    found = by_question([1.0] * 5 + [0.0] * 35)
    assert found.low < 0 < found.high and found.p == pytest.approx(0.0625)
    assert paired(0, 0, 0) == (-1.0, 1.0)
    all_won = paired(20, 0, 20)
    assert 0.5 < all_won[0] < 0.7 and all_won[1] == 1.0
