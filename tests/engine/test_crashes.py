"""A run survives every crash: the same digests in the end, and no call that is in the log is made again."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from mage_es.events.log import LogReader
from mage_es.projections.fold import State, fold
from mage_es.projections.progress import Progress
from tests.engine.crashes import explore

pytestmark = pytest.mark.slow

HISTORIES = 6
"""The long form: python -m tests.engine.crashes --histories 2000 --processes 2."""


def test_a_run_crashed_and_resumed_on_a_forgetful_disk_ends_as_if_nothing_had_happened() -> None:
    lives, violations = explore(range(HISTORIES))
    assert violations == []
    assert lives > 2 * HISTORIES


def forgetting_calls(self: Progress, iteration: int, key: Any) -> None:
    """Look up a recorded call and find none."""


def fold_without_the_end(source: LogReader, *, until: int | None = None, state: State | None = None) -> State:
    """Leave out the last three events, and know nothing of it."""
    folded = fold(source, until=max(0, source.head.seq - 3) if until is None else until)
    folded.seq = source.head.seq
    return folded


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("mage_es.projections.progress.Progress.call_at", forgetting_calls),
        ("mage_es.engine.run.world.fold", fold_without_the_end),
    ],
    ids=["calls", "state"],
)
def test_a_resumption_that_overlooks_what_is_recorded_is_found_out(name: str, broken: Callable[..., object]) -> None:
    _, violations = explore([2])
    assert violations == []
    with patch(name, broken):
        assert any(explore([seed])[1] for seed in (2, 3, 5))
