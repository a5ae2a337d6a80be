"""Questions asked once more, apart from the run: without some memories (`effect`), on an earlier state (`bisect`) or
with another instruction (`mage_es.gepa`); or their answers judged once more (`rejudge`).

Rules
    - Plans, calls and verdicts are recorded in a separate log within the run. Before the first of them both logs say
      which verb asks, and where the separate log ended (`reasking.begun`). At the end, or after a stop, the run's own
      log gets one event (`questions.reasked`) with the cost, the findings and the head of the separate log. So whatever
      is removed from the separate log is missed. The run's digests do not change.
    - If another process is writing the run, such as a proxy that serves it, its log gets neither. The next asking
      records what was asked then, and what a killed one had asked.
    - No request is sent again if the run's log, an exam's log or the separate log has a reply to it, by the request's
      hash.
    - The model is the one that answered in the run, and the judge is the run's, except in `rejudge`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.agents.critic import judgement
from mage_es.engine.agents.learner import course_of, plan_answers
from mage_es.engine.commands import Call, Command, RecordFacts
from mage_es.engine.courses import Ask, Fact, Finish, Move, begin
from mage_es.engine.decide import decide
from mage_es.engine.models.registry import Models, open_model, require_models
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.rules.ingredients import without
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.exam_plan import exam_plan
from mage_es.engine.run.exams import exam_records
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.run.world import World
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.model import Model
from mage_es.engine.session.call import make_call
from mage_es.engine.session.catching_up import replay_course
from mage_es.engine.session.effects import Effects
from mage_es.engine.session.following import CompletedMove, PendingCourse, answer_all, in_prefix_order
from mage_es.engine.session.queueing import Client
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import Interrupted, LogError, PrerequisiteError, RunLocked, UsageError
from mage_es.events.log import Head, Log, LogReader
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger
from mage_es.projections.texts import Texts

Replies = Mapping[tuple[v.Tier, str], v.ModelCalled]
"""Replies on record, by tier and the hash of the request."""
_PLACE = 16
"""How many bits of an ordinal are left to the facts of one repetition."""


class Again(NamedTuple):
    """A plan to ask, and the phase and event of the run that it belongs to. `name` distinguishes it from other plans to
    ask the same question again."""

    planned: v.QuestionPlanned
    phase: v.Phase
    causation: int
    name: str


def models_again(world: World, started: v.RunStarted, execution: Model | None, judge: Model | None) -> Models:
    """Return the models of a run, or those given in their place. Raises `UsageError` if another learner or judge is
    given."""
    config = world.setting.config
    models = Models(
        execution or open_model(config.execution, "execution"),
        None,
        judge or (open_model(config.judge, "judge") if config.judge else None),
    )
    require_models(models)
    if models.execution.name != started.execution_model:
        raise UsageError(
            f"{models.execution.name} is not the model that answered, {started.execution_model}: answers of two models "
            "say nothing about a memory. `mage-es upgrade` tests what was learned for another model."
        )
    if judge is not None and judge.name != config.judge:
        raise UsageError(
            f"{judge.name} is not the judge of the run{f', {config.judge}' if config.judge else ', which has none'}: "
            "verdicts of two judges say nothing about a memory. `mage-es rejudge` asks another judge about all answers."
        )
    return models


def names_again(started: v.RunStarted, judge: str) -> dict[v.Tier, str]:
    """Return the names of a run's models by tier."""
    return {"execution": started.execution_model, **({"judge": judge} if judge else {})}


def replies_of(run: Run, reader: LogReader, names: Mapping[v.Tier, str]) -> dict[tuple[v.Tier, str], v.ModelCalled]:
    """Return every reply of these models that a log within the run has."""
    logs = [reader, *_exam_logs(run, reader), *([LogReader(run.reasked.log_path)] if run.reasked.events else [])]
    return {
        (call.tier, call.request_sha256): call
        for log in logs
        for call in log.of(v.ModelCalled)
        if names.get(call.tier) == call.model
    }


