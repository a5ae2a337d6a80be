"""Embedded players: each registered name opens, and serves its own tier only."""

import pytest

from mage_es.engine.models.registry import open_model
from mage_es.engine.players.players import PLAYERS
from mage_es.events.errors import UsageError


@pytest.mark.parametrize("spec", PLAYERS)
def test_every_registered_player_opens_under_its_name_for_its_own_tier_only(spec: str) -> None:
    tier, _ = PLAYERS[spec]
    assert open_model(spec, tier).name == spec
    with pytest.raises(UsageError, match=f"is for the {tier} tier"):
        open_model(spec, "judge" if tier == "execution" else "execution")
