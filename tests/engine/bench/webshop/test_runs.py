"""Runs on WebShop with the embedded models: they get better by what they write, and repeat bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mage_es.engine.benchmarks.registry import own_defaults, own_models
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ActionRecipeHarvested, MemoryAppended, MemoryRefused
from mage_es.projections.fold import fold
from tests.engine.bench.webshop.small import DATA, needs_data
from tests.paper_parts import PAPER_PARTS

pytestmark = pytest.mark.slow

CONFIG = Config(
    benchmark="webshop-100", seed=42, iterations=3, pool=8, held_out=20, anchors=4, explore_episodes=1,
    episode_steps=15, **PAPER_PARTS,
)  # fmt: skip


def evolved(folder: Path, config: Config = CONFIG, *, workers: int = 4) -> Run:
    evolve(config, runs_dir=folder, data_dir=DATA, runtime=Runtime(workers=workers), run_id="shop")
    return find_run(folder, "shop")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of the small configuration. Shared: do not change its log."""
    return evolved(tmp_path_factory.mktemp("webshop") / "runs")


def events(run: Run) -> list[object]:
    return [record.event for record in LogReader(run.log_path).records()]


def exam(run: Run, at: str) -> tuple[float, float]:
    """The strict success and the mean reward of an exam."""
    report = examine(run, at=at, data_dir=DATA, runtime=Runtime(workers=4), questions=None, control="none")
    return report.correct / report.total, report.episodes[0].mean_score


def test_its_own_models_and_sizes_are_those_of_the_paper() -> None:
    assert own_models("webshop-100").execution == "builtin/shopper"
    for name in ("webshop-100", "webshop-1000"):
        sizes = own_defaults(name)
        assert (sizes["iterations"], sizes["pool"], sizes["episode_steps"]) == (20, 50, 15)
    for name in ("webshop-100-rich", "webshop-1000-rich", "webshop-100-by-index", "webshop-1000-by-index"):
        assert (own_models(name), own_defaults(name)) == (own_models("webshop-100"), own_defaults("webshop-100"))
    few = own_defaults("webshop-1000-human")
    assert (few["pool"], few["held_out"], few["anchors"], few["episode_steps"]) == (4, 4, 0, 15)


@pytest.mark.paper("section 3.3, failure memories of WebShop")
@needs_data
def test_a_run_gets_better_at_products_that_it_never_saw(run: Run) -> None:
    (before, little), (after, much) = exam(run, "start"), exam(run, "latest")
    assert before < 0.2 and little < 0.8
    assert after > 0.6 and much > 0.85


@needs_data
def test_success_memories_corrections_and_recipes_are_written_and_nothing_held_out_is_quoted(run: Run) -> None:
    written = events(run)
    kinds = {event.outcome for event in written if isinstance(event, MemoryAppended)}
    assert {"success_memory", "failure_memory", "principle"} <= kinds
    recipes = [event for event in written if isinstance(event, ActionRecipeHarvested)]
    assert recipes and all(recipe.actions[-1] == "click[buy now]" for recipe in recipes)
    assert not any(isinstance(event, MemoryRefused) for event in written)


@needs_data
def test_one_worker_comes_to_the_same_state_as_four(run: Run, tmp_path: Path) -> None:
    alone = evolved(tmp_path, workers=1)
    assert fold(LogReader(alone.log_path)).digests() == fold(LogReader(run.log_path)).digests()


@needs_data
def test_without_success_memories_none_is_harvested(tmp_path: Path) -> None:
    config = Config(benchmark="webshop-100", seed=42, iterations=2, pool=3, held_out=5, anchors=0, guard="off",
                    episode_steps=15, explore_episodes=1, success_memories=False)  # fmt: skip
    memories = [event for event in events(evolved(tmp_path, config)) if isinstance(event, MemoryAppended)]
    assert memories and not any(memory.outcome == "success_memory" for memory in memories)
