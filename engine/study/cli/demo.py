"""`mage-es demo`: a learner improves in under a minute, with nothing but the package, or a language model in minutes.

Rules
    - A language model learns what it cannot know, under the usual settings, except that recall is off: with it, the
      nearest cases would answer without the model, and nothing would show what the model itself gained. Those cases
      alone are a row of the table.
    - It is a ring like that of `try`, with an exam in which the answers of its memories are exchanged: what is left
      then does not come from which answer belongs to which question. (Memories of other questions, `shuffled`, can
      mislead, and fall below chance.) The same command continues where it stopped.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable, percent
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.session import repeatable, resumable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import agents, benefit, between, digests, iterations, memory_sizes
from mage_es.engine.config import Config
from mage_es.engine.study.cli.ring import difference_line
from mage_es.engine.study.cli.tryout import verdict
from mage_es.events.errors import MageError

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.engine.run.runtime import Runtime
    from mage_es.engine.study.tryout import TryoutReport
    from mage_es.engine.verbs.exam_report import ExamReport
    from mage_es.engine.verbs.replay import ReplayReport
    from mage_es.engine.verbs.summary import RunSummary

EXAMPLES = examples("mage-es demo", "mage-es demo --workers 2 --json", "mage-es demo --learner llamacpp/smollm2")

CONFIG = Config(benchmark="wordmath", seed=42, iterations=10, pool=60, held_out=100, anchors=60)
EPISODES = Config(benchmark="workshop", seed=42, iterations=4, pool=12, held_out=20, anchors=12)
"""A smaller run with episodes: word problems give the Explorer nothing to explore."""


LESSON = Config(benchmark="private-labels", seed=42, pool=17, held_out=24, anchors=9, recall=False, max_tokens=24)
LEARN_FROM = 60
"""How many questions a language model learns from; `LESSON` has the number for its exam. SmolLM2 reads them in
minutes."""
_ROWS = {
    "zero_shot": "the model alone",
    "mage": "with what MAGE learned",
    "permuted": "with its memories' answers exchanged (permuted)",
    "knn": "with the five nearest cases (knn)",
    "nearest_label": "no model: the nearest case's answer (nearest_label)",
}


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    run: RunSummary
    episodes: RunSummary
    before: ExamReport
    after: ExamReport
    replay: ReplayReport
    seconds: float


class LessonReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a language model learned, next to its rivals, and an exam of the same state with its memories' answers
    exchanged."""

    tried: TryoutReport
    run: RunSummary
    permuted: ExamReport
    replay: ReplayReport
    seconds: float


