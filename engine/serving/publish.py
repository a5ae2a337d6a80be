"""The verb `publish`: turn what clients said into memories and rewards, as far as the guard allows, in iterations of
Algorithm 1 that learn from it.

Theory of operation
    First, if the anchors were never answered in this run, an iteration changes nothing and only asks them, for the
    guard to compare with. They are asked like clients' questions, with a note and nothing else that was learned: a note
    that is fine beside a skill's own instruction and principles can do harm without them. Then comes one iteration for
    each key with something new: UPDATE takes in its feedback, SNAPSHOT answers the anchors that see something new and
    lets the guard decide, and the consequences are recorded before the iteration is closed. A step that is in the log
    is skipped, so a killed publish continues where it stopped; other keys' feedback in the meantime comes after it.
    What a person has approved is taken into use before its key's feedback, in a separate iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.commands import RecordFacts
from mage_es.engine.config import Config, parse
from mage_es.engine.loop import close, compare, snapshot
from mage_es.engine.models.registry import Models, open_model, require_model
from mage_es.engine.rules.setting import Setting
from mage_es.engine.run.asking_price import AskingPrice, Like, price_again
from mage_es.engine.run.directory import Run, as_run, require_free_space
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, first_event, reopen_world, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.model import Model
from mage_es.engine.serving.opening import ServedRun
from mage_es.engine.serving.rules.feedback import last_words
from mage_es.engine.serving.rules.publishing import (
    Publish,
    SettlePublish,
    decide_publish,
    decide_settling,
    may_reward,
    tried,
)
from mage_es.engine.serving.rules.trials import near_enough
from mage_es.engine.session.resuming import reopened
from mage_es.engine.session.session import Session
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.events import vocabulary as v
from mage_es.events.errors import MageError, RunLocked, UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """One key's part of a publish: the outcome of its proposals, how many rewards it gave, the anchors and the
    verdict."""

    key: str
    iteration: int
    verdict: str
    published: int
    refused: int
    waiting: int
    rewards: int
    anchors_right: int
    anchors: int


class _Heard(NamedTuple):
    """The feedback in a log up to event `until`, and what it is about."""

    until: int
    words: Sequence[v.FeedbackGiven]
    inferences: Sequence[v.InferenceOpened]
    proposals: Sequence[v.MemoryProposed]
    rewarded: Sequence[v.BanditUpdated]
    reviews: Mapping[str, v.ProposalReviewed]
    """The reviews of memories that were approved and no publish has tried since, by memory."""

    def turns(self) -> list[_Turn]:
        """Return the parts of a publish, key by key, in order."""
        speakers = {*(word.key for word in self.words), *(each.key for each in self.proposals)}
        # What a key says whose answers are gold needs no review, also where another said the same.
        gold = {each.key for each in self.proposals if each.is_gold}
        order = sorted(speakers, key=lambda key: (key not in gold, key))
        return [_Turn(key, is_review) for key in order for is_review in (True, False)]

    def of(self, turn: _Turn, iteration: int) -> Publish:
        """Return what to publish in a turn: a key's approved proposals, or its feedback."""
        key = turn.key
        inferences = [one for one in self.inferences if one.key == key]
        words = [word for word in self.words if word.key == key]
        own, names = (
            {each.memory_id for each in self.proposals if each.key == key},
            {one.inference for one in inferences},
        )
        proposals = [each for each in self.proposals if each.memory_id in own]
        kept = {word.feedback for word in last_words(self.words) if word.kind == "demonstration"}
        gold = {each.feedback for each in proposals if each.is_gold} & kept
        if turn.is_review:
            proposals = [each for each in proposals if each.memory_id in self.reviews]
            return Publish(iteration, key, words, (), proposals, (), gold, self.reviews if proposals else {})
        rewarded = [each for each in self.rewarded if each.question_id in names]
        return Publish(iteration, key, words, inferences, proposals, rewarded, gold)


class _Turn(NamedTuple):
    """One iteration of a publish: a key's approved proposals, or its other feedback."""

    key: str
    is_review: bool