def _exam_logs(run: Run, reader: LogReader) -> Iterator[LogReader]:
    for record in exam_records(reader):
        with suppress(LogError):  # replies of an exam that cannot be read are asked for again
            if record.is_there(run):
                yield record.log(run)


def planned_on(world: World, state: State, iteration: int, names: Sequence[str]) -> list[v.QuestionPlanned]:
    """Return the plans that an exam at the end of an iteration makes, in id order; `state` is the state there."""
    ledger, state.ledger = state.ledger, Ledger()  # as an exam's own account starts at zero
    try:
        drafts = plan_answers(world.setting, state, exam_plan(world, state, names, control="none"))
    finally:
        state.ledger = ledger
    plans = [draft.event for draft in drafts if isinstance(draft.event, v.QuestionPlanned)]
    return [msgspec.structs.replace(planned, iteration=iteration) for planned in plans]


def as_examined(planned: v.QuestionPlanned, seq: int) -> Again:
    """Return an exam's plan as one to ask, named by its prompt; `seq` is the event of its state."""
    shown = (*(hit.memory_id for hit in planned.memories), *planned.principles)
    return Again(planned, "exam", seq, "\n".join((planned.prompt_sha256, *shown)))


def less(world: World, state: State, planned: v.QuestionPlanned, removed: Set[str]) -> v.QuestionPlanned:
    """Return a plan without some memories, and with the prompt that it then has."""
    planned = without(planned, removed)
    first = begin(course_of(world.setting, state, planned, world.questions[planned.question_id]))
    digest, spans = (sha256_text(first.request.text), first.spans) if isinstance(first, Ask) else ("", ())
    return msgspec.structs.replace(planned, prompt_sha256=digest, spans=spans, seen="")


def reasked_course(world: World, state: State, again: Again, replies: Replies, *, has_judge: bool) -> PendingCourse:
    """Return the course of a plan, up to its first move that is not on record."""
    planned = again.planned

    def recorded(move: Move) -> Fact | None:
        return replies.get((move.tier, move.request.sha256)) if isinstance(move, Ask) else None

    course = course_of(world.setting, state, planned, world.questions[planned.question_id])
    return replay_course(world, planned, course, recorded, causation=again.causation, has_judge=has_judge)[0]


@asynccontextmanager
async def asking_again(
    run: Run,
    reader: LogReader,
    world: World,
    models: Mapping[v.Tier, Model],
    runtime: Runtime,
    verb: str,
    found: Callable[[], v.QuestionsReasked] | None = None,
) -> AsyncIterator[AskingAgain]:
    """Open the log of what is asked again, and clients for the models; the limits cover what is asked now, as its price
    does. At the end, or after a stop, the run's own log records which `verb` asked, and what was `found`.

    Raises `RunLocked` if another process asks questions of the run again, and `PrerequisiteError` if the log of what
    was asked before is missing.
    """
    part = run.reasked
    with _on_record(run, set(world.setting.subjects.values()), verb, found) as (log, beginning):
        names: dict[v.Tier, str] = {tier: model.name for tier, model in models.items()}
        book = _Book(log, part.log_path, replies_of(run, reader, names), beginning)
        budget = runtime.budget(Ledger())
        async with AsyncExitStack() as closing:
            clients: dict[v.Tier, RetryingClient] = {}
            for tier, model in models.items():
                clients[tier] = RetryingClient(
                    model,
                    connections=runtime.connections(model),
                    retry_policy=runtime.retry_policy,
                    stop=runtime.stop,
                    spending=budget,
                )
                closing.push_async_callback(clients[tier].aclose)
            yield AskingAgain(run, world, runtime, clients, book)


