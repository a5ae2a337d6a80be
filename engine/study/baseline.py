"""The verb `baseline`: answer held-out questions with a fixed way of prompting, or by a method that learns, as a run.

Rules
    - It commits to the same splits as an evolution with the same configuration, so both answer the same questions.
    - A baseline that searches uses the paragraphs that come with the questions, unless told otherwise.
    - A fixed way of prompting learns nothing, and only a method that writes has a guidance model. Like any run it can
      be stopped, resumed, shown and verified, and repeats no recorded call.
    - A method is shown evolution questions first, in blocks, the same ones for all methods, in the run's seeded order.
      What it learned is only in the log: the plan, reply and verdict of each question that it answered.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, get_args

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark, title, with_own_models
from mage_es.engine.benchmarks.tasks.scorers import Scoring
from mage_es.engine.commands import Call, RecordFacts
from mage_es.engine.config import Config, checked, parse, require_same
from mage_es.engine.decide import decide
from mage_es.engine.embedders.registry import metered
from mage_es.engine.models.registry import Models, open_models, require_models
from mage_es.engine.run.budget import UNLIMITED
from mage_es.engine.run.directory import RUNS_DIR, Beginning, Run, as_run, create_run
from mage_es.engine.run.exam_plan import held_out_sample, registered_in
from mage_es.engine.run.exams import interval, read_exam, reasons
from mage_es.engine.run.notices import columns_told, cutoffs, left_out
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, baseline_of, first_event, open_world, require_scoring
from mage_es.engine.seams.benchmark import Benchmark, Split
from mage_es.engine.seams.environment import is_sequential, modes_of
from mage_es.engine.seams.plugins import load, plugins
from mage_es.engine.seams.spec import is_embedded
from mage_es.engine.search.record import have_paragraphs
from mage_es.engine.search.registry import RECORD, Searches
from mage_es.engine.session.beginning import opening, sign
from mage_es.engine.session.call import make_call
from mage_es.engine.session.resuming import reopened
from mage_es.engine.session.session import Session
from mage_es.engine.study.baselines.courses import (
    AskedNote,
    Lesson,
    after,
    baseline_course,
    lessons,
    note_key,
    view_of,
    writer_text,
)
from mage_es.engine.study.baselines.table import LEARNING_AT, PLAIN, find_baseline, is_method, open_method, planned
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.evolve import data_from_python
from mage_es.engine.verbs.exam import exam_closed
from mage_es.engine.verbs.preflight import require_room, require_served
from mage_es.engine.verbs.runs import episode_rows
from mage_es.engine.verbs.summary import EpisodeRow
from mage_es.events.errors import PrerequisiteError, UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BaselineStarted, Draft, NoteWritten, RunFinished, RunRegistered, Tier
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger


class BaselineReport(msgspec.Struct, frozen=True, kw_only=True):
    """A baseline's results on the held-out questions; `answers` is (question id, correct) in id order.

    `shots` is the number of worked examples in every prompt. `unanswered` questions, by the kind of the fault, count as
    wrong; `undecided` answers, by the kind of the reason, are in no other number. `interval` is the Wilson score
    interval of `correct` in `total` at 95 %.
    """

    run_id: str
    path: str
    baseline: str
    benchmark: str
    shots: int
    correct: int
    total: int
    unanswered: dict[str, int]
    interval: tuple[float, float] | None
    execution_calls: int
    judge_calls: int
    guidance_calls: int
    output_tokens: int
    answers: tuple[tuple[str, bool], ...]
    episodes: tuple[EpisodeRow, ...] = ()
    embedder_calls: int = 0
    undecided: dict[str, int] = {}


ALSO = {"knn_few_shot": "knn"}
"""Other names of methods."""
LEARNED = 120
"""How many questions a method learns from by default."""
SPLITS: tuple[Split, ...] = ("evolution", "test")


@typed
async def abaseline(
    name: str,
    config: Config,
    *,
    tasks: Sequence[Mapping[str, Any]] | None = None,
    scorer: str | Scoring | None = None,
    benchmark: Benchmark | None = None,
    runs_dir: Path | str = RUNS_DIR,
    data_dir: Path | str | None = None,
    runtime: Runtime | None = None,
    questions: int | None = None,
    learn_from: int | None = None,
    budget_tokens: int = 0,
    run_id: str | None = None,
    models: Models | None = None,
    registration: RunRegistered | None = None,
) -> BaselineReport:
    """Start a baseline and answer a sample of `questions` held-out questions (default: all) with it, the same ones as
    in an exam.

    A method learns from the first `learn_from` evolution questions (default: `LEARNED`, or all there are), until it has
    used `budget_tokens` (0: no limit). `registration` is as in `aevolve`.

    Raises:
        UsageError: The baseline is unknown, or does not fit the benchmark.
        PrerequisiteError: A data set or a model is missing.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the run can be resumed.
    """
    name = ALSO.get(name, name)
    require_baseline(name)
    config, benchmark = data_from_python(checked(config), tasks, scorer, benchmark)
    runtime = runtime or Runtime()
    if models is not None:
        require_models(models)
        config = models.named_in(config)
    config = with_writer(config, name)
    if models is not None and not config.guidance:
        models = msgspec.structs.replace(models, guidance=None)
    opened = models or open_models(config, has_guidance=bool(config.guidance))
    runtime.require_prices({**opened.names(), **metered(config.embedder)})
    tried = [] if models else await require_served(opened)
    models = opened
    budget = runtime.budget(Ledger())
    world = _looking(
        name, open_world(config, data_dir=data_dir, benchmark=benchmark, embedder=models.embedder, spending=budget)
    )
    chosen = held_out_sample(world.setting, questions)
    await require_room(world, models.execution, chosen[0])
    limits = runtime.limits or UNLIMITED
    if registration:
        registered_in(world, registration)  # before there is a folder
    beginning = Beginning(
        config, limits, name, questions, learn_from=learn_from, budget_tokens=budget_tokens, registration=registration
    )
    started = _started(world, beginning, chosen)
    begins_with = None if benchmark else beginning
    folder = f"{title(config.benchmark)}-{name}"
    run = create_run(runs_dir, benchmark=folder, seed=config.seed, beginning=begins_with, run_id=run_id)
    with run.begin() as log:
        session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=runtime)
        session.registration = registration
        begun = decide(world.setting, session.state, opening(session))
        # In one commit: a run killed between the two could not be recognised as a baseline.
        plans = [] if is_method(name) else _plans(session, name, chosen)
        session.commit([*begun, Draft(event=started, iteration=-1, phase="open"), *plans])
        sign(session)
        run.forget_beginning()
        if world.setting.config.search != config.search:
            session.announce(f"{name} searches the paragraphs that come with the questions, as with --search {RECORD}.")
        writer = (models.guidance or models.execution).name if is_writing(name) else "no model"
        answers = "no model" if _of_method(name, "is_modelless") else models.execution.name
        session.announce(f"{answers} answers, {writer} writes for {name}.")
        said = (*tried, *columns_told(world.benchmark))
        said = (*said, *cutoffs(config, world.splits.events, has_guard=False), *left_out(config, world.splits))
        for line in said:
            session.announce(line)
        await _answer(session)
    return read_baseline(run)


@typed
async def aresume_baseline(
    run: Run | Path | str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    config: Config | None = None,
    models: Models | None = None,
) -> BaselineReport:
    """Continue a baseline where it stopped; a finished one is returned unchanged.

    Raises:
        UsageError: `config` is given and differs from the run's; the message lists the differences.
        RunLocked: Another process is writing the run.
    """
    run = as_run(run)
    if begun := run.beginning():
        require_same(begun.config, config)
        return await abaseline(
            begun.baseline,
            begun.config,
            runs_dir=run.path.parent,
            data_dir=data_dir,
            runtime=(runtime or Runtime()).within(begun.limits),
            questions=begun.questions,
            learn_from=begun.learn_from,
            budget_tokens=begun.budget_tokens,
            run_id=run.id,
            models=models,
            registration=begun.registration,
        )
    with reopened(
        run,
        config=config,
        data_dir=data_dir,
        benchmark=benchmark,
        models=models,
        has_guidance=bool(parse(first_event(LogReader(run.log_path)).config).guidance),
        runtime=runtime or Runtime(),
    ) as session:
        if not session.state.progress.finished:
            require_scoring(session.world, "a baseline")
            session.announce_continuation(f"Resuming {run.id}.")
            await _answer(session)
    return read_baseline(run)


baseline = blocking(abaseline)
resume_baseline = blocking(aresume_baseline)


def read_baseline(run: Run) -> BaselineReport:
    reader = LogReader(run.log_path)
    begun, sat = baseline_of(reader), read_exam(reader)
    assert begun is not None
    used = {tier: sat.ledger.total(tier) for tier in get_args(Tier)}
    return BaselineReport(
        run_id=run.id,
        path=str(run.path),
        baseline=begun.baseline,
        benchmark=first_event(reader).benchmark,
        shots=len(begun.shots),
        correct=int(sat.answers["correct"].sum()),
        total=len(sat.answers),
        unanswered=reasons(sat.answers),
        undecided=reasons(sat.undecided),
        interval=interval(int(sat.answers["correct"].sum()), len(sat.answers)),
        execution_calls=used["execution"].calls,
        judge_calls=used["judge"].calls,
        guidance_calls=used["guidance"].calls,
        embedder_calls=used["embedder"].calls,
        output_tokens=sum(use.output_tokens for use in used.values()),
        answers=tuple(sat.answers.select("question_id", "correct").sort("question_id").rows()),
        episodes=episode_rows(reader),
    )


def with_writer(config: Config, name: str) -> Config:
    """Return a configuration with the guidance model only if a method writes and the model is a language model."""
    guidance = writer_of(with_own_models(config)) if is_writing(name) else ""
    return msgspec.structs.replace(config, guidance=guidance, iterations=1)


def writer_of(config: Config) -> str:
    """Return the guidance model if it can write a text, else ""."""
    # The stand-ins write typed replies by rule, not text.
    return "" if is_embedded(config.guidance) else config.guidance


def require_baseline(name: str, *, what: str = "baseline", others: Sequence[str] = ()) -> None:
    """Raises `UsageError` for an unknown name, and `PrerequisiteError` if a method's package is missing."""
    if find_baseline(name) is None and not is_method(name):
        known = [*others, *PLAIN, *plugins("mage_es.baselines"), *plugins("mage_es.methods"), *ALSO]
        raise UsageError(f"There is no {what} {name!r}.{nearest(name, known)}")
    if require := _of_method(name, "require"):
        require()


