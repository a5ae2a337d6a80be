"""The verb `effect`: what a memory, a kind of memory or those of a task type are worth (rules/effect.py).

Rules
    - Only the pairs cost calls. Their price is known before, and none is made unless the caller says so.
    - What is asked again is recorded in a log of its own within the run: the plan without the memories, the calls, the
      verdict. Another `effect` pays nothing for it. The run's own log and its digests stay as they are.
    - A reply that either log has for the same request, by its hash, is not asked for again.
    - A prompt is made on the state of the moment at which it was planned. One that this program would word otherwise
      than it was asked is left out, as its pair would differ in more than the memories.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.agents.critic import judgement
from mage_es.engine.agents.learner import course_of
from mage_es.engine.commands import Command, RecordFact
from mage_es.engine.config import parse
from mage_es.engine.courses import Ask, Fact, Grade, Move, begin, catch_up
from mage_es.engine.decide import decide
from mage_es.engine.models.registry import Models, open_model, require_models
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.rules.effect import (
    LEAST_PAIRS,
    Prompted,
    PromptKey,
    Reasked,
    Without,
    askings,
    association_of,
    chance_of,
    coin_of,
    pairs_of,
    to_ask,
)
from mage_es.engine.rules.ingredients import without
from mage_es.engine.rules.live_gain import LEAST, Difference
from mage_es.engine.run.directory import Run, as_run, clock
from mage_es.engine.run.exams import by_question, ledger_of
from mage_es.engine.run.memories import MemoryItem, item_in, named
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import ACCURACY, ProgressNote, Runtime
from mage_es.engine.run.world import World, first_event, reopen_world, require_scoring, state_of
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.benchmark import Benchmark, Verdict, scored
from mage_es.engine.seams.model import Model
from mage_es.engine.session.effects import Effects
from mage_es.engine.session.following import CompletedMove, PendingCourse, answer_all, in_prefix_order
from mage_es.engine.session.judge import judged
from mage_es.engine.verbs.forms import blocking, typed
from mage_es.events.digests import sha256_text
from mage_es.events.errors import Interrupted, UsageError, nearest
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUndecided,
    BundleTrimmed,
    CallFailed,
    Draft,
    ModelCalled,
    QuestionPlanned,
    RunStarted,
    Tier,
)
from mage_es.projections.fold import State, fold
from mage_es.projections.texts import Texts

TOP = 20
"""Default number of memories: those that most questions saw."""


class PairedEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Questions asked again without the memories: of `questions` that saw one, `pairs` are on record, `won` if only the
    answer with the memories was right, `lost` if only the one without.

    `points` is the mean of all pairs, in points; there is an interval (95 %) with `least` pairs or more.
    """

    questions: int
    pairs: int
    won: int
    lost: int
    points: float | None
    low: float | None
    high: float | None
    p: float | None
    least: int = LEAST_PAIRS


class SplitEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups of questions, and the difference of their shares of right answers, in points (95 %). Below `least` on
    either side there is neither a difference nor an interval. `p` is of Fisher's exact test, for the coin alone."""

    with_it: int
    without: int
    points: float | None
    low: float | None
    high: float | None
    p: float | None = None
    least: int = LEAST


class Worth(msgspec.Struct, frozen=True):
    """The best number there is about a memory, in points (95 %), on `n` pairs, or `n` questions on either side, and its
    p; an association has none."""

    by: Literal["re-ask", "coin", "association"]
    points: float
    low: float
    high: float
    n: tuple[int, ...]
    p: float | None


class EffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory, a kind or a type (`of` says which) is worth. `paired` is None where no pairs were meant."""

    name: str
    of: str
    kind: str
    task_type: str
    status: str
    text: str
    paired: PairedEffect | None
    coin: SplitEffect
    association: SplitEffect

    @property
    def best(self) -> Worth | None:
        """The best number there is: by what it rests on, not by its size. None if all have too few."""
        paired = self.paired
        if paired and paired.points is not None and paired.low is not None and paired.high is not None:
            return Worth("re-ask", paired.points, paired.low, paired.high, (paired.pairs,), paired.p)
        numbers: tuple[tuple[Literal["coin", "association"], SplitEffect], ...]
        numbers = (("coin", self.coin), ("association", self.association))
        for name, found in numbers:
            if found.points is not None and found.low is not None and found.high is not None:
                return Worth(name, found.points, found.low, found.high, (found.with_it, found.without), found.p)
        return None


class EffectPrice(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to ask `questions` prompts again, besides those on record: as many calls of learner and judge, and
    as many tokens, as they took before, and minutes one after another. `usd` is None if a price is unknown."""

    execution: str
    questions: int
    recorded: int
    calls: int
    input_tokens: int
    output_tokens: int
    minutes: float
    usd: float | None


class EffectReport(msgspec.Struct, frozen=True, kw_only=True):
    """The three numbers of each row; `pooled` are kinds and types for which the coin may have enough where a memory has
    too few. `left` is the price of the pairs that are not on record yet, `made` how many calls were made now, and
    `unclear` how many prompts could not be made as they were asked, or were not answered."""

    run_id: str
    rows: tuple[EffectRow, ...]
    pooled: tuple[EffectRow, ...]
    left: EffectPrice
    temperature: float
    made: int = 0
    unclear: int = 0


class _Measured(NamedTuple):
    """Memories that are measured as one."""

    name: str
    of: str
    names: frozenset[str]


class OnRecord(NamedTuple):
    """What a run learned that a prompt can do without, and every prompt that was answered."""

    reader: LogReader
    items: Mapping[str, MemoryItem]
    askings: Sequence[Prompted]
    reasked: Reasked

    def shown(self) -> dict[str, int]:
        """Return how many questions saw each item, the most first."""
        seen = dict[str, set[str]]()
        for asking in self.askings:
            for name in asking.shown & self.items.keys():
                seen.setdefault(name, set()).add(asking.planned.question_id)
        return dict(sorted(((name, len(seen[name])) for name in seen), key=lambda each: (-each[1], each[0])))

    def rows(self) -> list[EffectRow]:
        """Return what is on record about each item that a prompt showed, the most shown first."""
        return [self.row(_Measured(name, "memory", frozenset((name,)))) for name in self.shown()]

    def row(self, measured: _Measured, *, is_paired: bool = True) -> EffectRow:
        item = self.items.get(measured.name) if measured.of == "memory" else None
        return EffectRow(
            name=measured.name,
            of=measured.of,
            kind=item.kind if item else measured.name if measured.of == "kind" else "",
            task_type=item.task_type if item else measured.name if measured.of == "type" else "",
            status=item.status if item else "",
            text=item.text if item else f"{len(measured.names)} memories",
            paired=_paired(to_ask(self.askings, measured.names), self.reasked) if is_paired else None,
            coin=_split(coin := coin_of(self.askings, measured.names), p=chance_of(coin)),
            association=_split(association_of(self.askings, measured.names)),
        )


@typed
def effect_price(
    run: Run | Path | str,
    *,
    memory: str = "",
    kind: str = "",
    task_type: str = "",
    top: int = TOP,
    prices: Prices | None = None,
) -> EffectPrice:
    """Return what `effect` with the same arguments and `reask` would take. No model is called. Raises as `effect`."""
    learned = on_record(as_run(run))
    return price_of(learned, _wanted(learned, _measured(learned, memory, kind, task_type, top)), prices or Prices())


