"""What is served of each task type is what the last snapshot decided."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.vocabulary import BenefitDecided
from mage_es.projections.benefit import Benefit
from tests.kit.invariants import check_projection
from tests.kit.stages import Stage, flat
from tests.kit.strategies import histories


@given(histories(most_iterations=3), st.randoms(use_true_random=False))
def test_benefit_keeps_the_rules_of_a_projection(stages: list[Stage], random: Random) -> None:
    check_projection(Benefit, stages, random)


@given(histories(most_iterations=3))
def test_a_type_has_its_own_record_and_else_that_of_all(stages: list[Stage]) -> None:
    benefit, decided = Benefit(), [event for event in flat(stages) if isinstance(event, BenefitDecided)]
    assert not benefit.is_bare("age") and benefit.records() == ()
    for event in decided:
        benefit.apply(event)
    last = decided[-1]
    own = {record.task_type: record for record in last.records}
    for name in ("age", "discount", "unheard of"):
        assert benefit.record(name) == own.get(name, last.pooled)
        assert benefit.is_bare(name) == (own.get(name, last.pooled).served == "bare")
