"""`mage-es what-if`: what the record says is printed with what it rests on, and only a yes spends anything."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def most_shown(mage: Command) -> str:
    """Return the id of the memory that most prompts showed."""
    name: str = json.loads(mage("effect", "first", "--top", "1", "--json").out)["rows"][0]["name"]
    return name


def test_another_guard_is_computed_without_a_model_and_a_run_that_has_it_is_named(
    mage: Command, runs_dir: Path
) -> None:
    done = mage("what-if", "first", "--guard", "off")
    assert done.code == 0 and "no model is called" in done.err
    assert "The guard of first" in done.out and "guard off" in done.out
    assert "None of 3 snapshots would have had another consequence" in done.out
    strict = mage("what-if", "first", "--guard", "paper", "--guard-drop", "0", "--catastrophic-drop", "0")
    report = json.loads(
        mage("what-if", "first", "--guard", "paper", "--guard-drop", "0", "--catastrophic-drop", "0", "--json").out
    )
    assert "The guard of first: fresh questions right, in points, against an earlier iteration" in strict.out
    dropped = mage("what-if", "first", "--guard-drop", "0.5").out
    assert "The guard of first: last recorded answers to anchors right" in dropped
    assert report["settings"] == {"guard": "paper", "guard_drop": 0.0, "catastrophic_drop": 0.0}
    differs = report["guard"]["differs"]
    assert (f"evolve --from first --at iter-{(differs or 0) - 1}" in strict.err) == (differs is not None)
    assert mage("what-if", "--guard", "off").out == done.out, "the newest run"


def test_another_gate_is_decided_at_each_snapshot(mage: Command, runs_dir: Path) -> None:
    done = mage("what-if", "first", "--gate", "paired")
    assert (
        done.code == 0
        and "What first serves, by the last recorded answers to its anchors" in done.out
        and "the last" in done.out
    )


def test_an_arm_is_estimated_or_has_bounds_and_says_what_it_rests_on(mage: Command, runs_dir: Path) -> None:
    done = mage("what-if", "first", "--arm", "direct")
    report = json.loads(mage("what-if", "first", "--arm", "direct", "--json").out)["answers"]
    assert done.code == 0 and "as recorded" in done.out and "always direct" in done.out
    assert f"{report['estimate']['taken']} prompts that drew direct" in done.out
    assert ("not known" in done.out) == (report["share"] is None)


@pytest.mark.slow
def test_without_a_yes_a_memory_has_bounds_and_nothing_is_asked(mage: Command, runs_dir: Path) -> None:
    name = most_shown(mage)
    done = mage("what-if", "first", "--without", name[:12])
    assert (
        done.code == 0
        and "takes about" in done.err
        and "under a minute, judging by the first time" in done.err
        and "not known" in done.out
    )
    assert f"what-if first --without {name[:12]} --yes" in done.err
    assert not (runs_dir / "first" / "effects").exists()


@pytest.mark.slow
def test_with_a_yes_it_is_asked_again_once_and_there_is_one_number(mage: Command, runs_dir: Path) -> None:
    name = most_shown(mage)
    done = mage("what-if", "first", "--without", name, "--yes")
    assert done.code == 0 and "asked again" in done.out and "not known" not in done.out
    again = mage("what-if", "first", "--without", name, "--json")
    report = json.loads(again.out)
    assert "no model is called" in again.err and report["made"] == 0 and report["answers"]["open"] == 0
    assert f"{report['answers']['share']:.1f} %" in done.out
    assert mage("verify", "first").code == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--without a memory, one --arm always, other settings of the guard (--guard, --guard-drop,"),
        (("--guard", "off", "--arm", "cot"), "Ask for one thing"),
        (("--arm", "cott"), "'cott'"),
        (("--guard", "paired"), "nothing would have been different"),
        (("--without", "zzzz"), "zzzz"),
    ],
)
def test_what_cannot_be_said_is_refused(words: tuple[str, ...], why: str, mage: Command, runs_dir: Path) -> None:
    done = mage("what-if", "first", *words)
    assert done.code == 2 and why in done.err and not done.out and done.err.startswith("mage-es: "), done.err
