"""What logs say about exams: those of a run, and those of baselines (a baseline is an exam that is a run of its own).

Rules
    - The run's log has an `exam.opened` for every exam. Once the exam's own log is complete, the run's log also has an
      `exam.closed` with the result and the head of that log. So the run's head vouches for every answer of every exam.
    - Exams are numbered from 1. The numbers have no gap, unless a repair cut exams from the record (see
      `repair_that_cut`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mage_es.engine.rules.distributions import beta_cdf, beta_quantile, wilson
from mage_es.engine.rules.distributions import sign_test as one_sided
from mage_es.engine.rules.randomness import stream
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.directory import Run
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogDamaged, LogError
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.projections.fold import fold_into
from mage_es.projections.ledger import Ledger

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

RULE = "rule"
"""The judge recorded for an answer that the rule decided."""
ANSWERED = ("iteration", "purpose", "question_id", "task_type", "score_micro", "correct", "strict", "judge", "reason")
LOST = ("iteration", "purpose", "question_id", "task_type", "problem")
PLAYED = ("iteration", "purpose", "episode_id", "steps", "score_micro", "achievements", "unparsed")
"""The fields that reports use: of answers, of questions without one, and of episodes."""

_READS: Reads = {
    v.AnswerJudged: ANSWERED,
    v.AnswerUnanswered: LOST,
    v.AnswerUndecided: LOST,
    v.EpisodeClosed: PLAYED,
    v.ModelCalled: ("tier", "about", "latency_us"),
}
LEVEL = 0.95
"""The level of every interval."""
RIGHT_BY_QUESTION = "exact, paired by question"
SCORES_BY_QUESTION = "bootstrap, paired by question"
_RESAMPLES = 10_000
_NEAR = 1e-12
"""The precision of an interval's ends."""


class ExamRecord(NamedTuple):
    """What a run's log says about an exam. Event `seq` opened it; `closed` is None until it is complete, and `rejudged`
    is None if only one scorer has scored it.
    """

    seq: int
    opened: v.ExamOpened
    closed: v.ExamClosed | None
    rejudged: v.ExamRejudged | None = None

    @property
    def scored_by(self) -> v.ExamOpened | v.ExamRejudged:
        """The event that names the scorer of its verdicts."""
        return self.rejudged or self.opened

    @property
    def number(self) -> int:
        return number_of(self.opened.exam)

    @property
    def summary(self) -> str:
        result = f"{self.closed.correct} of {self.closed.total} right" if self.closed else "unfinished"
        result += f", {self.closed.undecided} undecided" if self.closed and self.closed.undecided else ""
        result += f", scored again {self.rejudged.correct} of {self.rejudged.total}" if self.rejudged else ""
        return f"{self.opened.execution} at {self.opened.marker}, control {self.opened.control}: {result}"

    def is_there(self, run: Run) -> bool:
        return any(exam.path.name == self.opened.exam for exam in run.exams())

    def log(self, run: Run, *, opened: bool = True) -> LogReader:
        """Return the exam's own log; without `opened`, subjects' texts are read as recorded. Raises `LogDamaged` if it
        is missing, or not the one that was recorded."""
        path = run.exam(self.opened.exam).log_path
        if not self.is_there(run):
            raise LogDamaged(f"{path} is missing ({self.summary}): restore the exam from a backup.")
        reader = LogReader(path, opened=opened)
        if self.closed and reader.head != (self.closed.head_seq, self.closed.head_chain):
            raise LogDamaged(
                f"{path} was replaced, cut or added to: it ends with head {reader.head.chain[:16]}, but the run "
                f"recorded {self.closed.head_chain[:16]} ({self.summary}). Restore the exam from a backup."
            )
        return reader


