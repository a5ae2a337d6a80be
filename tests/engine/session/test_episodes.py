"""Runs of a sequential benchmark: episodes as courses, the same for any number of workers, crash and resume."""

import asyncio
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from mage_es.engine.agents.learner import plan_answers
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.commands import PlanAnswers
from mage_es.engine.config import Config
from mage_es.engine.courses import Act, Ask, Finish, advance, begin
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.workshop.benchmark import Workshop
from mage_es.engine.players.worlds.workshop.lands import PLACES
from mage_es.engine.rules.retrieval import SEARCH_ARMS
from mage_es.engine.rules.trajectories import transcript_of
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.embedder import Vector
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.seams.playing import play_actions
from mage_es.engine.session.episodes import Donor, EpisodeContext, episode_of
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.ask import ask
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import Interrupted, LogError, UsageError
from mage_es.events.log import LogReader
from tests.engine.killing import kill_again_and_again
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_step_prompt import PLANNED
from tests.kit.plain_events import plain
from tests.paper_parts import PAPER_PARTS

pytestmark = pytest.mark.slow

CONFIG = Config(
    benchmark="workshop",
    seed=7,
    iterations=2,
    pool=10,
    held_out=6,
    anchors=2,
    explore_episodes=3,
    episode_steps=14,
    gate="off",
)
REFERENCE = "builtin/reference"


class Copier:
    """The copier, with something done before every reply."""

    def __init__(self, before: Callable[[], None] = lambda: None, *, delays: int = 0) -> None:
        self._model: Model = open_model("builtin/copier", "execution")
        self.name = self._model.name
        self._before, self._random, self._delays = before, random.Random(delays), delays
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Completion:
        self._before()
        self.prompts.append(request.prompt)
        for _ in range(self._random.randrange(self._delays + 1)):
            await asyncio.sleep(0)
        return await self._model.complete(request)


class Mumbling(Copier):
    """The copier, which forgets to name an action in every third reply."""

    async def complete(self, request: Request) -> Completion:
        completion = await super().complete(request)
        text = "I would rather not say." if len(self.prompts) % 3 == 0 else completion.text
        return msgspec.structs.replace(completion, text=text)


def run_in(folder: Path, config: Config = CONFIG, *, workers: int = 8, execution: Model | None = None) -> Run:
    models = Models(execution or Copier(), open_model(REFERENCE, "guidance"))
    evolve(config, runs_dir=folder, data_dir=None, runtime=Runtime(workers=workers), run_id="r", models=models)
    return find_run(folder, "r")


def events_of(run: Run, *types: type[v.Event]) -> list[v.Event]:
    return list(LogReader(run.log_path).of(*types))


def digests(run: Run) -> list[object]:
    return [e.digests for e in events_of(run, v.IterationClosed)]


def called(move: Ask, text: str) -> v.ModelCalled:
    return plain(
        v.ModelCalled,
        purpose="fresh",
        about=move.about,
        request_sha256=move.request.sha256,
        text=text,
        stop_reason="end",
    )


