"""A session: one process at work on one run. The shell's part of every phase: effects, and nothing decided.

Rules
    - Events are applied to the state only after they are durable.
    - A call whose reply is in the log is never made again: plans, replies and verdicts of the iteration in
      progress are looked up before anything is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from mage_es.engine.answering import Moved, Pending, answer_all, in_prefix_order
from mage_es.engine.batching import BatchGate
from mage_es.engine.commands import Asked, Command, PlanAnswers, RecordEmbedding, RecordUnanswered, RecordVerdict
from mage_es.engine.config import Config
from mage_es.engine.courses import Act, Ask, Fact, Look, Move, Use, begin, catch_up
from mage_es.engine.decide import decide
from mage_es.engine.effects import Effects
from mage_es.engine.embedders.metering import Attempt, Metered
from mage_es.engine.embedders.protocol import Embedder
from mage_es.engine.environments.protocol import is_sequential
from mage_es.engine.flight import Flight, Watched
from mage_es.engine.guiding import Errand, guided
from mage_es.engine.judging import judged, template_of
from mage_es.engine.models.batches import Batching
from mage_es.engine.models.line import Line
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.seam import Model
from mage_es.engine.notes import Note
from mage_es.engine.opening import World
from mage_es.engine.rules.trimming import trimming_of
from mage_es.engine.runs import Run
from mage_es.engine.runtime import Runtime
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.standing import Standing, measure_of
from mage_es.engine.ways import planned_course
from mage_es.events.appended import Appended
from mage_es.events.digests import sha256_text
from mage_es.events.envelope import Draft, Record
from mage_es.events.errors import Interrupted, LogError
from mage_es.events.log import Log
from mage_es.events.vocabulary import (
    AnswerJudged,
    BundleTrimmed,
    CallFailed,
    EpisodeStepped,
    ModelCalled,
    Phase,
    Purpose,
    QuestionPlanned,
    Tier,
)
from mage_es.projections.fold import State
from mage_es.projections.lance import MemoryTables
from mage_es.projections.progress import CallKey

Reply = TypeVar("Reply")


class Models(NamedTuple):
    """The tiers. An exam has no guidance model at all; without a judge what no rule can decide counts as wrong.

    `embedder` takes the place of the one that the configuration names, where there is one.
    """

    execution: Model
    guidance: Model | None
    judge: Model | None = None
    embedder: Embedder | None = None

    def by_tier(self) -> dict[Tier, Model]:
        """Return the models that there are."""
        tiers: dict[Tier, Model | None] = {"execution": self.execution, "guidance": self.guidance, "judge": self.judge}
        return {tier: model for tier, model in tiers.items() if model is not None}

    def names(self) -> dict[str, str]:
        """Return the spec of each model by its tier."""
        return {tier: model.name for tier, model in self.by_tier().items()}


def open_models(config: Config, *, has_guidance: bool) -> Models:
    """Return the models that a configuration names. Raises `UsageError` and `PrerequisiteError` as the registry does.

    `has_guidance` says whether the guidance model is one of them.
    """
    guidance = open_model(config.guidance, "guidance") if has_guidance else None
    judge = open_model(config.judge, "judge") if config.judge else None
    return Models(open_model(config.execution, "execution"), guidance, judge)


class Session:
    """A run's log, its live state, and what is needed to go on with it.

    `plan_seq` remembers where each plan of the open iteration stands in the log, so that calls and verdicts can
    name their cause.
    """

    def __init__(self, *, run: Run, world: World, log: Log, state: State, models: Models, runtime: Runtime) -> None:
        self.run, self.world, self.log, self.state, self.models = run, world, log, state, models
        self.runtime, self.budget = runtime, runtime.budget(state.ledger)
        self.plan_seq: dict[tuple[Phase, str], int] = {}
        self._last_noted: tuple[int, Phase, int, int] = (-1, "open", 0, 0)
        self._measure = measure_of(are_episodes=is_sequential(world.benchmark))
        self._standing = Standing("open")
        self._unheard = world.embedder if isinstance(world.embedder, Metered) else None
        self.flight = Flight(run.flight_path)
        self.tables = MemoryTables(run.memory_path)
        self.sandbox = Sandbox()
        self.lines: dict[Tier, Line] = {
            tier: Line(
                Watched(model, self.flight),
                connections=runtime.max_connections or runtime.workers,
                patience=runtime.patience,
                say=self.say,
                stop=runtime.stop,
                toll=self.budget,
            )
            for tier, model in models.by_tier().items()
        }
        self.gates: dict[Tier, BatchGate] = {
            tier: BatchGate(
                self.lines[tier],
                model,
                is_on=runtime.batches,
                recorder=self,
                patience=runtime.patience,
                say=self.say,
                stop=runtime.stop,
                toll=self.budget,
            )
            for tier, model in models.by_tier().items()
            if tier != "execution" and isinstance(model, Batching)
        }
        # No course may call the guidance tier: its line is kept from all of them.
        in_courses: dict[Tier, Line | BatchGate] = {
            tier: self.gates.get(tier, line) for tier, line in self.lines.items() if tier != "guidance"
        }
        self.effects = Effects(world.setting, state, in_courses, self.sandbox, record=self.do, searches=world.searches)
        if runtime.batches and not self.gates:
            self.say(
                "--guidance-batch changes nothing: neither guidance nor judge is a model whose provider has batches."
            )

    async def aclose(self) -> None:
        """Close what the models keep open; what the embedder took and nobody recorded yet is recorded before."""
        self._hear_embedder()
        for gate in self.gates.values():
            await gate.aclose()
        for line in self.lines.values():
            await line.aclose()
        self.flight.close()

    # ------------------------------------------------------------ deciding and recording

    def do(self, command: Command) -> Appended:
        """Decide a command on the live state and commit what follows, as one atomic batch."""
        return self.commit(decide(self.world.setting, self.state, command))

    def commit(self, drafts: Sequence[Draft]) -> Appended:
        """Make events durable, then apply them. What the log had already is not applied twice."""
        appended = self.log.append(drafts)
        for seq, event, draft in zip(appended.seqs, appended.events, drafts, strict=True):
            if seq > self.state.seq:
                self.state.apply(event)
                self.state.seq = seq
                if isinstance(event, AnswerJudged):
                    self._standing.add(event)
                elif isinstance(event, ModelCalled | CallFailed | BundleTrimmed):
                    self.flight.land(event.request_sha256)
            if isinstance(event, QuestionPlanned):
                self.plan_seq[draft.phase, event.question_id] = seq
        self._hear_embedder()
        return appended

    def _hear_embedder(self) -> None:
        """Record what the embedder took before the log had its first event, and from then on each of its attempts."""
        embedder = self._unheard
        if embedder is None or not self.state.seq:
            return
        self._unheard = None

        def record(attempt: Attempt) -> None:
            iteration, phase, _, _ = self._last_noted
            self.do(RecordEmbedding(iteration, phase, embedder.name, attempt))

        embedder.meter.connect(record, self.budget)

    def enter(self, iteration: int, phase: Phase) -> None:
        """Begin with a phase: what the embedder takes from now on, and what is said, belongs to it."""
        self._last_noted = (iteration, phase, 0, 0)

    def find_plans(self, records: Iterable[Record]) -> None:
        """Note where plans stand among records of an earlier session: they are the causes of what is recorded next."""
        for record in records:
            if isinstance(record.event, QuestionPlanned):
                self.plan_seq[record.phase, record.event.question_id] = record.seq

    def check_stop(self) -> None:
        """Raise `Interrupted` where the user asked to stop; everything recorded stays."""
        if self.runtime.stop():
            raise Interrupted(f"Stopped. Continue with `mage-es resume {self.run.path}`.")

    # ------------------------------------------------------------ asking the execution tier

    async def ask(self, iteration: int, phase: Phase, purposes: Mapping[str, Purpose], *, frozen: bool) -> None:
        """Plan and answer questions (id -> purpose), leaving out what an earlier attempt recorded."""
        self.enter(iteration, phase)
        if not self.state.progress.plans(phase) and purposes:
            self.do(PlanAnswers(iteration=iteration, phase=phase, asked=self.asked(purposes), frozen=frozen, donors={}))
        await self.answer(iteration, phase)

    def asked(self, purposes: Mapping[str, Purpose]) -> list[Asked]:
        """Return the questions with their task types and vectors, in id order."""
        questions = [self.world.questions[name] for name in sorted(purposes)]
        types = self.world.typing.types_of(questions)
        return self.world.asked(self.state, questions, types, [purposes[question.id] for question in questions])

    async def answer(self, iteration: int, phase: Phase) -> None:
        """Follow the course of every planned question that is not settled yet, from where the log leaves it."""
        plans = self.state.progress.plans(phase)
        self._standing = Standing(phase, self.state.progress.verdicts(phase))
        pending = in_prefix_order(
            [
                self._pending(phase, planned)
                for planned in plans
                if not self.state.progress.is_settled(phase, planned.question_id)
            ]
        )
        done, total = len(plans) - len(pending), len(plans)
        gate, workers = self.gates.get("judge"), self.runtime.workers
        template = template_of(self.world.benchmark)
        if gate and gate.gathers:
            # Every course must be able to come to the judge; how many answer at once is the execution line's affair.
            gate.expect((template, item.planned.question_id) for item in pending)
            workers = len(pending)

        def record(batch: Sequence[Moved]) -> None:
            nonlocal done
            self.commit([draft for moved in batch for draft in (*moved.drafts, *self._verdict(phase, moved))])
            done += sum(moved.finish is not None for moved in batch)
            if gate:
                for moved in batch:
                    if moved.finish:
                        gate.leave((template, moved.pending.planned.question_id))
            self.note(iteration, phase, done, total)

        async def perform(item: Pending, move: Move) -> Sequence[Draft]:
            try:
                return await self.effects.perform(phase, item.planned, move, item.causation)
            except Interrupted as reason:
                if gate:  # nobody else will come to it
                    gate.give_up(reason)
                raise

        self.note(iteration, phase, done, total)
        await answer_all(pending, perform=perform, workers=workers, record=record, stop=self.runtime.stop)
        self.check_stop()

    def _pending(self, phase: Phase, planned: QuestionPlanned) -> Pending:
        question = self.world.questions[planned.question_id]
        course = judged(
            planned_course(self.world, self.state, planned),
            question,
            benchmark=self.world.benchmark,
            has_judge=self.models.judge is not None,
        )
        first = begin(course)
        if isinstance(first, Ask) and sha256_text(first.request.prompt) != planned.prompt_sha256:
            raise _renders_differently(planned.question_id)
        move = catch_up(course, first, lambda move: self._recorded(phase, planned, move))
        return Pending(planned, question, course, move, self.plan_seq.get((phase, planned.question_id), 0))

    def _recorded(self, phase: Phase, planned: QuestionPlanned, move: Move) -> Fact | None:
        """Return what the log has of a move, None where it is still to be made."""
        progress = self.state.progress
        match move:
            case Ask():
                key = CallKey(move.tier, move.purpose or planned.purpose, move.about, move.attempt, move.request.sha256)
                call = progress.call(key) or trimming_of(move, progress.trimmings(phase, planned.question_id))
                if call is None and move.tier == "execution" and progress.is_replied(phase, move.about):
                    raise _renders_differently(move.about)
                return call
            case Use():
                return progress.tool_run(planned.purpose, planned.question_id, move.tool_id, move.arguments)
            case Look():
                return progress.search(planned.purpose, planned.question_id, move.place)
            case Act(EpisodeStepped() as stepped):
                return progress.step(planned.purpose, planned.question_id, stepped.step)
            case Act():
                return progress.episode(planned.purpose, planned.question_id)

    def _verdict(self, phase: Phase, moved: Moved) -> list[Draft]:
        finish, pending = moved.finish, moved.pending
        if finish is not None and finish.lost:
            unanswered = RecordUnanswered(phase, pending.planned, finish.lost, pending.causation)
            return decide(self.world.setting, self.state, unanswered)
        if finish is None or finish.verdict is None:
            return []
        verdict = RecordVerdict(
            phase=phase,
            planned=pending.planned,
            expected=pending.question.gold,
            verdict=finish.verdict,
            causation=pending.causation,
        )
        return decide(self.world.setting, self.state, verdict)

    # ------------------------------------------------------------ asking the guidance tier

    async def guide(self, errand: Errand, reply: type[Reply]) -> tuple[Reply | None, str]:
        """Return the guidance tier's typed reply (None if none came or can be read) and the last call's fact id."""
        self.check_stop()
        if "guidance" not in self.lines:
            raise LogError("This session has no guidance model; it may only answer.")
        return await guided(self, self.gates.get("guidance", self.lines["guidance"]), errand, reply)

    # ------------------------------------------------------------ telling

    def say_gone_on(self, words: str) -> None:
        """Tell the observer that an earlier process's work goes on, and what of it is done again."""
        self.say(f"{words} Calls made again, because they were in flight when it stopped: {self.flight.left_behind}.")

    def say(self, words: str) -> None:
        """Tell the observer something that a person should hear whatever is being done."""
        iteration, phase, done, total = self._last_noted
        self.note(iteration, phase, done, total, words, aloud=True)

    def note(
        self, iteration: int, phase: Phase, done: int, total: int, message: str = "", *, aloud: bool = False
    ) -> None:
        """Tell the observer how far the phase is."""
        self._last_noted = (iteration, phase, done, total)
        standing = self._standing if self._standing.phase == phase else Standing(phase)
        self.runtime.observer(
            Note(
                run_id=self.run.id,
                iteration=iteration,
                iterations=self.world.setting.config.iterations,
                phase=phase,
                done=done,
                total=total,
                measure=self._measure,
                level=standing.level(self._measure),
                revisits=(standing.revisits_right, standing.revisits),
                execution_calls=self.state.ledger.total("execution").calls,
                guidance_calls=self.state.ledger.total("guidance").calls,
                message=message,
                aloud=aloud,
            )
        )


def _renders_differently(about: str) -> LogError:
    return LogError(
        f"The prompt of {about} renders differently from when it was recorded: the templates or this program changed "
        "within the run. Continue with the version that began it."
    )
