"""The verb `ring`: methods that learn, MAGE among them, on the same questions, with the same model and scorer.

Rules
    - One division per seed: every method is examined on the same held-out questions, and sees the same number of
      others. What MAGE sets aside as anchors counts among those that it sees; the others have no anchors and learn from
      them too.
    - Each method has a run of its own for each seed, in the folder of the runs, under a fixed name. The same ring
      continues where it stopped: a finished run is read, an unfinished one resumed, and no recorded call is made again.
      A run of that name by another method, on other data, or that began with what another learned, is refused.
    - Differences are paired by seed and question, with the exact interval and sign test of exams over all answers of
      all seeds. These pooled numbers treat answers as independent, though those of one seed share what was learned:
      where seeds differ, the interval is too short for another seed (`tests/bench/by_seed.py`). So from `LEAST_SEEDS`
      seeds on there is also the t interval of the seeds' mean differences, and it then decides.
    - A failed call is a wrong answer. But a difference is not over questions where the other method's failed: against
      an outage every method gains.
    - MAGE has `lost` if the interval of its difference from `knn` lies below 0.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark, title, with_own_models
from mage_es.engine.config import Config, changes, checked, parse
from mage_es.engine.models.registry import Models, require_learner
from mage_es.engine.rules.own import OF_ANCHORS
from mage_es.engine.rules.splits import ANCHOR_SHARE
from mage_es.engine.run.budget import UNLIMITED
from mage_es.engine.run.directory import RUNS_DIR, Run, delete_run
from mage_es.engine.run.exams import (
    Interval,
    PairedDifference,
    exam_records,
    interval,
    ledger_of,
    paired_difference,
    read_exam,
)
from mage_es.engine.run.inheriting import inheritance
from mage_es.engine.run.notices import left_out
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import baseline_of, divide, first_event
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.study.baseline import (
    ALSO,
    LEARNED,
    abaseline,
    aresume_baseline,
    is_writing,
    reduced,
    require_baseline,
    tokens_of,
    with_writer,
)
from mage_es.engine.study.baselines.table import is_method
from mage_es.engine.study.reporting.cells import BY_SEED, cell_of
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.evolve import aevolve
from mage_es.engine.verbs.exam import aexamine
from mage_es.engine.verbs.resume import aresume
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, ModelCalled, RunFinished, RunRegistered, Tier
from mage_es.projections.ledger import Usage

MAGE, PLAIN, NOTHING, LOOK_UP = "mage", "knn", "zero_shot", "nearest_label"
POOL = 24
"""Roughly how many questions an iteration of MAGE has, since a ring has few questions in all."""
LEAST_ANCHORS = 3
"""If there would be fewer, there are none: one or two decide nothing, and of ten questions each is a tenth of what can
be learned."""
LEAST_SEEDS = 5
"""How many seeds an interval over seeds needs: with fewer, the spread is hardly known, and t makes it too wide to
use."""
ANSWERING: tuple[Tier, ...] = ("execution", "judge")


_Verb = Callable[..., Awaitable[object]]


class RingDifference(PairedDifference, frozen=True, kw_only=True):
    """One method minus another on the questions of the same seeds.

    `interval` pools all answers. `by_seed` is the t interval of the seeds' mean differences: None with fewer than
    `LEAST_SEEDS`, or where all seeds have the same difference.
    """

    to: str
    by_seed: Interval | None = None

    @property
    def is_behind(self) -> bool:
        return (self.by_seed or self.interval).high < 0


class RingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A method's results over all seeds; `interval` is Wilson's at 95 %.

    `differences` are those from `knn`, `zero_shot` and `nearest_label`, where they took part.
    `input_tokens` and `output_tokens` are means per held-out question, `learning_tokens` and `guidance_tokens` sums of
    all that learning used and of the guidance model's part; `writer` is the model that wrote, for MAGE and methods that
    write; `learned` is the smallest number of questions that it learned from in a seed, `reduced` says how else it is
    reduced, and `over_budget` by how many tokens its learning went over the budget, in its worst seed. `undecided`
    answers are in no other number, failed calls are wrong answers. `lost`: significantly worse than `knn`, for MAGE
    only.
    """

    method: str
    correct: int
    total: int
    interval: tuple[float, float] | None
    differences: tuple[RingDifference, ...]
    input_tokens: float
    output_tokens: float
    learning_tokens: int
    guidance_tokens: int
    calls: int
    writer: str = ""
    learned: int = 0
    reduced: str = ""
    over_budget: int = 0
    undecided: int = 0
    lost: bool = False


