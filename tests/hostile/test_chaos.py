"""A bounded run of the attack harness; `python -m tests.bench.chaos` makes thousands of cases."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from mage_es.events.vocabulary import ModelCalled
from tests.bench.chaos import ATTACKS, FORGERIES, Ground, attack, explore_cases, require_red
from tests.engine.forgery import instead

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(tmp_path_factory.mktemp("ground"))


@pytest.mark.parametrize("only", ATTACKS)
def test_what_must_hold_holds_under_each_attack(ground: Ground, only: str) -> None:
    assert not (outcome := attack(26, ground, only)).problem, outcome


def test_a_case_is_drawn_from_its_seed_alone_and_a_failure_prints_it(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attack(5, ground, "forgery") == attack(5, ground, "forgery")
    faster = {"faster": lambda: instead(ModelCalled, lambda event: replace(event, latency_us=1))}  # proved by nothing
    monkeypatch.setattr("tests.bench.chaos.FORGERIES", faster)
    monkeypatch.setattr("tests.bench.chaos.Ground", lambda folder: ground)
    [outcome] = explore_cases(range(5, 6), tmp_path, only="forgery")
    assert "faster: verify is green" in outcome.problem
    assert capsys.readouterr().out.startswith("--seed 5: forgery: AssertionError: faster: verify is green")


@pytest.mark.parametrize("name", FORGERIES)
def test_each_forgery_makes_verify_red(ground: Ground, tmp_path: Path, name: str) -> None:
    require_red(name, ground, tmp_path)


def test_a_forgery_that_finds_nothing_to_change_is_no_proof(
    tmp_path: Path, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORGERIES, "nothing", lambda: lambda record: record.event)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="there was nothing to forge"):
        require_red("nothing", ground, tmp_path)
