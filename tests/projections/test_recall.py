"""The record of recall is what its events say, the last word of each type and agreement."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.vocabulary import RecallCompared
from mage_es.projections.recall import RecallRecord
from tests.kit.invariants import check_projection
from tests.kit.stages import Stage, flat
from tests.kit.strategies import histories


@given(histories(most_iterations=3), st.randoms(use_true_random=False))
def test_recall_keeps_the_rules_of_a_projection(stages: list[Stage], random: Random) -> None:
    check_projection(RecallRecord, stages, random)


@given(histories(most_iterations=3))
def test_the_last_counts_hold_and_none_are_zeros(stages: list[Stage]) -> None:
    record, last = RecallRecord(), {}
    for event in flat(stages):
        if isinstance(event, RecallCompared):
            record.apply(event)
            last |= {(each.task_type, each.agreement): each for each in event.records}
    assert list(record.records()) == [last[key] for key in sorted(last)]
    assert all(record.record(*key) == counts for key, counts in last.items())
    assert record.record("unheard of", 1).questions == 0
