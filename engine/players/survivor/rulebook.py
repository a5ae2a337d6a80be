"""Beliefs about the game: how to reach each achievement, from the rules that a prompt quotes.

A rule is a name, a colon and clauses: `collect stone: by Do facing stone, needs 1 wood_pickaxe, gives 1 stone`.
A rule with its action (`by ...`) outweighs one without.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_TOLD = re.compile(r"^(?:- |\d+\. |Reply: |How: |Approach: )*`?([A-Za-z]+(?: [A-Za-z]+)+)`?: (.+)$", re.MULTILINE)
_BY = re.compile(r"\bby ([A-Z][a-z]*(?: [A-Z][a-z]*)*)")
_FACING = re.compile(r"\bfacing (\w+(?: or \w+)*)")
_NEAR = re.compile(r"\bnear (\w+(?: and \w+)*)")
_TAKES = re.compile(r"\btakes (\d+) (\w+)")
_NEEDS = re.compile(r"\bneeds (\d+) (\w+)")
_GIVES = re.compile(r"\bgives (?:\d+ )?(\w+)")
_BELOW = re.compile(r"\bwith (\w+) below (\d+)")
_WALK = re.compile(r"\bwalk on (\w+(?: or \w+)*), never on (\w+(?: or \w+)*)")


class Belief(NamedTuple):
    """Amounts are by item; `gives` are items, vitals or things placed in the world."""

    name: str
    action: str = ""
    facing: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    takes: Mapping[str, int] = {}
    needs: Mapping[str, int] = {}
    gives: tuple[str, ...] = ()
    below: tuple[str, int] | None = None
    is_rare: bool = False
    is_fight: bool = False


class Rulebook:
    """Beliefs by name, and where one may walk."""

    def __init__(self, sections: Mapping[str, str], actions: Sequence[str]) -> None:
        self._actions = {action.lower(): action for action in actions}
        self._using = self._actions.get("do", "")
        self.rules: dict[str, Belief] = {}
        self.walkable: frozenset[str] = frozenset()
        self.deadly: frozenset[str] = frozenset()
        text = "\n".join(sections.values())
        for name, clauses in sorted(_TOLD.findall(text), key=lambda told: not _BY.search(told[1])):
            self._add(name.lower(), clauses)
        for ways, never in _WALK.findall(text):
            self.walkable, self.deadly = frozenset(ways.split(" or ")), frozenset(never.split(" or "))

    def giving(self, wanted: str) -> list[Belief]:
        return [rule for rule in self.rules.values() if wanted in rule.gives]

    def _add(self, name: str, clauses: str) -> None:
        """The first of each name counts, so the caller puts rules with an action first."""
        by = _BY.search(clauses)
        facing, near = _FACING.search(clauses), _NEAR.search(clauses)
        action = self._actions.get(by.group(1).lower(), "") if by else self._actions.get(name, "")
        if not action and facing:
            action = self._using
        if not action or name in self.rules or not (by or facing or near):
            return
        below = _BELOW.search(clauses)
        self.rules[name] = Belief(
            name=name,
            action=action,
            facing=tuple(facing.group(1).split(" or ")) if facing else (),
            near=tuple(near.group(1).split(" and ")) if near else (),
            takes={item: int(amount) for amount, item in _TAKES.findall(clauses)},
            needs={item: int(amount) for amount, item in _NEEDS.findall(clauses)},
            gives=tuple(_GIVES.findall(clauses)),
            below=(below.group(1), int(below.group(2))) if below else None,
            is_rare="one time in" in clauses,
            is_fight="until it is down" in clauses,
        )