async def publish_all(session: Session) -> list[Published]:
    """Publish what is new, key by key; return an empty list if there is nothing new.

    Raises:
        UsageError: The run has no anchors, or another model answered them.
        Interrupted: The user asked to stop, or the budget is spent; the next publish continues.
    """
    progress, done = session.state.progress, list[Published]()
    _require_anchors(session.run, session.world.setting)
    if progress.is_completed(progress.closed + 1, "update"):
        done.append(await _finish(session, progress.closed + 1))
    _require_same_model(session.run, session.models.execution.name)
    for turn in turns_of(session.world.setting, session.state, LogReader(session.run.log_path)):
        if not session.state.scores.accepted():
            require_free_space(session.run.path)
            await snapshot(session, progress.closed + 1)
        require_free_space(session.run.path)
        k = progress.closed + 1
        session.enter_phase(k, "update")
        reader = LogReader(session.run.log_path)
        feedback = _read_feedback(reader, until=reader.head.seq)  # what clients say meanwhile is for the next publish
        with session.lock:
            *drafts, mark = decide_publish(session.world.setting, session.state, feedback.of(turn, k))
            if not drafts:  # a person decided on it since the turns were counted
                continue
            session.do(RecordFacts([*drafts, msgspec.structs.replace(mark, causation=feedback.until)]))
        done.append(await _finish(session, k))
    return done


async def publish_beside(
    served: ServedRun,
    lock: AbstractContextManager[object],
    keeping: AbstractContextManager[object],
    models: Models,
    runtime: Runtime,
) -> list[Published]:
    """Publish a run that is being served, whose log and state others write under the same `lock`, and what was learned
    under `keeping`, too."""
    run, log, world, state = served
    session = Session(run=run, world=world, log=log, state=state, models=models, runtime=runtime)
    session.share_log(lock, keeping)
    reader = LogReader(run.log_path)
    session.remember_plans(reader.records({v.QuestionPlanned}, since=reader.last(v.IterationClosed) + 1))
    async with aclosing(session):
        return await publish_all(session)


def turns_of(setting: Setting, state: State, reader: LogReader) -> list[_Turn]:
    """Return the turns with something new."""
    feedback, k = _read_feedback(reader, until=reader.head.seq), state.progress.closed + 1
    return [turn for turn in feedback.turns() if len(decide_publish(setting, state, feedback.of(turn, k))) > 1]


def published_again(
    setting: Setting, state: State, reader: LogReader, records: Sequence[v.Record]
) -> Sequence[v.Draft]:
    """Return what the turn of a recorded UPDATE leads to, on the state before it."""
    mark, before = records[-1], records[0].seq - 1
    # It read what there was before it began, and the publish before it had read the rest.
    since = reader.last(v.IterationClosed, until=before)
    feedback = _read_feedback(reader, until=min(max(since, mark.causation), before))
    # Only such a turn speaks of what is approved.
    about = (getattr(each.event, "memory_id", "") for each in records)
    is_review = any(state.traffic.verdict(name) == "approved" for name in about)
    return decide_publish(setting, state, feedback.of(_Turn(mark.correlation, is_review), mark.iteration))


async def _finish(session: Session, k: int) -> Published:
    """Finish an iteration whose UPDATE is recorded."""
    await compare(session, k)
    reader = LogReader(session.run.log_path)
    since = last_inherited(reader) + 1
    rewarded = [
        record.event
        for record in reader.records({v.BanditUpdated}, since=since)
        if (record.iteration, record.phase) == (k, "update") and isinstance(record.event, v.BanditUpdated)
    ]

    def before() -> State:
        return state_of(session.run, reader, until=reader.last(v.IterationClosed))

    command = settling(session.world, session.state, reader, before, k, rewarded)
    with session.lock:
        session.do(RecordFacts(decide_settling(session.state, command)))
    close(session, k)
    return _report(session, k, len(rewarded))


def settling(
    world: World,
    state: State,
    reader: LogReader,
    before: Callable[[], State],
    k: int,
    rewarded: Sequence[v.BanditUpdated],
) -> SettlePublish:
    """Return the command that settles an iteration, with the vectors that show which anchors are near to what was
    tried, and with what the log of `reader` has of gold. `before` gives the state of the last closed iteration: what is
    being tried must not affect its own measure."""
    if not tried(state, k):
        return SettlePublish(k, rewarded)
    anchors = sorted(world.setting.anchors)
    vectors = world.embedder.encode([world.questions[name].question for name in anchors])
    last = before()
    floors = near_enough(last.memory, {*world.setting.task_types, *last.graph.induced_types()})
    gold = {event.feedback for event in reader.of(v.MemoryProposed) if event.is_gold}
    return SettlePublish(k, rewarded, dict(zip(anchors, vectors, strict=True)), floors, gold)


