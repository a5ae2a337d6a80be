"""The nine benchmarks at full size with the embedded models: run, exams, baselines, replay and audit.

    python -m tests.bench.nine --data-dir data                     all of them: some twenty minutes
    python -m tests.bench.nine --data-dir data gsm8k medqa         two of them
    python -m tests.bench.nine --print                             the table again, from what lies in --runs-dir

Sizes are those that a benchmark is run with where nobody says otherwise. Every step is a command in a process of its
own, and a line in nine.jsonl says what it took; a step that has its line is not done again, and a run or an exam that
was cut off goes on (what it had taken until then is not counted). What is printed is read off the logs; records,
seconds, and the outcomes of `replay --check` and `verify` are read off those lines.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.exams import RecordedExam
from mage_es.engine.seams.environment import is_sequential, modes_of
from mage_es.engine.study.baselines.entries import BASELINES
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.events.vocabulary import IterationClosed, IterationPlanned
from tests.bench.tables import print_machine, print_table

PROGRAM = (sys.executable, "-c", "from mage_es.cli import main; main()")
SEED = 42
CHECKS = ("replay", "verify")
"""Steps whose outcome is kept."""


class Failed(Exception):
    """A command did not come to its end."""


class Row(NamedTuple):
    """A row of the table: the benchmark, what its exams count, what is said to `evolve` and to the baseline ReAct."""

    benchmark: str
    metric: str
    options: tuple[str, ...] = ()
    react: tuple[str, ...] = ()
    has_baselines: bool = True


ROWS: Mapping[str, Row] = {
    "gsm8k": Row("gsm8k", "the same number"),
    "realmath": Row("realmath", "equivalent by rule"),
    "hotpotqa": Row("hotpotqa", "equal, or F1 at least 0.5", react=("--search", "record")),
    "hotpotqa-record": Row("hotpotqa", "equal, or F1 at least 0.5", ("--search", "record"), has_baselines=False),
    "webqa": Row("webqa", "a gold answer in the reply"),
    "stbench": Row("stbench", "right by the task's own rule"),
    "finqa": Row("finqa", "numeric match"),
    "medqa": Row("medqa", "the right option"),
    "crafter": Row("crafter", "mean share of the 22 achievements (worlds with half of them)"),
    "webshop-100": Row("webshop-100", "mean reward (bought exactly)"),
    "webshop-1000": Row("webshop-1000", "mean reward (bought exactly)"),
}
"""Nine benchmarks; WebShop has two catalogues, and HotpotQA is run once more with its paragraphs looked up."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A command that came to its end: whose it is, what it took in seconds, how it exited, and what it printed."""

    row: str
    step: str
    code: int
    wall_s: float
    cpu_s: float
    report: Any = None


