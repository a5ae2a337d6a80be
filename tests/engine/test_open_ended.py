"""Runs without a goal to reach or miss: every achievement is a success, and worlds are tasks apart."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.embedder import to_bytes
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader

pytestmark = pytest.mark.slow

CONFIG = Config(
    benchmark="crafter", iterations=2, pool=2, held_out=2, anchors=0, guard="off", explore_episodes=1, episode_steps=40
)


class Muttering:
    """A model that reasons, and names an action every other time."""

    name = "muttering"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Completion:
        """Return two lines, the second an action or not."""
        self.prompts.append(request.prompt)
        turn = len(self.prompts)
        text = f"Thought {turn}\nand more.\n" + ("ACTION: Do" if turn % 2 else "I rest.")
        return Completion(text=text, input_tokens=1, output_tokens=1)


def run_in(folder: Path, config: Config = CONFIG, *, workers: int = 4, execution: Model | None = None) -> Run:
    models = Models(execution, open_model("builtin/reference", "guidance")) if execution else None
    evolve(config, runs_dir=folder, data_dir=None, runtime=Runtime(workers=workers), run_id="r", models=models)
    return find_run(folder, "r")


def events_of(run: Run, *types: type[v.Event]) -> list[v.Event]:
    return list(LogReader(run.log_path).of(*types))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run in a few worlds. Shared: do not change its log."""
    return run_in(tmp_path_factory.mktemp("worlds"))


def test_any_number_of_workers_gives_the_same_digests(tmp_path: Path, run: Run) -> None:
    closed = [
        e.digests for e in events_of(run_in(tmp_path, workers=1), v.IterationClosed) if isinstance(e, v.IterationClosed)
    ]
    assert closed == [e.digests for e in events_of(run, v.IterationClosed)]


def test_every_check_holds_and_no_memory_is_of_an_unknown_question(run: Run) -> None:
    assert all(check.ok for check in verify(run).checks)


@pytest.mark.paper("section 4, Crafter, success memories")
def test_each_achievement_becomes_a_success_memory_that_is_found_by_what_was_seen(run: Run) -> None:
    ends = [e for e in events_of(run, v.EpisodeClosed) if e.purpose != "explore"]
    kept = [e for e in events_of(run, v.MemoryAppended) if e.outcome == "success_memory"]
    reached = {(end.episode_id, name) for end in ends for name in end.achievements}
    assert kept and {(memory.question_id, memory.answer) for memory in kept} <= reached
    steps = [e for e in events_of(run, v.EpisodeStepped) if e.purpose != "explore"]
    by = {(step.episode_id, name): step.action for step in steps for name in step.achievements}
    assert all(memory.reasoning.endswith(f"Action: {by[memory.question_id, memory.answer]}") for memory in kept)
    seen = kept[0].reasoning.removeprefix("Observation:\n").partition("\nAction: ")[0]
    assert kept[0].embedding == to_bytes(np.asarray(HashEmbedder().encode([seen])[0]))


def test_recipes_come_from_episodes_of_any_score(run: Run) -> None:
    recipes = events_of(run, v.ActionRecipeHarvested)
    assert {recipe.phase for recipe in recipes} == {"explore", "update"}
    assert all(1 <= len(recipe.actions) <= 3 for recipe in recipes)


@pytest.mark.paper("section 4, Crafter, success memories")
def test_without_success_memories_none_is_harvested_and_recipes_still_are(tmp_path: Path) -> None:
    ablated = run_in(tmp_path, msgspec.structs.replace(CONFIG, success_memories=False))
    outcomes = {e.outcome for e in events_of(ablated, v.MemoryAppended)}
    assert "success_memory" not in outcomes and outcomes
    assert any(e.phase == "update" for e in events_of(ablated, v.ActionRecipeHarvested))


@pytest.mark.paper("section 4, Crafter, the text")
def test_later_prompts_show_what_was_seen_before_each_action_without_the_effects(run: Run) -> None:
    steps = [e for e in events_of(run, v.EpisodeStepped) if e.purpose == "fresh"]
    name = steps[-1].episode_id
    report = show(run, name, iteration=1, data_dir=None)
    calls = [move for move in report.moves if isinstance(move, CallReport)]
    assert all(call.verified for call in calls)
    history = calls[-1].prompt.partition("## Episode so far")[2].partition("## Observation")[0]
    assert history.count("Observation:\n> You ") == CONFIG.episode_history
    assert history.count("> Action: ") == CONFIG.episode_history
    assert "gives 1" not in history and "Your status" not in history


def test_of_replies_the_last_reasoning_is_shown_and_what_was_said_in_the_place_of_an_action(tmp_path: Path) -> None:
    model = Muttering()
    small = msgspec.structs.replace(CONFIG, iterations=1, pool=1, explore_episodes=0, episode_steps=4)
    run_in(tmp_path, small, workers=1, execution=model)
    history = model.prompts[3].partition("## Episode so far")[2].partition("## Observation")[0]
    said = [line.removeprefix("> ") for line in history.splitlines() if "Action: " in line or "Reasoning: " in line]
    assert said == ["Action: Do", "Action: Thought 2 and more. I rest.", "Action: Do", "Reasoning: Thought 3 and more."]


def test_an_exam_reports_the_mean_progress_in_worlds_that_evolution_never_saw(run: Run) -> None:
    report = examine(run, at="latest", questions=None, control="none", data_dir=None, runtime=Runtime(workers=2))
    assert report.guidance_calls == 0
    [check] = [each for each in verify(run).checks if each.name == f"verdicts {report.exam_id}"]
    assert check.ok and "which memories it shows was not chosen again" in check.detail
    assert [(row.purpose, row.episodes, row.unparsed) for row in report.episodes] == [("exam", 2, 0)]
    assert 0 < report.episodes[0].mean_score < 1


@pytest.mark.paper("section 4, Crafter, tasks")
def test_the_instruction_that_all_worlds_share_is_no_context() -> None:
    world = open_world(CONFIG, data_dir=None)
    question = world.questions[world.setting.evolution[0]]
    assert len(question.context) > CONFIG.long_context and world.setting.context_length(question) == 0
