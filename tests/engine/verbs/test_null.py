"""Where there is nothing to learn, no gain is measured: a few of the runs of `python -m tests.bench.null`."""

from pathlib import Path

import pytest

from tests.bench.null import KINDS, measured

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["labels, exact", "labels in `category`", "options, choice", "numbers, number"])
def test_a_gain_on_answers_drawn_by_lot_is_told_from_nothing_in_no_run_of_three(name: str, tmp_path: Path) -> None:
    found = list(measured(KINDS[name], seeds=3))
    assert all(outcome.covers for outcome in found), found
    assert all(outcome.shown == outcome.asked for outcome in found), "every question was shown what was learned"
    assert any(outcome.points for outcome in found), "and answers changed"
