"""`builtin/<name>`: the embedded players, each by the name of its constructor; a player is loaded only when a run names
it."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.seams.model import Model
    from mage_es.engine.seams.spec import ModelSpec
    from mage_es.events.vocabulary import Tier

PLAYERS: Mapping[str, tuple[Tier, str]] = {
    "builtin/analogist": ("execution", "analogist.model:Analogist"),
    "builtin/copier": ("execution", "copier:Copier"),
    "builtin/reference": ("guidance", "reference.model:Reference"),
}
"""Spec -> the one tier that a player serves, and its constructor as `module:name`."""


def open_player(spec: ModelSpec) -> Model:
    """Return an embedded player. Raises `UsageError` if there is no such player, or it serves another tier."""
    if spec.text not in PLAYERS:
        raise UsageError(f"There is no model {spec.text!r}.{nearest(spec.text, list(PLAYERS))}")
    serves, place = PLAYERS[spec.text]
    if spec.tier not in (None, serves):
        others = ", ".join(name for name, (other, _) in PLAYERS.items() if other == spec.tier)
        choice = f"choose from: {others}" if others else "no built-in model can"
        raise UsageError(
            f"The model {spec.text!r} is for the {serves} tier and cannot serve the {spec.tier} tier; {choice}."
        )
    player: Model = resolve_name(f"mage_es.engine.players.{place}")()
    return player
