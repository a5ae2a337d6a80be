"""What reports need of one run and of its exams, read off their logs once, column by column.

Nothing here is computed that a log does not say: answers with their verdicts, calls with their latencies, episodes,
choices of arms, and the graph and the slots as they were when each iteration was closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from mage_es.engine.config import Config, parse
from mage_es.engine.opening import first_event
from mage_es.engine.runs import Run
from mage_es.events.batches import Batch, Batches, Reads
from mage_es.events.errors import LogError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    MICRO,
    AnswerJudged,
    BaselineStarted,
    CallFailed,
    EmbeddingCalled,
    EpisodeClosed,
    Event,
    ExamClosed,
    ExamStarted,
    IterationClosed,
    MemoryAppended,
    ModelCalled,
    QuestionPlanned,
    RunFinished,
    RunStarted,
    SplitCommitted,
    TargetsSelected,
)
from mage_es.projections.fold import fold_into
from mage_es.projections.graph import Graph
from mage_es.projections.ledger import Ledger
from mage_es.projections.slots import Slots

RULE = "rule"
"""Who decided an answer that needed no judge."""


class Answer(NamedTuple):
    """A verdict: the score in [0, 1], whether that is right, whether it is by the strict rule, and who decided."""

    iteration: int
    purpose: str
    question_id: str
    score: float
    correct: bool
    strict: bool
    judge: str


class Played(NamedTuple):
    """The end of an episode; `unparsed` of its `steps` were replies that named no action."""

    iteration: int
    purpose: str
    episode_id: str
    steps: int
    score: float
    achievements: int
    unparsed: int


class Growth(NamedTuple):
    """What the graph and the slots were when an iteration (-1: the start) was closed."""

    iteration: int
    skills: int
    task_types: int
    covered: int
    nodes: int
    edges: int
    memories: Mapping[str, int]
    mastery: Mapping[str, float]


class Sat(NamedTuple):
    """An exam: of which state, every verdict by question id, seconds of model calls by question id, and the calls.

    `marker` is what was asked for, `head_seq` where that is in the run's log; `closed` is whether it came to its end.
    """

    name: str
    marker: str
    control: str
    head_seq: int
    closed: bool
    answers: Mapping[str, Answer]
    seconds: Mapping[str, float]
    ledger: Ledger
    episodes: Sequence[Played]


class Recorded:
    """A run as its log tells it; what costs more than a look at the columns is read when it is first asked for.

    `problems` names the exams that were found to be damaged so far, which count for nothing.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.problems: list[str] = []
        self.reader = LogReader(run.log_path)
        self.begun: RunStarted = first_event(self.reader)
        self.config: Config = parse(self.begun.config)
        columns = _Columns(self.reader)
        self.answers = columns.answers()
        self.episodes = columns.episodes()
        self.ledger = columns.ledger()
        self.pulls = columns.pulls()
        self.closed = columns.closed()
        self.taken: Mapping[str, int] = {row["split"]: row["size"] for row in columns.of(SplitCommitted)}
        self.baseline, self.shots = _baseline(columns)
        self.baseline_closed = bool(self.baseline and columns.of(ExamClosed))
        self.finished = bool(columns.of(RunFinished)) or self.baseline_closed
        self._columns = columns

    @property
    def is_sequential(self) -> bool:
        """Return whether its questions are episodes."""
        return bool(self.episodes)

    @property
    def is_judged(self) -> bool:
        """Return whether an answer was not left to the rule, of the run or of an exam."""
        exams = () if self.baseline else self.exams
        return any(
            answer.judge != RULE for each in (self.answers, *(e.answers.values() for e in exams)) for answer in each
        )

    @property
    def iterations(self) -> Sequence[int]:
        """Return the closed iterations in order, without the start."""
        return [k for k in sorted(self.closed) if k >= 0]

    @cached_property
    def exams(self) -> Sequence[Sat]:
        """The exams in the order in which they were sat; that of a baseline stands in its own log."""
        if self.baseline:
            return [self._own_exam()]
        found = []
        for exam in self.run.exams():
            try:
                found.append(read_exam(exam.path.name, LogReader(exam.log_path)))
            except LogError as error:
                self.problems.append(f"Exam {exam.path.name} of {self.run.id} is left out: {error}")
        return found

    @property
    def final(self) -> Sat | None:
        """Return the latest whole exam on the state at the end of the run, None where there is none."""
        return self._latest(max(self.closed.values(), default=0))

    @property
    def initial(self) -> Sat | None:
        """Return the latest whole exam on the state before the first iteration, None where there is none."""
        start, then = self.closed.get(-1), self.closed.get(0, self.reader.head.seq + 1)
        return self._latest(start, before=then) if start is not None and not self.baseline else None

    def series(self, purpose: str) -> Mapping[int, Sequence[Answer]]:
        """Return the answers of one purpose by iteration, in the order of the log."""
        found: dict[int, list[Answer]] = {}
        for answer in self.answers:
            if answer.purpose == purpose:
                found.setdefault(answer.iteration, []).append(answer)
        return found

    @cached_property
    def growth(self) -> Sequence[Growth]:
        """The sizes of the graph at the end of every iteration, by folding graph and slots that far."""
        graph, slots, rows, done = Graph(), Slots(), list[Growth](), 0
        memories, covered = self._columns.memories(), self._columns.covered()
        for k, seq in sorted(self.closed.items()):
            fold_into((graph, slots), self.reader, since=done + 1, until=seq)
            done = seq
            skills = graph.skills()
            rows.append(
                Growth(
                    iteration=k,
                    skills=len(skills),
                    task_types=len(graph.task_types()),
                    covered=len({name for name, first in covered.items() if first <= k}),
                    nodes=sum(n for subgraph, n in graph.node_counts().items() if subgraph != "provenance"),
                    edges=sum(graph.edge_counts().values()),
                    memories=_up_to(memories, k),
                    mastery={skill: slots.mastery(skill) for skill in skills},
                )
            )
        return rows

    def _latest(self, since: int, *, before: int | None = None) -> Sat | None:
        fits = [
            exam
            for exam in self.exams
            if exam.closed
            and exam.control == "none"
            and since <= exam.head_seq
            and (not before or exam.head_seq < before)
        ]
        return fits[-1] if fits else None

    def _own_exam(self) -> Sat:
        seconds = _seconds(self._columns, [answer.question_id for answer in self.answers])
        answers = {answer.question_id: answer for answer in self.answers if answer.purpose == "exam"}
        head = self.reader.head.seq
        return Sat("", "latest", "none", head, self.baseline_closed, answers, seconds, self.ledger, self.episodes)


