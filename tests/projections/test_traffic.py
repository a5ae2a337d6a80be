"""A served run's traffic is counted, and a proposal waits until it is settled."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.testing.invariants import check_projection
from mage_es.engine.testing.stages import Stage, flat
from mage_es.engine.testing.strategies import histories
from mage_es.events.vocabulary import InferenceOpened, MemoryProposed, ProposalSettled
from mage_es.projections.traffic import Traffic


@given(histories(most_iterations=3), st.randoms(use_true_random=False))
def test_traffic_keeps_the_rules_of_a_projection(stages: list[Stage], random: Random) -> None:
    check_projection(Traffic, stages, random)


@given(histories(most_iterations=3))
def test_a_proposal_is_pending_until_it_is_settled_and_every_inference_is_counted(stages: list[Stage]) -> None:
    events, traffic = flat(stages), Traffic()
    for event in events:
        if type(event) in traffic.reads:
            traffic.apply(event)
    settled = {event.memory_id: event.verdict for event in events if isinstance(event, ProposalSettled)}
    proposed = [event for event in events if isinstance(event, MemoryProposed)]
    assert traffic.pending() == sorted(
        (each for each in proposed if each.memory_id not in settled), key=lambda each: each.memory_id
    )
    assert {
        each.memory_id: traffic.settled(each.memory_id) for each in proposed if each.memory_id in settled
    } == settled
    assert traffic.treatments.total() == sum(isinstance(event, InferenceOpened) for event in events)