def require_fit(name: str, config: Config, *, data_dir: Path | None) -> None:
    """Raises `UsageError` if a baseline does not fit a configuration, as far as the available data shows."""
    name = ALSO.get(name, name)
    require_baseline(name)
    try:
        benchmark = open_benchmark(config.benchmark, seed=config.seed, data_dir=data_dir)
    except PrerequisiteError:
        return  # the baseline itself reports that when it runs
    looks_in(name, benchmark, config.search)


def looks_in(name: str, benchmark: Benchmark, search: str) -> str:
    """Return what a baseline searches: `search`, or else, if it needs something to search, the paragraphs that come
    with the questions.

    Raises:
        UsageError: The baseline does not fit the benchmark, or would have nothing to search.
    """
    known = find_baseline(name)
    if is_sequential(benchmark):
        # Some environments show their episodes in more modes than the usual one.
        if not (known.plays_as in ("", *modes_of(benchmark)) if known else _of_method(name, "plays")):
            raise UsageError(f"{name} cannot play the episodes of {benchmark.name}: try zero_shot_cot or knn.")
        return search
    if known is None or not known.needs_search or search:
        return search
    if have_paragraphs(question for split in SPLITS for question in benchmark.questions(split)):
        return RECORD
    raise UsageError(
        f"{name} needs something to search: pass --search record for the paragraphs that come with the questions, "
        "--search local/FOLDER, or --search wikipedia."
    )


