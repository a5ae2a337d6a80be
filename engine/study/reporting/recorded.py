"""What reports need from one run and its exams, read from their logs once, as polars frames.

Nothing here is computed beyond what a log says: answers with their verdicts, calls with their latencies, episodes,
choices of arms, and the graph and the slots as they were when each iteration was closed.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import polars as pl

from mage_es.engine.config import Config, parse
from mage_es.engine.run import exams
from mage_es.engine.run.anchors import unmeasured
from mage_es.engine.run.directory import Run, age, is_run
from mage_es.engine.run.frames import frames
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.world import baseline_of, first_event
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.projections.fold import fold_into
from mage_es.projections.graph import Graph
from mage_es.projections.slots import Slots

ExamState = Literal["start", "end"]
"""Before the first iteration, or after the last."""
MEMORIES = {"success memories": "success_memory", "failure memories": "failure_memory", "principles": "principle"}
"""The kinds of memories that are counted, and their outcomes in the log."""
SIZES = ("skills", "task types", "task types covered", "nodes", "edges", *MEMORIES)
"""The sizes of a graph; a task type is covered once it has been a target of EVOLVE."""
_MASTERY = pl.List(pl.Struct({"skill": pl.String, "mastery": pl.Float64}))
_READS: Reads = {
    v.AnswerJudged: exams.ANSWERED,
    v.AnswerUnanswered: exams.LOST,
    v.AnswerCarried: ("iteration", "question_id", "correct"),
    v.EpisodeClosed: exams.PLAYED,
    v.QuestionPlanned: ("iteration", "purpose", "search_arm", "routing_arm"),
    v.MemoryAppended: ("memory_id", "outcome", "iteration"),
    v.IterationClosed: ("iteration",),
    v.RunFinished: ("iterations",),
    v.SplitCommitted: ("split", "size"),
}


class RecordedRun:
    """A run according to its log, with its exams; `problems` names the damaged ones, which do not count."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.reader = LogReader(run.log_path)
        self.begun: v.RunStarted = first_event(self.reader)
        self.config: Config = parse(self.begun.config)
        self.ledger = exams.ledger_of(self.reader)
        events = frames(self.reader, _READS)
        # A parent's verdicts, which a run that continues it has in its log, are not results of this run.
        self.parent = inheritance(self.reader)
        own = pl.col("seq") > last_inherited(self.reader)
        self.answers, self._carried = exams.asked(events).filter(own), events[v.AnswerCarried]
        self.episodes = events[v.EpisodeClosed]
        self.planned = events[v.QuestionPlanned].filter(pl.col("purpose").is_in(["fresh", "revisit"]))
        self.closed: Mapping[int, int] = dict(sorted(events[v.IterationClosed].select("iteration", "seq").iter_rows()))
        self.iterations: Sequence[int] = list(self.closed)[1:]  # without the start
        self.taken: Mapping[str, int] = dict(events[v.SplitCommitted].select("split", "size").iter_rows())
        begun = baseline_of(self.reader)
        self.baseline, self.shots = (begun.baseline, len(begun.shots)) if begun else ("", 0)
        self.finished = not events[v.RunFinished].is_empty()
        self.is_sequential = not self.episodes.is_empty()
        self._born = events[v.MemoryAppended].unique("memory_id", keep="first")
        self.problems: list[str] = []
        # A baseline's exam is in the run's own log.
        self.exams = [exams.read_exam(self.reader)] if self.baseline else list(self._read_exams())

    def _read_exams(self) -> Iterator[exams.RecordedExam]:
        for record in exams.exam_records(self.reader):
            try:
                yield exams.read_exam(record.log(self.run), record)
            except (LogError, OSError) as error:
                self.problems.append(f"Exam {record.opened.exam} of {self.run.id} is left out: {error}")

    def log_of(self, exam: exams.RecordedExam) -> LogReader:
        return LogReader(self.run.exams_path / exam.name / "log") if exam.name else self.reader

    def counting(self, state: ExamState) -> exams.RecordedExam | None:
        """Return the exam on a state that counts: the first complete one with a size that was registered or, failing
        that, with all held-out questions; else the first of the largest size. It is never chosen for being the newest,
        so that an exam cannot be repeated until the result pleases."""
        whole = [exam for exam in self.taken_of(state) if exam.closed]
        wanted = (*(event.questions for event in self.reader.of(v.RunRegistered)), self.taken.get("held_out", 0))
        fitting = (exam for size in wanted for exam in whole if len(exam.questions) == size)
        return next(fitting, None) or max(whole, key=lambda exam: len(exam.questions), default=None)

    def taken_of(self, state: ExamState) -> list[exams.RecordedExam]:
        """Return the run's own exams on the state before the first iteration or after the last, in the order of their
        start."""
        start, then, *_ = (*self.closed.values(), 0, 0)
        since, before = (start, then) if state == "start" else (max(self.closed.values(), default=0), 0)
        if state == "start" and (not start or self.baseline):
            return []
        learner, before = "" if self.baseline else exams.learner_of(self.reader), before or self.reader.head.seq + 1
        return [exam for exam in self.exams if exams.is_own(exam, learner) and since <= exam.head_seq < before]

    def anchors(self, score: str) -> pl.DataFrame:
        """Return the mean of `score` at each iteration, in percent, over the anchors measured in it; an anchor that
        would have been shown the same keeps its score."""
        kept = [(k, name) for k, names in unmeasured(self.reader).items() for name in names]
        older = pl.DataFrame(kept, {"iteration": pl.Int64, "question_id": pl.String}, orient="row")
        asked = self.answers.filter(purpose="anchor").select("iteration", value=pl.col(score).cast(pl.Float64))
        # An episode is never known to have the same prompt, so what is carried over is simply right or wrong.
        same = self._carried.join(older, on=older.columns, how="anti")
        means = (
            pl.concat([asked, same.select("iteration", value=pl.col("correct").cast(pl.Float64))])
            .group_by("iteration")
            .agg((100 * pl.col("value").mean()).alias("value"))
        )
        return means.sort("iteration")

    @property
    def mastery(self) -> pl.DataFrame:
        """Return the mastery of each skill at the end of every iteration."""
        return self.growth.select("iteration", "mastery").explode("mastery").drop_nulls().unnest("mastery")

    @cached_property
    def growth(self) -> pl.DataFrame:
        """Return `SIZES` at the end of every iteration (-1: the start), and the mastery of the skills."""
        selected = list(self.reader.of(v.TargetsSelected))
        covered = {target.task_type: event.iteration for event in reversed(selected) for target in event.targets}
        graph, slots, since, rows = Graph(), Slots(), None, list[dict[str, object]]()
        for k, seq in self.closed.items():
            fold_into((graph, slots), self.reader, since=since, until=seq)
            since = seq + 1
            born = self._born.filter(pl.col("iteration") <= k)["outcome"]
            rows.append(
                {
                    "iteration": k,
                    "skills": len(graph.skills()),
                    "task types": len(graph.task_types()),
                    "task types covered": sum(first <= k for first in covered.values()),
                    "nodes": sum(graph.node_counts().values()) + len(born),
                    "edges": sum(graph.edge_counts().values()),
                    **{name: int((born == outcome).sum()) for name, outcome in MEMORIES.items()},
                    "mastery": [{"skill": skill, "mastery": slots.mastery(skill)} for skill in graph.skills()],
                }
            )
        return pl.DataFrame(rows, {"iteration": pl.Int64, **dict.fromkeys(SIZES, pl.Int64), "mastery": _MASTERY})


def find_runs(folder: Path) -> list[Run]:
    """Return the runs in a folder and its subfolders, oldest first, without exams, the pasts of forks and hidden
    folders."""
    folders = {path.parent for name in ("log", "exams") for path in folder.rglob(name)}
    runs = [
        Run(path.name, path)
        for path in folders
        if path.parent.name not in ("exams", "effects")
        and (path.name, path.parent.name) != ("past", "log")
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and is_run(path)
    ]
    return sorted(runs, key=age)
