"""The verb `upgrade`: another model takes the learner's place, and what was learned is tested again for it.

Rules
    - The new run continues the old one's state, without what measured the old learner. Its one iteration asks recorded
      questions again (rules/reproof.py), and the anchors, each with what was learned and bare. From these pairs the
      gate decides what the new model is served.
    - Then two exams, of held-out questions that the old run's exam asked: with what is served, and bare.
    - The price is computed from the old run's own calls, and known before any is made. One budget covers the re-proof
      and both exams, over all sessions.
    - The same call continues where it stopped, and repeats no recorded call.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.config import Config, parse
from mage_es.engine.histories.upgrade_report import UpgradeReport, calls_of, upgrade_report
from mage_es.engine.models.registry import Models, open_model, require_model
from mage_es.engine.run.asking_price import AskingPrice, Like, price_again
from mage_es.engine.run.budget import UNLIMITED, Limits, limits_of
from mage_es.engine.run.directory import Beginning, Run, as_run, list_runs
from mage_es.engine.run.exams import exam_records, is_own, learner_of, ledger_of
from mage_es.engine.run.inheriting import inheritance, last_inherited, learning_of, require_continuable
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.model import Model
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.evolve import start_run
from mage_es.engine.verbs.exam import aexamine
from mage_es.engine.verbs.exam_report import ExamReport
from mage_es.engine.verbs.preflight import require_served
from mage_es.engine.verbs.resume import aresume
from mage_es.events import vocabulary as v
from mage_es.events.errors import BudgetReached, LogError, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.projections.questions import EVOLVING
from mage_es.projections.scores import START

SAMPLE = 40
"""How many of the questions learned from are asked again by default: with the anchors, enough for the gate."""
QUESTIONS = 60
"""How many questions each exam has if the old run has taken none."""
_LONGEST_GAP_US = 60_000_000
"""A longer time between two replies counts as a pause, not as a model's pace."""
_NAME = re.compile(r"[^A-Za-z0-9.-]+")


class UpgradePrice(AskingPrice, frozen=True, kw_only=True):
    """What an upgrade costs. It takes `calls` calls, of which `made` are already on record: they ask `sample` recorded
    questions, the `anchors` and the `questions` of an exam, each twice, and include the judge's. A limit covers all of
    them, and so do tokens and `usd`; `minutes` are those of the calls left.

    Calls and tokens per question are those of the old model until the new one has answered some; `usd` is None if a
    price is unknown, `minutes` is None if no run in the same folder shows how fast the new model answers (`paced_by` is
    the run that does).
    """

    run_id: str
    sample: int
    anchors: int
    made: int
    paced_by: str


@typed
def upgrade_price(
    run: Run | Path | str,
    *,
    execution: str,
    sample: int = SAMPLE,
    questions: int | None = None,
    runs_dir: Path | str | None = None,
    run_id: str | None = None,
    prices: Prices | None = None,
) -> UpgradePrice:
    """Return what `upgrade` with the same arguments would cost. No model is called, and nothing is written.

    Raises:
        UsageError: The run learned nothing, `execution` is its own model, or the name is another run's.
    """
    run = as_run(run)
    if sample < 1:
        raise UsageError(f"sample is {sample}, but must be 1 or more: it is how many recorded questions to ask again.")
    folder, reader = _folder(run, runs_dir), LogReader(run.log_path)
    started = _learned_run(run, reader, execution)
    name = run_id or upgrade_name(run, execution)
    child = Run(name, folder / name)
    if _is_begun(child):
        _require_own(child, run, sample)
    sizes = _sizes(LogReader(child.log_path) if child.path.exists() and child.events else reader)
    anchors = sizes["anchors"] if parse(started.config).guard == "paired" else 0
    asked = {event.question_id for event in reader.of(v.AnswerJudged) if event.purpose in EVOLVING}
    sample, questions = min(sample, len(asked)), _exam_size(reader, questions, sizes["held_out"])
    each = sample + anchors + questions
    made = calls_of(child) if child.path.exists() else 0
    price = price_again(_like(reader, child, each), prices or Prices(), execution=execution)
    calls = made if _is_complete(child, questions) else max(price.calls, made + 1)
    seconds, paced_by = _pace(folder, execution)
    minutes = (calls - made) * seconds / 60 if paced_by else None
    known = msgspec.structs.asdict(price) | {"questions": questions, "calls": calls, "minutes": minutes}
    return UpgradePrice(**known, run_id=child.id, sample=sample, anchors=anchors, made=made, paced_by=paced_by)


