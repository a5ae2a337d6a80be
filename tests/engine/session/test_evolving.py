"""The guidance tier in a whole run: every action is exercised, bad replies cost attempts and nothing else, and no call
is made twice."""

import asyncio
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.agents.navigator import briefs_of
from mage_es.engine.briefs import AuthoredExample, AuthoredParameter, AuthoredTool, FailureCase, ToolsBrief, ToolsReply
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.rules.rotation import ACTIONS
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.session.evolving import check_tools
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted, PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State, fold
from tests.paper_parts import PAPER_PARTS

pytestmark = pytest.mark.slow

CONFIG = Config(benchmark="wordmath", seed=7, iterations=4, pool=30, held_out=20, anchors=6, **PAPER_PARTS)
NOT_THE_FORM = "{} is all that I can say."


class Counting:
    """The reference tier, counting what it is asked; with `clumsy` each right reply comes after two bad ones."""

    def __init__(self, *, clumsy: bool = False) -> None:
        self._model: Model = open_model("builtin/reference", "guidance")
        self.name, self.clumsy = self._model.name, clumsy
        self.asked: Counter[str] = Counter()

    async def complete(self, request: Request) -> Completion:
        self.asked[request.sha256] += 1
        brief, _, repair = request.prompt.partition("\n\nYour last reply could not be used.")
        if self.clumsy and NOT_THE_FORM not in repair:
            text = NOT_THE_FORM if repair else "I have no idea."
            return Completion(text=text, input_tokens=1, output_tokens=1)
        return await self._model.complete(Request(prompt=brief))


def begin(folder: Path, guidance: Model, config: Config = CONFIG, *, after: int | None = None) -> Run:
    """Evolve a run to its end, or until so many guidance calls were made."""
    evolve(
        config,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(
            workers=4,
            stop=lambda: after is not None and isinstance(guidance, Counting) and guidance.asked.total() >= after,
        ),
        run_id="r",
        models=Models(open_model("builtin/analogist", "execution"), guidance),
    )
    return find_run(folder, "r")


def events(run: Run, *types: type[v.Event]) -> list[v.Event]:
    return list(LogReader(run.log_path).of(*types))


def digests(run: Run) -> dict[str, str]:
    closed = events(run, v.IterationClosed)[-1]
    assert isinstance(closed, v.IterationClosed)
    return {digest.projection: digest.value for digest in closed.digests}