def read_exam(name: str, reader: LogReader) -> Sat:
    """Return an exam from its log. Raises `LogDamaged`."""
    columns = _Columns(reader)
    started = columns.of(ExamStarted)
    answers = {answer.question_id: answer for answer in columns.answers()}
    return Sat(
        name=name,
        marker=started[0]["marker"] if started else "",
        control=started[0]["control"] if started else "",
        head_seq=started[0]["head_seq"] if started else 0,
        closed=bool(columns.of(ExamClosed)),
        answers=answers,
        seconds=_seconds(columns, answers),
        ledger=columns.ledger(),
        episodes=columns.episodes(),
    )


_CALLS = ("tier", "purpose", "about", "latency_us")
_READS: Reads = {
    AnswerJudged: ("iteration", "purpose", "question_id", "score_micro", "correct", "strict", "judge"),
    ModelCalled: (*dict.fromkeys((*Ledger.reads[ModelCalled], *_CALLS)),),
    CallFailed: Ledger.reads[CallFailed],
    EmbeddingCalled: Ledger.reads[EmbeddingCalled],
    EpisodeClosed: ("iteration", "purpose", "episode_id", "steps", "score_micro", "achievements", "unparsed"),
    QuestionPlanned: ("iteration", "purpose", "search_arm", "routing_arm"),
    MemoryAppended: ("memory_id", "outcome", "iteration"),
    IterationClosed: ("iteration",),
    TargetsSelected: ("iteration", "targets"),
    RunFinished: ("iterations",),
    SplitCommitted: ("split", "size"),
    BaselineStarted: ("baseline", "shots"),
    ExamStarted: ("marker", "control", "head_seq"),
    ExamClosed: ("correct", "total"),
}