@typed
async def aupgrade(
    run: Run | Path | str,
    *,
    execution: Model | str,
    at: str = "latest",
    sample: int = SAMPLE,
    questions: int | None = None,
    config: Config | None = None,
    runs_dir: Path | str | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    run_id: str | None = None,
    judge: Model | None = None,
) -> UpgradeReport:
    """Start a run with what another one learned and a new model in its learner's place, and test it again.

    `sample` recorded questions and the anchors are asked twice, and `questions` held-out ones (default: as many as the
    run's last exam) in each of two exams. `config` replaces the run's own, except its models. The new run is in the
    folder of the old one, under a name made of both, unless `runs_dir` and `run_id` say otherwise.

    Raises:
        UsageError: The run learned nothing, `execution` is its own model, or the name is another run's.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call continues.
    """
    run, runtime = as_run(run), runtime or Runtime()
    model = open_model(execution, "execution") if isinstance(execution, str) else execution
    require_model("execution", model)
    name = execution if isinstance(execution, str) else model.name
    folder, reader = _folder(run, runs_dir), LogReader(run.log_path)
    started = _learned_run(run, reader, name)
    price = upgrade_price(
        run, execution=name, sample=sample, questions=questions, runs_dir=folder, run_id=run_id, prices=runtime.prices
    )
    # It only asks again: with the settings used for clients, and each question without its own case.
    only_asks: dict[str, Any] = {"iterations": 1, "coin": 0.0, "revisit_self": "exclude"}
    config = msgspec.structs.replace(config or parse(started.config), execution=name, **only_asks)
    child = Run(price.run_id, folder / price.run_id)
    judge = judge or (open_model(config.judge, "judge") if config.judge else None)
    models = Models(model, None, judge)
    data: dict[str, Any] = {"data_dir": data_dir, "benchmark": benchmark}
    if not _is_begun(child):
        for said in await require_served(Models(model, None, judge)) if isinstance(execution, str) else ():
            runtime.observer(
                ProgressNote(run_id=child.id, phase="open", done=0, total=0, message=said, is_announcement=True)
            )
        await start_run(
            Beginning(config, at=at, reproof=sample),
            **data,
            from_run=run,
            runs_dir=folder,
            runtime=runtime,
            run_id=child.id,
            models=models,
        )
    else:
        begun = _require_own(child, run, sample)
        runtime = runtime.within(limits_of(begun))
        if not next(begun.of(v.RunFinished), None):
            await aresume(child, config=config, **data, runtime=runtime, models=models)
    # Questions that resemble what the old run wrote are no longer held out.
    questions = min(price.questions, _sizes(LogReader(child.log_path))["held_out"])
    reports: list[ExamReport] = []
    for control in ("none", "bare"):
        is_taken = (control, questions) in _exams_taken(child)
        limits = UNLIMITED if is_taken else _left(child, runtime, reports)
        limited = msgspec.structs.replace(runtime, limits=limits)
        exam: dict[str, Any] = {"questions": questions, "control": control, "execution": model, "judge": judge}
        reports.append(await aexamine(child, **exam, **data, runtime=limited))
    return upgrade_report(run, child, reports)


upgrade = blocking(aupgrade)


def upgrade_name(run: Run, execution: str) -> str:
    """Return the name of an upgrade: the run's and the last word of the new model's."""
    word = execution.partition("?")[0].rstrip("/").rpartition("/")[2]
    return f"{run.id}-on-{_NAME.sub('-', word).strip('-.')}"


def _folder(run: Run, runs_dir: Path | str | None) -> Path:
    return Path(runs_dir) if runs_dir is not None else run.path.resolve().parent


def _learned_run(run: Run, reader: LogReader, execution: str) -> v.RunStarted:
    started = first_event(reader)
    require_continuable(run.id, reader)
    if started.execution_model == execution:
        raise UsageError(
            f"{execution} is the model that {run.id} learned with: name another with --execution, or continue with "
            f"`mage-es evolve --from {run.id}`."
        )
    return started


def _is_begun(child: Run) -> bool:
    return child.path.exists() and (child.events > 0 or child.beginning() is not None)


