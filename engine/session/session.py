"""A session: one process at work on one run.

Theory of operation
    One process writes a run at a time: the log's lock sees to that. It holds the run's log, the state folded from the
    log, and clients for the models. Everything that has an effect happens here; everything that is decided, in
    `decide`.

    A fact is born in three steps. An effect returns a plain value (a reply, a fault, a tool's result). `decide` turns
    it into events, which carry results and not instructions. `commit` appends the events to the log, and applies them
    to the state only when the log has synced them to the disk. So the state never knows more than the disk does.

    The way to one answer is a course (engine/courses.py): a generator that yields moves (call a model, run a tool, look
    something up, record an episode's step) and is sent the fact that each one left. A course keeps nothing else, so the
    same facts lead it down the same path. `answer` opens a course for each planned question, and `following.answer_all`
    advances as many as there are workers. The fact of a move is durable before its course makes the next one; the
    verdict is committed together with the last reply. (An episode's steps follow from replies that are durable, so they
    may wait for the next commit.)

    Resuming is therefore no special case. `_recorded` looks each move up in the log before it is made: a call by tier,
    purpose, subject, attempt and request hash. `catch_up` runs the course through everything that it finds, and real
    work begins with the first move without a fact. Iterations that are closed are not looked at again.

    Calls of guidance and judge may go to the provider in batches. They wait in a `BatchQueue` until every caller that
    was announced has asked; the batch's id is recorded before anything waits for it, so a resumed run collects the same
    batch. Calls in flight when a process dies have no fact and are made again: that is all a crash can cost. Their
    number is kept in a file beside the log (`CallsInFlight`), for the message only.

What cannot happen
    - A recorded call is made a second time, or a durable reply is lost.
    - Events are applied that the log does not hold, or in another order than the log's.
    - A course calls the guidance tier: its client is not among those that courses get.
    - The number of workers, batches, or a crash changes what is learned: UPDATE decides over sorted answers.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import msgspec

from mage_es.engine.agents.critic import judgement, unanswered
from mage_es.engine.commands import Asked, Command, OpenRun, PlanAnswers, RecordEmbedding, RecordFact
from mage_es.engine.courses import Act, Ask, Fact, Grade, Look, Move, Use, begin, catch_up
from mage_es.engine.decide import decide
from mage_es.engine.models.registry import Models
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.rules.ingredients import trimming_of
from mage_es.engine.rules.snapshot import anchors_so_far
from mage_es.engine.run.budget import UNLIMITED, Limits
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exam_plan import asked_of
from mage_es.engine.run.fingerprints import fingerprints
from mage_es.engine.run.questions import rows_of
from mage_es.engine.run.runtime import ACCURACY, ProgressNote, RunningScore, Runtime, measure_of
from mage_es.engine.run.world import World, registered_in, require_readable
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.benchmark import Verdict, scored
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.metering import EmbeddingAttempt, Metered
from mage_es.engine.seams.model import Batching
from mage_es.engine.seams.replies import Reply
from mage_es.engine.session.batches import BatchQueue, Client
from mage_es.engine.session.call import TypedCall, complete_typed
from mage_es.engine.session.course_choice import planned_course
from mage_es.engine.session.effects import Effects
from mage_es.engine.session.following import CompletedMove, PendingCourse, answer_all, in_prefix_order
from mage_es.engine.session.in_flight import BusySlots, CallsInFlight, TrackedModel
from mage_es.engine.session.judge import judged, template_of
from mage_es.engine.session.streak import Streak
from mage_es.events.care import naming
from mage_es.events.digests import sha256_text
from mage_es.events.errors import Interrupted, LogError, PrerequisiteError
from mage_es.events.log import Appended, Log
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUnanswered,
    BundleTrimmed,
    CallFailed,
    Draft,
    EpisodeStepped,
    Event,
    IterationPlanned,
    ModelCalled,
    Phase,
    Purpose,
    QuestionPlanned,
    Record,
    RunRegistered,
    Tier,
)
from mage_es.projections.fold import State
from mage_es.projections.progress import CallKey, trial_of

MOST_UNREADABLE = 3
"""Unreadable guidance replies in a row at which a new run is paused."""


class Session:
    def __init__(self, *, run: Run, world: World, log: Log, state: State, models: Models, runtime: Runtime) -> None:
        require_readable(world, state)
        log.seal_texts_of(set(world.setting.subjects.values()))
        if log.keys:
            world = world._replace(setting=world.setting._replace(salt=log.keys.salt))
        self.run, self.world, self.log, self.state, self.models = run, world, log, state, models
        # Held while log and state change; replaced if another thread of the process also writes the log.
        self.lock: AbstractContextManager[object] = nullcontext()
        self.runtime, self.budget = runtime, runtime.budget(state.ledger)
        self.registration: RunRegistered | None = None
        # The sequence number of each plan, which calls and verdicts name as their cause.
        self._plan_seq: dict[tuple[Phase, str], int] = {}
        # An iteration's plan leaves the state once it is closed, and the next one builds on its briefs.
        self.last_plan: IterationPlanned | None = None
        self._position: tuple[int, Phase, int, int] = (-1, "open", 0, 0)
        self._measure = measure_of(are_episodes=is_sequential(world.benchmark))
        self._running_score = RunningScore("open")
        self.streak = Streak()
        self._is_new, self._unreadable, self._is_reworded = state.seq == 0, 0, False
        self._guided: set[tuple[int, str, str]] = set()
        self._unconnected = world.embedder if isinstance(world.embedder, Metered) else None
        self.in_flight = CallsInFlight(run.in_flight_path)
        self.slots = BusySlots(min(runtime.workers, runtime.connections(models.execution)))
        self.sandbox = Sandbox()
        self.clients: dict[Tier, RetryingClient] = {
            tier: RetryingClient(
                # Below the retries: an attempt that waits for its turn or for a pause is not in flight.
                TrackedModel(model, self.in_flight, self.slots),
                connections=runtime.connections(model),
                retry_policy=runtime.retry_policy,
                announce=self.announce,
                stop=runtime.stop,
                spending=self.budget,
            )
            for tier, model in models.by_tier().items()
        }
        self.batch_queues: dict[Tier, BatchQueue] = {
            tier: BatchQueue(self.clients[tier], model, is_on=runtime.batches, recorder=self)
            for tier, model in models.by_tier().items()
            if tier != "execution" and isinstance(model, Batching)
        }
        # Inference is frozen: answering a question must not use guidance, so courses get no client for that tier.
        in_courses: dict[Tier, Client] = {
            tier: self.batch_queues.get(tier, client) for tier, client in self.clients.items() if tier != "guidance"
        }
        self.effects = Effects(world.setting, state, in_courses, self.sandbox, record=self.do, searches=world.searches)
        if runtime.batches and not self.batch_queues:
            self.announce("--guidance-batch has no effect: neither the guidance model nor the judge supports batches.")

    async def aclose(self) -> None:
        """Close models and files. Calls of the embedder that are not recorded yet are recorded first."""
        # A session that recorded nothing has not connected the meter, but opening the embedder may have cost calls.
        self._connect_meter()
        # Queues first, since what they are still submitting goes through their clients' models.
        for queue in self.batch_queues.values():
            await queue.aclose()
        for client in self.clients.values():
            await client.aclose()
        self.in_flight.close()
        self._announce_slots()

    def _announce_slots(self) -> None:
        slots, used = self.slots, self.state.ledger.total("execution")
        if not slots.busy_s:
            return
        busy = 100 * slots.busy_s / slots.answering_s
        told = f"{slots.number} calls were in flight in {busy:.0f} % of the time of EVALUATE and exams"
        if used.cached_tokens:
            told += f"; {100 * used.cached_tokens / used.input_tokens:.0f} % of the prompt tokens came from a cache"
        self.announce(f"{told}.")

    # ------------------------------------------------------------ deciding and recording

    def opening(self) -> OpenRun:
        """Store the world's questions beside the log; return the command that commits to them and begins the run."""
        # Durable before the event that names them; questions without such an event, left by a crash, mean nothing.
        stored = self.log.store(*rows_of(self.world.benchmark))
        limits = self.runtime.limits
        budget = [limits.recorded()] if limits and any(limits) else []
        registered = [registered_in(self.world, self.registration)] if self.registration else []
        started = msgspec.structs.replace(self.world.started(self.run.id), **fingerprints(self.world)._asdict())
        opening = OpenRun(started, (*self.world.splits.events, stored), budget, registered=registered)
        if parent := self.world.parent:
            return opening._replace(parent=[parent.event], inherited=parent.drafts)
        return opening

    def sign(self) -> None:
        """Sign the head of the run's log, if there is a key."""
        if self.runtime.signer:
            self.commit([naming(self.runtime.signer)])
            self.runtime.sign(self.log, self.run.log_path)

    def keep_budget(self, recorded: Limits) -> None:
        """Record limits that differ from the run's, and say which hold from here on."""
        limits, kept = self.runtime.limits or UNLIMITED, recorded.recorded()
        if (now := limits.recorded()) != kept:
            self.commit([Draft(event=now, iteration=-1, phase="log", ordinal=self.state.seq)])
            self.announce(f"Budget over all sessions: {limits} (before: {recorded}).")
        elif any(limits):
            self.announce(f"Budget over all sessions, as recorded: {limits}.")

    def do(self, command: Command) -> Appended:
        """Decide a command on the live state and commit the events, all or none."""
        with self.lock:
            return self.commit(decide(self.world.setting, self.state, command))

    def commit(self, drafts: Sequence[Draft]) -> Appended:
        """Make events durable, then apply them. The log skips facts that it already holds."""
        with self.lock:
            drafts = self.state.texts.numbered(drafts)
            appended = self.log.append(drafts)
            for seq, event, draft in zip(appended.seqs, appended.events, drafts, strict=True):
                if seq > self.state.seq:  # otherwise the log and the state already held it
                    self.state.apply(event)
                    self.state.seq = seq
                    if isinstance(event, AnswerJudged | AnswerUnanswered):
                        self._running_score.add(event)
                    elif isinstance(event, ModelCalled | CallFailed | BundleTrimmed):
                        self.in_flight.remove(event.request_sha256)
                        if isinstance(event, ModelCalled) and event.tier == "guidance":
                            self._guided.add((event.iteration, event.purpose, event.about))
                # Even if the log already held the plan, because later calls name it as their cause.
                if isinstance(event, QuestionPlanned):
                    self._plan_seq[draft.phase, event.question_id] = seq
                elif isinstance(event, IterationPlanned):
                    self.last_plan = event
        self._connect_meter()
        return appended

    def _connect_meter(self) -> None:
        """Record every call of a metered embedder from now on, and those that its meter has kept so far.

        A served embedder is called while it is opened, to fingerprint it, and the log's first event (`run.started`)
        needs that fingerprint. So its calls can be recorded only once there is a first event.
        """
        embedder = self._unconnected
        if embedder is None or not self.state.seq:
            return
        # Before connecting, which records what was kept: that commits, and a commit gets here again.
        self._unconnected = None

        def record(attempt: EmbeddingAttempt) -> None:
            iteration, phase, _, _ = self._position
            self.do(RecordEmbedding(iteration, phase, embedder.name, attempt))

        embedder.meter.connect(record, self.budget)

    def enter_phase(self, iteration: int, phase: Phase) -> None:
        """Attribute the embedder's calls and all progress notes to this phase from now on."""
        self._position = (iteration, phase, 0, 0)

    def remember_plans(self, records: Iterable[Record]) -> None:
        """Take over the plans that an earlier process recorded, as causes of what is recorded next."""
        for record in records:
            if isinstance(record.event, QuestionPlanned):
                self._plan_seq[record.phase, record.event.question_id] = record.seq
            elif isinstance(record.event, IterationPlanned):
                self.last_plan = record.event

    def check_stop(self) -> None:
        if self.runtime.stop():
            raise Interrupted(f"Stopped. Continue with `mage-es resume {self.run.path}`.")

    # ------------------------------------------------------------ asking the execution tier

    async def ask(self, iteration: int, phase: Phase, purposes: Mapping[str, Purpose], *, frozen: bool) -> None:
        """Plan and answer questions (id -> purpose), except for what is recorded already."""
        self.plan(iteration, phase, purposes, frozen=frozen)
        await self.answer(iteration, phase)

    def plan(self, iteration: int, phase: Phase, purposes: Mapping[str, Purpose], *, frozen: bool) -> None:
        """Plan questions (id -> purpose), unless they are planned."""
        self.enter_phase(iteration, phase)
        # Planned once, because a second plan, on a later state, could choose other memories for a question.
        if not self.state.progress.plans(phase) and purposes:
            self.do(PlanAnswers(iteration=iteration, phase=phase, asked=self.asked(purposes), frozen=frozen, donors={}))

    def asked(self, purposes: Mapping[str, Purpose]) -> list[Asked]:
        """Return the questions with their task types and vectors, in id order."""
        return asked_of(self.world, self.state, purposes)

    async def answer(self, iteration: int, phase: Phase, names: Collection[str] | None = None) -> None:
        """Follow the course of every planned question (of those named) that is not settled yet, from its first
        unrecorded move."""
        plans = [
            each
            for each in self.state.progress.plans(phase)
            if names is None or (each.question_id in names and each.iteration == iteration)
        ]
        # From the record, so that the notes of a resumed run show the score of the whole phase.
        progress = self.state.progress
        self._running_score = RunningScore(phase, [*progress.verdicts(phase), *progress.unanswered(phase)])
        pending = in_prefix_order(
            [
                self._pending_course(phase, planned)
                for planned in plans
                if not self.state.progress.is_settled(phase, planned.question_id, trial_of(planned))
            ]
        )
        done, total = len(plans) - len(pending), len(plans)
        queue, workers = self.batch_queues.get("judge"), self.runtime.workers
        template = template_of(self.world.benchmark)
        if queue and queue.is_collecting:
            # The queue submits when all callers have asked, so every course must be able to reach its judge at the
            # same time. With fewer workers they would wait for each other for ever. The execution client still bounds
            # how many calls are in flight.
            queue.add_callers((template, item.planned.question_id) for item in pending)
            workers = len(pending)

        def record(batch: Sequence[CompletedMove]) -> None:
            nonlocal done
            self.commit(
                [
                    draft
                    for moved in batch
                    for draft in (*moved.drafts, *self.streak.settled(moved.finish, self._settled(phase, moved)))
                ]
            )
            done += sum(moved.finish is not None for moved in batch)
            if queue and self.streak.problem:  # those without further moves never join it
                queue.cancel(Interrupted(self.streak.problem))
            elif queue:
                for moved in batch:
                    # Not before its end, because after a bad reply a course asks the judge again, which needs the queue
                    # too.
                    if moved.finish:
                        queue.remove_caller((template, moved.pending.planned.question_id))
            self.report_progress(iteration, phase, done, total)

        async def perform(item: PendingCourse, move: Move) -> Sequence[Draft]:
            try:
                return await self.effects.perform(phase, item.planned, move, item.causation)
            except Interrupted as reason:
                if queue:  # this course will never call the judge, so the queue would never be complete
                    queue.cancel(reason)
                raise

        self.report_progress(iteration, phase, done, total)
        try:
            with self.slots.answering() if pending and phase in ("evaluate", "exam") else nullcontext():
                await answer_all(
                    pending,
                    perform=perform,
                    workers=workers,
                    record=record,
                    stop=lambda: bool(self.streak.problem) or self.runtime.stop(),
                    score=self._score,
                )
        except Interrupted:
            self.streak.check()
            raise
        self.streak.check()
        # `answer_all` also returns if it was stopped between moves; the loop must not go on with half of the answers.
        self.check_stop()
        self.commit(self.streak.rest())

    async def _score(self, move: Grade) -> Verdict:
        # In a thread, so that waiting for a process does not hold up the calls of all other courses.
        return await asyncio.to_thread(scored, self.world.benchmark, move.question, move.reply)

    def _pending_course(self, phase: Phase, planned: QuestionPlanned) -> PendingCourse:
        question = self.world.questions[planned.question_id]
        course = judged(
            planned_course(self.world, self.state, planned),
            question,
            benchmark=self.world.benchmark,
            has_judge=self.models.judge is not None,
            is_apart=self.world.is_scored_apart,
            templates=self.world.setting.templates,
        )
        first = begin(course)
        # A recalled answer has no prompt: its first call is the judge's.
        request = first.request if isinstance(first, Ask) and first.tier == "execution" else None
        if request and sha256_text(request.text) != planned.prompt_sha256:
            self._announce_rewording(planned.question_id)
        recorded = partial(self._recorded, phase, planned)
        move = catch_up(course, first, recorded)
        causation = self._plan_seq.get((phase, planned.question_id), 0)
        return PendingCourse(planned, question, course, move, causation, recorded)

    def _recorded(self, phase: Phase, planned: QuestionPlanned, move: Move) -> Fact | None:
        """Return the fact of a move if the log has it."""
        progress = self.state.progress
        match move:
            case Ask():
                key = CallKey(move.tier, move.purpose or planned.purpose, move.about, move.attempt, move.request.sha256)
                # A prompt that did not fit the model's context left a trimming on record, and no reply.
                return (
                    progress.call(key)
                    or trimming_of(move, progress.trimmings(phase, planned.question_id, trial_of(planned)))
                    or (progress.lost(key) if move.is_spare else None)
                    # A reply about this, but to another prompt: it was asked once and is not asked again.
                    or progress.call_at(planned.iteration, key)
                )
            case Use():
                return progress.tool_run(planned.purpose, planned.question_id, move.tool_id, move.arguments)
            case Look():
                return progress.search(planned.purpose, planned.question_id, move.place)
            case Act(EpisodeStepped() as stepped):
                return progress.step(planned.purpose, planned.question_id, stepped.step)
            case Act():
                return progress.episode(planned.purpose, planned.question_id)
            case Grade():
                return None

    def _settled(self, phase: Phase, moved: CompletedMove) -> list[Draft]:
        finish, planned = moved.finish, moved.pending.planned
        if finish is not None and finish.lost:
            event: Event = unanswered(planned, finish.lost)
        elif finish is None or finish.verdict is None:
            return []
        else:
            event = judgement(planned, finish.verdict, reason=finish.reason)
        fact = RecordFact.about(planned, phase, event, causation=moved.pending.causation)
        return decide(self.world.setting, self.state, fact)

    # ------------------------------------------------------------ asking the guidance tier

    async def guide(self, call: TypedCall, reply: type[Reply]) -> tuple[Reply | None, str]:
        """Return the guidance tier's typed reply (None if the call failed or no reply was readable) and its fact id.

        Raises `PrerequisiteError` once a new run cannot read several replies in a row; a resumed one warns of it.
        """
        self.check_stop()
        if "guidance" not in self.clients:
            raise LogError("This session has no guidance model: it can only answer questions.")
        client = self.batch_queues.get("guidance", self.clients["guidance"])
        found, fact = await complete_typed(self, client, call, reply, self.world.setting.templates)
        # What an earlier process reported is not news, and a failed call is reported by its fault.
        if (call.iteration, call.template, call.about) in self._guided:
            self._unreadable = 0 if found is not None else self._unreadable + 1
            if self._unreadable == MOST_UNREADABLE:
                self._pause(self.clients["guidance"].name)
        return found, fact

    def _pause(self, guidance: str) -> None:
        told = (
            f"{guidance} was asked {MOST_UNREADABLE} times in a row and no reply could be read, repaired or not. "
            "Without guidance a run learns from right answers alone: `mage-es doctor` shows such a reply."
        )
        if self._is_new:
            raise PrerequisiteError(
                f"{told} The run is paused. `resume` goes on without the unreadable replies; or start another run "
                "with another --guidance model."
            )
        self.announce(f"WARNING: {told}")

    # ------------------------------------------------------------ reporting progress

    def _announce_rewording(self, question_id: str) -> None:
        """Announce, once, that prompts now render differently from how they were planned."""
        if not self._is_reworded:
            self._is_reworded = True
            self.announce(
                f"WARNING: the prompt of {question_id} renders differently from when it was planned: this program "
                f"changed within the run, not its templates, which are the run's own. What was asked is not asked "
                "again; what comes is asked in the words of now, and the log has both as they were sent."
            )

    def announce_continuation(self, words: str) -> None:
        """Announce that the work of an earlier process continues, and how many of its calls are made again."""
        self.announce(
            f"{words} Calls made again, because they were in flight when it stopped: {self.in_flight.left_behind}."
        )

    def announce(self, words: str) -> None:
        """Send the observer a message that people should see at once."""
        iteration, phase, done, total = self._position
        self.report_progress(iteration, phase, done, total, words, is_announcement=True)

    def report_progress(
        self, iteration: int, phase: Phase, done: int, total: int, message: str = "", *, is_announcement: bool = False
    ) -> None:
        self._position = (iteration, phase, done, total)
        running_score = self._running_score if self._running_score.phase == phase else RunningScore(phase)
        measure, level = self._measure, running_score.level(self._measure)
        # Only anchors that see something new are asked again, so their accuracy is not that of all anchors.
        if phase == "snapshot" and measure == ACCURACY and (anchors := anchors_so_far(self.state, iteration)):
            level = sum(anchors.values()) / len(anchors)
        self.runtime.observer(
            ProgressNote(
                run_id=self.run.id,
                iteration=iteration,
                iterations=self.world.setting.end,
                phase=phase,
                done=done,
                total=total,
                measure=measure,
                level=level,
                revisits=(running_score.revisits_right, running_score.revisits),
                execution_calls=self.state.ledger.total("execution").calls,
                guidance_calls=self.state.ledger.total("guidance").calls,
                message=message,
                is_announcement=is_announcement,
            )
        )
