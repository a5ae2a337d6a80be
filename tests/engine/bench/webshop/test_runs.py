"""Runs on WebShop: what a learner who buys every second thing right remembers, and that they repeat bit for bit."""

from pathlib import Path

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark, own_defaults, own_models
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.prompts import read_step_prompt
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MICRO, ActionRecipeHarvested, EpisodeClosed, MemoryAppended, MemoryRefused
from mage_es.projections.fold import fold
from tests.bench.webshop_steps import actions_of
from tests.engine.bench.webshop.small import DATA, needs_data
from tests.paper_parts import PAPER_PARTS

pytestmark = pytest.mark.slow

CONFIG = Config(
    benchmark="webshop-100", seed=42, iterations=3, pool=8, held_out=20, anchors=4, explore_episodes=1,
    episode_steps=15, **PAPER_PARTS,
)  # fmt: skip


class Customer:
    """Buys every second thing as its reference solution does, and the others as the copier does."""

    name = "scripted/customer"

    def __init__(self) -> None:
        known = open_benchmark("webshop-100", seed=42, data_dir=DATA).questions("evolution")[::2]
        self.known = {question.id for question in known}
        self._ways = {question.question: actions_of(question.solution) for question in known}
        self._copier: Model = open_model("builtin/copier", "execution")

    async def complete(self, request: Request) -> Completion:
        prompt = read_step_prompt(request)
        way, step = self._ways.get(prompt.task.strip(), []), len(prompt.so_far.strip().splitlines())
        if step >= len(way):
            return await self._copier.complete(request)
        return Completion(text=f"Action: {way[step]}", input_tokens=1, output_tokens=1)


def evolved(folder: Path, config: Config = CONFIG, *, workers: int = 4) -> Run:
    models = Models(Customer(), open_model("builtin/reference", "guidance"))
    runtime = Runtime(workers=workers)
    evolve(config, runs_dir=folder, data_dir=DATA, runtime=runtime, run_id="shop", models=models)
    return find_run(folder, "shop")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of the small configuration. Shared: do not change its log."""
    return evolved(tmp_path_factory.mktemp("webshop") / "runs")


def events(run: Run) -> list[object]:
    return [record.event for record in LogReader(run.log_path).records()]


def test_its_own_models_and_sizes_are_those_of_the_paper() -> None:
    assert own_models("webshop-100").execution == "builtin/copier"
    for name in ("webshop-100", "webshop-1000"):
        sizes = own_defaults(name)
        assert (sizes["iterations"], sizes["pool"], sizes["episode_steps"]) == (20, 50, 15)
    for name in ("webshop-100-rich", "webshop-1000-rich", "webshop-100-by-index", "webshop-1000-by-index"):
        assert (own_models(name), own_defaults(name)) == (own_models("webshop-100"), own_defaults("webshop-100"))
    few = own_defaults("webshop-1000-human")
    assert (few["pool"], few["held_out"], few["anchors"], few["episode_steps"]) == (4, 4, 0, 15)


@needs_data
def test_a_purchase_by_its_reference_solution_is_a_success_and_others_count_by_what_was_bought(run: Run) -> None:
    known = Customer().known
    ends = [event for event in events(run) if isinstance(event, EpisodeClosed) and event.purpose == "fresh"]
    assert {end.score_micro for end in ends if end.episode_id in known} == {MICRO}
    others = {end.score_micro for end in ends if end.episode_id not in known}
    assert min(others) == 0 and len(others) > 2


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
