"""How a process works on a run: concurrency, retries, spending, and reporting its progress.

None of this is recorded, and none of it changes a run's result: one worker and sixty-four give the same digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.config import MOST_WORKERS, NamedSettings
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryPolicy
from mage_es.engine.run.budget import UNLIMITED, Budget, Limits, require_prices
from mage_es.engine.run.pricing import Prices
from mage_es.engine.seams.model import Model
from mage_es.events.errors import UsageError
from mage_es.events.log import Log
from mage_es.events.signing.heads import sign_head
from mage_es.events.signing.notes import Signer
from mage_es.events.vocabulary import MICRO, AnswerJudged, AnswerUnanswered, Phase
from mage_es.projections.ledger import Ledger

ACCURACY, MEAN_SCORE = "accuracy", "mean score"
"""Episodes are measured by their mean score, since they are seldom all or nothing."""


class ProgressNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is doing, how far it has got, and how well it is going.

    `phase` is a phase of the loop, "exam", "asked again" or "judged again". `done` and `total` count its questions
    (or guidance calls). `measure` names what `level` is, over the questions judged so far in the phase without
    revisits (None before the first): accuracy, or the mean score of episodes. In the phase `snapshot` it is that of
    the `anchors` measured so far, including those whose prompts would be the same. `revisits` is (right, all). A
    message with `is_announcement` should be shown at once.
    """

    run_id: str
    phase: str
    done: int
    total: int
    iteration: int = -1
    iterations: int = 0
    measure: str = ACCURACY
    level: float | None = None
    anchors: int = 0
    execution_calls: int = 0
    guidance_calls: int = 0
    revisits: tuple[int, int] = (0, 0)
    message: str = ""
    is_announcement: bool = False


Observer = Callable[[ProgressNote], None]


class Telemetry(NamedTuple):
    """The address of an OpenTelemetry collector (OTLP over HTTP), and whether it gets texts too."""

    endpoint: str
    texts: bool = False


class Runtime(msgspec.Struct, metaclass=NamedSettings, frozen=True, kw_only=True):
    """The settings of one process, shared by every verb that calls models."""

    workers: int = 8
    """Questions worked on at the same time."""
    max_connections: int | None = None
    """Calls to one model in flight at the same time; None: as many as workers."""
    observer: Observer = lambda note: None
    """Receives the progress notes."""
    stop: Callable[[], bool] = lambda: False
    """Returns true once the process should stop."""
    retry_policy: RetryPolicy = DEFAULT_RETRIES
    limits: Limits | None = None
    """What the run may use in total, over all processes that work on it; None: what the run recorded, if anything."""
    prices: Prices = msgspec.field(default_factory=Prices)
    """What models cost; by default the package's own table."""
    batches: bool = False
    """Whether independent calls of guidance and judge are batched, if the provider has batches."""
    signer: Signer | None = None
    """Key that signs heads of a run's log (events/signing/notes.py, `read_signer`)."""
    telemetry: Telemetry | None = None
    """Collector that gets traces of what is recorded, without texts."""

    def __post_init__(self) -> None:
        for name, number in (("workers", self.workers), ("max_connections", self.max_connections)):
            if not ((isinstance(number, int) and 0 < number <= MOST_WORKERS) or (number is None and name != "workers")):
                raise UsageError(f"Runtime: {name} is {number!r}; give a whole number from 1 to {MOST_WORKERS}.")

    def connections(self, model: Model) -> int:
        """Return how many calls to a model may be in flight: no more than its slots, if it runs in this process. A call
        waiting for a slot would also delay a stop."""
        most = self.max_connections or self.workers
        return min(most, getattr(model, "slots", most))

    def sign(self, log: Log, path: Path) -> None:
        """Sign the head of the log in a folder, if there is a key."""
        if self.signer:
            sign_head(log, path, self.signer)

    def within(self, recorded: Limits) -> Runtime:
        """Return this runtime with a run's recorded limits, unless it has its own."""
        return self if self.limits is not None else msgspec.structs.replace(self, limits=recorded)

    def budget(self, ledger: Ledger) -> Budget:
        """Return the budget, with what the ledger has booked already spent."""
        return Budget(self.limits or UNLIMITED, self.prices, ledger)

    def require_prices(self, models: Mapping[str, str]) -> None:
        """Raise `UsageError` if dollars are limited and a model (tier -> spec) has no price."""
        require_prices(self.limits or UNLIMITED, self.prices, models)


def measure_of(*, are_episodes: bool) -> str:
    return MEAN_SCORE if are_episodes else ACCURACY


class RunningScore:
    """The score of one phase so far, over all questions except undecided ones: one without an answer is wrong. Revisits
    are counted separately: they were wrong before, so they are not a fair sample.
    """

    def __init__(self, phase: Phase, settled: Iterable[AnswerJudged | AnswerUnanswered] = ()) -> None:
        self.phase = phase
        self.asked = self.right = self.revisits = self.revisits_right = 0
        self._score_micro = 0
        for answer in settled:
            self.add(answer)

    def add(self, answer: AnswerJudged | AnswerUnanswered) -> None:
        judged = answer if isinstance(answer, AnswerJudged) else None
        if answer.purpose == "revisit":
            self.revisits += 1
            self.revisits_right += judged is not None and judged.correct
        else:
            self.asked += 1
            self.right += judged is not None and judged.correct
            self._score_micro += judged.score_micro if judged else 0

    def level(self, measure: str) -> float | None:
        """Return the accuracy or the mean score, a fraction; None before the first question is settled."""
        if not self.asked:
            return None
        return (self._score_micro / MICRO if measure == MEAN_SCORE else self.right) / self.asked
