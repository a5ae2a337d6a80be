"""Courses in runs: stopped or killed anywhere, no recorded move is made again and the state comes out the same."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.courses import Ask, Course, Finish, advance, begin, call_of, catch_up, fact_of
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.sandbox.sandbox import Sandbox, ToolResult
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from tests.engine.conftest import COURSES, never
from tests.engine.rules.test_routes import told

pytestmark = pytest.mark.slow


def called(about: str, text: str) -> v.ModelCalled:
    fact = told(Ask(about, Request(prompt=about)), text)
    assert isinstance(fact, v.ModelCalled)
    return fact


def two_calls() -> Course:
    first = yield from fact_of(Ask("q/1", Request(prompt="first")), v.ModelCalled)
    second = yield from fact_of(Ask("q", Request(prompt=f"after {first.text}")), v.ModelCalled)
    return Finish(f"{first.text} {second.text}")


def test_a_course_goes_on_with_what_it_is_told() -> None:
    course = two_calls()
    assert begin(course) == Ask("q/1", Request(prompt="first"))
    assert advance(course, called("q/1", "one")) == Ask("q", Request(prompt="after one"))
    assert advance(course, called("q", "two")) == Finish("one two")


@pytest.mark.parametrize("known", [0, 1, 2])
def test_a_course_catches_up_with_what_is_recorded(known: int) -> None:
    recorded = dict([("q/1", called("q/1", "one")), ("q", called("q", "two"))][:known])
    course = two_calls()
    move = catch_up(course, begin(course), lambda move: recorded.get(move.about) if isinstance(move, Ask) else None)
    expected = [Ask("q/1", Request(prompt="first")), Ask("q", Request(prompt="after one")), Finish("one two")]
    assert move == expected[known]


def test_the_last_call_is_about_the_question_and_those_before_it_say_their_place() -> None:
    assert [call_of("q17", place) for place in (1, 2, 0)] == ["q17/1", "q17/2", "q17"]


# ---------------------------------------------------------------- in runs


class Counting:
    """The analogist; counts its calls, by prompt."""

    def __init__(self) -> None:
        self._model = open_model("builtin/analogist", "execution")
        self.name, self.calls = self._model.name, Counter[str]()

    async def complete(self, request: Request) -> Completion:
        self.calls[request.prompt] += 1
        await asyncio.sleep(0)
        return await self._model.complete(request)


def run_with(folder: Path, model: Counting, *, workers: int = 4, stop: Callable[[], bool] = never) -> Run:
    evolve(
        COURSES,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(workers=workers, stop=stop),
        run_id="r",
        models=Models(model, open_model("builtin/reference", "guidance")),
    )
    return Run("r", folder / "r")


def go_on(run: Run, model: Counting, *, stop: Callable[[], bool] = never) -> None:
    models = Models(model, open_model("builtin/reference", "guidance"))
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=3, stop=stop), models=models)


def digests(run: Run) -> dict[str, str]:
    closed = list(LogReader(run.log_path).of(v.IterationClosed))[-1]
    return {digest.projection: digest.value for digest in closed.digests}


def moves_of(run: Run) -> Counter[tuple[object, ...]]:
    """Count the recorded moves by what makes each of them the same move."""
    moves: Counter[tuple[object, ...]] = Counter()
    for record in LogReader(run.log_path).records({v.ModelCalled, v.ToolRan}):
        event = record.event
        if isinstance(event, v.ModelCalled):
            moves[record.iteration, record.phase, event.tier, event.purpose, event.about, event.attempt] += 1
        elif isinstance(event, v.ToolRan):
            moves[record.iteration, record.phase, event.question_id, event.tool_id, event.arguments] += 1
    return moves


@pytest.mark.paper("section 3.2, routing bandit")
def test_chains_and_tools_are_used_and_every_call_is_in_the_log(course_run: Run) -> None:
    reader = LogReader(course_run.log_path)
    plans = {(r.iteration, r.event.question_id): r.event for r in reader.records({v.QuestionPlanned})}
    asked = Counter(
        (r.iteration, r.event.about.partition("/")[0])
        for r in reader.records({v.ModelCalled})
        if r.event.tier == "execution"
    )
    expected = {key: 1 + len(plan.chain) + (plan.routing_arm == "tool") for key, plan in plans.items() if key[0] >= 0}
    assert {key: count for key, count in asked.items() if key[0] >= 0} == expected
    assert max(expected.values()) > 2
    assert list(reader.records({v.ToolRan}))
    assert set(moves_of(course_run).values()) == {1}


@pytest.mark.paper("appendix, success memories")
def test_the_steps_of_a_right_chain_are_harvested_as_its_decomposition(course_run: Run) -> None:
    reader = LogReader(course_run.log_path)
    chains = {
        (r.iteration, r.event.question_id): r.event.chain for r in reader.records({v.QuestionPlanned}) if r.event.chain
    }
    outputs = {(r.iteration, r.event.about): r.event.text for r in reader.records({v.ModelCalled})}
    harvested = [event for event in reader.of(v.MemoryAppended) if event.steps]
    assert harvested
    for memory in harvested:
        assert memory.outcome == "success_memory"
        assert tuple(step.skill for step in memory.steps) == chains[memory.iteration, memory.question_id]
        for place, step in enumerate(memory.steps, start=1):
            assert step.output == outputs[memory.iteration, f"{memory.question_id}/{place}"].strip()


def test_a_run_stopped_in_the_middle_of_courses_goes_on_and_makes_no_recorded_move_again(
    tmp_path: Path, course_run: Run
) -> None:
    moves = 0

    def stop() -> bool:
        nonlocal moves
        moves += 1
        return moves > 120

    first, second = Counting(), Counting()
    with pytest.raises(Interrupted):
        run_with(tmp_path, first, stop=stop)
    run = Run("r", tmp_path / "r")
    recorded = sum(r.event.tier == "execution" for r in LogReader(run.log_path).records({v.ModelCalled}))
    assert recorded == first.calls.total()
    go_on(run, second)
    assert digests(run) == digests(course_run)
    assert moves_of(run) == moves_of(course_run)
    total = sum(r.event.tier == "execution" for r in LogReader(course_run.log_path).records({v.ModelCalled}))
    assert first.calls.total() + second.calls.total() == total


def test_any_number_of_workers_makes_the_same_moves_and_the_same_state(tmp_path: Path, course_run: Run) -> None:
    run = run_with(tmp_path, Counting(), workers=64)
    assert digests(run) == digests(course_run)
    assert moves_of(run) == moves_of(course_run)


def test_a_recorded_run_of_a_tool_is_not_repeated_though_it_would_end_otherwise(
    tmp_path: Path, course_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that ran out of time is a fact: a resumed run, on a faster machine, goes on with the problem."""
    ran, at_once = 0, Sandbox.run

    def slow(self: Sandbox, source: str, arguments: str) -> ToolResult:
        nonlocal ran
        if threading.current_thread() is threading.main_thread():  # tools are tried there, and used in other threads
            return at_once(self, source, arguments)
        ran += 1
        return ToolResult("", "it took more than 10.0 s")

    monkeypatch.setattr(Sandbox, "run", slow)
    with pytest.raises(Interrupted):
        run_with(tmp_path, Counting(), stop=lambda: ran > 0)
    run = Run("r", tmp_path / "r")
    first = list(LogReader(run.log_path).of(v.ToolRan))
    monkeypatch.undo()
    go_on(run, Counting())
    events = list(LogReader(run.log_path).of(v.ToolRan))
    assert events[: len(first)] == first and first[0].problem == "it took more than 10.0 s"
    report = show(run, first[0].question_id, iteration=first[0].iteration, data_dir=None)
    assert report.prompt_verified and "> Problem: it took more than 10.0 s" in report.prompt
    answered = {(r.iteration, r.event.question_id) for r in LogReader(run.log_path).records({v.AnswerJudged})}
    assert {(event.iteration, event.question_id) for event in events} <= answered