@contextmanager
def _on_record(
    run: Run, subjects: Set[str], verb: str, found: Callable[[], v.QuestionsReasked] | None
) -> Iterator[tuple[Log, Callable[[], v.Draft]]]:
    """Yield the log of what is asked again, and what records in the run's own log that an asking begins and returns the
    same for this one. At the end the run's own log names its head, with what was `found`, unless a second signal cuts
    that short: whatever stopped the asking, it was paid for."""
    part = run.reasked
    with ExitStack() as opened:
        whole: Log | None = None
        with suppress(RunLocked):
            whole = opened.enter_context(Log.open(run.log_path, clock=clock))
        reader = LogReader(run.log_path)
        part.path.mkdir(parents=True, exist_ok=True)
        if part.events:
            own = Log.open(part.log_path, clock=clock)
        elif _last_named(reader):
            raise PrerequisiteError(
                f"{part.log_path} is missing, and its answers were paid for: restore it from a backup of {run.id}."
            )
        else:  # by the name that the run began with, whatever its folder is called by now
            own = part._replace(id=f"{reader.run}/reasked").begin()
        begun = own.head.seq

        def beginning() -> v.Draft:
            event = v.ReaskingBegun(verb=verb, head_seq=own.head.seq, head_chain=own.head.chain)
            if whole:
                named = _last_named(LogReader(run.log_path))
                killed = _askings(part, named, own.head, verb) if own.head.seq > named else ()
                whole.append([*map(_named, killed), _beside(event, whole.head.seq)])
            return _beside(event, event.head_seq)

        try:
            with own:
                own.seal_texts_of(subjects)
                yield own, beginning
        finally:
            named = _last_named(LogReader(run.log_path))
            if whole and own.head.seq > named:  # only now is the head final, as closing a log seals it
                *others, last = _askings(part, named, own.head, verb)
                try:
                    if found and own.head.seq > begun:  # else the last to ask was another
                        result = found()
                        shown = {"without": result.without, "flips": result.flips, "judged": result.judged}
                        last = msgspec.structs.replace(last, **shown)
                finally:
                    whole.seal_texts_of(subjects)
                    whole.append([_named(event) for event in (*others, last)])


def _last_named(reader: LogReader) -> int:
    """Return the last event of the separate log that the run's own log knows of, 0 if none."""
    return max((event.head_seq for event in reader.of(v.QuestionsReasked)), default=0)


def _askings(part: Run, named: int, head: Head, verb: str) -> Iterator[v.QuestionsReasked]:
    """Yield what was asked since event `named` of its log, up to the head, for each verb that asked; if the log names
    none, for `verb`."""
    own = LogReader(part.log_path)
    begun = [*own.of(v.ReaskingBegun, since=named + 1)]
    ends = [*((later.head_seq, later.head_chain) for later in begun[1:]), head]
    for asks, (seq, chain) in zip([event.verb for event in begun] or [verb], ends, strict=True):
        made = own.events({v.ModelCalled: ("iteration",)}, since=named + 1, until=seq)
        yield v.QuestionsReasked(verb=asks, calls=sum(1 for _ in made), head_seq=seq, head_chain=chain)
        named = seq


def _named(event: v.QuestionsReasked) -> v.Draft:
    return _beside(event, event.head_seq)


def _beside(event: v.Event, ordinal: int) -> v.Draft:
    return v.Draft(event=event, iteration=-1, phase="exam", ordinal=ordinal)


