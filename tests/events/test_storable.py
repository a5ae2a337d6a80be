"""What is refused because no column could hold it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.storable import require_storable
from mage_es.events.vocabulary import EVENT_TYPES, Event, Target, TargetsSelected
from tests.events.samples import FACTS, events, judged, remembered


@given(st.sampled_from(FACTS).flatmap(events))
def test_what_its_types_allow_is_taken(event: Event) -> None:
    require_storable(event)


def test_integers_beyond_64_bits_are_refused_at_any_depth() -> None:
    target = Target(task_type="ages", failures=1 << 63, attempts=0, last_selected=0)
    for event in (
        msgspec.structs.replace(judged(1).event, score_micro=1 << 63),
        TargetsSelected(iteration=0, targets=(target,), newly_observed=()),
    ):
        with pytest.raises(OverflowError, match="is above 9223372036854775807"):
            require_storable(event)


def test_integers_in_lists_are_looked_at_too() -> None:
    odd = msgspec.defstruct("Odd", [("counts", tuple[int, ...])], bases=(Event,), tag="odd", frozen=True, kw_only=True)
    require_storable(odd(counts=(1, (1 << 63) - 1)))
    with pytest.raises(OverflowError):
        require_storable(odd(counts=(1, 1 << 63)))


def test_bytes_that_are_no_float32_vector_are_refused() -> None:
    with pytest.raises(TypeError, match="has 5 bytes"):
        require_storable(remembered(1, vector=b"12345").event)


def test_every_type_of_the_vocabulary_can_be_checked() -> None:
    assert len(EVENT_TYPES) > len(FACTS) > 0
