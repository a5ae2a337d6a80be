"""The rule behind a private task set, for tests that know it."""

from typing import TypeVar

from mage_es.engine.players.worlds.private.benchmark import SeededName, recorded, rule_of

Rule = TypeVar("Rule")


def rule(kind: type[Rule], name: str, seed: int) -> Rule:
    found = rule_of(SeededName(recorded(name), seed))
    assert isinstance(found, kind)
    return found
