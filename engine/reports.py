"""What the verbs return: plain values for the command line and for Python.

Nothing in here is recorded; everything in here is read off a log.
"""

from __future__ import annotations

from typing import Any

import msgspec


class IterationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration of a run. Iteration -1 is the start: it has an anchor result only.

    `unanswered` questions, of any series, are in no total: a call for each failed for good. The two
    scores are the mean ones of episodes, as fractions, and None where questions are no episodes.
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
    fresh_score: float | None = None
    anchor_score: float | None = None


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How long a task type can wait for EVOLVE (Theorem 2), with what the run showed so far.

    `bound` is floor(largest / lambda) + ceil(task_types / targets) in iterations, None where lambda is 0; `largest` is
    the largest n_fail of any type in any iteration, as a fraction such as 5/6; `longest` is the longest wait there was.
    """

    bound: int | None
    largest: str
    task_types: int
    targets: int
    longest: int


class EpisodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """The episodes of one purpose: how many, their steps, their mean score, and replies that named no action."""

    purpose: str
    episodes: int
    steps: int
    mean_score: float
    unparsed: int


class ActionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One of EVOLVE's actions over a run: targets it was taken for, what it authored, and its outcomes with counts."""

    action: str
    taken: int
    authored: int
    outcomes: dict[str, int]


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one model was asked by one agent for one purpose in one iteration.

    `failures` are attempts without a reply, `retries` those of them that were made again; `seconds` add up over calls
    that were in flight together; `usd` is None where nobody said what the model costs. Calls that came in batches have
    a row of their own, and so have those of another model than was asked for (`served_by`).
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
    batched: bool = False
    served_by: str = ""


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    """A skill of the latest plan's frontier, in the plan's order, with its mastery now and its brief ("" if none)."""

    skill: str
    mastery: float
    brief: str