class AskingAgain(NamedTuple):
    """Questions being asked again."""

    run: Run
    world: World
    runtime: Runtime
    clients: Mapping[v.Tier, RetryingClient]
    book: _Book

    async def answer(self, state: State, wanted: Sequence[Again], *, done: int, total: int) -> list[Finish | None]:
        """Ask questions again on the state that they were planned on, and return how each ended. `done` of `total` were
        asked before.

        Raises `Interrupted` when the runtime's `stop` returns true, or its limits are reached; what was answered is on
        record.
        """
        world, book = self.world, self.book
        pending, meant, ends = list[PendingCourse](), dict[int, Again](), dict[int, Finish]()
        for again in wanted:
            course = reasked_course(world, state, again, book.replies, has_judge="judge" in self.clients)
            pending.append(course)
            meant[id(course.course)] = again
        setting, sandbox = world.setting, Sandbox()
        # Inference is frozen: courses get no client for guidance.
        answering: dict[v.Tier, Client] = {tier: client for tier, client in self.clients.items() if tier != "guidance"}

        def decided(again: Again, command: Command) -> list[v.Draft]:
            return _apart(again.name, decide(setting, state, command))

        def fact(item: PendingCourse, event: v.QuestionPlanned | v.AnswerJudged | v.AnswerUndecided) -> list[v.Draft]:
            again = meant[id(item.course)]
            return decided(again, RecordFacts.about(item.planned, again.phase, event, causation=again.causation))

        book.commit([draft for item in pending for draft in fact(item, item.planned)])

        async def perform(item: PendingCourse, move: Move) -> Sequence[v.Draft]:
            again = meant[id(item.course)]
            effects = Effects(
                setting,
                state,
                answering,
                sandbox,
                record=lambda command: book.commit(decided(again, command)),
                searches=world.searches,
            )
            return _apart(again.name, await effects.perform(again.phase, item.planned, move, item.causation))

        def record(batch: Sequence[CompletedMove]) -> None:
            nonlocal done
            drafts = list[v.Draft]()
            for moved in batch:
                drafts += moved.drafts
                if (finish := moved.finish) is None:
                    continue
                if finish.verdict is not None:
                    event = judgement(moved.pending.planned, finish.verdict, reason=finish.reason)
                    drafts += fact(moved.pending, event)
                ends[id(moved.pending.course)] = finish
                done += 1
            book.commit(drafts)
            self.runtime.observer(self.note(done, total))

        await answer_all(
            in_prefix_order(pending),
            perform=perform,
            workers=self.runtime.workers,
            record=record,
            stop=self.runtime.stop,
            benchmark=world.benchmark,
        )
        if self.runtime.stop():
            raise Interrupted("Stopped before all questions were asked again.")
        return [ends.get(id(item.course)) for item in pending]

    async def write(self, state: State, iteration: int, ask: Ask, shown: tuple[str, ...]) -> v.ModelCalled | None:
        """Ask for a text about the questions whose ids are `shown`, unless it is on record; None if the call failed
        permanently. Raises what `answer` raises."""
        tier, name = ask.tier, ask.request.sha256
        if (known := self.book.replies.get((tier, name))) is not None:
            return known
        client = self.clients[tier]
        call = Call.of(ask, iteration, "exam", client.name)._replace(sources=shown)

        def record(command: Command) -> None:
            # Two judges may be asked the same.
            self.book.commit(_apart(f"{client.name}\n{name}", decide(self.world.setting, state, command)))

        record(await make_call(call, ask, client=client, record=record))
        return self.book.replies.get((tier, name))

    def note(self, done: int, total: int, *, phase: str = "asked again") -> ProgressNote:
        return ProgressNote(run_id=self.run.id, phase=phase, done=done, total=total, execution_calls=self.book.calls)


class _Book:
    """The log of what is asked again, and every reply that it or another log of the run has."""

    def __init__(
        self,
        log: Log,
        path: Path,
        replies: dict[tuple[v.Tier, str], v.ModelCalled],
        beginning: Callable[[], v.Draft],
    ) -> None:
        self.log, self.texts, self.replies, self.calls = log, Texts(), replies, 0
        self._beginning: Callable[[], v.Draft] | None = beginning
        for event in LogReader(path).of(v.ModelCalled, v.CallFailed):
            self.texts.apply(event)

    def commit(self, drafts: Sequence[v.Draft]) -> None:
        first = [self._beginning()] if self._beginning else []
        self._beginning = None
        appended = self.log.append([*first, *self.texts.numbered(drafts)])
        for event in appended.events:
            if isinstance(event, v.ModelCalled | v.CallFailed):
                self.texts.apply(event)
            if isinstance(event, v.ModelCalled):
                self.replies[event.tier, event.request_sha256] = event
                self.calls += 1


def _apart(name: str, drafts: Sequence[v.Draft]) -> list[v.Draft]:
    """Return drafts whose identity also depends on the repetition's name: a question may be asked again without one
    memory, and then without another."""
    place = int.from_bytes(blake2b(name.encode(), digest_size=5).digest()) << _PLACE
    return [msgspec.structs.replace(draft, ordinal=draft.ordinal + place) for draft in drafts]


def place_of(record: v.Record) -> int:
    """Return what the facts of one repetition have in common."""
    return record.ordinal >> _PLACE
