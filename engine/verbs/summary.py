"""The summary of a run: plain values, all read from its log."""

import msgspec

from mage_es.engine.verbs.agents import AgentActivity, MissingGuidance
from mage_es.events.errors import counted
from mage_es.events.vocabulary import FormDecided, Paired


class IterationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration of a run. The first is the start, -1 or a parent's last, which has only an anchor result.

    The totals count every question that was asked: `unanswered` ones, whose call failed permanently, are wrong; only
    `undecided` ones, neither right nor wrong, are left out. Only anchors that were measured on this iteration's state
    count: those asked, or with the same prompt as when they were last asked. `anchors_unmeasured` are the others, which
    the guard did not need. The scores are means of episodes, as fractions, and None if the questions are not episodes.
    """

    iteration: int
    fresh_correct: int
    fresh_total: int
    revisit_correct: int
    revisit_total: int
    anchor_correct: int
    anchor_total: int
    guard: str
    success_memories: int
    failure_memories: int
    principles: int
    execution_calls: int
    guidance_calls: int
    unanswered: int = 0
    undecided: int = 0
    fresh_score: float | None = None
    anchor_score: float | None = None
    anchors_unmeasured: int = 0


class EpisodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The episodes of one purpose; `unparsed` replies named no action."""

    purpose: str
    episodes: int
    steps: int
    mean_score: float
    unparsed: int


class ExamRow(msgspec.Struct, frozen=True, kw_only=True):
    """An exam as the run's log records it: who answered, how much of `total` was right, how many of these answers were
    `recalled`, without a call (None if the exam's log cannot be read), the head of the exam's own log. `head_seq` is
    the event of the run whose state was examined.

    `correct` and `total` are 0 and `head` is "" while it is unfinished. An exam that was scored again has the newer
    scorer's result.
    """

    exam: str
    marker: str
    head_seq: int
    control: str
    execution: str
    correct: int
    total: int
    unanswered: int
    undecided: int
    head: str
    recalled: int | None = None


class ActionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One of EVOLVE's actions over a run: how often it was taken, how much it wrote, and its outcomes, counted."""

    action: str
    taken: int
    authored: int
    outcomes: dict[str, int]


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's calls of one model for one purpose in one iteration.

    `failures` are attempts without a reply, `retries` those that were repeated; `cut` are replies cut by a limit;
    `seconds` are summed over concurrent calls; `usd` is None if the model's price is unknown. Batched calls have a row
    of their own, as do those served by a model other than the one requested (`served_by`).
    """

    tier: str
    agent: str
    purpose: str
    iteration: int
    model: str
    calls: int
    failures: int
    retries: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    thinking_tokens: int
    seconds: float
    usd: float | None
    cache_write_tokens: int = 0
    cut: int = 0
    batched: bool = False
    served_by: str = ""


class ParentRow(msgspec.Struct, frozen=True, kw_only=True):
    """The run that another continues after its `iteration`; `path` is where it was, relative to the folder of runs. If
    it is two merged runs, `run_id` names both, and `path` and `head` are empty.

    `calls` and `usd` (None: a price is unknown) are what it and its parents had cost, which this run's ledger does not
    count.
    """

    run_id: str
    path: str
    iteration: int
    head: str
    calls: int
    usd: float | None

    def __str__(self) -> str:
        usd = "" if self.usd is None else f" (${self.usd:.2f})"
        which = f"iter-{self.iteration} of {self.run_id}" if self.head else f"the memories of {self.run_id}"
        return f"{which}, which took {counted(self.calls, 'call')}{usd} not counted here"


class FrontierSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill of the latest plan's frontier, with its current mastery and its brief ("" if none)."""

    skill: str
    mastery: float
    brief: str