class Noticing(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard compares and the least drop that it could have noticed at its last verdict, as fractions."""

    guard: str
    questions: int
    smallest_drop: float


class Unguided(msgspec.Struct, frozen=True, kw_only=True):
    """How many things the guidance tier was asked for, and how many of them it never gave.

    Of `unreadable` ones every reply was of another form than asked for; of `failed` ones, counted by the kind of fault,
    a call failed for good.
    """

    asked: int
    unreadable: int
    failed: dict[str, int]


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent did in a run: the model calls that it made, and what it left in the log, counted by kind."""

    agent: str
    tier: str
    calls: int
    left: dict[str, int]


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run at a glance. `state`: `finished`, `unfinished` (running or to be resumed), `damaged` (see `problem`).

    `prices` says of each model that was called what its price is from, "" where nobody said what it costs.
    `cache_hits` is by tier the share of input tokens that the provider had cached; a tier of which none was told is
    left out. `quarantined` counts what stands in quarantine now; the sizes in `rows` count what was learned, that too.
    A `baseline` is named by its name, with (right, answered) questions; other runs have "" there. `measure` is what
    tells how well the questions go: accuracy, or the mean score of episodes. `shortfalls` says of which questions there
    were fewer than were asked for. `served` counts the calls of a model by the names under which its provider says that
    they were answered; models that answered under the name asked for are left out. `unguided` is None where the
    guidance tier gave, in the end, everything that it was asked for.
    """

    run_id: str
    path: str
    benchmark: str
    seed: int
    execution: str
    guidance: str
    state: str
    iterations_done: int
    iterations: int
    events: int
    head: str
    rows: tuple[IterationRow, ...]
    problem: str = ""
    waiting: Waiting | None = None
    noticing: Noticing | None = None
    judge: str = ""
    judge_calls: int = 0
    episodes: tuple[EpisodeRow, ...] = ()
    actions: tuple[ActionRow, ...] = ()
    frontier: tuple[Exploration, ...] = ()
    ledger: tuple[LedgerRow, ...] = ()
    prices: dict[str, str] = {}
    agents: tuple[AgentRow, ...] = ()
    quarantined: int = 0
    cache_hits: dict[str, float] = {}
    baseline: str = ""
    answered: tuple[int, int] = (0, 0)
    measure: str = "accuracy"
    shortfalls: tuple[str, ...] = ()
    served: dict[str, dict[str, int]] = {}
    unguided: Unguided | None = None


class DigestCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A projection's digest as recorded live ("" if the marker has none) and as rebuilt."""

    projection: str
    recorded: str
    rebuilt: str

    @property
    def equal(self) -> bool | None:
        """Return whether they agree; None where nothing was recorded at this marker."""
        return self.recorded == self.rebuilt if self.recorded else None


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay: how much was folded, in how long, and every digest against the one recorded live."""

    run_id: str
    marker: str
    seq: int
    events: int
    seconds: float
    path: str
    success_memories: int
    failure_memories: int
    principles: int
    checks: tuple[DigestCheck, ...]


class IterationCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A closed iteration folded again. Where it differs: the first projection, both digests, and the first
    differing field if a cached fold of the live state can still be asked ("" if not)."""

    iteration: int
    equal: bool
    projection: str = ""
    recorded: str = ""
    rebuilt: str = ""
    field: str = ""


class GroupScore(msgspec.Struct, frozen=True, kw_only=True):
    """Right answers among some questions."""

    name: str
    correct: int
    total: int


class ExamReport(msgspec.Struct, frozen=True, kw_only=True):
    """An exam on questions that the run never saw.

    `unfamiliar` are the questions of phrasing families that occur only in the exam (None where the benchmark
    has no families). `answers` is (question id, correct) in id order, for paired comparisons. `undecided` answers
    count as wrong: no rule could decide them, and no judge did. `unanswered` are neither right nor wrong and in no
    total: a call for each failed for good.
    """

    run_id: str
    exam_id: str
    marker: str
    control: str
    correct: int
    total: int
    familiar: GroupScore | None
    unfamiliar: GroupScore | None
    task_types: tuple[GroupScore, ...]
    execution_calls: int
    guidance_calls: int
    seconds: float
    task_type_source: str
    answers: tuple[tuple[str, bool], ...]
    judge_calls: int = 0
    undecided: int = 0
    unanswered: int = 0
    episodes: tuple[EpisodeRow, ...] = ()
    embedder_calls: int = 0


class BaselineReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a baseline came to on the held-out questions; `answers` is (question id, correct) in id order.

    `shots` is how many worked examples stood in every prompt. `unanswered` questions are in no total.
    """

    run_id: str
    path: str
    baseline: str
    benchmark: str
    shots: int
    correct: int
    total: int
    unanswered: int
    execution_calls: int
    judge_calls: int
    guidance_calls: int
    output_tokens: int
    answers: tuple[tuple[str, bool], ...]
    episodes: tuple[EpisodeRow, ...] = ()
    embedder_calls: int = 0


class MemoryItem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a run learned: a memory, recipe, pattern or tool. `text` is one line of it."""

    memory_id: str
    kind: str
    task_type: str
    skill: str
    iteration: int
    status: str
    met: int
    text: str


class MemoryList(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run has learned by a marker."""

    run_id: str
    marker: str
    items: tuple[MemoryItem, ...]


class MemoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """One of them in full, what became of it, in how many prompts it stood, how many were answered right."""

    run_id: str
    marker: str
    item: MemoryItem
    fields: dict[str, Any]
    prompts: int
    right: int
    history: tuple[str, ...]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was verified, or what breaks it.

    `measured` is what was found and `bound` what is allowed, in words; `seq` is the first event that breaks it (0:
    none, or it cannot be told), in the log of the run or, of an exam, in its own.
    """

    name: str
    ok: bool
    detail: str
    measured: str = ""
    bound: str = ""
    seq: int = 0


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was verified about a run."""

    run_id: str
    head: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Return whether every check passed."""
        return all(check.ok for check in self.checks)
