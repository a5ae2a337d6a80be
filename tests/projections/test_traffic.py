"""A served run's traffic is counted, and a proposal waits until it is settled."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.vocabulary import InferenceOpened, MemoryProposed, ProposalReviewed, ProposalSettled
from mage_es.projections.traffic import Traffic
from tests.kit.invariants import check_projection
from tests.kit.stages import Stage, flat
from tests.kit.strategies import histories


@given(histories(most_iterations=3), st.randoms(use_true_random=False))
def test_traffic_keeps_the_rules_of_a_projection(stages: list[Stage], random: Random) -> None:
    check_projection(Traffic, stages, random)


@given(histories(most_iterations=3))
def test_a_proposal_is_open_until_something_final_is_decided_and_every_inference_is_counted(
    stages: list[Stage],
) -> None:
    events, traffic = flat(stages), Traffic()
    for event in events:
        if type(event) in traffic.reads:
            traffic.apply(event)
    decided = [event for event in events if isinstance(event, ProposalSettled | ProposalReviewed)]
    last: dict[str, str] = {event.memory_id: event.verdict for event in decided}
    proposed = {event.memory_id: event for event in events if isinstance(event, MemoryProposed)}
    assert {name: traffic.verdict(name) for name in proposed} == {name: last.get(name, "") for name in proposed}
    for verdict in ("", "waiting", "approved"):
        wanted = sorted(name for name in proposed if last.get(name, "") == verdict)
        assert traffic.proposals(verdict) == [proposed[name] for name in wanted]
    assert not traffic.proposals("published", "refused", "rejected")
    assert traffic.treatments.total() == sum(isinstance(event, InferenceOpened) for event in events)
