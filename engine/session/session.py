"""A session: one process at work on one run.

Theory of operation
    The log's lock ensures that only one process at a time writes a run. That process holds the run's log, the state
    folded from the log, and clients for the models. All effects happen here; all decisions are made in `decide`.

    A fact is born in three steps. An effect returns a plain value (a reply, a fault, a tool's result). `decide` turns
    it into events, which carry results and not instructions. `Recorder.commit` appends the events to the log, and
    applies them to the state only when the log has synced them to the disk. So the state never knows more than the disk
    does.

    The way to one answer is a course (engine/courses.py): a generator that yields moves (call a model, run a tool, look
    something up, record an episode's step) and is sent the fact that each one left. A course keeps nothing else, so the
    same facts lead it down the same path. `Answering.answer` opens a course for each planned question, and
    `following.answer_all` advances as many as there are workers. The fact of a move is durable before its course makes
    the next one; the verdict is committed together with the last reply, or after it if a scorer in its own process
    gives it. (An episode's steps follow from replies that are durable, so they may wait for the next commit.)

    Resuming is therefore no special case. `recorded_fact` looks each move up in the log before it is made: a call by
    tier, purpose, subject, attempt and request hash. `catch_up` runs the course through everything that it finds, and
    real work begins with the first move without a fact. Closed iterations are not looked at again.

    Calls of guidance and judge may go to the provider in batches. They wait in a `CallQueue` until every caller that
    was announced has asked. The batch's id is recorded before anything waits for it, so a resumed run collects the same
    batch. Calls in flight when a process dies have no fact and are made again: a crash can cost no more than that.
    Their number is kept in a file beside the log (`CallsInFlight`), only for a message.

What cannot happen
    - A recorded call is made a second time, or a durable reply is lost.
    - Events are applied that the log does not hold, or in an order other than the log's.
    - A course calls the guidance tier: courses are never given its client.
    - The number of workers, batches, or a crash changes what is learned: UPDATE decides over sorted answers.
"""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager

from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, require_readable
from mage_es.engine.session.answering import Answering
from mage_es.engine.session.clients import Clients
from mage_es.engine.session.guiding import Guidance
from mage_es.engine.session.recording import Recorder
from mage_es.engine.session.reporting import Reporter
from mage_es.events.log import Log
from mage_es.events.vocabulary import IterationPlanned, Phase, Purpose, RunRegistered
from mage_es.projections.fold import State


class Session:
    """What the loop and the verbs do to a run: `do` and `commit`, `ask` the execution tier, `guide`, `announce`."""

    def __init__(self, *, run: Run, world: World, log: Log, state: State, models: Models, runtime: Runtime) -> None:
        require_readable(world, state)
        log.seal_texts_of(set(world.setting.subjects.values()))
        if log.keys:
            world = world._replace(setting=world.setting._replace(salt=log.keys.salt))
        self.run, self.world, self.log, self.state, self.models = run, world, log, state, models
        self.runtime, self.budget = runtime, runtime.budget(state.ledger)
        self.registration: RunRegistered | None = None

        reporter = Reporter(run, world, state, runtime)
        self._recorder = recorder = Recorder(world.setting, log, state)
        recorder.meter(world.embedder, self.budget, at=reporter)

        self.clients = Clients(
            models,
            runtime,
            budget=self.budget,
            in_flight=run.in_flight_path,
            is_first=not any(state.ledger.accounts()),
            recorder=recorder,
            announce=reporter.announce,
        )
        self._answering = Answering(recorder, reporter, self.clients, world, workers=runtime.workers)
        guidance = Guidance(recorder, reporter, self.clients, world.setting.templates)
        recorder.listeners += [reporter.observe, self.clients.observe, guidance.observe]
        # What its parts do for the loop and the verbs.
        self.do, self.commit, self.remember_plans = recorder.do, recorder.commit, recorder.remember_plans
        self.enter_phase, self.report_progress = reporter.enter_phase, reporter.report
        self.check_stop, self.announce, self.guide = reporter.check_stop, reporter.announce, guidance.guide

    async def ask(self, iteration: int, phase: Phase, purposes: Mapping[str, Purpose], *, frozen: bool) -> None:
        """Plan and answer questions (id -> purpose), except for what is recorded already."""
        self.plan(iteration, phase, purposes, frozen=frozen)
        await self.answer(iteration, phase)

    def plan(self, iteration: int, phase: Phase, purposes: Mapping[str, Purpose], *, frozen: bool) -> None:
        """Plan questions (id -> purpose), unless they are planned."""
        self._answering.plan(self.world, iteration, phase, purposes, frozen=frozen)

    async def answer(self, iteration: int, phase: Phase, names: Collection[str] | None = None) -> None:
        """Answer every planned question, among those named, that is not settled yet."""
        await self._answering.answer(self.world, iteration, phase, names)

    @property
    def last_plan(self) -> IterationPlanned | None:
        """The plan of the current iteration, or else of the last one: the next plan builds on its briefs."""
        return self._recorder.last_plan

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while log and state change."""
        return self._recorder.lock

    def share_log(self, lock: AbstractContextManager[object], keeping: AbstractContextManager[object]) -> None:
        """Change log and state only while `lock` is held, since other threads of this process write the log too. What
        was learned they change only while they hold `keeping` as well."""
        self._recorder.lock, self._recorder.keeping = lock, keeping

    def announce_continuation(self, words: str) -> None:
        """Announce that the work of an earlier process continues, and how many of its calls are made again."""
        self.announce(
            f"{words} Calls made again, because they were in flight when it stopped: {self.clients.left_behind}."
        )

    async def aclose(self) -> None:
        """Close models and files. Calls of the embedder that are not recorded yet are recorded first."""
        # A session that recorded nothing has not connected the meter, but opening the embedder may have cost calls.
        self._recorder.connect_meter()
        await self.clients.aclose()
        if busy := self.clients.slots.summary(self.state.ledger.total("execution")):
            self.announce(busy)
