"""A bounded run of the attack harness; `python -m tests.bench.chaos` makes thousands of cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.chaos import ATTACKS, Ground, attack, explore_cases

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("ground"))


@pytest.mark.parametrize("only", ATTACKS)
def test_what_must_hold_holds_under_each_attack(ground: Ground, only: str) -> None:
    outcomes = [attack(seed, ground, only) for seed in range(26, 28)]
    assert [outcome for outcome in outcomes if outcome.problem] == []


def test_a_case_is_drawn_from_its_seed_alone_and_a_failure_prints_it(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attack(5, ground, "forgery") == attack(5, ground, "forgery")
    monkeypatch.setattr("tests.bench.chaos.FORGERIES", {"nothing": lambda: lambda record: record.event})
    monkeypatch.setattr("tests.bench.chaos.Ground", lambda folder: ground)
    [outcome] = explore_cases(range(5, 6), tmp_path, only="forgery")
    assert "nothing: verify is green" in outcome.problem
    assert capsys.readouterr().out.startswith("--seed 5: forgery: AssertionError: nothing: verify is green")
