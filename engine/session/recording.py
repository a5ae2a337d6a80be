"""Recording: a command is decided on the live state, and its events are durable before the state has them."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from mage_es.engine.commands import Command, RecordEmbedding
from mage_es.engine.decide import decide
from mage_es.engine.rules.setting import Setting
from mage_es.engine.run.budget import Budget
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.metering import EmbeddingAttempt, Metered
from mage_es.engine.session.reporting import Reporter
from mage_es.events.log import Appended, Log
from mage_es.events.vocabulary import Draft, Event, IterationPlanned, Phase, QuestionPlanned, Record
from mage_es.projections.fold import State


class Recorder:
    """The log of one session, and the state folded from it. `listeners` get each event that is new to the state."""

    def __init__(self, setting: Setting, log: Log, state: State) -> None:
        self._setting, self._log, self.state = setting, log, state
        # Held while log and state change; replaced if another thread of the process also writes the log.
        self.lock: AbstractContextManager[object] = nullcontext()
        # With that, held while what was learned must not change, though the log may grow.
        self.keeping: AbstractContextManager[object] | None = None
        self.listeners: list[Callable[[Event], None]] = []
        # An iteration's plan leaves the state once it is closed, and the next one builds on its briefs.
        self.last_plan: IterationPlanned | None = None
        self._plan_seq: dict[tuple[Phase, str], int] = {}
        self._connect: Callable[[], None] | None = None

    def do(self, command: Command) -> Appended:
        """Decide a command on the live state and commit the events, all or none."""
        with self.lock:
            return self.commit(decide(self._setting, self.state, command))

    def compute_ahead(self, command: Command) -> None:
        """Compute what a command needs of the memories, which is kept with these, before the lock is taken: whoever
        else writes the log would wait for that."""
        if self.keeping is not None:
            with self.keeping:
                decide(self._setting, self.state, command)

    def commit(self, drafts: Sequence[Draft]) -> Appended:
        """Make events durable, then apply them. The log skips facts that it already holds."""
        with self.lock:
            drafts = self.state.texts.numbered(drafts)
            appended = self._log.append(drafts)
            for seq, event, draft in zip(appended.seqs, appended.events, drafts, strict=True):
                if seq > self.state.seq:  # otherwise the log and the state already held it
                    self.state.apply(event)
                    self.state.seq = seq
                    for listen in self.listeners:
                        listen(event)
                # Even if the log already held the plan, because later calls name it as their cause.
                self._remember_plan(draft.phase, event, seq)
        self.connect_meter()
        return appended

    def cause_of(self, phase: Phase, question_id: str) -> int:
        """Return the sequence number of a question's plan, or 0 without a plan. Calls and verdicts name it as their
        cause.
        """
        return self._plan_seq.get((phase, question_id), 0)

    def remember_plans(self, records: Iterable[Record]) -> None:
        """Take over the plans that an earlier process recorded, because new records name them as their causes."""
        for record in records:
            self._remember_plan(record.phase, record.event, record.seq)

    def _remember_plan(self, phase: Phase, event: Event, seq: int) -> None:
        if isinstance(event, QuestionPlanned):
            self._plan_seq[phase, event.question_id] = seq
        elif isinstance(event, IterationPlanned):
            self.last_plan = event

    def meter(self, embedder: Embedder, budget: Budget, at: Reporter) -> None:
        """Record every call of a metered embedder, under the iteration and phase that the session is in at the time.

        A served embedder is called while it is opened, to fingerprint it, and the log's first event (`run.started`)
        needs that fingerprint. So its calls can be recorded only once there is a first event.
        """
        if not isinstance(embedder, Metered):
            return

        def record(attempt: EmbeddingAttempt) -> None:
            self.do(RecordEmbedding(at.iteration, at.phase, embedder.name, attempt))

        self._connect = lambda: embedder.meter.connect(record, budget)

    def connect_meter(self) -> None:
        """Record what the embedder's meter has kept so far, and everything from now on, if there is a first event."""
        if self._connect and self.state.seq:
            # Cleared first: connecting records what was kept, and that commit leads back here.
            connect, self._connect = self._connect, None
            connect()