def _looking(name: str, world: World) -> World:
    """Return the world configured with what the baseline searches, as if the user had set it."""
    config = world.setting.config
    search = looks_in(name, world.benchmark, config.search)
    if search == config.search:
        return world
    searching = msgspec.structs.replace(config, search=search)
    return world._replace(setting=world.setting._replace(config=searching), searches=Searches(search))


def _started(world: World, beginning: Beginning, chosen: Sequence[str]) -> BaselineStarted:
    name, evolution, most = beginning.baseline, world.setting.evolution, beginning.learn_from
    known = None if is_method(name) else find_baseline(name)
    if known:
        shots = known.shots(world.benchmark.name, world.questions, evolution)
        return BaselineStarted(
            baseline=name,
            samples=known.samples,
            rounds=known.rounds,
            shots=tuple(shot.question_id for shot in shots),
            oracle_stop=name == "reflexion_oracle",
        )
    if most is not None and not 0 < most <= len(evolution):
        raise UsageError(f"There are only {len(evolution)} questions to learn from, not {most}: choose fewer.")
    return BaselineStarted(
        baseline=name,
        samples=1,
        rounds=0,
        shots=(),
        oracle_stop=False,
        learned=evolution[: most or LEARNED],
        budget_tokens=beginning.budget_tokens,
        questions=len(chosen),
    )