def _require_own(child: Run, run: Run, sample: int) -> LogReader:
    """Return the log of an upgrade that was started earlier. Raises `UsageError` for another run's."""
    reader = LogReader(child.log_path)
    begun = inheritance(reader) if child.events else None
    advice = "choose another name with --run-id."
    if child.events and (begun is None or begun.parent != run.id or not begun.reproof):
        raise UsageError(f"There is already a run {child.id}, which is not an upgrade of {run.id}: {advice}")
    if begun and begun.reproof != sample:
        raise UsageError(
            f"{child.id} was started with --sample {begun.reproof}, not {sample}: use the same, or {advice}"
        )
    return reader


def _sizes(reader: LogReader) -> dict[str, int]:
    return {"anchors": 0, "held_out": 0} | {event.split: event.size for event in reader.of(v.SplitCommitted)}


def _exam_size(reader: LogReader, questions: int | None, held_out: int) -> int:
    """Return how many questions an exam has: by default as many as the run's own last one."""
    learner = learner_of(reader)
    own = [each for each in exam_records(reader) if each.closed and is_own(each.opened, learner)]
    return min(questions or (own[-1].opened.asked if own else QUESTIONS), held_out)


def _like(reader: LogReader, child: Run, each: int) -> list[Like]:
    """Return the answers by which to price the questions, asked bare and with what was learned: the new model's, if it
    has given any, or else the old one's."""
    logs = [LogReader(child.log_path)] if child.path.exists() and child.events else []
    found = [(log, *_answered(log)) for log in (*logs, learning_of(reader))]
    bare = [Like(log, each, asked) for log, asked, _ in found if asked]
    learned = [Like(log, each, asked) for log, _, asked in found if asked]
    return [*(bare or learned)[:1], *(learned or bare)[:1]] or 2 * [Like(reader, each, ())]


def _answered(reader: LogReader) -> tuple[list[v.AnswerJudged], list[v.AnswerJudged]]:
    """Return a run's own answers to questions that were asked bare, and with what was learned in its last iteration."""
    own = list(reader.of(v.AnswerJudged, since=last_inherited(reader) + 1))
    learning = [each for each in own if each.purpose in EVOLVING]
    last = max((each.iteration for each in learning), default=START)
    bare = [each for each in own if each.purpose == "bare" or (each.purpose == "anchor" and each.iteration == START)]
    return bare, [each for each in learning if each.iteration == last]


def _pace(folder: Path, execution: str) -> tuple[float, str]:
    """Return the mean seconds between two replies of a model in the newest run that used it, and that run's id; (0, "")
    if there is no such run."""
    for run in reversed(list_runs(folder)):
        try:
            reader = LogReader(run.log_path)
            if first_event(reader).execution_model != execution:
                continue
            times = [record.ts_us for record in reader.records({v.ModelCalled})]
        except (LogError, PrerequisiteError):  # a damaged run must not prevent an estimate
            continue
        gaps = [later - earlier for earlier, later in pairwise(times) if later - earlier < _LONGEST_GAP_US]
        if gaps:
            return sum(gaps) / len(gaps) / 1e6, run.id
    return 0.0, ""


def _left(child: Run, runtime: Runtime, reports: Sequence[ExamReport]) -> Limits:
    """Return what is left for the next exam. Raises `BudgetReached` if nothing is."""
    limits = runtime.limits or UNLIMITED
    if not (limits.max_usd or limits.max_calls):
        return UNLIMITED
    logs = [child, *(child.exam(report.exam_id) for report in reports)]
    uses = [each for log in logs for each in ledger_of(LogReader(log.log_path)).accounts()]
    calls = limits.max_calls - sum(use.calls + use.failures for _, use in uses)
    rates = [(runtime.prices.rate(account.model), account, use) for account, use in uses]
    usd = limits.max_usd - sum(rate.paid(use, batched=account.batched) for rate, account, use in rates if rate)
    if (limits.max_calls and calls <= 0) or (limits.max_usd and usd <= 0):
        raise BudgetReached(f"The budget of {child.id} ({limits}) is spent, but its exams are still to be taken.")
    return Limits(max(0.0, usd), max(0, calls))


def _is_complete(child: Run, questions: int) -> bool:
    """Return whether the re-proof and both exams are recorded, so that no call is left to make."""
    if not child.path.exists() or not child.events:
        return False
    is_finished = next(LogReader(child.log_path).of(v.RunFinished), None) is not None
    return is_finished and {("none", questions), ("bare", questions)} <= _exams_taken(child)


def _exams_taken(child: Run) -> set[tuple[str, int]]:
    """Return the control and size of each complete exam."""
    records = exam_records(LogReader(child.log_path))
    return {(each.opened.control, each.opened.asked) for each in records if each.closed}
