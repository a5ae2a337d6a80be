"""The verb `ask`: one question of the user's own, answered with a run's frozen state. Nothing is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from mage_es.engine.agents.learner import course_of, plan_answers
from mage_es.engine.benchmarks.protocol import Question, extract_of
from mage_es.engine.budget import UNLIMITED, Budget, Limits, require_prices
from mage_es.engine.commands import PlanAnswers
from mage_es.engine.courses import Course, Fact, Finish, advance, begin
from mage_es.engine.effects import Effects
from mage_es.engine.embedders.metering import Metered
from mage_es.engine.embedders.protocol import Embedder
from mage_es.engine.embedders.registry import metered
from mage_es.engine.environments.protocol import is_sequential
from mage_es.engine.exam import require_ontology
from mage_es.engine.inspection import bundle_of, report_of
from mage_es.engine.models.line import Line
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.seam import Model
from mage_es.engine.moves import AskReport, CallReport, MoveReport, TrimReport
from mage_es.engine.opening import World, reopen_world
from mage_es.engine.pricing import Prices
from mage_es.engine.rules.trimming import without
from mage_es.engine.runs import Run
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import CallFailed, QuestionPlanned
from mage_es.projections.fold import State, fold
from mage_es.projections.ledger import Ledger
from mage_es.projections.snapshots import latest_snapshot


def ask(
    run: Run,
    question: str,
    *,
    at: str,
    data_dir: Path | None,
    limits: Limits = UNLIMITED,
    prices: Prices | None = None,
    execution: Model | None = None,
    embedder: Embedder | None = None,
    say: Callable[[str], None] = lambda words: None,
) -> AskReport:
    """Answer a question with the state at a marker; its task type is told from its text alone.

    `execution` and `embedder` take the place of those that the run's configuration names; `say` is told when it must
    wait.

    Raises:
        UsageError: The question is empty or not text, the marker does not exist or is too early, or the benchmark's
            questions are episodes.
        PrerequisiteError: The model gives no answer.
        BudgetReached: The next call could take the question over its `limits`.
    """
    text = _checked(question)
    reader = LogReader(run.log_path)
    seq = reader.resolve(at)
    world = reopen_world(reader, data_dir=data_dir, embedder=embedder)
    state = fold(reader, until=seq, state=latest_snapshot(run.snapshots_path, reader, until=seq))
    require_ontology(state, at)
    if is_sequential(world.benchmark):
        raise UsageError(
            f"The tasks of {world.benchmark.name} are episodes: they are played in its environment, not answered. "
            "Set an exam with `mage-es exam`, or look at an episode with `mage-es show`."
        )
    model = execution or open_model(world.setting.config.execution, "execution")
    budget = _budget(world, model, limits, prices or Prices())
    asked = Question(id="ask", benchmark="", split="test", task_type="", question=text, gold="")
    planned = _planned(world, state, asked)
    line = Line(model, connections=1, say=say, toll=budget)
    effects = Effects(
        world.setting,
        state,
        {"execution": line},
        Sandbox(),
        record=lambda command: None,
        searches=world.searches,
    )
    course = course_of(world.setting, state, planned, asked)
    moves, reply = asyncio.run(_answered(course, state, planned, effects, line))
    return AskReport(
        run_id=run.id,
        marker=at,
        task_type=planned.task_type,
        skill=planned.skill,
        bundle=bundle_of(state, without(planned, {move.memory_id for move in moves if isinstance(move, TrimReport)})),
        prompt=[move.prompt for move in moves if isinstance(move, CallReport)][-1],
        reply=reply,
        answer=extract_of(world.benchmark)(reply),
        moves=tuple(moves),
    )


def _budget(world: World, model: Model, limits: Limits, prices: Prices) -> Budget:
    """Return the budget of a question, which what its embedder took is counted in already; that is recorded nowhere."""
    require_prices(limits, prices, {"execution": model.name, **metered(world.setting.config.embedder)})
    budget = Budget(limits, prices, Ledger())
    if isinstance(world.embedder, Metered):
        world.embedder.meter.connect(lambda attempt: None, budget)
    return budget


def _checked(question: str) -> str:
    """Return a question without the space around it. Raises `UsageError` where it is empty or not text."""
    if not question.strip():
        raise UsageError("The question is empty: give it as the last argument, or on standard input.")
    if any("\ud800" <= letter <= "\udfff" for letter in question):
        raise UsageError("The question is not UTF-8 text: give it in UTF-8.")
    return question.strip()


def _planned(world: World, state: State, asked: Question) -> QuestionPlanned:
    """Return the plan of a question whose task type is told from its text."""
    task_type = world.typing.predict([asked.question], ids=[asked.id])[0]
    command = PlanAnswers(
        iteration=state.progress.closed,
        phase="exam",
        asked=world.asked(state, [asked], [task_type], ["ask"]),
        frozen=True,
        donors={},
    )
    planned = plan_answers(world.setting, state, command)[0].event
    assert isinstance(planned, QuestionPlanned)
    return planned


async def _answered(
    course: Course, state: State, planned: QuestionPlanned, effects: Effects, line: Line
) -> tuple[list[MoveReport], str]:
    async with aclosing(line):
        return await _follow(course, state, planned, effects)


async def _follow(
    course: Course, state: State, planned: QuestionPlanned, effects: Effects
) -> tuple[list[MoveReport], str]:
    """Follow a course to its end without recording anything; return its moves and the last reply."""
    move, moves = begin(course), list[MoveReport]()
    while not isinstance(move, Finish):
        fact = (await effects.perform("exam", planned, move, 0))[0].event
        if isinstance(fact, CallFailed):
            raise PrerequisiteError(
                f"{fact.model} gave no answer ({fact.fault}: {fact.problem}). Ask again, or ask another way."
            )
        moves.append(report_of(move, state, fact))
        assert isinstance(fact, Fact)
        move = advance(course, fact)
    return moves, move.reply
