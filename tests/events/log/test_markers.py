"""How moments of a run are named."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.errors import UsageError
from mage_es.events.log.markers import marker_of, parse
from mage_es.events.vocabulary import MAGE_ES
from tests.events.samples import closed, completed, judged


@pytest.mark.parametrize("text", ["start", "latest", "iter-0", "iter-9", "iter-9/evaluate", "seq:1234"])
def test_a_marker_is_written_as_it_was_read(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "iter", "iter-", "iter--1", "iter-x", "start/plan", "seq:", "seq:-1", "9", "iter-9/", "ITER-9", "iter-9\n"],
)
def test_nonsense_is_refused_with_examples_of_markers(text: str) -> None:
    with pytest.raises(UsageError, match="Write start, iter-9"):
        parse(text)


def test_a_phase_that_does_not_exist_is_refused_with_the_near_ones() -> None:
    with pytest.raises(UsageError, match="Did you mean evaluate"):
        parse("iter-3/evalute")


@given(st.text())
def test_any_text_is_a_marker_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert str(parse(text)) == text or text.startswith(("seq:", "iter-"))  # leading zeros are dropped


def test_only_closed_iterations_and_completed_phases_are_markers() -> None:
    for event, marker in (
        (closed(-1).event, "start"),
        (closed(4).event, "iter-4"),
        (completed(4, "plan").event, "iter-4/plan"),
    ):
        assert str(marker_of(event, MAGE_ES.marks)) == marker
    assert marker_of(judged(1).event, MAGE_ES.marks) is None