class RecordedExam(NamedTuple):
    """An exam according to its log. `marker` is the one that was requested, `head_seq` its position in the run's log,
    `execution` the model that answered ("" for a baseline). `answers` has a row for each question that was asked (see
    `asked`), `undecided` one for each whose answer is neither right nor wrong, with the `problem`, `episodes` one for
    each episode. `seconds` is the mean time of the execution model for a question, all its calls added up. `recalled`
    questions were answered by the nearest cases, without a call."""

    name: str
    marker: str
    control: str
    execution: str
    head_seq: int
    closed: bool
    answers: pl.DataFrame
    undecided: pl.DataFrame
    episodes: pl.DataFrame
    ledger: Ledger
    seconds: float
    recalled: int

    @property
    def questions(self) -> frozenset[str]:
        """The ids of the questions that were asked, including those left undecided."""
        return frozenset((*self.answers["question_id"], *self.undecided["question_id"]))

    @property
    def answered(self) -> pl.DataFrame:
        """Return the answers without the questions whose call failed. A gain is over these of the earlier exam, since
        against an outage every model gains."""
        import polars as pl

        # Only a lost call has a problem that is not the reason of a verdict.
        return self.answers.filter((pl.col("problem") == "") | (pl.col("reason") != ""))


def exam_records(reader: LogReader) -> Sequence[ExamRecord]:
    """Return every exam that a run's log knows, in order."""
    opened: dict[str, ExamRecord] = {}
    for seq, event in reader.numbered(v.ExamOpened, v.ExamClosed, v.ExamRejudged):
        if isinstance(event, v.ExamOpened):
            opened[event.exam] = ExamRecord(seq, event, None)
        elif isinstance(event, v.ExamClosed) and event.exam in opened:  # a baseline records only its end
            opened[event.exam] = opened[event.exam]._replace(closed=event)
        elif isinstance(event, v.ExamRejudged) and event.exam in opened:
            opened[event.exam] = opened[event.exam]._replace(rejudged=event)
    return list(opened.values())


def learner_of(reader: LogReader) -> str:
    """Return the name of the model that a run learned with, or "" if it has not called any."""
    calls = (call for _, call in reader.events({v.ModelCalled: ("tier", "model")}) if isinstance(call, v.ModelCalled))
    return next((call.model for call in calls if call.tier == "execution"), "")


def is_own(exam: v.ExamOpened | RecordedExam, learner: str) -> bool:
    """Return whether an exam is of the run itself: without a control, by the model that it learned with."""
    return exam.control == "none" and learner in ("", exam.execution)


def number_of(name: str) -> int:
    """Return the number at the start of an exam's name, 0 for any other name."""
    number = name.partition("-")[0]
    return int(number) if number.isdecimal() and number.isascii() else 0


def repair_that_cut(number: int, reader: LogReader) -> int:
    """Return the event of the repair that cut the record of an exam, 0 if no repair can have done so. It lies between
    the records of the exams before and after that number."""
    records = exam_records(reader)
    before = max((record.seq for record in records if record.number < number), default=0)
    after = min((record.seq for record in records if record.number > number), default=reader.head.seq + 1)
    return next((seq for seq, _ in reader.numbered(v.LogRepaired) if before < seq < after), 0)


def read_exam(reader: LogReader, record: ExamRecord | None = None) -> RecordedExam:
    """Return the exam in a log: `record` is its record in the run's log, None for a baseline's own. Raises
    `LogDamaged`."""
    from mage_es.engine.run.frames import frames

    found = frames(reader, _READS)
    answers = asked(found).filter(purpose="exam")
    if record and record.rejudged:
        answers = _anew(answers, record.rejudged)
    return RecordedExam(
        name=record.opened.exam if record else "",
        marker=record.opened.marker if record else "latest",
        control=record.opened.control if record else "none",
        execution=record.opened.execution if record else "",
        head_seq=record.opened.head_seq if record else reader.head.seq,
        closed=record.closed is not None if record else reader.last(v.ExamClosed) > 0,
        answers=answers,
        undecided=found[v.AnswerUndecided].filter(purpose="exam"),
        episodes=found[v.EpisodeClosed],
        ledger=ledger_of(reader),
        seconds=_seconds(found[v.ModelCalled], answers["question_id"]),
        recalled=len(recalled_in(reader)),
    )


def readable(run: Run, records: Iterable[ExamRecord]) -> Iterator[tuple[ExamRecord, dict[str, bool]]]:
    """Yield exams, with whether each answer was right. Left out are exams whose log is missing or replaced, which
    `verify` names, and questions whose call failed."""
    for record in records:
        try:
            answers = read_exam(record.log(run), record).answered
        except LogError:
            continue
        yield record, dict(answers.select("question_id", "correct").rows())


