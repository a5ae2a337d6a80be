"""A strategy from several worked questions: the chain that they share, with common features of each number."""

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.players.arithmetic.analogies import transfer
from mage_es.engine.players.arithmetic.chains import Operand
from mage_es.engine.players.reference.solutions import Worked
from mage_es.engine.players.reference.strategies import MOST_ROLES, is_sayable, print_strategy, split_steps

_LEAST_CASES = 2
_FEATURES_PER_ROLE = 6


class Shared(NamedTuple):
    """A strategy as text, and the indices of the questions that share it."""

    strategy: str
    members: tuple[int, ...]


def share(works: Sequence[Worked]) -> Shared | None:
    best: tuple[int, ...] = ()
    cast: dict[int, dict[int, int]] = {}
    for base, worked in enumerate(works):
        mappings = {base: {index: index for index in worked.chain.needed}}
        for at, other in enumerate(works):
            analogies = transfer(worked.problem, worked.chain, to=other.problem) if at != base else []
            if analogies and analogies[0].is_whole and analogies[0].answer == other.equations[-1].value:
                mappings[at] = dict(analogies[0].mapping)
        if len(mappings) > len(best):
            best, cast = (base, *(at for at in mappings if at != base)), mappings
    if len(best) < _LEAST_CASES or len(works[best[0]].chain.needed) > MOST_ROLES:
        return None
    return Shared(_describe(works, best, cast=cast), best)


def _describe(works: Sequence[Worked], members: tuple[int, ...], *, cast: dict[int, dict[int, int]]) -> str:
    base = works[members[0]]
    common = []
    for index in base.chain.needed:
        players = [works[at].problem.quantities[cast[at][index]] for at in members]
        first = players[0].nature | players[0].context
        common.append({name: first[name] for name in first if is_sayable(name) and all(p.has(name) for p in players)})
    roles = [_most_telling(features, common) for features in common]
    places = {index: role for role, index in enumerate(base.chain.needed)}
    steps = [
        tuple(
            item._replace(at=places[item.at]) if isinstance(item, Operand) and item.source == "quantity" else item
            for item in step
        )
        for step in split_steps(base.chain)
    ]
    asked = [works[at].problem.question for at in members]
    asks = [name for name in asked[0] if is_sayable(name) and all(name in other for other in asked)]
    return print_strategy(asks, roles, steps)


def _most_telling(features: dict[str, float], roles: Sequence[dict[str, float]]) -> list[str]:
    def rank(name: str) -> tuple[float, str]:
        return (-features[name] / sum(name in role for role in roles), name)

    return sorted(features, key=rank)[:_FEATURES_PER_ROLE]