@typed
async def aeffect(
    run: Run | Path | str,
    *,
    memory: str = "",
    kind: str = "",
    task_type: str = "",
    top: int = TOP,
    reask: bool = False,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | None = None,
    judge: Model | None = None,
) -> EffectReport:
    """Return what one memory (its id, or the first digits), all of a kind, all of a task type, or each of the `top`
    most shown is worth. Only with `reask` are questions asked again; else pairs are those on record.

    Raises:
        UsageError: More than one of them is named, there is none of that name, or it is no text in a prompt (a tool, a
            recipe). With `reask`: `execution` is not the run's own model, or dollars are limited and it has no price.
        PrerequisiteError: The world of the run is missing, or the model cannot be reached.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call goes on.
    """
    run, runtime = as_run(run), runtime or Runtime()
    learned, made, unclear = on_record(run), 0, 0
    measured = _measured(learned, memory, kind, task_type, top)
    wanted = _wanted(learned, measured)
    if reask and wanted:
        learned, made = await ask_again(
            run,
            learned,
            wanted,
            data_dir=data_dir,
            benchmark=benchmark,
            runtime=runtime,
            execution=execution,
            judge=judge,
        )
        unclear = len(_wanted(learned, measured))
    rows = tuple(learned.row(each) for each in measured)
    return EffectReport(
        run_id=run.id,
        rows=rows,
        pooled=tuple(learned.row(each, is_paired=False) for each in _pools(learned, rows)),
        left=price_of(learned, _wanted(learned, measured), runtime.prices),
        temperature=parse(first_event(learned.reader).config).answer_temperature,
        made=made,
        unclear=unclear,
    )


effect = blocking(aeffect)


async def ask_again(
    run: Run,
    learned: OnRecord,
    wanted: Sequence[Without],
    *,
    data_dir: Path | str | None,
    benchmark: Benchmark | None,
    runtime: Runtime,
    execution: Model | None,
    judge: Model | None,
) -> tuple[OnRecord, int]:
    """Ask prompts of a run again, in the order of its log; return what is on record then, and how many calls that took.
    Raises as `effect`."""
    world = reopen_world(learned.reader, data_dir=data_dir, benchmark=benchmark, frozen=True)
    require_scoring(world, "asking again")
    models = _models(world, first_event(learned.reader), execution, judge)
    runtime.require_prices(models.names())
    before = _calls(run)
    await _Reasking(run, learned.reader, world, models, runtime).ask(wanted)
    return learned._replace(reasked=_reasked(run, learned.askings)), _calls(run) - before


def effects(run: Run) -> Mapping[str, EffectRow]:
    """Return what is on record about each memory that a prompt showed, by its id. No model is called."""
    return {row.name: row for row in on_record(run).rows()}


def on_record(run: Run) -> OnRecord:
    """Return what a run's logs say about the worth of its memories. Raises `UsageError` for a run without events."""
    reader = LogReader(run.log_path)
    first_event(reader)
    state = state_of(run, reader)
    items = {row.memory_id: item_in(state, row.memory_id, row) for row in state.memory.rows()}
    found = askings(reader.records({QuestionPlanned, BundleTrimmed, AnswerJudged}))
    return OnRecord(reader, items, found, _reasked(run, found))


def _measured(learned: OnRecord, memory: str, kind: str, task_type: str, top: int) -> list[_Measured]:
    if len(given := [word for word in (memory, kind, task_type) if word]) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be measured at once: name a memory, a kind or a task type.")
    items = learned.items
    if memory:
        name = named(memory, items)
        return [_Measured(name, "memory", frozenset((name,)))]
    if not given:
        if top < 1:
            raise UsageError(f"top is {top}: give how many memories to measure, 1 or more.")
        return [_Measured(name, "memory", frozenset((name,))) for name in list(learned.shown())[:top]]
    of = "kind" if kind else "type"
    ids = _ids_of(items.values(), of, given[0])
    if not ids:
        known = {each.kind for each in items.values()} if kind else {each.task_type for each in items.values()}
        raise UsageError(f"The run has no memory of the {of} {given[0]!r}.{nearest(given[0], sorted(known))}")
    return [_Measured(given[0], of, ids)]


def _ids_of(items: Collection[MemoryItem], of: str, name: str) -> frozenset[str]:
    if of == "type":
        return frozenset(each.memory_id for each in items if each.task_type == name)
    return frozenset(each.memory_id for each in items if f"{each.kind}/".startswith(f"{name}/"))