@pytest.fixture(scope="module")
def grown_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run through one whole rotation of the actions. Shared: do not change its log."""
    return begin(tmp_path_factory.mktemp("grown"), Counting())


def state_of(run: Run) -> State:
    return fold(LogReader(run.log_path))


@pytest.mark.paper("agents, SkillDiscovery")
def test_an_ordinary_run_exercises_all_four_actions_and_each_leaves_what_it_is_for(grown_run: Run) -> None:
    taken = [event for event in events(grown_run, v.ActionTaken) if isinstance(event, v.ActionTaken)]
    authored = {event.action for event in taken if event.outcome == "authored"}
    assert {*ACTIONS, "failure_memories"} <= authored
    assert "retrieval_recipes" in {event.action for event in taken}
    assert events(grown_run, v.ToolAuthored)
    assert events(grown_run, v.SkillRefined)
    assert events(grown_run, v.SkillSplit)


def test_what_was_authored_is_in_use_afterwards(grown_run: Run) -> None:
    state = state_of(grown_run)
    tools = [event for event in events(grown_run, v.ToolAuthored) if isinstance(event, v.ToolAuthored)]
    assert all(tool.active and not tool.problem for tool in tools)
    assert state.tools.active(tools[-1].skill) is not None
    recipes = [e for e in events(grown_run, v.RetrievalRecipeAuthored) if isinstance(e, v.RetrievalRecipeAuthored)]
    assert all(state.recipes.retrieval(recipe.task_type) for recipe in recipes)
    children = [e.skill for e in events(grown_run, v.SkillCreated) if isinstance(e, v.SkillCreated) and e.parent]
    assert children and all(state.graph.parent(child) for child in children)
    state.graph.skills_in_order()


def test_every_iteration_is_planned_with_a_brief_for_each_skill_of_its_frontier(grown_run: Run) -> None:
    plans = [event for event in events(grown_run, v.IterationPlanned) if isinstance(event, v.IterationPlanned)]
    assert all(plan.frontier and set(briefs_of(plan)) == set(plan.frontier) for plan in plans)
    calls = [e for e in events(grown_run, v.ModelCalled) if isinstance(e, v.ModelCalled) and e.agent == "Navigator"]
    assert [call.iteration for call in calls] == [0, 1, 2, 3]


DEFAULT = Config(benchmark="wordmath", seed=7, iterations=2, pool=20, held_out=20, anchors=6)


def test_guidance_that_nothing_reads_changes_no_answer(tmp_path: Path) -> None:
    plain, unread = (
        begin(tmp_path / str(flag), Counting(), msgspec.structs.replace(DEFAULT, unread=flag)) for flag in (False, True)
    )
    called = [Counter(e.purpose for e in LogReader(run.log_path).of(v.ModelCalled)) for run in (plain, unread)]
    assert (called[1] - called[0]).keys() == {"navigator_v1", "principles_v1"}  # of too few questions no tool is made
    assert events(plain, v.AnswerJudged) == events(unread, v.AnswerJudged)


def test_the_summary_of_a_run_shows_what_every_action_came_to_and_the_latest_briefs(grown_run: Run) -> None:
    found = summarise(grown_run)
    taken = [event for event in events(grown_run, v.ActionTaken) if isinstance(event, v.ActionTaken)]
    assert {row.action for row in found.actions} == {*ACTIONS, "failure_memories", "retrieval_recipes"}
    assert sum(row.taken for row in found.actions) == len(taken)
    assert sum(row.authored for row in found.actions) == sum(event.authored for event in taken)
    assert found.frontier and all(skill.brief for skill in found.frontier)


@pytest.mark.paper("appendix, call audit")
def test_every_guidance_call_names_its_agent_and_its_versioned_template(grown_run: Run) -> None:
    calls = [e for e in events(grown_run, v.ModelCalled) if isinstance(e, v.ModelCalled) and e.tier == "guidance"]
    assert {(call.agent, call.purpose) for call in calls} == {
        ("Navigator", "navigator_v1"),
        ("SkillDiscovery", "ontology_v1"),
        ("SkillDiscovery", "failure_memories_v1"),
        ("SkillDiscovery", "principles_v1"),
        ("SkillDiscovery", "tools_v1"),
        ("SkillDiscovery", "prompt_refinement_v1"),
        ("SkillDiscovery", "skill_splitting_v1"),
    }
    # No recipe is asked for at its turn: too few memories to choose from, and no question was right.
    taken = [event for event in events(grown_run, v.ActionTaken) if isinstance(event, v.ActionTaken)]
    assert {e.outcome for e in taken if e.action == "retrieval_recipes"} == {"nothing to author"}


@pytest.fixture(scope="module")
def clumsy_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same run with a guidance model that needs three attempts each time. Shared: do not change its log."""
    return begin(tmp_path_factory.mktemp("clumsy"), Counting(clumsy=True))


def test_a_guidance_model_that_gets_it_right_at_the_third_attempt_teaches_the_same(
    grown_run: Run, clumsy_run: Run
) -> None:
    for name in ("slots", "bandits", "evidence", "scores", "questions"):
        assert digests(clumsy_run)[name] == digests(grown_run)[name]
    rejected = Counter(
        event.attempt for event in events(clumsy_run, v.ReplyRejected) if isinstance(event, v.ReplyRejected)
    )
    calls = [e for e in events(clumsy_run, v.ModelCalled) if isinstance(e, v.ModelCalled) and e.tier == "guidance"]
    assert rejected == {0: len(calls) / 3, 1: len(calls) / 3}
    assert not events(grown_run, v.ReplyRejected)


