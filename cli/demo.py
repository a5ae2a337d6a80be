"""`mage-es demo`: a learner improves in under a minute, with nothing but the package."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable, percent
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.session import session
from mage_es.cli.settings import Settings
from mage_es.cli.tables import agents, benefit, digests, iterations, memory_sizes
from mage_es.engine.config import Config
from mage_es.events.errors import MageError

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.engine.run.runtime import Runtime
    from mage_es.engine.verbs.exam_report import ExamReport
    from mage_es.engine.verbs.replay import ReplayReport
    from mage_es.engine.verbs.summary import RunSummary

EXAMPLES = examples("mage-es demo", "mage-es demo --workers 2 --json")

CONFIG = Config(benchmark="wordmath", seed=42, iterations=10, pool=60, held_out=100, anchors=60)
EPISODES = Config(benchmark="workshop", seed=42, iterations=4, pool=12, held_out=20, anchors=12)
"""A smaller run with episodes: word problems give the Explorer nothing to explore."""


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    run: RunSummary
    episodes: RunSummary
    before: ExamReport
    after: ExamReport
    replay: ReplayReport
    seconds: float


@takes("workers", "runs_dir")
def demo(*, settings: Settings, out: Output) -> None:
    """Watch a frozen learner improve, in under a minute.

    Generated word problems, no key, no GPU, no network: a few episodes in a generated workshop for the Explorer, ten
    iterations of 60 questions, an exam of 100 unseen questions before and after, and a replay. Exits with 1 if the
    replay differs from what was recorded live.
    """
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
        settings.again("exam", "--control", "shuffled", names=("runs_dir",)),
        settings.again("view", names=("runs_dir",)),
    )
    if any(check.equal is False for check in report.replay.checks):
        raise typer.Exit(MageError.exit_code)


def demonstrate(config: Config, settings: Settings, out: Output, *, episodes: Config) -> DemoReport:
    from mage_es.engine.verbs.replay import replay

    began = time.monotonic()
    out.say(f"Episodes in a generated {episodes.benchmark}:")
    with session(out, settings) as runtime:
        played = _evolve(episodes, settings, runtime)
    out.say(f"\nQuestions of {config.benchmark}, then an exam before and after:")
    with session(out, settings) as runtime:
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

    # The user's budget and prices are meant for paid runs: they must not stop this one, which costs nothing.
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


def closing(report: DemoReport) -> str:
    last = report.run.rows[-1]
    sizes = memory_sizes(last.success_memories, last.failure_memories, last.principles)
    same = sum(check.equal is True for check in report.replay.checks)
    guidance = report.before.guidance_calls + report.after.guidance_calls
    return (
        f"Memory: {sizes}.\n"
        f"Replay to {report.replay.marker}: {same} of {len(report.replay.checks)} projections equal to the live run, "
        f"{report.replay.events} events in {report.replay.seconds:.2f} s.\n"
        f"Guidance calls at inference: {guidance}. Wall time: {report.seconds:.1f} s. Run: {report.run.path}\n"
        f"{_rounded(report.before)} -> {_rounded(report.after)} on questions it never saw"
    )


def _rounded(exam: ExamReport) -> str:
    return f"{100 * exam.correct / exam.total:.0f} %"