class RingReport(msgspec.Struct, frozen=True, kw_only=True):
    """A ring: its rows in the order of its methods, and the runs that they are read from."""

    benchmark: str
    execution: str
    guidance: str
    seeds: tuple[int, ...]
    learned: int
    budget_tokens: int
    rows: tuple[RingRow, ...]
    runs: tuple[str, ...]


class _Sat(NamedTuple):
    """A method's exam of one seed: which questions it got right, those of them with a reply, from how many it had
    learned, and what was used for the exam and before it, by tier."""

    right: Mapping[str, bool]
    answered: Collection[str]
    undecided: int
    learned: int
    examined: Sequence[Usage]
    learning: int
    guidance: int


class _Ring(NamedTuple):
    config: Config
    name: str
    runs_dir: Path
    data_dir: Path | str | None
    runtime: Runtime
    questions: int | None
    learned: int
    budget_tokens: int
    models: Models | None
    registration: RunRegistered | None
    benchmark: Callable[[int], Benchmark]
    """Opens the benchmark with a seed."""

    def run(self, method: str, seed: int) -> Run:
        name = f"{self.name}-{method}-s{seed}"
        return Run(name, self.runs_dir / name)

    async def take(self, method: str, seed: int) -> _Sat:
        """Finish a method's run from wherever it stopped, and return its exam."""
        run, config = self.run(method, seed), msgspec.structs.replace(self.config, seed=seed)
        if run.events:
            self._require_own(run, method, seed)
        return await (self._mage(run, config) if method == MAGE else self._method(run, config, method))

    def _require_own(self, run: Run, method: str, seed: int) -> None:
        """Raise `UsageError` if a run is not one that this ring would have begun, except for its configuration."""
        reader = LogReader(run.log_path)
        begun, other = baseline_of(reader), inheritance(reader)
        name, shown = (begun.baseline, len(begun.learned)) if begun else (MAGE, 0)
        learned = self.learned if method != MAGE and is_method(method) else 0
        problem = f"began with what {other.parent} had learned" if other else ""
        if (name, shown) != (method, learned):
            problem = f"is of {name} with {shown} questions to learn from, and not of {method} with {learned}"
        if first_event(reader).data_sha256 != self.benchmark(seed).data_sha256:
            problem = "was made with other data"
        if problem:
            raise UsageError(f"{run.path} {problem}: give this ring another --name, or move that run elsewhere.")

    def _require_same(self, run: Run, config: Config, models: Models | None) -> None:
        """Raise `UsageError` if a run was started with other settings. One that got no reply is deleted: a wrong
        address of the model is corrected by the same command with the right one."""
        if not run.events:
            return
        reader, asked = LogReader(run.log_path), models.named_in(config) if models else config
        if not (listed := changes(parse(first_event(reader).config), asked)):
            return
        if reader.last(ModelCalled) or reader.last(AnswerJudged):  # a look-up is judged without a call
            raise UsageError(
                f"{run.path} was started with another configuration: {listed}. Give this ring another --name, or "
                f"delete that run: `mage-es runs delete {run.id}`."
            )
        delete_run(run)

    async def _method(self, run: Run, config: Config, method: str) -> _Sat:
        config = with_writer(msgspec.structs.replace(config, anchors=0), method)
        begin = partial(
            abaseline,
            method,
            questions=self.questions,
            learn_from=self.learned if is_method(method) else None,
            budget_tokens=self.budget_tokens,
        )
        models = (
            self.models
            if self.models is None or config.guidance
            else msgspec.structs.replace(self.models, guidance=None)
        )
        self._require_same(run, config, models)
        await self._go_on(run, config, begin, aresume_baseline, self.runtime, models)
        reader = LogReader(run.log_path)
        sat, begun = read_exam(reader), baseline_of(reader)
        exam = [sat.ledger.total(tier, iteration=-1) for tier in ANSWERING]
        learning = tokens_of(sat.ledger) - sum(map(_tokens, exam))
        right = dict(sat.answers.select("question_id", "correct").iter_rows())
        learned = learned_in(reader) or len(begun.learned if begun else ())  # questions that are not asked are shown
        guidance, answered = _tokens(sat.ledger.total("guidance")), frozenset(sat.answered["question_id"])
        return _Sat(right, answered, len(sat.undecided), learned, exam, learning, guidance)

    async def _mage(self, run: Run, config: Config) -> _Sat:
        """Evolve to the end or, if tokens are limited, one iteration at a time."""
        config, runtime, most = self._sized(config), self.runtime, 0
        limits = runtime.limits or UNLIMITED
        self._require_same(run, config, self.models)
        while not (run.events and LogReader(run.log_path).last(RunFinished)):
            spent = tokens_of(ledger_of(LogReader(run.log_path))) if run.events else 0
            if 0 < self.budget_tokens <= spent:
                break
            most += 1
            if self.budget_tokens:
                runtime = msgspec.structs.replace(runtime, limits=msgspec.structs.replace(limits, max_iterations=most))
            try:
                await self._go_on(run, config, aevolve, aresume, runtime, self.models)
            except BudgetReached:
                if not self.budget_tokens or limits != UNLIMITED:
                    raise
        report = await aexamine(
            run, questions=self.questions, data_dir=self.data_dir, runtime=self.runtime, **examinees(self.models)
        )
        reader = LogReader(run.log_path)
        record = next(each for each in exam_records(reader) if each.opened.exam == report.exam_id)
        exam, learning = read_exam(record.log(run), record), ledger_of(reader)
        used = [exam.ledger.total(tier) for tier in ANSWERING]
        undecided, guidance = sum(report.undecided.values()), _tokens(learning.total("guidance"))
        right, answered = dict(report.answers), frozenset(exam.answered["question_id"])
        return _Sat(right, answered, undecided, learned_in(reader), used, tokens_of(learning), guidance)

    async def _go_on(
        self, run: Run, config: Config, begin: _Verb, resume: _Verb, runtime: Runtime, models: Models | None
    ) -> None:
        shared = {"data_dir": self.data_dir, "runtime": runtime, "models": models}
        if run.events or run.beginning():
            await resume(run, config=config, **shared)
        else:
            await begin(config, runs_dir=self.runs_dir, run_id=run.id, registration=self.registration, **shared)

    def _sized(self, config: Config) -> Config:
        """Return the configuration with which MAGE sees as many questions as the others, including its anchors."""
        share = int(ANCHOR_SHARE * self.learned)
        anchors = min(config.anchors, share) if share >= LEAST_ANCHORS else 0
        config = msgspec.structs.replace(config, anchors=anchors)
        fresh = max(1, self.learned - len(divide(config, self.benchmark(config.seed)).anchors))
        iterations = max(1, round(fresh / min(POOL, config.pool)))
        return msgspec.structs.replace(config, iterations=iterations, pool=max(1, fresh // iterations))


@typed
async def aring(
    config: Config,
    *,
    methods: Sequence[str],
    seeds: int = 1,
    runs_dir: Path | str = RUNS_DIR,
    data_dir: Path | str | None = None,
    runtime: Runtime | None = None,
    questions: int | None = None,
    learn_from: int | None = None,
    budget_tokens: int = 0,
    name: str | None = None,
    models: Models | None = None,
    register: bool = True,
) -> RingReport:
    """Let methods learn from the same number of questions and examine each, for `seeds` seeds, beginning with the
    configuration's.

    `methods` are names of methods, baselines, or `mage`: an evolution with this configuration, whose number of
    iterations follows from the number of questions. `learn_from` and `budget_tokens` are as in `abaseline`; `name` is
    the prefix of the runs' names. With `register` each run records before its first call how many questions its one
    exam will have, and the seeds of the whole ring.

    Raises:
        UsageError: A method is unknown or named twice, or an unfinished run of this name has another configuration.
        PrerequisiteError: A data set or a model is missing.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call continues.
    """
    methods = [ALSO.get(method, method) for method in methods]
    _require(methods, seeds)
    if models is None:
        require_learner(config)
    config = with_own_models(checked(models.named_in(config) if models else config))
    # Only the last one is kept: all runs of a seed follow one another.
    benchmark = lru_cache(maxsize=1)(lambda seed: open_benchmark(config.benchmark, seed=seed, data_dir=data_dir))
    own = divide(msgspec.structs.replace(config, anchors=0), benchmark(config.seed))
    learned = min(learn_from or LEARNED, len(own.evolution))
    if learn_from and learn_from > learned:
        choose = f"There are only {learned} questions to learn from, not {learn_from}: choose fewer."
        raise UsageError(" ".join((choose, *left_out(config, own))))
    each_seed = range(config.seed, config.seed + seeds)
    registration = RunRegistered(metric="accuracy", questions=questions or 0, exams=1, seeds=tuple(each_seed))
    ring = _Ring(
        config,
        name or f"ring-{title(config.benchmark)}",
        Path(runs_dir),
        data_dir,
        runtime or Runtime(),
        questions,
        learned,
        budget_tokens,
        models,
        registration if register else None,
        benchmark,
    )
    found: dict[str, dict[int, _Sat]] = {method: {} for method in methods}
    for seed in each_seed:
        for method in methods:
            found[method][seed] = await ring.take(method, seed)
    right = {
        method: {(seed, name): is_right for seed, sat in sats.items() for name, is_right in sat.right.items()}
        for method, sats in found.items()
    }
    against = {
        method: {key: is_right for key, is_right in each.items() if key[1] in found[method][key[0]].answered}
        for method, each in right.items()
    }
    guidance = models.guidance.name if models and models.guidance else config.guidance
    writers = {
        method: with_writer(config, method).guidance or config.execution for method in methods if is_writing(method)
    } | {MAGE: guidance}
    return RingReport(
        benchmark=config.benchmark,
        execution=models.execution.name if models else config.execution,
        guidance=guidance,
        seeds=tuple(each_seed),
        learned=learned,
        budget_tokens=budget_tokens,
        rows=tuple(
            _row(method, [*found[method].values()], right[method], against, writers.get(method, ""), budget_tokens)
            for method in methods
        ),
        runs=tuple(ring.run(method, seed).id for seed in each_seed for method in methods),
    )


ring = blocking(aring)


def _require(methods: Sequence[str], seeds: int) -> None:
    for method in methods:
        if method != MAGE:
            require_baseline(method, what="method", others=[MAGE])
        if list(methods).count(method) > 1:
            raise UsageError(f"The method {method} is named twice: name each once.")
    if not methods or seeds < 1:
        raise UsageError("A ring needs a method and a seed: name some, such as zero_shot, knn and mage.")


def _row(
    method: str,
    sats: Sequence[_Sat],
    own: Mapping[tuple[int, str], bool],
    against: Mapping[str, Mapping[tuple[int, str], bool]],
    writer: str,
    budget: int,
) -> RingRow:
    differences = tuple(
        difference_of(own, against[other], other)
        for other in (PLAIN, NOTHING, LOOK_UP)
        if other in against and other != method
    )
    uses = [use for sat in sats for use in sat.examined]
    correct, total, guidance = sum(own.values()), len(own), sum(sat.guidance for sat in sats)
    return RingRow(
        method=method,
        correct=correct,
        total=total,
        interval=interval(correct, total),
        differences=differences,
        input_tokens=sum(use.input_tokens for use in uses) / max(1, total),
        output_tokens=sum(use.output_tokens for use in uses) / max(1, total),
        learning_tokens=sum(sat.learning for sat in sats),
        guidance_tokens=guidance,
        calls=sum(use.calls for use in uses),
        writer=writer if guidance or method != MAGE else "",  # MAGE learns without a writer, too
        learned=min(sat.learned for sat in sats),
        reduced=reduced(method),
        over_budget=max(0, *(sat.learning - budget for sat in sats)) if budget else 0,
        undecided=sum(sat.undecided for sat in sats),
        lost=method == MAGE and any(each.to == PLAIN and each.is_behind for each in differences),
    )


def learned_in(reader: LogReader) -> int:
    """Return from how many questions a run learned: those that it answered to learn, and anchors that became cases."""
    asked = {event.question_id for event in reader.of(AnswerJudged) if event.purpose in ("fresh", "trial")}
    return len(asked.union(event.question_id for event in reader.of(MemoryAppended) if event.phase == OF_ANCHORS))


def examinees(models: Models | None) -> Mapping[str, Any]:
    """Return the arguments by which these models take an exam, in place of those that the run names."""
    return {} if models is None else {"execution": models.execution, "judge": models.judge, "embedder": models.embedder}


def difference_of(
    own: Mapping[tuple[int, str], bool], other: Mapping[tuple[int, str], bool], name: str
) -> RingDifference:
    """Return the difference between two methods, each given as right or not by seed and question; `name` is the
    second's."""
    seeds = defaultdict[int, list[float]](list)
    for (seed, question), is_right in own.items():
        if (seed, question) in other:
            seeds[seed].append(100 * (float(is_right) - float(other[seed, question])))
    over = cell_of((fmean(each) for each in seeds.values()), "points", interval=BY_SEED)
    by_seed = over.interval if over and over.sd and over.n >= LEAST_SEEDS else None
    return RingDifference(to=name, by_seed=by_seed, **msgspec.structs.asdict(paired_difference(own, other)))


def _tokens(use: Usage) -> int:
    return use.input_tokens + use.output_tokens