def recalled_in(reader: LogReader, purposes: Collection[str] = ("exam",)) -> list[str]:
    """Return the questions of a log that the nearest cases answered, once for each time; no model gets credit."""
    plans = (event for _, event in reader.events({v.QuestionPlanned: ("question_id", "purpose", "routing_arm")}))
    return [
        plan.question_id
        for plan in plans
        if isinstance(plan, v.QuestionPlanned) and plan.routing_arm == RECALL and plan.purpose in purposes
    ]


def _anew(answers: pl.DataFrame, rejudged: v.ExamRejudged) -> pl.DataFrame:
    """Return answers with the verdicts of the scorer that rescored them."""
    import polars as pl

    verdicts = {each.question_id: each for each in rejudged.verdicts}
    now = [verdicts.get(name) for name in answers["question_id"]]  # no verdict, as the question has no answer
    right = pl.Series([bool(each and each.correct) for each in now], dtype=pl.Boolean)
    score = pl.Series([each.score_micro if each else 0 for each in now], dtype=answers.schema["score_micro"])
    lost = pl.when(right).then(pl.lit("")).otherwise("problem")
    return answers.with_columns(correct=right, score_micro=score, score=score / v.MICRO, problem=lost)


def asked(found: Mapping[type[v.Event], pl.DataFrame]) -> pl.DataFrame:
    """Return every question that was asked and decided, with its `score` in [0, 1] and the `problem` of a lost call.

    A question without an answer was still asked: it counts as wrong, with the `problem` as the reason. A wrong answer
    whose reply was cut, refused or empty has a `problem` too; for all others it is "". The number of rows is the
    denominator of every accuracy.
    """
    import polars as pl

    judged = found[v.AnswerJudged].with_columns(problem=pl.when(pl.col("correct")).then(pl.lit("")).otherwise("reason"))
    wrong = {"score_micro": 0, "correct": False, "strict": False, "judge": RULE, "reason": ""}
    types = {name: judged.schema[name] for name in wrong}
    lost = found[v.AnswerUnanswered].with_columns(
        pl.lit(value).cast(types[name]).alias(name) for name, value in wrong.items()
    )
    rows = pl.concat([judged, lost.select(judged.columns)]).sort("seq", maintain_order=True)
    return rows.with_columns(score=pl.col("score_micro") / v.MICRO)


def reasons(answers: pl.DataFrame) -> dict[str, int]:
    """Return how many rows have a `problem`, by kind; for answers, the kind of fault (engine/seams/faults.py)."""
    import polars as pl

    problems = answers.filter(pl.col("problem") != "")["problem"]
    return dict(sorted(Counter(problem.partition(":")[0] for problem in problems).items()))


def interval(right: int, asked: int) -> tuple[float, float] | None:
    """Return the Wilson score interval of a share of right answers, both ends in [0, 1]; None if nothing was asked."""
    return wilson(right, asked, level=LEVEL) if asked else None


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A 95 % interval and its method; `pairs` is the number of seeds or questions, `p` the two-sided p value."""

    low: float
    high: float
    method: str
    pairs: int
    p: float | None = None


class PairedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between two sides on the questions that both were asked: in points, and how many only one got
    right."""

    points: float
    better: int
    worse: int
    interval: Interval


def paired_difference(one: Mapping[Any, bool], other: Mapping[Any, bool]) -> PairedDifference:
    """Compare two sides, each given as right or not by question."""
    differences = [float(is_right) - float(other[name]) for name, is_right in one.items() if name in other]
    return PairedDifference(
        points=100 * sum(differences) / max(1, len(differences)),
        better=differences.count(1.0),
        worse=differences.count(-1.0),
        interval=by_question(differences),
    )


def by_question(differences: Sequence[float]) -> Interval:
    """Return the interval of a mean difference over questions, in points, and p of the exact two-sided sign test.

    For right and wrong answers (differences of -1, 0 and 1) the interval is exact, see `paired`; for scores it is taken
    from the percentiles of 10,000 resamples, from a stream that depends only on the counts.
    """
    counts = Counter(differences)
    better, worse = (sum(count for d, count in counts.items() if d * sign > 0) for sign in (1, -1))
    if counts.keys() <= {-1.0, 0.0, 1.0}:
        (low, high), method = paired(better, worse, len(differences)), RIGHT_BY_QUESTION
    else:
        (low, high), method = _resampled(counts), SCORES_BY_QUESTION
    p = sign_test(better, worse)
    return Interval(low=100 * low, high=100 * high, method=method, pairs=len(differences), p=p)