@pytest.mark.parametrize("after", [1, 11, 29])
def test_a_run_stopped_between_guidance_calls_goes_on_without_repeating_one(
    tmp_path: Path, clumsy_run: Run, after: int
) -> None:
    first, second = Counting(clumsy=True), Counting(clumsy=True)
    with pytest.raises(Interrupted):
        begin(tmp_path, first, after=after)
    run = find_run(tmp_path, "r")
    resume(
        run,
        config=None,
        data_dir=None,
        runtime=Runtime(workers=4),
        models=Models(open_model("builtin/analogist", "execution"), second),
    )
    assert digests(run) == digests(clumsy_run)
    assert first.asked.total() >= after
    assert set((first.asked + second.asked).values()) == {1}


class FailingTwice(Counting):
    """In EVOLVE its first call fails, but only after its second one has."""

    def __init__(self) -> None:
        super().__init__()
        self.evolving = False
        self._second_failed = asyncio.Event()

    def observe(self, note: ProgressNote) -> None:
        self.evolving = note.phase == "evolve"

    async def complete(self, request: Request) -> Completion:
        if not self.evolving:
            return await super().complete(request)
        self.asked["evolve"] += 1
        if self.asked["evolve"] == 1:
            await self._second_failed.wait()
            raise PrerequisiteError("what followed")
        self._second_failed.set()
        raise PrerequisiteError("what came first")


def test_of_several_failures_the_first_in_time_is_raised(tmp_path: Path) -> None:
    guidance, config = FailingTwice(), msgspec.structs.replace(CONFIG, iterations=1, pool=24)
    models = Models(open_model("builtin/analogist", "execution"), guidance)
    with pytest.raises(PrerequisiteError, match="what came first"):
        evolve(config, runs_dir=tmp_path, runtime=Runtime(workers=4, observer=guidance.observe), models=models)


def test_with_every_action_switched_off_each_turn_is_recorded_as_such_and_nobody_is_asked(tmp_path: Path) -> None:
    switches = ("failure_memories", "principles", "tools", "retrieval_recipes", "prompt_refinement", "skill_splitting")
    config = msgspec.structs.replace(CONFIG, pool=24, **dict.fromkeys(switches, False))
    run = begin(tmp_path, Counting(), config)
    taken = [event for event in events(run, v.ActionTaken) if isinstance(event, v.ActionTaken)]
    assert {event.outcome for event in taken} == {"switched off"}
    assert {event.action for event in taken} == {*ACTIONS, "failure_memories", "retrieval_recipes"}
    calls = [e for e in events(run, v.ModelCalled) if isinstance(e, v.ModelCalled) and e.tier == "guidance"]
    assert {call.purpose for call in calls} == {"ontology_v1", "navigator_v1"}


def test_a_tool_is_tried_on_its_own_examples_before_it_is_written_down() -> None:
    case = FailureCase(
        question_id="q1", question="", context="", wrong_answer="", wrong_reasoning="", answer="4", solution=""
    )
    brief = ToolsBrief(task_type="t", skill="s", cases=(case,), solved=(), existing=(), limit=1)

    def problem_of(source: str) -> str:
        tool = AuthoredTool(
            name="double",
            description="",
            parameters=(AuthoredParameter(name="a", meaning=""),),
            source=source,
            examples=(AuthoredExample(question_id="q1", arguments='{"a": 2}', result="4"),),
        )
        return check_tools(ToolsReply(tools=(tool,)), brief).tools[0].problem

    assert problem_of("def run(a):\n    return a * 2\n") == ""
    assert problem_of("def run(a):\n    return a * 3\n") == "example 1: '6' instead of '4'"
    assert "run" in problem_of("x = 1\n")
    assert problem_of("#" * 5000) == "the source is longer than 4000 characters"