class _Columns:
    """The columns of a log that reports look at, stretch by stretch."""

    def __init__(self, reader: LogReader) -> None:
        self._stretches: Sequence[Batches] = list(reader.batches(_READS))

    def of(self, cls: type[Event]) -> list[dict[str, Any]]:
        """Return the events of a type as rows of the wanted fields."""
        return [
            dict(zip(_READS[cls], row, strict=True))
            for batch in self._batches(cls)
            for row in zip(*(batch.columns[name] for name in _READS[cls]), strict=True)
        ]

    def answers(self) -> list[Answer]:
        """Return every verdict, in the order of the log."""
        return [
            Answer(row[0], row[1], row[2], row[3] / MICRO, *row[4:])
            for batch in self._batches(AnswerJudged)
            for row in zip(*(batch.columns[name] for name in _READS[AnswerJudged]), strict=True)
        ]

    def episodes(self) -> list[Played]:
        """Return the end of every episode, in the order of the log."""
        return [
            Played(
                iteration=row["iteration"],
                purpose=row["purpose"],
                episode_id=row["episode_id"],
                steps=row["steps"],
                score=row["score_micro"] / MICRO,
                achievements=len(row["achievements"]),
                unparsed=row["unparsed"],
            )
            for row in self.of(EpisodeClosed)
        ]

    def ledger(self) -> Ledger:
        """Return every call and every failed attempt, by account."""
        ledger = Ledger()
        for batch in self._batches(ModelCalled):
            ledger.apply_columns(ModelCalled, batch.columns)
        for cls in (CallFailed, EmbeddingCalled):
            for batch in self._batches(cls):
                for event in batch.events:
                    ledger.apply(event)
        return ledger

    def pulls(self) -> Counter[tuple[str, int, str]]:
        """Return how often each arm was planned in EVALUATE, by (bandit, iteration, arm)."""
        found: Counter[tuple[str, int, str]] = Counter()
        for row in self.of(QuestionPlanned):
            if row["purpose"] in ("fresh", "revisit"):
                found["search", row["iteration"], row["search_arm"]] += 1
                found["routing", row["iteration"], row["routing_arm"]] += 1
        return found

    def closed(self) -> dict[int, int]:
        """Return the sequence number at which each iteration was closed, -1 being the start."""
        pairs = (zip(batch.columns["iteration"], batch.seqs, strict=True) for batch in self._batches(IterationClosed))
        return {iteration: seq for stretch in pairs for iteration, seq in stretch}

    def memories(self) -> Counter[tuple[int, str]]:
        """Return how many different memories were made, by (iteration, outcome)."""
        born = {row["memory_id"]: (row["iteration"], row["outcome"]) for row in reversed(self.of(MemoryAppended))}
        return Counter(born.values())

    def covered(self) -> dict[str, int]:
        """Return the first iteration in which each task type was a target of EVOLVE."""
        found: dict[str, int] = {}
        for row in self.of(TargetsSelected):
            for target in row["targets"]:
                found.setdefault(target.task_type, row["iteration"])
        return found

    def calls(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield tier, purpose, subject and microseconds of each call."""
        for batch in self._batches(ModelCalled):
            yield from zip(*(batch.columns[name] for name in _CALLS), strict=True)

    def _batches(self, cls: type[Event]) -> Iterator[Batch]:
        return (stretch[cls] for stretch in self._stretches if cls in stretch)


def _seconds(columns: _Columns, questions: Sequence[str] | Mapping[str, object]) -> dict[str, float]:
    """Return the seconds that the execution model took for each question, all calls of its course added up."""
    taken = dict(zip(questions, repeat(0.0)))
    for tier, _, about, latency_us in columns.calls():
        name = about if about in taken else about.rpartition("/")[0]
        if tier == "execution" and name in taken:
            taken[name] += latency_us / 1e6
    return taken


def _up_to(memories: Counter[tuple[int, str]], iteration: int) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for (born, outcome), count in memories.items():
        if born <= iteration:
            sizes[outcome] += count
    return dict(sizes)


def _baseline(columns: _Columns) -> tuple[str, int]:
    """Return a baseline's name, "" where the run is none, and how many worked examples stood in each of its prompts."""
    begun = columns.of(BaselineStarted)
    return (begun[0]["baseline"], len(begun[0]["shots"])) if begun else ("", 0)