def _pools(learned: OnRecord, rows: Sequence[EffectRow]) -> list[_Measured]:
    """Return the kinds and types of memories whose coin has too few tosses."""
    few = [
        row for row in rows if row.of == "memory" and row.coin.points is None and row.coin.with_it + row.coin.without
    ]
    named_by = {("kind", row.kind) for row in few} | {("type", row.task_type) for row in few if row.task_type}
    items = learned.items.values()
    return [_Measured(name, of, _ids_of(items, of, name)) for of, name in sorted(named_by)]


def _wanted(learned: OnRecord, measured: Sequence[_Measured]) -> list[Without]:
    """Return what is to be asked again and is not on record, in the order of the log."""
    found = {each.name: each for group in measured for each in to_ask(learned.askings, group.names)}
    return sorted((each for name, each in found.items() if name not in learned.reasked), key=lambda e: e.asking.seq)


def _reasked(run: Run, found: Sequence[Prompted]) -> Reasked:
    if not run.reasked.events:
        return {}
    shown, reader = {asking.key: asking.shown for asking in found}, LogReader(run.reasked.log_path)
    removed = dict[tuple[PromptKey, int], frozenset[str]]()
    answers = dict[tuple[PromptKey, frozenset[str]], bool | None]()
    for record in reader.records({QuestionPlanned, AnswerJudged, AnswerUndecided}):
        match record.event:
            case QuestionPlanned() as planned:
                key: PromptKey = (planned.iteration, planned.purpose, planned.question_id)
                left = {*planned.principles, *(hit.memory_id for hit in planned.memories)}
                removed[key, record.ordinal] = shown.get(key, frozenset()) - left
            case AnswerJudged() | AnswerUndecided() as event:
                key = (event.iteration, event.purpose, event.question_id)
                right = event.correct if isinstance(event, AnswerJudged) else None
                answers[key, removed[key, record.ordinal]] = right
    return answers


def _paired(wanted: Sequence[Without], reasked: Reasked) -> PairedEffect:
    pairs = pairs_of(wanted, reasked)
    changes = [float(learned) - float(bare) for learned, bare in pairs]
    found = by_question(changes) if changes else None
    is_enough = len(pairs) >= LEAST_PAIRS
    return PairedEffect(
        questions=len(wanted),
        pairs=len(pairs),
        won=pairs.count((True, False)),
        lost=pairs.count((False, True)),
        points=100 * sum(changes) / len(changes) if changes else None,
        low=found.low if found and is_enough else None,
        high=found.high if found and is_enough else None,
        p=found.p if found else None,
    )


def _split(found: Difference, *, p: float | None = None) -> SplitEffect:
    points, low, high = (
        None if value is None or found.missing else 100 * value for value in (found.difference, found.low, found.high)
    )
    return SplitEffect(with_it=found.with_memory, without=found.held_back, points=points, low=low, high=high, p=p)


def price_of(learned: OnRecord, wanted: Sequence[Without], prices: Prices) -> EffectPrice:
    """Return what it takes to ask prompts again, by what they took before."""
    asked = Counter((each.asking.planned.iteration, each.asking.planned.question_id) for each in wanted)
    purposes = {each.asking.planned.purpose for each in wanted}
    calls, seconds, used = 0, 0.0, Counter[tuple[str, str]]()
    fields = ("iteration", "tier", "purpose", "about", "model", "input_tokens", "output_tokens", "latency_us")
    for _, call in learned.reader.events({ModelCalled: fields}) if wanted else ():
        assert isinstance(call, ModelCalled)
        # A judge's purpose is its template.
        if call.tier == "judge" or (call.tier == "execution" and call.purpose in purposes):
            times = max(asked[call.iteration, name] for name in (call.about, call.about.rpartition("/")[0]))
            calls += times
            seconds += times * call.latency_us / 1e6
            used[call.model, "in"] += times * call.input_tokens
            used[call.model, "out"] += times * call.output_tokens
    rates = {model: prices.rate(model) for model, _ in used}
    paid = [rate.cost(used[model, "in"], 0, used[model, "out"]) for model, rate in rates.items() if rate]
    return EffectPrice(
        execution=first_event(learned.reader).execution_model,
        questions=len(wanted),
        recorded=len(learned.reasked),
        calls=calls,
        input_tokens=sum(used[model, "in"] for model in rates),
        output_tokens=sum(used[model, "out"] for model in rates),
        minutes=seconds / 60,
        usd=sum(paid) if len(paid) == len(rates) else None,
    )


