"""`builtin/<name>`: the embedded players of `engine/standins/`, each registered by the name of its constructor.

Nothing imports `engine/standins/`: a player is found through this table, as another package's model is found through
its entry point. So the engine cannot depend on a player, and no player is loaded before a run names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.seams.model import Model
    from mage_es.events.vocabulary import Tier

PLAYERS: Mapping[str, tuple[Tier, str]] = {
    "builtin/analogist": ("execution", "analogist.model:Analogist"),
    "builtin/reader": ("execution", "reader.model:Reader"),
    "builtin/reference": ("guidance", "reference.model:Reference"),
    "builtin/apprentice": ("execution", "apprentice.planning:Apprentice"),
    "builtin/shopper": ("execution", "shopper.model:Shopper"),
    "builtin/truthworld": ("execution", "truthworld.learner:TruthLearner"),
    "builtin/truthguide": ("guidance", "truthworld.authors:TruthGuide"),
    "builtin/truthjudge": ("judge", "truthworld.judge:TruthJudge"),
}
"""Spec -> the one tier that a player serves, and its constructor as `module:name` in `engine/standins/`."""


def open_builtin(spec: str, tier: Tier) -> Model:
    """Return an embedded player. Raises `UsageError` if there is no such player, or it serves another tier."""
    if spec not in PLAYERS:
        raise UsageError(f"There is no model {spec!r}.{nearest(spec, list(PLAYERS))}")
    serves, place = PLAYERS[spec]
    if serves != tier:
        others = ", ".join(name for name, (other, _) in PLAYERS.items() if other == tier)
        raise UsageError(
            f"The model {spec!r} is for the {serves} tier and cannot serve the {tier} tier; choose from: {others}."
        )
    player: Model = resolve_name(f"mage_es.engine.standins.{place}")()
    return player
