"""`mage-es config show` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_every_origin_is_shown(mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mage-es.toml").write_text('guidance = "builtin/reference"\nbenchmark = "gsm8k"\n')
    monkeypatch.setenv("MAGE_ES_POOL", "50")
    outcome = mage("config", "show", "--seed", "7")
    rows = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines()}
    assert rows["seed"] == ["7", "flag"]
    assert rows["pool"] == ["50", "MAGE_ES_POOL"]
    assert rows["guidance"] == ["builtin/reference", "mage-es.toml"]
    assert rows["anchors"] == ["100", "default"]
    assert "Next: mage-es evolve gsm8k --seed 7" in outcome.err


def test_json_has_value_and_origin(mage: Command) -> None:
    assert json.loads(mage("config", "show", "wordmath", "--json").out)["benchmark"] == {
        "value": "wordmath",
        "origin": "flag",
    }