def _models(world: World, started: RunStarted, execution: Model | None, judge: Model | None) -> Models:
    config = world.setting.config
    models = Models(
        execution or open_model(config.execution, "execution"),
        None,
        judge or (open_model(config.judge, "judge") if config.judge else None),
    )
    require_models(models)
    if models.execution.name != started.execution_model:
        raise UsageError(
            f"{models.execution.name} is not the model that answered, {started.execution_model}: a pair of answers of "
            "two models says nothing about a memory. `mage-es upgrade` tests what was learned for another model."
        )
    return models


def _calls(run: Run) -> int:
    if not run.reasked.events:
        return 0
    return sum(1 for _ in LogReader(run.reasked.log_path).events({ModelCalled: ("iteration",)}))


class _Reasking(NamedTuple):
    """Prompts being asked again, moment after moment of the run."""

    run: Run
    reader: LogReader
    world: World
    models: Models
    runtime: Runtime

    async def ask(self, wanted: Sequence[Without]) -> None:
        part = self.run.reasked
        part.path.mkdir(parents=True, exist_ok=True)
        with Log.open(part.log_path, clock=clock) if part.events else part.begin() as log:
            log.seal_texts_of(set(self.world.setting.subjects.values()))
            book = _Book(log, part.log_path, _replies(self.reader, LogReader(part.log_path), self.models))
            budget = self.runtime.budget(ledger_of(LogReader(part.log_path)))
            async with AsyncExitStack() as closing:
                clients: dict[Tier, RetryingClient] = {}
                for tier, model in self.models.by_tier().items():
                    clients[tier] = await closing.enter_async_context(
                        aclosing(
                            RetryingClient(
                                model,
                                connections=self.runtime.connections(model),
                                retry_policy=self.runtime.retry_policy,
                                stop=self.runtime.stop,
                                spending=budget,
                            )
                        )
                    )
                state: State | None = None
                done = 0
                for _, together in groupby(wanted, key=lambda each: (each.asking.planned.iteration, each.asking.phase)):
                    group = list(together)
                    until = group[-1].asking.seq
                    state = (
                        fold(self.reader, until=until, state=state)
                        if state
                        else state_of(self.run, self.reader, until=until)
                    )
                    await self._moment(group, state, clients, book, done, len(wanted))
                    done += len(group)

    async def _moment(
        self,
        group: Sequence[Without],
        state: State,
        clients: Mapping[Tier, RetryingClient],
        book: _Book,
        done: int,
        total: int,
    ) -> None:
        pending, meant = list[PendingCourse](), dict[int, Without]()
        for each in group:
            if course := self._pending(each, state, book):
                pending.append(course)
                meant[id(course.course)] = each
        setting, sandbox = self.world.setting, Sandbox()

        def decided(each: Without, command: Command) -> list[Draft]:
            return _apart(each, decide(setting, state, command))

        def fact(item: PendingCourse, event: QuestionPlanned | AnswerJudged | AnswerUndecided) -> list[Draft]:
            each = meant[id(item.course)]
            return decided(each, RecordFact.about(item.planned, each.asking.phase, event, causation=each.asking.seq))

        book.commit([draft for item in pending for draft in fact(item, item.planned)])

        async def perform(item: PendingCourse, move: Move) -> Sequence[Draft]:
            each = meant[id(item.course)]
            effects = Effects(
                setting,
                state,
                clients,
                sandbox,
                record=lambda command: book.commit(decided(each, command)),
                searches=self.world.searches,
            )
            return _apart(each, await effects.perform(each.asking.phase, item.planned, move, item.causation))

        def record(batch: Sequence[CompletedMove]) -> None:
            nonlocal done
            drafts = list[Draft]()
            for moved in batch:
                drafts += moved.drafts
                finish = moved.finish
                if finish is not None and finish.verdict is not None:
                    event = judgement(moved.pending.planned, finish.verdict, reason=finish.reason)
                    drafts += fact(moved.pending, event)
                done += finish is not None
            book.commit(drafts)
            self.runtime.observer(self._note(done, total, book.calls))

        async def score(move: Grade) -> Verdict:
            return await asyncio.to_thread(scored, self.world.benchmark, move.question, move.reply)

        await answer_all(
            in_prefix_order(pending),
            perform=perform,
            workers=self.runtime.workers,
            record=record,
            stop=self.runtime.stop,
            score=score,
        )
        if self.runtime.stop():
            raise Interrupted("Stopped before all questions were asked again.")

    def _pending(self, each: Without, state: State, book: _Book) -> PendingCourse | None:
        """Return the course of a prompt without some memories; None if the prompt that was asked cannot be made."""
        planned, world = each.asking.planned, self.world
        question = world.questions[planned.question_id]
        asked = begin(course_of(world.setting, state, planned, question))
        if not isinstance(asked, Ask) or sha256_text(asked.request.text) != planned.prompt_sha256:
            return None
        planned = without(planned, each.removed | each.asking.trimmed)
        first = begin(course_of(world.setting, state, planned, question))
        if not isinstance(first, Ask):
            return None
        planned = msgspec.structs.replace(
            planned, prompt_sha256=sha256_text(first.request.text), spans=first.spans, seen=""
        )
        course = judged(
            course_of(world.setting, state, planned, question),
            question,
            benchmark=world.benchmark,
            has_judge=self.models.judge is not None,
            is_apart=world.is_scored_apart,
            templates=world.setting.templates,
        )
        move = catch_up(course, begin(course), book.recorded)
        return PendingCourse(planned, question, course, move, each.asking.seq, book.recorded)

    def _note(self, done: int, total: int, calls: int) -> ProgressNote:
        return ProgressNote(
            run_id=self.run.id,
            iteration=-1,
            iterations=0,
            phase="exam",
            done=done,
            total=total,
            measure=ACCURACY,
            level=None,
            execution_calls=calls,
            guidance_calls=0,
        )


