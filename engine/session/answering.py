"""Answering planned questions: their courses are followed side by side, and recorded as they go."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from mage_es.engine.agents.critic import judgement, unanswered
from mage_es.engine.commands import PlanAnswers, RecordFacts
from mage_es.engine.courses import Move
from mage_es.engine.decide import decide
from mage_es.engine.run.exam_plan import asked_of
from mage_es.engine.run.world import World
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.session.catching_up import pending_course
from mage_es.engine.session.clients import Clients
from mage_es.engine.session.effects import Effects
from mage_es.engine.session.following import CompletedMove, PendingCourse, answer_all, in_prefix_order
from mage_es.engine.session.judge import template_of
from mage_es.engine.session.queueing import Client
from mage_es.engine.session.recording import Recorder
from mage_es.engine.session.reporting import Reporter
from mage_es.engine.session.streak import Streak
from mage_es.events.errors import Interrupted
from mage_es.events.vocabulary import Draft, Event, Phase, Purpose, QuestionPlanned, Tier
from mage_es.projections.progress import trial_of


class Answering:
    """Lets the execution tier answer the planned questions of one session, at most `workers` at once."""

    def __init__(self, recorder: Recorder, reporter: Reporter, clients: Clients, world: World, *, workers: int) -> None:
        self._recorder, self._reporter, self._clients = recorder, reporter, clients
        self._workers, self._streak, self._is_reworded = workers, Streak(), False
        # Inference is frozen: answering a question must not use guidance, so courses get no client for that tier.
        in_courses: dict[Tier, Client] = {
            tier: client for tier, client in clients.by_tier().items() if tier != "guidance"
        }
        self._effects = Effects(
            world.setting, recorder.state, in_courses, Sandbox(), record=recorder.do, searches=world.searches
        )

    def plan(
        self, world: World, iteration: int, phase: Phase, purposes: Mapping[str, Purpose], *, frozen: bool
    ) -> None:
        """Plan questions (id -> purpose), unless they are planned."""
        self._reporter.enter_phase(iteration, phase)
        state = self._recorder.state
        # Planned once, because a second plan, on a later state, could choose other memories for a question.
        if purposes and not any(state.progress.is_planned(phase, name) for name in purposes):
            asked = asked_of(world, state, purposes)
            command = PlanAnswers(iteration=iteration, phase=phase, asked=asked, frozen=frozen)
            self._recorder.compute_ahead(command)
            self._recorder.do(command)

    async def answer(self, world: World, iteration: int, phase: Phase, names: Collection[str] | None = None) -> None:
        """Follow the course of each named question that is planned and not settled, from its first unrecorded move."""
        progress = self._recorder.state.progress
        plans = [
            each
            for each in progress.plans(phase)
            if names is None or (each.question_id in names and each.iteration == iteration)
        ]
        self._reporter.begin_score(phase, [*progress.verdicts(phase), *progress.unanswered(phase)])
        unsettled = (each for each in plans if not progress.is_settled(phase, each.question_id, trial_of(each)))
        pending = in_prefix_order([self._pending(world, phase, planned) for planned in unsettled])
        done, total = len(plans) - len(pending), len(plans)
        queue, workers = self._clients.queues.get("judge"), self._workers
        template = template_of(world.benchmark)
        if queue and queue.is_collecting:
            # The queue submits when all callers have asked, so every course must be able to reach its judge at the
            # same time. With fewer workers they would wait for each other for ever. The execution client still bounds
            # how many calls are in flight.
            queue.add_callers((template, item.planned.question_id) for item in pending)
            workers = len(pending)

        def record(batch: Sequence[CompletedMove]) -> None:
            nonlocal done
            self._recorder.commit(
                [
                    draft
                    for moved in batch
                    for draft in (
                        *moved.drafts,
                        *self._streak.settled(moved.finish, self._settled(world, phase, moved)),
                    )
                ]
            )
            done += sum(moved.finish is not None for moved in batch)
            if queue and self._streak.problem:  # those without further moves never join it
                queue.cancel(Interrupted(self._streak.problem))
            elif queue:
                for moved in batch:
                    # Not before its end, because after a bad reply a course asks the judge again, which needs the queue
                    # too.
                    if moved.finish:
                        queue.remove_caller((template, moved.pending.planned.question_id))
            self._reporter.report(iteration, phase, done, total)

        async def perform(item: PendingCourse, move: Move) -> Sequence[Draft]:
            try:
                return await self._effects.perform(phase, item.planned, move, item.causation)
            except Interrupted as reason:
                if queue:  # this course will never call the judge, so the queue would never be complete
                    queue.cancel(reason)
                raise

        self._reporter.report(iteration, phase, done, total)
        try:
            with self._measured(phase) if pending else nullcontext():
                await answer_all(
                    pending,
                    perform=perform,
                    workers=workers,
                    record=record,
                    stop=lambda: bool(self._streak.problem) or self._reporter.is_stopped(),
                    benchmark=world.benchmark,
                )
        except Interrupted:
            self._streak.check()
            raise
        self._streak.check()
        # `answer_all` also returns if it was stopped between moves; the loop must not continue with half of the
        # answers.
        self._reporter.check_stop()
        self._recorder.commit(self._streak.rest())

    def _measured(self, phase: Phase) -> AbstractContextManager[None]:
        return self._clients.slots.answering() if phase in ("evaluate", "exam") else nullcontext()

    def _pending(self, world: World, phase: Phase, planned: QuestionPlanned) -> PendingCourse:
        pending, is_as_planned = pending_course(
            world,
            self._recorder.state,
            phase,
            planned,
            causation=self._recorder.cause_of(phase, planned.question_id),
            has_judge="judge" in self._clients.direct,
        )
        if not is_as_planned and not self._is_reworded:
            self._is_reworded = True
            self._reporter.announce(
                f"WARNING: the prompt of {planned.question_id} renders differently from when it was planned: this "
                "program changed within the run, not its templates, which are the run's own. Recorded calls are not "
                "repeated; the remaining ones use the new wording. The log holds both as they were sent."
            )
        return pending

    def _settled(self, world: World, phase: Phase, moved: CompletedMove) -> list[Draft]:
        finish, planned = moved.finish, moved.pending.planned
        if finish is not None and finish.lost:
            event: Event = unanswered(planned, finish.lost)
        elif finish is None or finish.verdict is None:
            return []
        else:
            event = judgement(planned, finish.verdict, reason=finish.reason)
        fact = RecordFacts.about(planned, phase, event, causation=moved.pending.causation)
        return decide(world.setting, self._recorder.state, fact)