class Folder(NamedTuple):
    """Where the runs lie, and the steps that were done."""

    path: Path

    def steps(self, row: str) -> Mapping[str, Step]:
        """Return the steps of a row by name."""
        file = self.path / "nine.jsonl"
        lines = file.read_bytes().splitlines() if file.exists() else []
        found = [msgspec.json.decode(line, type=Step) for line in lines]
        return {step.step: step for step in found if step.row == row}

    def add(self, step: Step) -> None:
        """Keep a step."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "nine.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(step) + b"\n")

    def is_begun(self, run_id: str) -> bool:
        """Return whether a run of that name was begun."""
        return (self.path / run_id / "log" / "FORMAT").exists()


def main() -> None:
    """Do what is not done yet, then print the table. Exits with 1 where a step failed; the other rows are done."""
    options = arguments()
    folder = Folder(options.runs_dir)
    failures = [] if options.print else [str(problem) for problem in do_all(options.names, folder, options.data_dir)]
    print_nine([name for name in options.names if "verify" in folder.steps(name)], folder)
    print_machine("python -m tests.bench.nine", ("numpy", "lancedb", "polars"))
    if failures:
        raise SystemExit("\n".join(failures))


def do_all(names: Sequence[str], folder: Folder, data_dir: Path) -> Iterator[Failed]:
    """Do the steps of some rows, and yield what failed."""
    for name in names:
        try:
            do(name, folder, data_dir)
        except Failed as problem:
            yield problem


def arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(ROWS)} [default: all]")
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--runs-dir", type=Path, default=Path("runs/nine"))
    parser.add_argument("--print", action="store_true", help="run nothing")
    options = parser.parse_args()
    if unknown := set(options.names) - set(ROWS):
        parser.error(f"There is no {', '.join(sorted(unknown))}: choose from {', '.join(ROWS)}.")
    options.names = options.names or list(ROWS)
    return options


def do(name: str, folder: Folder, data_dir: Path) -> None:
    """Do every step of a row that has not been done."""
    row = ROWS[name]
    at = ("--runs-dir", str(folder.path))
    reading = (*at, "--data-dir", str(data_dir))
    step = partial(once, name, folder)
    if "records" not in folder.steps(name):
        folder.add(records(name, data_dir))
    step("evolve", started(folder, name, ("evolve", row.benchmark, *row.options), reading))
    step("replay", ("replay", name, "--check", *at))
    step("verify", ("verify", name, *at))
    for marker in ("start", "latest"):
        step(f"exam {marker}", ("exam", name, "--at", marker, *reading))
    for baseline in folder.steps(name)["records"].report["baselines"]:
        extra = row.react if baseline == "react" else ()
        step(baseline, started(folder, f"{name}-{baseline}", ("baseline", baseline, row.benchmark, *extra), reading))


def started(folder: Folder, run_id: str, words: tuple[str, ...], reading: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that starts a run, or goes on with it where it was begun."""
    begun = folder.is_begun(run_id)
    return ("resume", run_id, *reading) if begun else (*words, "--run-id", run_id, "--seed", str(SEED), *reading)


def records(name: str, data_dir: Path) -> Step:
    """Read a benchmark, and return how many records it has and which baselines are defined for it."""
    began, used = time.perf_counter(), time.process_time()
    row = ROWS[name]
    benchmark = open_benchmark(row.benchmark, seed=SEED, data_dir=data_dir)
    evolution, test = benchmark.questions("evolution"), benchmark.questions("test")
    modes = ("", *modes_of(benchmark)) if is_sequential(benchmark) else None
    defined = [
        each
        for each, baseline in BASELINES.items()
        if row.has_baselines and (baseline.plays_as in modes if modes else not baseline.needs_search or bool(row.react))
    ]
    found = {"evolution": len(evolution), "test": len(test), "baselines": defined}
    took = time.perf_counter() - began, time.process_time() - used
    return Step(row=name, step="records", code=0, wall_s=took[0], cpu_s=took[1], report=found)


def once(row: str, folder: Folder, step: str, words: Sequence[str]) -> None:
    """Run a command, unless it was run, and keep what it took. Raises `Failed`; a check that fails is an outcome."""
    if step in folder.steps(row):
        return
    print(f"{time.strftime('%H:%M:%S')} {row}: {step}", file=sys.stderr, flush=True)
    began, used = time.perf_counter(), _children()
    done = subprocess.run((*PROGRAM, *words, "--json"), stdout=subprocess.PIPE, check=False)
    is_check = step in CHECKS
    if done.returncode and not (is_check and done.stdout):
        raise Failed(f"{row}: `mage-es {' '.join(words)}` exited with {done.returncode}; what it said stands above.")
    kept = json.loads(done.stdout) if is_check else None
    took = time.perf_counter() - began, _children() - used
    folder.add(Step(row=row, step=step, code=done.returncode, wall_s=took[0], cpu_s=took[1], report=kept))