class GuardSensitivity(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions the guard compares, and the smallest drop, a fraction of them, that it could have noticed last
    time if it had asked all. A drop is from the last recorded answers, some of them of an older state."""

    guard: str
    questions: int
    smallest_drop: float


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run at a glance. `state`: `finished`, `unfinished` (running or to be resumed), `served`, `damaged` (see
    `problem`).

    `prices` has the source of the price of each model that was called, "" if unknown. `quarantined` items also count in
    the sizes in `rows`.
    A `baseline` has its name here and its (right, asked) questions; other runs have "". `measure` is how results are
    measured: accuracy, or the mean score of episodes. `shortfalls` lists the splits with fewer questions than
    requested. `served` counts the calls of a model by the names that its provider reports, for models that answered
    under another name. `benefit` says by task type how the anchors were answered with what was learned and with the
    bare prompt, and what is served; the last is for all types; () if nothing was tested; `stale` of its pairs have an
    answer of an older state. `anchor_share` is the share of the execution calls that measured what was learned:
    anchors, with it and bare and in another form, and questions asked once more for the gate. `unguided` is None if the
    guidance tier fulfilled every request. `teacher_sees` is what that tier was shown of each question: `errors`,
    `answers` or `solutions`. `recalled` of these answers came from the nearest cases, without a call;
    questions to learn from always go to the model. `repeating` are the iterations in which every question had been
    asked before.

    As text it is a line or two: what the run is, how far it is, and how much was right in its last iteration and exam.
    """

    run_id: str
    path: str
    benchmark: str = ""
    seed: int = 0
    execution: str = ""
    guidance: str = ""
    teacher_sees: str = ""
    state: str
    iterations_done: int = 0
    iterations: int = 0
    events: int = 0
    head: str = ""
    parent: ParentRow | None = None
    rows: tuple[IterationRow, ...] = ()
    problem: str = ""
    noticing: GuardSensitivity | None = None
    judge: str = ""
    judge_calls: int = 0
    episodes: tuple[EpisodeRow, ...] = ()
    actions: tuple[ActionRow, ...] = ()
    frontier: tuple[FrontierSkill, ...] = ()
    ledger: tuple[LedgerRow, ...] = ()
    anchor_share: float = 0.0
    prices: dict[str, str] = {}
    agents: tuple[AgentActivity, ...] = ()
    quarantined: int = 0
    baseline: str = ""
    asked: tuple[int, int] = (0, 0)
    recalled: int = 0
    repeating: tuple[int, ...] = ()
    measure: str = "accuracy"
    traffic: tuple[str, ...] = ()
    shortfalls: tuple[str, ...] = ()
    served: dict[str, dict[str, int]] = {}
    unguided: MissingGuidance | None = None
    exams: tuple[ExamRow, ...] = ()
    benefit: tuple[Paired, ...] = ()
    stale: int = 0
    form: FormDecided | None = None

    @property
    def exam(self) -> ExamRow | None:
        """The run's own exam of its latest examined state; None if no state after the start was examined."""
        own = (each.control == "none" and each.execution == self.execution for each in self.exams)
        found = [each for each, is_own in zip(self.exams, own, strict=True) if is_own and each.marker != "start"]
        return max((each for each in reversed(found) if each.total), key=lambda each: each.head_seq, default=None)

    def __str__(self) -> str:
        what = f"{self.benchmark}, {self.state}, {self.events} events"
        done = f"{self.iterations_done} of {self.iterations} iterations"
        if self.baseline:
            done = f"baseline {self.baseline}: {self.asked[0]} of {self.asked[1]} right"
        elif self.rows:
            last = self.rows[-1]
            shares = (
                ("fresh", last.fresh_correct, last.fresh_total),
                ("anchor", last.anchor_correct, last.anchor_total),
            )
            done += "".join(f", {right} of {total} {name} questions right" for name, right, total in shares if total)
            done += f", {exam.correct} of {exam.total} in its exam" if (exam := self.exam) else ""
        return "\n".join(line for line in (f"{self.run_id}: {what}", done, self.problem) if line)