@takes("workers", "runs_dir")
def demo(
    *,
    settings: Settings,
    out: Output,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            metavar="MODEL",
            help="Language model that learns in place of the rule-based solver, such as llamacpp/smollm2.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch a frozen learner improve, in under a minute.

    Generated word problems, no key, no GPU, no network: a few episodes in a generated workshop for the Explorer, ten
    iterations of 60 questions, an exam of 100 unseen questions before and after, and a replay. Exits with 1 if the
    replay differs from what was recorded live.

    A language model (--learner) learns private rules instead, from 60 questions, and is examined on 24 others: alone,
    with what it learned, with its memories' answers exchanged, and against plain nearest cases. The same command
    continues where it stopped.
    """
    if learner:
        _teach(learner, settings, out)
    else:
        _show(settings, out)


def _show(settings: Settings, out: Output) -> None:
    from mage_es.engine.benchmarks.registry import with_own_models

    out.say(
        f"Learner: {with_own_models(CONFIG).execution}, a rule-based solver, not a language model. It reads only\n"
        "the prompt; from question to question only the experiences quoted in that prompt change.\n"
    )
    report = demonstrate(CONFIG, settings, out, episodes=EPISODES)
    out.report(
        report,
        iterations(report.run),
        benefit(report.run.benefit),
        exams(report),
        agents("The six agents at work", report.run, report.episodes),
        digests(report.replay),
        closing(report),
    )
    out.next(
        settings.again("replay", "--until", report.replay.marker, names=("runs_dir",)),
        settings.again("exam", "--control", "permuted", names=("runs_dir",)),
        settings.again("view", names=("runs_dir",)),
    )
    _require_equal(report.replay)


def _teach(learner: str, settings: Settings, out: Output) -> None:
    config = msgspec.structs.replace(LESSON, execution=learner)
    report = teach(config, settings, out, learn_from=LEARN_FROM)
    out.report(
        report,
        iterations(report.run),
        benefit(report.run.benefit),
        digests(report.replay),
        lesson(report),
        concluding(report),
    )
    run = report.run.run_id
    out.next(
        settings.again("verify", run, names=("runs_dir",)),
        settings.again("view", run, names=("runs_dir",)),
        f"mage-es try my.jsonl --execution '{learner}'",
    )
    _require_equal(report.replay)


def teach(config: Config, settings: Settings, out: Output, *, learn_from: int) -> LessonReport:
    """Let a language model learn, examine it and its rivals, and rebuild the run from its log.

    Raises `PrerequisiteError` before anything begins if the model, or a package that it needs, is missing.
    """
    from mage_es.engine.models.registry import open_model
    from mage_es.engine.study.tryout import tryout
    from mage_es.engine.verbs.exam import examine
    from mage_es.engine.verbs.replay import replay
    from mage_es.engine.verbs.runs import summarise

    began = time.monotonic()
    model = open_model(config.execution, "execution")  # kept until the end: each run would load its weights again
    out.say(
        f"Learner: {model.name}. It sorts tickets to teams by a rule drawn from the seed, which no model can know.\n"
        "Recall is off: each answer is the model's own.\n"
    )
    name = "demo-" + re.sub(r"[^\w.-]+", "-", config.execution.partition("?")[0].rpartition("/")[2])
    with repeatable(out, settings) as runtime:
        tried = tryout(
            config,
            runs_dir=settings.runs_dir,
            runtime=runtime,
            questions=config.held_out,
            learn_from=learn_from,
            name=name,
        )
        run = settings.find_run(tried.run_id)
        permuted = examine(run, control="permuted", runtime=runtime)
    summary = summarise(run)
    rebuilt = replay(run, until=f"iter-{summary.rows[-1].iteration}", into=None)
    seconds = time.monotonic() - began
    return LessonReport(tried=tried, run=summary, permuted=permuted, replay=rebuilt, seconds=seconds)


def _require_equal(report: ReplayReport) -> None:
    if any(check.equal is False for check in report.checks):
        raise typer.Exit(MageError.exit_code)


def demonstrate(config: Config, settings: Settings, out: Output, *, episodes: Config) -> DemoReport:
    from mage_es.engine.verbs.replay import replay

    began = time.monotonic()
    out.say(f"Episodes in a generated {episodes.benchmark}:")
    with resumable(out, settings) as runtime:
        played = _evolve(episodes, settings, runtime)
    out.say(f"\nQuestions of {config.benchmark}, then an exam before and after:")
    with resumable(out, settings) as runtime:
        summary = _evolve(config, settings, runtime)
    run = settings.find_run(summary.run_id)
    before = _examine(run, settings, at="start")
    after = _examine(run, settings, at="latest")
    rebuilt = replay(run, until=f"iter-{config.iterations - 1}", into=None)
    seconds = time.monotonic() - began
    return DemoReport(run=summary, episodes=played, before=before, after=after, replay=rebuilt, seconds=seconds)


def _evolve(config: Config, settings: Settings, runtime: Runtime) -> RunSummary:
    from mage_es.engine.run.runtime import Runtime
    from mage_es.engine.verbs.evolve import evolve

    # The user's budget and prices are for paid runs: they must not stop this one, which costs nothing.
    bare = Runtime(workers=runtime.workers, observer=runtime.observer, stop=runtime.stop)
    return evolve(config, runs_dir=settings.runs_dir, data_dir=None, runtime=bare)


def _examine(run: Run, settings: Settings, *, at: str) -> ExamReport:
    from mage_es.engine.run.runtime import Runtime
    from mage_es.engine.verbs.exam import examine

    with ProgressDisplay() as progress:
        runtime = Runtime(workers=settings.workers, observer=progress.observe)
        return examine(run, at=at, questions=None, control="none", data_dir=None, runtime=runtime)


def exams(report: DemoReport) -> TextTable:
    both = (report.before, report.after)
    rows = [("all", *(percent(exam.correct, exam.total) for exam in both))]
    for name in ("familiar", "unfamiliar"):
        groups = [getattr(exam, name) for exam in both]
        rows.append((f"{name} phrasing", *(percent(group.correct, group.total) if group else "-" for group in groups)))
    title = f"Exam on {report.after.total} questions that the learner never saw"
    return TextTable(title, ("questions", "before", "after"), rows)


def lesson(report: LessonReport) -> TextTable:
    ring, permuted = report.tried.ring, report.permuted
    found = {"permuted": _counts(permuted.correct, permuted.total)}
    for row in ring.rows:
        over = next((difference_line(each) for each in row.differences if each.to == "zero_shot"), "")
        found[row.method] = _counts(row.correct, row.total, over)
    rows = [(said, *found[name]) for name, said in _ROWS.items()]
    title = f"{permuted.total} questions that it never saw, after {ring.learned} others"
    return TextTable(title, ("who answers", "right", "share", "95 %", "points over the model alone, 95 %"), rows)


def _counts(right: int, total: int, over: str = "") -> tuple[str, ...]:
    return f"{right}/{total}", percent(right, total), between(right, total), over


def concluding(report: LessonReport) -> str:
    ending = _ending(report.replay, report.seconds, report.run, guidance=report.permuted.guidance_calls)
    return f"{' '.join(verdict(report.tried))}\n\n{ending}"


def closing(report: DemoReport) -> str:
    last = report.run.rows[-1]
    sizes = memory_sizes(last.success_memories, last.failure_memories, last.principles)
    guidance = report.before.guidance_calls + report.after.guidance_calls
    return (
        f"Learned: {sizes}.\n"
        f"{_ending(report.replay, report.seconds, report.run, guidance=guidance)}\n"
        f"{_rounded(report.before)} -> {_rounded(report.after)} on questions it never saw"
    )


def _ending(replay: ReplayReport, seconds: float, run: RunSummary, *, guidance: int) -> str:
    same = sum(check.equal is True for check in replay.checks)
    return (
        f"Replay to {replay.marker}: {same} of {len(replay.checks)} projections equal to the live run, "
        f"{replay.seq} events in {replay.seconds:.2f} s.\n"
        f"Guidance calls at inference: {guidance}. Wall time: {seconds:.1f} s. Run: {run.path}"
    )


def _rounded(exam: ExamReport) -> str:
    return f"{100 * exam.correct / exam.total:.0f} %"
