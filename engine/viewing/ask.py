"""The verb `ask`: answer a user's question with a run's frozen state. Nothing is recorded."""

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import msgspec

from mage_es.engine.agents.learner import course_of
from mage_es.engine.courses import Ask, Course, Fact, Finish, advance, begin
from mage_es.engine.embedders.registry import metered
from mage_es.engine.models.registry import open_model, require_model
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.rules.ingredients import without
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.budget import UNLIMITED, Budget, Limits, require_prices
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import World
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.benchmark import Benchmark, extract_of
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.metering import Metered
from mage_es.engine.seams.model import Model
from mage_es.engine.served.floors import is_far
from mage_es.engine.served.frozen import BundleMember, FrozenRun, bundle_of, evidence_of, freeze, question_of
from mage_es.engine.session.effects import Effects
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.viewing.transcript import CallReport, MoveReport, TrimReport, report_of
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import CallFailed, QuestionPlanned
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger


class AskReport(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a question of your own: what the model was asked, and the bundle that the run supplied. `evidence`
    compares what was learned with the bare prompt on the anchors; this decides how the question is asked. If the
    nearest cases answered alone, it is `recalled`: no model was called, and `prompt` is empty. `far` is a sentence if
    the question is far from all that was learned, else ""."""

    run_id: str
    marker: str
    task_type: str
    skill: str
    bundle: tuple[BundleMember, ...]
    evidence: str
    far: str
    recalled: bool
    prompt: str
    reply: str
    answer: str
    moves: tuple[MoveReport, ...]


@typed
async def aask(
    run: Run | Path | str,
    question: str,
    *,
    at: str = "latest",
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    limits: Limits = UNLIMITED,
    prices: Prices | None = None,
    execution: Model | None = None,
    embedder: Embedder | None = None,
    say: Callable[[str], None] = lambda words: None,
) -> AskReport:
    """Answer a question with the state at a marker; its task type is predicted from its text alone.

    `execution` and `embedder` replace those of the run's configuration; `say` reports waiting times.

    Raises:
        UsageError: The question is empty or not text, the marker does not exist or is too early, or the benchmark's
            questions are episodes.
        PrerequisiteError: The model gives no answer.
        BudgetReached: The next call could exceed the `limits`.
    """
    asked = question_of(question)
    frozen = freeze(as_run(run), at, data_dir=data_dir, benchmark=benchmark, embedder=embedder)
    world, state = frozen.world, frozen.state
    if execution is not None:
        require_model("execution", execution)
    model = execution or open_model(world.setting.config.execution, "execution")
    budget = _budget(world, model, limits, prices or Prices())
    planned, nearest = frozen.planned_and_nearest(asked)
    client = RetryingClient(model, connections=1, announce=say, spending=budget)
    effects = Effects(
        world.setting, state, {"execution": client}, Sandbox(), record=lambda command: None, searches=world.searches
    )
    course = course_of(world.setting, state, planned, asked)
    moves, reply = await _followed(course, state, planned, effects, client)
    return AskReport(
        run_id=frozen.run.id,
        marker=at,
        task_type=planned.task_type,
        skill=planned.skill,
        bundle=bundle_of(state, without(planned, {move.memory_id for move in moves if isinstance(move, TrimReport)})),
        evidence=evidence_of(state, planned.task_type),
        far=_far(frozen, planned, nearest),
        recalled=planned.routing_arm == RECALL,
        prompt=next((move.prompt for move in reversed(moves) if isinstance(move, CallReport)), ""),
        reply=reply,
        answer=extract_of(world.benchmark)(reply),
        moves=tuple(moves),
    )


ask = blocking(aask)


def _far(frozen: FrozenRun, planned: QuestionPlanned, nearest: float) -> str:
    if not planned.memories or isinstance(frozen.world.embedder, Metered):  # which hundreds of texts would cost
        return ""
    floor = frozen.floor(planned.task_type)
    if not is_far(nearest, floor):
        return ""
    return (
        f"The question is far from all that was learned: the nearest memory has the cosine {nearest:.2f}, and "
        f"one that is about such a question has {floor:.2f} or more."
    )


def _budget(world: World, model: Model, limits: Limits, prices: Prices) -> Budget:
    """Return the budget of a question, connected to the embedder's meter too; its calls are not recorded."""
    require_prices(limits, prices, {"execution": model.name, **metered(world.setting.config.embedder)})
    budget = Budget(limits, prices, Ledger())
    if isinstance(world.embedder, Metered):
        world.embedder.meter.connect(lambda attempt: None, budget)
    return budget


async def _followed(
    course: Course, state: State, planned: QuestionPlanned, effects: Effects, client: RetryingClient
) -> tuple[list[MoveReport], str]:
    """Follow a course to its end without recording anything; return its moves and the last reply."""
    move, moves = begin(course), list[MoveReport]()
    async with aclosing(client):
        while not isinstance(move, Finish):
            fact = (await effects.perform("exam", planned, move, 0))[0].event
            is_spare = isinstance(move, Ask) and move.is_spare
            if isinstance(fact, CallFailed) and not is_spare:
                raise PrerequisiteError(
                    f"{fact.model} gave no answer ({fact.fault}: {fact.problem}). Ask again, or rephrase the question."
                )
            if not isinstance(fact, CallFailed):
                moves.append(report_of(move, state, fact))
            assert isinstance(fact, Fact)
            move = advance(course, fact)
    return moves, move.reply