def _children() -> float:
    """Return the seconds of CPU that the processes took which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_nine(names: Sequence[str], folder: Folder) -> None:
    """Print the table of the rows whose runs are verified, and what each step took."""
    header = (
        *("benchmark", "records: evolution / test", "task types", "metric", "full-size run"),
        *(
            "exam before",
            "exam after",
            "replies without an action",
            "baselines",
            "replay: digests equal",
            "verify: checks ok",
        ),
    )
    print_table("Nine benchmarks", header, (line(name, folder) for name in names))
    header = (
        "benchmark",
        "evolve: wall s",
        "evolve: CPU s",
        "exams: CPU s",
        "baselines: CPU s",
        "replay and verify: CPU s",
    )
    print_table("What that took", header, (costs(folder.steps(name)) for name in names))
    total = [step for name in names for step in folder.steps(name).values()]
    cpu, wall = sum(step.cpu_s for step in total), sum(step.wall_s for step in total)
    print(f"\nAll in all {cpu:,.0f} s of CPU, {wall:,.0f} s by the clock.")


def line(name: str, folder: Folder) -> tuple[str, ...]:
    """Return a row of the table, read off the logs of its runs."""
    steps, run = folder.steps(name), RecordedRun(find_run(folder.path, name))
    read = steps["records"].report
    ran = {one: RecordedRun(find_run(folder.path, f"{name}-{one}")) for one in BASELINES if one in steps}
    return (
        name,
        f"{read['evolution']:,} / {read['test']:,}",
        str(run.growth["task types"][-1]),
        ROWS[name].metric,
        size(run),
        result(run.counting("start")),
        result(run.counting("end")),
        silent(run.counting("end")),
        "; ".join(f"{one} {result(baseline.counting('end'))}" for one, baseline in ran.items()) or "n/a",
        equal_digests(run, steps["replay"].report),
        checks(steps["verify"].report["checks"]),
    )


def size(run: RecordedRun) -> str:
    """Return how large a run was: iterations, questions or episodes of each, epochs of the pool, events."""
    planned = list(run.reader.of(IterationPlanned))
    what = "episodes" if run.is_sequential else "questions"
    asked = sum(len(plan.fresh) + len(plan.revisits) for plan in planned)
    repeats = sum(len(plan.repeats) for plan in planned)
    again = f", {repeats:,} of them repeats of {planned[-1].epoch + 1} epochs" if repeats else ""
    return f"{len(planned)} x {run.config.pool} {what} ({asked:,} asked{again}), {run.reader.head.seq:,} events"


def result(exam: RecordedExam | None) -> str:
    """Return what an exam came to: right answers in percent; of episodes the mean score, and the share that passed."""
    if exam is None or exam.answers.is_empty():
        return "n/a"
    right, score = (100 * exam.answers[name].sum() / len(exam.answers) for name in ("correct", "score"))
    return f"{right:.1f} %" if exam.episodes.is_empty() else f"{score:.1f} % ({right:.1f} %)"


def silent(exam: RecordedExam | None) -> str:
    """Return how many of the replies in an exam's episodes named no action."""
    if exam is None or exam.episodes.is_empty():
        return "n/a"
    return f"{exam.episodes['unparsed'].sum():,} of {exam.episodes['steps'].sum():,}"


def equal_digests(run: RecordedRun, found: Sequence[Mapping[str, Any]]) -> str:
    """Return how many of the digests that were recorded live are those of the iterations folded again."""
    recorded = {
        record.event.iteration: len(record.event.digests)
        for record in run.reader.records({IterationClosed})
        if isinstance(record.event, IterationClosed)
    }
    equal = sum(recorded[check["iteration"]] for check in found if check["equal"])
    return f"{equal} of {sum(recorded.values())}"


def checks(found: Sequence[Mapping[str, Any]]) -> str:
    """Return how many checks passed, and the names of those that did not."""
    failed = [check["name"] for check in found if not check["ok"]]
    return f"{len(found) - len(failed)} of {len(found)}" + (f" (not: {', '.join(failed)})" if failed else "")


def costs(steps: Mapping[str, Step]) -> tuple[str, ...]:
    """Return what the steps of a row took."""

    def cpu(names: Iterator[str]) -> str:
        return f"{sum(steps[name].cpu_s for name in names):,.0f}"

    return (
        steps["evolve"].row,
        f"{steps['evolve'].wall_s:,.0f}",
        cpu(iter(["evolve"])),
        cpu(name for name in steps if name.startswith("exam")),
        cpu(name for name in steps if name in BASELINES),
        cpu(name for name in steps if name in ("replay", "verify")),
    )


if __name__ == "__main__":
    main()
