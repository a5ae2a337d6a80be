"""Runs on private task sets: they record what they need, go on after a stop, and are rebuilt from their logs."""

from pathlib import Path

import pytest

import mage_es
from mage_es.engine.config import Config, parse
from mage_es.engine.players.worlds.private.benchmark import SeededName, recorded, rule_of
from mage_es.engine.run.world import first_event
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from tests.engine.copier import Copier, guided

pytestmark = pytest.mark.slow

NAME = "private-labels?labels=3"
CONFIG = Config(benchmark=NAME, seed=5, iterations=1, pool=24, held_out=20, anchors=10)


def models() -> mage_es.Models:
    return guided(Copier(rule_of(SeededName(recorded(NAME), CONFIG.seed)).labels))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    mage_es.evolve(CONFIG, models=models(), runs_dir=folder, run_id="first")
    return folder


def test_a_run_records_all_options_and_is_rebuilt_from_its_log(folder: Path) -> None:
    started = first_event(LogReader(folder / "first" / "log"))
    assert started.benchmark == parse(started.config).benchmark == recorded(NAME)
    assert mage_es.verify(folder / "first").ok
    report = mage_es.examine(folder / "first", execution=models().execution)
    assert report.total == 20


def test_a_run_goes_on_with_the_same_rule_and_never_with_that_of_another_seed(folder: Path) -> None:
    mage_es.evolve(CONFIG, models=models(), runs_dir=folder, from_run=folder / "first", run_id="second")
    assert mage_es.verify(folder / "second").ok
    other = Config(benchmark=NAME, seed=6, iterations=1, pool=24, held_out=20, anchors=10)
    with pytest.raises(UsageError, match="depends on the seed: continue with --seed 5"):
        mage_es.evolve(other, models=models(), runs_dir=folder, from_run=folder / "first")


def test_a_model_must_be_named_for_no_stand_in_can_answer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Name yours with --execution"):
        mage_es.evolve(CONFIG, runs_dir=tmp_path)