class _Book:
    """The log of what is asked again, and every reply that it or the run's own log has."""

    def __init__(self, log: Log, path: Path, replies: dict[tuple[str, str], ModelCalled]) -> None:
        self.log, self.texts, self.replies, self.calls = log, Texts(), replies, 0
        for event in LogReader(path).of(ModelCalled, CallFailed):
            self.texts.apply(event)

    def commit(self, drafts: Sequence[Draft]) -> None:
        appended = self.log.append(self.texts.numbered(drafts))
        for event in appended.events:
            if isinstance(event, ModelCalled | CallFailed):
                self.texts.apply(event)
            if isinstance(event, ModelCalled):
                self.replies[event.tier, event.request_sha256] = event
                self.calls += 1

    def recorded(self, move: Move) -> Fact | None:
        return self.replies.get((move.tier, move.request.sha256)) if isinstance(move, Ask) else None


def _replies(run: LogReader, own: LogReader, models: Models) -> dict[tuple[str, str], ModelCalled]:
    names = models.names()
    return {
        (call.tier, call.request_sha256): call
        for reader in (run, own)
        for call in reader.of(ModelCalled)
        if names.get(call.tier) == call.model
    }


def _apart(each: Without, drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts whose identity also depends on what was removed: a question is asked again without one memory, and
    without another."""
    digest = blake2b("\n".join(sorted(each.removed)).encode(), digest_size=5).digest()
    place = int.from_bytes(digest) << 16
    return [msgspec.structs.replace(draft, ordinal=draft.ordinal + place) for draft in drafts]
