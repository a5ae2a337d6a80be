"""`mage-es config` from the outside."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_every_origin_is_shown(mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mage-es.toml").write_text('guidance = "builtin/reference"\nbenchmark = "gsm8k"\n')
    monkeypatch.setenv("MAGE_ES_POOL", "50")
    outcome = mage("config", "--seed", "7")
    rows = [line.split() for line in outcome.out.splitlines()]
    assert ["seed", "7", "flag"] in rows
    assert ["pool", "50", "MAGE_ES_POOL"] in rows
    assert ["guidance", "builtin/reference", "mage-es.toml"] in rows
    assert ["anchors", "100", "default"] in rows
    assert "Next: mage-es evolve gsm8k --seed 7" in outcome.err


def test_the_command_it_ends_with_is_one_that_there_is(mage: Command) -> None:
    outcome = mage("config", "crafter", "--pool", "7")
    assert outcome.err.rstrip().endswith("Next: mage-es evolve crafter --pool 7")


def test_json_has_value_and_origin(mage: Command) -> None:
    assert json.loads(mage("config", "wordmath", "--json").out)["benchmark"] == {"value": "wordmath", "origin": "flag"}


def test_what_a_preset_changes_is_told_from_what_was_set(mage: Command) -> None:
    outcome = mage("config", "--preset", "paper", "--warmup", "7")
    rows = [line.split() for line in outcome.out.splitlines()]
    assert ["guard", "paper", "preset", "paper"] in rows
    assert ["warmup", "7", "flag"] in rows


def test_the_file_to_begin_with_has_every_setting_at_its_default_and_is_never_written_over(
    mage: Command, tmp_path: Path
) -> None:
    before = json.loads(mage("config", "wordmath", "--json").out)
    assert mage("config", "--write").code == 0
    file = tmp_path / "mage-es.toml"
    assert tomllib.loads(file.read_text()) == {}
    settings = [line[2:] for line in file.read_text().splitlines() if line[2:].partition(" = ")[0] in before]
    file.write_text("\n".join(settings))
    after = json.loads(mage("config", "wordmath", "--json").out)
    assert {name: each["origin"] for name, each in after.items() if name != "benchmark"} == dict.fromkeys(
        {*before} - {"benchmark"}, "mage-es.toml"
    )
    assert {name: each["value"] for name, each in after.items()} == {
        name: each["value"] for name, each in before.items()
    }
    refused = mage("config", "--write")
    assert refused.code == 2 and "already" in refused.err
    assert file.read_text() == "\n".join(settings)


def test_a_benchmark_that_does_not_exist_is_refused_by_name(mage: Command) -> None:
    for words in (("wordmth",), ("wordmth", "--write")):
        outcome = mage("config", *words)
        assert (outcome.code, "Did you mean wordmath" in outcome.err) == (2, True)


def test_what_is_given_is_set_in_the_file_and_holds_from_then_on(mage: Command, tmp_path: Path) -> None:
    assert mage("config", "gsm8k", "--pool", "7", "--no-bandits", "--write").code == 0
    assert tomllib.loads((tmp_path / "mage-es.toml").read_text()) == {"benchmark": "gsm8k", "pool": 7, "bandits": False}
    shown = json.loads(mage("config", "--json").out)
    assert shown["pool"] == {"value": 7, "origin": "mage-es.toml"}
