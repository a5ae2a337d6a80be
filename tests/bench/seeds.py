"""A system on several seeds: its runs with their exams, and what the seeds say together."""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.study.reporting.cells import OF_MEAN, cell_of
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.exam_report import ExamReport, GroupScore


class Exams(NamedTuple):
    """The exams before iteration 0 and after the last one; after it also under the control `shuffled`, if set."""

    before: ExamReport
    after: ExamReport
    shuffled: ExamReport | None


def parser(
    description: str | None, *, iterations: int, pool: int, held_out: int, runs_dir: str
) -> argparse.ArgumentParser:
    """Return the command line that such benchmarks have in common, with the defaults of one."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--seeds", type=int, nargs="+", default=[42, 43, 44, 45, 46])
    found.add_argument("--iterations", type=int, default=iterations)
    found.add_argument("--pool", type=int, default=pool)
    found.add_argument("--held-out", type=int, default=held_out)
    found.add_argument("--processes", type=int, default=2)
    found.add_argument("--runs-dir", type=Path, default=Path(runs_dir))
    return found


def evolved(options: argparse.Namespace, benchmark: str, seed: int, *, system: str = "full", **changed: Any) -> Run:
    """Evolve a system: the full one, but for what is changed."""
    sizes = {name: getattr(options, name) for name in ("iterations", "pool", "held_out")}
    name = f"{benchmark}-s{seed}-{system.replace(' ', '-')}"
    config = Config(benchmark=benchmark, seed=seed, **sizes, **changed)
    evolve(config, runs_dir=options.runs_dir, data_dir=None, runtime=Runtime(workers=8), run_id=name)
    return find_run(options.runs_dir, name)


def examined(run: Run, *, has_control: bool) -> Exams:
    """Set the exams of a run."""

    def exam(at: str, control: str = "none") -> ExamReport:
        return examine(run, at=at, questions=None, control=control, data_dir=None, runtime=Runtime(workers=8))

    return Exams(exam("start"), exam("latest"), exam("latest", "shuffled") if has_control else None)


def rate(score: ExamReport | GroupScore | None) -> float:
    """Return which part of the questions was answered right, in percent; 0 without any."""
    return 100 * score.correct / score.total if score and score.total else 0.0


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation over the seeds."""
    return f"{statistics.mean(values):.1f} ({statistics.stdev(values) if len(values) > 1 else 0.0:.1f})"


def paired(ones: Sequence[float], others: Sequence[float]) -> tuple[str, str]:
    """Return the mean of the differences, paired by seed, and its 95 % t interval."""
    cell = cell_of((one - other for one, other in zip(ones, others, strict=True)), "points", interval=OF_MEAN)
    assert cell is not None
    within = cell.interval
    return f"{cell.mean:+.1f}", f"[{within.low:+.1f}, {within.high:+.1f}]" if within else "n/a"