def _report(session: Session, k: int, rewards: int) -> Published:
    reader = LogReader(session.run.log_path)
    settled = [event for event in reader.of(v.ProposalSettled) if event.iteration == k]
    mark = next(r for r in reader.records({v.PhaseCompleted}) if (r.iteration, r.phase) == (k, "update"))
    score = session.state.scores.score("anchor", k)
    return Published(
        key=mark.correlation,
        iteration=k,
        verdict=session.state.scores.verdict(k),
        published=sum(event.verdict == "published" for event in settled),
        refused=sum(event.verdict == "refused" for event in settled),
        waiting=sum(event.verdict == "waiting" for event in settled),
        rewards=rewards,
        anchors_right=score.correct,
        anchors=score.total,
    )


def _read_feedback(reader: LogReader, *, until: int) -> _Heard:
    window = {"since": last_inherited(reader) + 1, "until": until}
    words = list(reader.of(v.FeedbackGiven, **window))
    about, sessions = {word.inference for word in words}, {(word.key, word.session) for word in words}
    seen = (one for one in reader.of(v.InferenceOpened, **window) if may_reward(one))
    named = [one for one in seen if one.inference in about or (one.key, one.session) in sessions]
    bypassed = {
        event.inference
        for _, event in reader.events({v.InferenceClosed: ("inference", "outcome")}, **window)
        if isinstance(event, v.InferenceClosed) and event.outcome == "bypassed"
    }
    proposals, reviews = dict[str, list[v.MemoryProposed]](), dict[str, v.ProposalReviewed]()
    for event in reader.of(v.MemoryProposed, v.ProposalSettled, v.ProposalReviewed, **window):
        match event:
            case v.MemoryProposed():
                proposals.setdefault(event.memory_id, []).append(event)
            case v.ProposalReviewed(verdict="approved"):
                reviews[event.memory_id] = event
            case v.ProposalReviewed() | v.ProposalSettled():
                reviews.pop(event.memory_id, None)
                if event.verdict != "waiting":
                    proposals.pop(event.memory_id, None)
    rewarded = [each for each in reader.of(v.BanditUpdated, **window) if each.bandit == "search"]
    inferences = [one for one in named if one.inference not in bypassed]
    return _Heard(
        *(until, words, inferences), [each for all_of_it in proposals.values() for each in all_of_it], rewarded, reviews
    )


def _require_anchors(run: Run, setting: Setting) -> None:
    if not setting.anchors:
        raise UsageError(
            f"{run.id} has no anchors, so nothing could judge what its clients proposed. Start a run that has some "
            f"with `mage-es evolve BENCHMARK --from {run.id}`, and serve that."
        )


def _require_same_model(run: Run, name: str) -> None:
    """Raise `UsageError` for a model whose answers the guard cannot compare with the existing ones."""
    reader = LogReader(run.log_path)
    fields = ("model", "tier", "purpose")
    found = (event for _, event in reader.events({v.ModelCalled: fields}) if isinstance(event, v.ModelCalled))
    own = (call.model for call in found if call.tier == "execution" and call.purpose == "anchor")
    before = next(own, name)
    # The options of a spec say where a model is served, not which model it is.
    if before.partition("?")[0] != name.partition("?")[0]:
        raise UsageError(
            f"The anchors of {run.id} were answered by {before}, and answers of {name} cannot be compared with "
            "those: publish with the model that answered them, wherever it is served."
        )


class PublishReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was published in a run, key by key, and the marker that new sessions see from now on."""

    run_id: str
    marker: str
    keys: tuple[Published, ...]


@typed
def publish_price(
    run: Run | Path | str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    prices: Prices | None = None,
    execution: str | None = None,
) -> AskingPrice:
    """Return the most that `publish` can cost. The anchors are asked once for each part of a key that has something
    new, and before the first part once as things are and once without memories. The estimate is based on what anchors
    cost here, or in the run that is served. No model is called.

    Raises `UsageError` if the run is not a served one, has no anchors, or another model than `execution` answered them.
    """
    run = as_run(run)
    reader = _served(run)
    world, state = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, frozen=True), state_of(run, reader)
    _require_anchors(run, world.setting)
    _require_same_model(run, execution or parse(first_event(reader).config).execution)
    asked = _anchors_left(world.setting, state, len(turns_of(world.setting, state, reader)))
    begun, sources = inheritance(reader), [reader]
    if begun and (parent := run.path.parent / begun.path / "log").exists():
        sources.append(LogReader(parent))
    for source in sources:
        own = source.of(v.AnswerJudged, since=last_inherited(source) + 1)
        if like := [judged for judged in own if judged.purpose == "anchor"]:
            break
    return price_again([Like(source, asked, like)], prices or Prices(), execution=execution)


def _anchors_left(setting: Setting, state: State, turns: int) -> int:
    """Return how many anchors at most are still to be asked: in the iteration under way, and in `turns` more."""
    progress, anchors = state.progress, setting.anchors
    rounds = turns + progress.is_completed(progress.closed + 1, "update") + bool(turns and not state.scores.accepted())
    if not rounds:
        return 0
    left = rounds * len(anchors)
    if under_way := progress.plans("snapshot"):
        left -= len(anchors) - sum(not progress.is_settled("snapshot", plan.question_id) for plan in under_way)
    # Before the first turn the anchors are also asked without memories; see `to_ask_bare`.
    is_under_way = any(plan.question_id in anchors for plan in progress.plans("open"))
    if setting.config.gate == "paired" and (is_under_way or not state.scores.bare_answers()):
        left += sum(not progress.is_settled("open", name) for name in anchors)
    return left


@typed
async def apublish(
    run: Run | Path | str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | str | None = None,
    judge: Model | None = None,
    embedder: Embedder | None = None,
) -> PublishReport:
    """Publish what clients said since the last time: memories that they proposed, rewards of search arms.

    Each key's part is judged by the guard on the run's anchors, with `execution` (a model or its name; default: that of
    the run's configuration) as the model that answers them. A stopped publish is continued by the next.

    Raises:
        UsageError: The run is not a served one, or its anchors were answered by another model.
        RunLocked: A process serves the run, or another one publishes it.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached.
    """
    run = as_run(run)
    config = parse(first_event(_served(run)).config)
    if isinstance(execution, str):
        execution = open_model(execution, "execution")
    elif execution is not None:
        require_model("execution", execution)
    models = models_of(config, execution, judge)
    with (
        _named_lock(run),
        reopened(
            run,
            config=None,
            data_dir=data_dir,
            benchmark=benchmark,
            models=msgspec.structs.replace(models, embedder=embedder),
            has_guidance=False,
            runtime=runtime or Runtime(),
        ) as session,
    ):
        require_scoring(session.world, "publishing")
        async with aclosing(session):
            keys = await publish_all(session)
        return PublishReport(run_id=run.id, marker=f"iter-{session.state.progress.closed}", keys=tuple(keys))


publish = blocking(apublish)


def require_publishing(run: Run, served: Run, world: World) -> None:
    """Raise `UsageError` or `PrerequisiteError` if `served`, a run that serves `run` and may not have begun yet, could
    not be published while it is served, with the models that its configuration names."""
    _require_anchors(run, world.setting)
    require_scoring(world, "publishing")
    try:
        models = models_of(world.setting.config)
    except MageError as error:
        raise type(error)(
            f"--publish-every asks the anchors of {run.id} with the model that its configuration names. {error} Or "
            f"serve it without that, and publish from Python in between: mage_es.publish({served.id!r}, "
            "execution=model)."
        ) from None
    if served.path.is_dir() and served.events:
        _require_same_model(served, models.execution.name)


def _served(run: Run) -> LogReader:
    reader = LogReader(run.log_path)
    first_event(reader)
    if next(reader.of(v.ServingStarted), None) is None:
        raise UsageError(f"{run.id} was never served, so it has no feedback: `mage-es serve {run.id}` serves it.")
    return reader


@contextmanager
def _named_lock(run: Run) -> Iterator[None]:
    try:
        yield
    except RunLocked as error:
        raise RunLocked(
            f"{error} If that is a proxy, start it with --publish-every MINUTES, and it publishes by itself."
        ) from None


def models_of(config: Config, execution: Model | None = None, judge: Model | None = None) -> Models:
    """Return the models that a publish calls: those given, else those of the configuration."""
    judge = judge or (open_model(config.judge, "judge") if config.judge else None)
    return Models(execution or open_model(config.execution, "execution"), None, judge)
