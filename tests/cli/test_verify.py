"""`mage-es verify` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]


def test_a_sound_run_passes_every_check(mage: Command, runs_dir: Path) -> None:
    mage("exam", "--questions", "3")
    outcome = mage("verify")
    assert outcome.code == 0
    assert "FAILED" not in outcome.out and " ok " in outcome.out
    assert "Next: mage-es runs show first" in outcome.err


def test_a_changed_byte_is_found_named_and_gives_exit_code_one(mage: Command, runs_dir: Path) -> None:
    path = max((runs_dir / "first" / "log").rglob("*.parquet"), key=lambda path: path.stat().st_size)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    outcome = mage("verify", "--json")
    assert outcome.code == 1
    failed = [check for check in json.loads(outcome.out)["checks"] if not check["ok"]]
    assert path.name in failed[0]["detail"]
