"""`mage-es demo`: a learner that gets better in under a minute, with nothing but the package."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output, Table, percent
from mage_es.cli.progress import Progress
from mage_es.cli.session import session
from mage_es.cli.settings import Settings
from mage_es.cli.tables import agents, digests, iterations, memory_sizes
from mage_es.engine.config import Config
from mage_es.engine.reports import ExamReport, GroupScore, ReplayReport, RunSummary
from mage_es.events.errors import MageError

if TYPE_CHECKING:
    from mage_es.engine.runs import Run
    from mage_es.engine.runtime import Runtime

EXAMPLES = examples("mage-es demo", "mage-es demo --workers 2 --json")

CONFIG = Config(benchmark="wordmath", seed=42, iterations=10, pool=60, held_out=100, anchors=60)
EPISODES = Config(benchmark="workshop", seed=42, iterations=4, pool=12, held_out=20, anchors=12)
"""A smaller run in a world of episodes, since the Explorer has nothing to explore in questions."""


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the demonstration showed."""

    run: RunSummary
    episodes: RunSummary
    before: ExamReport
    after: ExamReport
    replay: ReplayReport
    seconds: float


@takes("workers", "runs_dir")
def demo(*, settings: Settings, as_json: Json = False) -> None:
    """Watch a frozen learner improve, in under a minute.

    Generated word problems, no key, no GPU, no network: ten iterations of 60 questions, an exam
    of 100 unseen questions for the state before and after, and a replay; before that a few
    episodes in a generated workshop, so that all six agents have something to do. Exits with 1
    if the replay gives anything else than what was recorded live.
    """
    out = Output(as_json=as_json)
    out.say(
        f"Learner: {CONFIG.execution}, a rule-based solver and not a language model. It reads the prompt and nothing"
        " else;\nwhat changes from question to question is only which of its own experiences stand in there.\n"
    )
    report = demonstrate(CONFIG, settings, out, episodes=EPISODES)
    out.report(
        report,
        iterations(report.run),
        exams(report),
        agents("The six agents at work", report.run, report.episodes),
        digests(report.replay),
        closing(report),
    )
    out.next(
        settings.again("replay", "--until", report.replay.marker, names=("runs_dir",)),
        settings.again("exam", "--control", "shuffled", names=("runs_dir",)),
        settings.again("runs", "show", names=("runs_dir",)),
    )
    if any(check.equal is False for check in report.replay.checks):
        raise typer.Exit(MageError.exit_code)


def demonstrate(config: Config, settings: Settings, out: Output, *, episodes: Config) -> DemoReport:
    """Play episodes, evolve a run, examine its first and its last state, and replay it to its last iteration."""
    from mage_es.engine.replay import replay
    from mage_es.engine.runs import find_run

    began = time.monotonic()
    out.say(f"Episodes in a generated {episodes.benchmark}:")
    with session(out, settings) as runtime:
        played = _evolve(episodes, settings, runtime)
    out.say(f"\nQuestions of {config.benchmark}, then an exam before and after:")
    with session(out, settings) as runtime:
        summary = _evolve(config, settings, runtime)
    run = find_run(settings.runs_dir, summary.run_id)
    before = _examine(run, settings, at="start")
    after = _examine(run, settings, at="latest")
    rebuilt = replay(run, until=f"iter-{config.iterations - 1}", into=None)
    seconds = time.monotonic() - began
    return DemoReport(run=summary, episodes=played, before=before, after=after, replay=rebuilt, seconds=seconds)


def _evolve(config: Config, settings: Settings, runtime: Runtime) -> RunSummary:
    from mage_es.engine.evolution import evolve
    from mage_es.engine.runtime import Runtime

    # What somebody set for runs of their own, such as a budget, is not meant for this one: it costs nothing.
    bare = Runtime(workers=runtime.workers, observer=runtime.observer, stop=runtime.stop)
    return evolve(config, runs_dir=settings.runs_dir, data_dir=None, runtime=bare)


def _examine(run: Run, settings: Settings, *, at: str) -> ExamReport:
    from mage_es.engine.exam import examine
    from mage_es.engine.runtime import Runtime

    with Progress() as progress:
        runtime = Runtime(workers=settings.workers, observer=progress.observe)
        return examine(run, at=at, questions=None, control="none", data_dir=None, runtime=runtime)


def exams(report: DemoReport) -> Table:
    """Return the exam before and after, all questions and by familiarity of the phrasing."""
    rows = []
    for name, pick in _GROUPS.items():
        groups = [pick(exam) for exam in (report.before, report.after)]
        rows.append((name, *(percent(group.correct, group.total) if group else "-" for group in groups)))
    questions = f"Exam on {report.after.total} questions that the learner never saw"
    return Table(questions, ("questions", "before", "after"), rows)


def closing(report: DemoReport) -> str:
    """Return what the demonstration ends with: memories, the replay, guidance calls at inference, time."""
    last = report.run.rows[-1]
    sizes = memory_sizes(last.success_memories, last.failure_memories, last.principles)
    same = sum(check.equal is True for check in report.replay.checks)
    guidance = report.before.guidance_calls + report.after.guidance_calls
    return (
        f"Memory: {sizes}.\n"
        f"Replay to {report.replay.marker}: {same} of {len(report.replay.checks)} projections equal to the live run, "
        f"{report.replay.events} events in {report.replay.seconds:.2f} s.\n"
        f"Guidance calls at inference: {guidance}. Wall time: {report.seconds:.1f} s. Run: {report.run.path}"
    )


_GROUPS: dict[str, Callable[[ExamReport], GroupScore | None]] = {
    "all": lambda exam: GroupScore(name="all", correct=exam.correct, total=exam.total),
    "familiar phrasing": lambda exam: exam.familiar,
    "unfamiliar phrasing": lambda exam: exam.unfamiliar,
}