@pytest.fixture(scope="module")
def workshop_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run on episodes. Shared: do not change its log."""
    return run_in(tmp_path_factory.mktemp("workshop"))


def test_one_eight_and_sixty_four_workers_give_the_same_digests(tmp_path: Path, workshop_run: Run) -> None:
    for workers in (1, 64):
        other = run_in(tmp_path / str(workers), workers=workers, execution=Copier(delays=5))
        assert digests(other) == digests(workshop_run)


def test_every_step_of_an_episode_is_recorded_and_adds_up_to_its_end(workshop_run: Run) -> None:
    benchmark = open_benchmark("workshop", seed=7)
    questions = {question.id: question for question in benchmark.questions("evolution")}
    steps: dict[tuple[str, str, int], list[v.EpisodeStepped]] = {}
    for event in events_of(workshop_run, v.EpisodeStepped):
        assert isinstance(event, v.EpisodeStepped)
        steps.setdefault((event.purpose, event.episode_id, event.iteration), []).append(event)
    closed = events_of(workshop_run, v.EpisodeClosed)
    assert len(closed) == len(steps) > 20
    for end in closed:
        played = sorted(steps[end.purpose, end.episode_id, end.iteration], key=lambda step: step.step)
        assert [step.step for step in played] == list(range(1, end.steps + 1))
        assert [step.done for step in played[:-1]] == [False] * (end.steps - 1)
        assert played[-1].done or end.steps == CONFIG.episode_steps
        assert tuple(name for step in played for name in step.achievements) == end.achievements
        verdict = play_actions(benchmark.environment(questions[end.episode_id]), transcript_of(played))
        assert round(verdict.score * 1_000_000) == end.score_micro


def test_the_verdict_on_an_episode_is_its_environments_score(workshop_run: Run) -> None:
    scores = {
        (end.purpose, end.episode_id, end.iteration): end.score_micro
        for end in events_of(workshop_run, v.EpisodeClosed)
    }
    judged = events_of(workshop_run, v.AnswerJudged)
    assert judged and all(
        scores[verdict.purpose, verdict.question_id, verdict.iteration] == verdict.score_micro for verdict in judged
    )


@pytest.mark.paper("agents, Explorer")
def test_the_explorer_plays_at_its_own_temperature_on_evolution_tasks_only(tmp_path: Path) -> None:
    seen: list[float] = []

    class Watching(Copier):
        async def complete(self, request: Request) -> Completion:
            seen.append(request.temperature)
            return await super().complete(request)

    run = run_in(tmp_path, msgspec.structs.replace(CONFIG, iterations=1), execution=Watching())
    explored = [e for e in events_of(run, v.EpisodeClosed) if e.purpose == "explore"]
    calls = [e for e in events_of(run, v.ModelCalled) if e.agent == "Explorer"]
    assert len(explored) == CONFIG.explore_episodes
    assert all(end.episode_id.startswith("workshop-evolution-") for end in explored)
    assert Counter(seen)[0.3] == len(calls) == sum(end.steps for end in explored)


@pytest.mark.paper("appendix, environment subgraph")
def test_exploring_grows_the_environment_and_the_patterns_and_recipes(workshop_run: Run) -> None:
    replayed = replay(workshop_run, until="latest")
    assert all(check.equal for check in replayed.checks)
    contexts = events_of(workshop_run, v.TaskContextOpened)
    patterns = events_of(workshop_run, v.PatternAbstracted)
    recipes = events_of(workshop_run, v.ActionRecipeHarvested)
    assert len(contexts) == 2 * CONFIG.explore_episodes
    assert patterns and all(e.phase == "explore" for e in patterns)
    assert {e.phase for e in recipes} == {"explore", "update"}
    assert len({e.recipe_id for e in recipes}) == len(recipes)
    assert all(1 <= len(e.actions) <= 3 and e.actions[-1] == e.achievement for e in recipes)


def test_a_successful_episode_becomes_a_memory_of_its_transcript(workshop_run: Run) -> None:
    memories = events_of(workshop_run, v.MemoryAppended)
    successes = [memory for memory in memories if memory.outcome == "success_memory"]
    assert successes
    assert all(": You " in memory.reasoning and "Action:" not in memory.reasoning for memory in successes)
    failures = [memory for memory in memories if memory.outcome == "failure_memory"]
    assert any("It took" in memory.reasoning for memory in failures)


def test_every_step_retrieves_by_what_is_observed_at_that_moment() -> None:
    built = Built()
    built.memory("afar", vector=(1, 0))
    built.memory("here", vector=(0, 1))
    benchmark = Workshop(7)
    question = benchmark.questions("evolution")[0]
    elsewhere = next(place for place in PLACES if f"at the {place}" not in question.question)

    def embed(text: str) -> Vector:
        return np.array((1, 0) if f"You are at the {elsewhere}." in text else (0, 1), dtype=np.float32)

    setting = setting_of(bundle=1, episode_steps=3)
    planned = msgspec.structs.replace(PLANNED, question_id=question.id, skill="goal")
    course = episode_of(EpisodeContext(setting, built.state, benchmark, embed), planned, question, None)
    move, bundles, prompts = begin(course), [], []
    while not isinstance(move, Finish):
        if isinstance(move, Ask):
            prompts.append(move.request.prompt)
            move = advance(course, called(move, f"Action: go to {elsewhere}"))
        elif isinstance(move, Act):
            bundles += [move.fact.memories] if isinstance(move.fact, v.EpisodeStepped) else []
            move = advance(course, move.fact)
    assert bundles == [("here",), ("afar",), ("afar",)]
    assert ["What of afar?" in prompt for prompt in prompts] == [False, True, True]


def test_the_plan_holds_the_first_steps_bundle(workshop_run: Run) -> None:
    first = {
        (step.purpose, step.episode_id, step.iteration): step.memories
        for step in events_of(workshop_run, v.EpisodeStepped)
        if step.step == 1
    }
    plans = {(e.purpose, e.question_id, e.iteration): e for e in events_of(workshop_run, v.QuestionPlanned)}
    assert any(first.values())
    # Of the anchors some are planned and then carried, as enough others were asked.
    carried = {("anchor", e.question_id, e.iteration) for e in events_of(workshop_run, v.AnswerCarried)}
    assert set(first) == set(plans) - carried
    for episode, found in first.items():
        assert tuple(hit.memory_id for hit in plans[episode].memories) == found


@pytest.mark.parametrize("after", [12, 40, 120])
def test_a_run_stopped_in_the_middle_of_an_episode_resumes_to_the_same_digests(
    tmp_path: Path, workshop_run: Run, after: int
) -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    guidance = open_model(REFERENCE, "guidance")
    with pytest.raises(Interrupted):
        evolve(
            CONFIG,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(workers=3, stop=lambda: calls >= after),
            run_id="r",
            models=Models(Copier(count), guidance),
        )
    run = find_run(tmp_path, "r")
    ended = {e.episode_id for e in events_of(run, v.EpisodeClosed)}
    begun = {e.episode_id for e in events_of(run, v.EpisodeStepped)}
    assert begun - ended
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=5), models=Models(Copier(), guidance))
    assert digests(run) == digests(workshop_run)
    keys = Counter(
        (e.iteration, e.tier, e.purpose, e.about, e.attempt, e.request_sha256) for e in events_of(run, v.ModelCalled)
    )
    assert set(keys.values()) == {1}


def test_killed_at_random_moments_a_run_still_ends_with_the_same_digests(tmp_path: Path, workshop_run: Run) -> None:
    script, config = Path(__file__).with_name("slow_episodes.py"), msgspec.json.encode(CONFIG).decode()
    command = [sys.executable, str(script), str(tmp_path), config]
    log = tmp_path / "r" / "log"
    assert kill_again_and_again(command, log, times=3, most=300, random=random.Random(11)) >= 2
    subprocess.run([*command, "fast"], check=True)
    assert digests(find_run(tmp_path, "r")) == digests(workshop_run)


def test_an_environment_that_plays_differently_on_resuming_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    guidance = open_model(REFERENCE, "guidance")
    with pytest.raises(Interrupted):
        evolve(
            CONFIG,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(workers=1, stop=lambda: calls >= 9),
            run_id="r",
            models=Models(Copier(count), guidance),
        )
    monkeypatch.setattr("mage_es.engine.players.worlds.workshop.game.NOTHING", "Nothing at all happens.")
    with pytest.raises(LogError, match="differently"):
        resume(
            find_run(tmp_path, "r"),
            config=None,
            data_dir=None,
            runtime=Runtime(workers=1),
            models=Models(Copier(), guidance),
        )


def test_replies_that_name_no_action_are_steps_and_are_counted(tmp_path: Path) -> None:
    run = run_in(tmp_path, msgspec.structs.replace(CONFIG, iterations=1), workers=1, execution=Mumbling())
    rows = summarise(run).episodes
    steps = events_of(run, v.EpisodeStepped)
    unparsed = [step for step in steps if not step.parsed]
    assert sum(row.unparsed for row in rows) == len(unparsed) > 0
    assert sum(row.steps for row in rows) == len(steps)
    assert {step.action for step in unparsed} == {""} and {step.effect for step in unparsed} == {"That is no action."}


def test_an_episode_ends_at_the_limit_of_the_configuration(tmp_path: Path) -> None:
    run = run_in(tmp_path, msgspec.structs.replace(CONFIG, iterations=1, episode_steps=3))
    assert {e.steps for e in events_of(run, v.EpisodeClosed)} <= {1, 2, 3}


def test_without_success_memories_none_is_harvested_and_recipes_still_are(tmp_path: Path) -> None:
    run = run_in(tmp_path, msgspec.structs.replace(CONFIG, success_memories=False))
    memories = events_of(run, v.MemoryAppended)
    assert memories and not any(memory.outcome == "success_memory" for memory in memories)
    assert events_of(run, v.ActionRecipeHarvested)


def exam_of(run: Run, *, control: str = "none", execution: Model | None = None) -> object:
    return examine(
        run,
        at="latest",
        questions=None,
        control=control,
        data_dir=None,
        runtime=Runtime(workers=4),
        execution=execution,
    )


def test_an_exam_plays_episodes_frozen_in_a_log_of_its_own(workshop_run: Run) -> None:
    before = LogReader(workshop_run.log_path).head
    report = examine(
        workshop_run, at="latest", questions=None, control="none", data_dir=None, runtime=Runtime(workers=4)
    )
    added = [record.event for record in LogReader(workshop_run.log_path).records(since=before.seq + 1)]
    assert {type(event) for event in added} == {v.ExamOpened, v.ExamClosed, v.SegmentSealed}
    assert report.guidance_calls == 0 and report.total == CONFIG.held_out
    assert [row.episodes for row in report.episodes] == [CONFIG.held_out]
    assert report.execution_calls == report.episodes[0].steps
    log = LogReader(sorted(workshop_run.exams_path.glob("*/log"))[0])
    assert not list(log.records({v.MemoryAppended, v.PatternAbstracted, v.ActionRecipeHarvested, v.TaskContextOpened}))


def test_the_control_consults_the_graph_as_another_task_throughout(workshop_run: Run) -> None:
    with pytest.raises(UsageError, match="workshop is played, so its memories have no answers to permute"):
        exam_of(workshop_run, control="permuted")
    exam_of(workshop_run, control="shuffled")
    log = LogReader(sorted(workshop_run.exams_path.glob("*shuffled/log"))[-1])
    plans = list(log.of(v.QuestionPlanned))
    memories = {m.memory_id: m for m in events_of(workshop_run, v.MemoryAppended)}
    types = {plan.question_id: plan.task_type for plan in plans}
    assert all(plan.donor and types[plan.donor] != plan.task_type for plan in plans)
    donors = {plan.question_id: types[plan.donor] for plan in plans}
    steps = list(log.of(v.EpisodeStepped))
    assert any(step.memories for step in steps)
    for step in steps:
        assert {memories[name].task_type for name in step.memories} <= {donors[step.episode_id]}
    shown = show(workshop_run, plans[0].question_id, iteration=None, data_dir=None)
    assert shown.prompt_verified


def test_an_episode_is_shown_step_by_step_with_its_prompts_verified(workshop_run: Run) -> None:
    end = next(e for e in events_of(workshop_run, v.EpisodeClosed) if e.purpose == "fresh")
    report = show(workshop_run, end.episode_id, iteration=end.iteration, data_dir=None)
    assert report.prompt_verified
    assert len(report.moves) == 2 * end.steps + 1
    assert report.answer == (", ".join(end.achievements) or "nothing")


def test_a_question_of_ones_own_is_refused_with_what_to_do_instead(workshop_run: Run) -> None:
    with pytest.raises(UsageError, match=r"episodes.*mage-es exam"):
        ask(workshop_run, "How is a bell made?", at="latest", data_dir=None)


@pytest.mark.parametrize("donor_has_a_recipe", [True, False])
def test_a_control_on_the_arm_recipe_begins_as_it_was_planned(*, donor_has_a_recipe: bool) -> None:
    world = open_world(Config(benchmark="workshop", held_out=5, anchors=3, **PAPER_PARTS), data_dir=None)
    own, other = (world.questions[name] for name in world.setting.held_out[:2])
    built = Built()
    built.skill("general")
    for question in list(world.questions.values())[:60]:
        built.memory(question.id, vector=tuple(world.embedder.encode([question.question])[0]))
    recipe = built.recipe("other", template="marsh", least=-1.0, quotas=(1, 0)) if donor_has_a_recipe else None
    mine = msgspec.structs.replace(recipe or built.recipe(), memory_id="own", task_type="u", query_template="island")
    built.state.apply(msgspec.structs.replace(mine, least_similarity=-1.0, success_quota=1, failure_quota=0))
    for arm in SEARCH_ARMS:
        alpha, beta = (90, 1) if arm == "recipe" else (1, 90)
        after = {"alpha_after": alpha * v.MICRO, "beta_after": beta * v.MICRO, "pulls_after": 99}
        built.state.apply(plain(v.BanditUpdated, key="u", arm=arm, **after))
    asked, donor = world.asked(built.state, [own, other], ["u", "t"], ["exam", "exam"])
    command = PlanAnswers(iteration=0, phase="exam", asked=[asked], frozen=True, donors={own.id: donor})
    planned = plan_answers(world.setting, built.state, command)[0].event
    assert isinstance(planned, v.QuestionPlanned)
    assert planned.search_arm == "recipe" and len(planned.memories) == 1
    stage = EpisodeContext(world.setting, built.state, Workshop(42), lambda text: world.embedder.encode([text])[0])
    first = begin(episode_of(stage, planned, own, Donor(other, "t")))
    assert isinstance(first, Ask) and sha256_text(first.request.text) == planned.prompt_sha256