def _plans(session: Session, name: str, questions: Sequence[str], *, learning: Lesson | None = None) -> list[Draft]:
    world = session.world
    purpose, iteration = (learning.purpose, learning.round) if learning else ("exam", -1)
    chosen = [world.questions[each] for each in sorted(questions)]
    types = world.typing.types_of(chosen, {})  # a baseline has no graph
    return [
        planned(
            *(name, question, task_type, lambda plan: baseline_course(world, session.state, plan)),
            purpose=purpose,
            iteration=iteration,
        )
        for question, task_type in zip(chosen, types, strict=True)
    ]


async def _learn(session: Session, begun: BaselineStarted) -> None:
    """Show a method its questions, then plan the exam of the result. A resumed run shows the method what is recorded,
    in the same order, and continues from there."""
    world, state = session.world, session.state
    method, is_examined = open_method(begun.baseline, view_of(world)), bool(state.progress.plans("exam"))
    session.enter_phase(LEARNING_AT, "evaluate")
    moves = lessons(method, world, state, begun.learned)
    move = next(moves, None)
    while move is not None:
        if isinstance(move, AskedNote):
            move = after(moves, await _write(session, move))
            continue
        session.world = world._replace(method=move.asked_by)
        if not move.is_planned(state):
            if is_examined or 0 < begun.budget_tokens <= tokens_of(state.ledger):
                break
            session.commit(_plans(session, begun.baseline, move.names, learning=move))
        await session.answer(move.round, "evaluate", move.names)
        move = after(moves, "")
    session.world = world._replace(method=method)
    session.enter_phase(-1, "exam")
    if not is_examined:
        session.commit(_plans(session, begun.baseline, held_out_sample(world.setting, begun.questions)))


async def _write(session: Session, asked: AskedNote) -> str:
    """Return what a method's writer writes, as the log records it."""
    session.check_stop()
    ask, name = asked.ask, asked.shown[0]
    client, progress = session.clients.direct[ask.tier], session.state.progress
    call = Call.of(ask, LEARNING_AT, "evaluate", client.name)._replace(sources=asked.shown)
    if progress.call_at(LEARNING_AT, note_key(ask)) is None and progress.lost(note_key(ask)) is None:
        session.do(await make_call(call, ask, client=client, record=session.do))
    if called := progress.call_at(LEARNING_AT, note_key(ask)):
        note = NoteWritten(memory_id=ask.about, question_id=name, text=called.text)
        session.do(RecordFacts([Draft(event=note, iteration=LEARNING_AT, phase="evaluate", correlation=name)]))
    return writer_text(session.world, session.state, ask)


def tokens_of(ledger: Ledger) -> int:
    """Return the tokens of all models that were asked, in and out; an embedder's tokens do not count."""
    used = [ledger.total(tier) for tier in get_args(Tier) if tier != "embedder"]
    return sum(use.input_tokens + use.output_tokens for use in used)


async def _answer(session: Session) -> None:
    begun = session.state.progress.baseline
    async with aclosing(session):
        if begun and is_method(begun.baseline):
            await _learn(session, begun)
        await session.answer(-1, "exam")
    ends = (exam_closed(session), RunFinished(iterations=0))
    session.commit([Draft(event=event, iteration=-1, phase="exam") for event in ends])
    sign(session)


def is_writing(name: str) -> bool:
    """Return whether a method needs a writer, which is the guidance model if the run has one."""
    return bool(_of_method(name, "is_writing"))


def reduced(name: str) -> str:
    """Return how a method is reduced, in its own words: compared with its paper, or with all that it learned from. ""
    if it is not."""
    return _of_method(name, "reduced") or ""


def _of_method(name: str, attribute: str) -> Any:
    """Return an attribute of a method's class; None if it has no such attribute or `name` is not a method."""
    return getattr(load("mage_es.methods", name), attribute, None) if is_method(name) else None
