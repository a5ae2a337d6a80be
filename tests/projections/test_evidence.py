"""Evidence adds up."""

from mage_es.events.vocabulary import MasteryUpdated
from mage_es.projections.evidence import Evidence


def updated(skill: str, successes: int, failures: int) -> MasteryUpdated:
    return MasteryUpdated(
        iteration=0, skill=skill, before=0, after=0, evidence=0, successes=successes, failures=failures
    )


def test_the_counts_of_every_update_add_up_by_skill() -> None:
    evidence = Evidence()
    for event in (updated("a", 2, 1), updated("b", 0, 4), updated("a", 3, 0)):
        evidence.apply(event)

    assert evidence.counts("a") == (5, 1)
    assert evidence.counts("b") == (0, 4)
    assert evidence.counts("never seen") == (0, 0)