def paired(better: int, worse: int, asked: int) -> tuple[float, float]:
    """Return the interval of the difference between two shares of right answers to the same questions, in [-1, 1].

    It excludes 0 exactly when the exact sign test rejects it at `LEVEL`, and is conservative for few questions. A
    resampled interval is too short: with five questions won and none lost it excludes 0 at p = 0.06. (Fay and Lumbard
    2021, Statistics in Medicine 40, 1147: the confidence distributions of Clopper and Pearson for the share of
    questions that changed, and for the share of these that were won, melded.)
    """
    tail = (1 - LEVEL) / 2
    return _least(better, worse, asked, tail), -_least(worse, better, asked, tail)


@lru_cache  # a list shows every exam's, time after time
def _least(better: int, worse: int, asked: int, tail: float) -> float:
    """Return the lower end: the quantile `tail` of changed * (2 * won - 1), at which the two shares take their least
    values."""
    import numpy as np

    changed, same = better + worse, asked - better - worse
    if not better:  # the least share won is 0, and the difference is minus the share that changed
        return -float(beta_quantile(changed + 1, same, 1 - tail)) if same else -1.0
    # Legendre's nodes on either side of the kink at 1/2, in probability: at 0 the sum is the sign test's own p.
    nodes, weights = np.polynomial.legendre.leggauss(64)
    places, weights = (1 + nodes) / 2, weights / 2
    kink = float(beta_cdf(better, worse + 1, 0.5))
    if kink <= tail:
        won = 2 * beta_quantile(better, worse + 1, kink + (1 - kink) * places) - 1

        def above(least: NDArray[np.float64]) -> NDArray[np.float64]:
            reached = beta_cdf(changed, same + 1, np.minimum(1, least[:, None] / won))
            return kink + (1 - kink) * (reached @ weights) - tail

        return _root(above, 0.0, 1.0)
    if not same:
        return 2 * float(beta_quantile(better, worse + 1, tail)) - 1
    lost = 1 - 2 * beta_quantile(better, worse + 1, kink * places)

    def below(least: NDArray[np.float64]) -> NDArray[np.float64]:
        return kink * ((1 - beta_cdf(changed + 1, same, np.minimum(1, -least[:, None] / lost))) @ weights) - tail

    return _root(below, -1.0, 0.0)


def _root(rising: Callable[[NDArray[np.float64]], NDArray[np.float64]], low: float, high: float) -> float:
    """Return where a rising function is 0, for many points at once."""
    import numpy as np

    while high - low > _NEAR:
        points = np.linspace(low, high, 18)
        below = int(np.searchsorted(rising(points[1:-1]), 0.0))
        low, high = float(points[below]), float(points[below + 1])
    return (low + high) / 2


def _resampled(counts: Mapping[float, int]) -> tuple[float, float]:
    import numpy as np

    ordered, asked = sorted(counts.items()), sum(counts.values())
    values, shares = np.array([value for value, _ in ordered]), np.array([count for _, count in ordered]) / asked
    key = ",".join(f"{value!r}:{count}" for value, count in ordered)
    drawn = stream(0, "report.bootstrap", subject=key).multinomial(asked, shares, size=_RESAMPLES)
    low, high = np.quantile(drawn @ values / asked, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided p value of the exact sign test, which ignores ties; 1 if there are only ties."""
    return min(1.0, 2 * one_sided(max(better, worse), better + worse))


def ledger_of(reader: LogReader) -> Ledger:
    """Return every call of a log, and every failed attempt, by account."""
    ledger = Ledger()
    fold_into((ledger,), reader, until=reader.head.seq)
    return ledger


def _seconds(calls: pl.DataFrame, questions: pl.Series) -> float:
    import polars as pl

    if questions.is_empty():
        return 0.0
    # One of several calls is about `question/part`; a question's id may have slashes of its own.
    about, names = pl.col("about"), questions.implode()
    is_asked = about.is_in(names) | about.str.replace(r"/[^/]*$", "").is_in(names)
    return int(calls.filter(is_asked, tier="execution")["latency_us"].sum()) / 1e6 / len(questions)
