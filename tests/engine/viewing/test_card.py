"""The row of a run in the list of runs says what the run's own overview says."""

import pytest
from msgspec.structs import replace

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records, learner_of
from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.card import card_of, pair_of
from mage_es.engine.viewing.chunks import Viewed
from mage_es.events.log import LogReader
from tests.engine.viewing.test_chunks import index_of, table


def test_a_card_has_the_figures_of_the_overview(examined: Run, interrupted: Run) -> None:
    for run in (examined, interrupted):
        card, viewed = card_of(run, Prices()), Viewed(run)
        last, index = table(viewed, "overview")[-1], index_of(viewed)
        for name in ("gain", "low", "high", "p", "exam", "exam_before", "guidance_calls"):
            assert card[name] == pytest.approx(last[name]), name
        assert (card["correct"], card["total"]) == (last["anchor_correct"], last["anchor_total"])
        assert card["calls"] == last["execution_calls"] + last["guidance_calls"]
        assert (card["state"], card["began_us"], card["events"]) == (index["state"], index["began_us"], index["last"])
        assert card["iterations_done"] == last["closed"] + 1
    assert card_of(examined, Prices())["gain"] is not None


def test_who_examines_until_the_result_is_good_has_gained_nothing(examined: Run) -> None:
    records, learner = exam_records(LogReader(examined.log_path)), learner_of(LogReader(examined.log_path))
    start, latest = records
    again = [
        exam._replace(seq=exam.seq + 100, opened=replace(exam.opened, exam=f"again-{number}", asked=asked))
        for number, (exam, asked) in enumerate(
            [(start, start.opened.asked), (latest, latest.opened.asked), (start, 1), (latest, 1)]
        )
    ]
    assert pair_of([*records, *again], learner) == (start.opened.exam, latest.opened.exam)


def test_a_run_that_cannot_be_read_has_a_card_that_says_why(
    copied: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (copied.log_path / "FORMAT").unlink()
    card = card_of(copied, Prices())
    assert card["state"] == "damaged" and "FORMAT" in card["problem"]
    path = tmp_path_factory.mktemp("begun") / "none"
    (path / "log").mkdir(parents=True)
    assert card_of(Run("none", path), Prices())["state"] == "empty"
