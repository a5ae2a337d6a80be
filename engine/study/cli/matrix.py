"""`mage-es matrix`: run and examine every combination of benchmarks, models, variants and seeds in a file."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.registering import RegisterOption
from mage_es.cli.settings import Settings, as_option, resolve
from mage_es.engine.config import Config
from mage_es.engine.seams.plugins import verb
from mage_es.events.errors import Interrupted, MageError, UsageError

if TYPE_CHECKING:
    from mage_es.engine.study.matrix.plan import MatrixCell
    from mage_es.engine.study.matrix.working import CellOutcome, Job

_SAMPLE = Path(__file__).parents[1] / "matrix" / "sample.toml"
_FILE = indent(_SAMPLE.read_text(encoding="utf-8").rstrip(), "  ", lambda line: True)
EXAMPLES = (
    examples("mage-es matrix paper.toml --dry-run", "mage-es matrix paper.toml --jobs 4 --runs-dir runs/paper")
    + f"\n\n\b\nA matrix file:\n{_FILE}"
)
PROGRAM = (sys.executable, "-c", "from mage_es.cli import main; main()")
"""The command that starts this program in another process."""
_LEFT = {"failed": "failed", "stopped": "stopped", "taken": "at work in another process"}
_UNSAID = ("default", "benchmark")
"""The origins of settings that the user left alone."""


@takes("workers", "sign", "runs_dir", "data_dir", "prices")
def matrix(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The matrix file; a sample is below.")],
    *,
    settings: Settings,
    out: Output,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=256, help="Cells to run at the same time.")] = 1,
    register: RegisterOption = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the cells, their state, and the calls they need.")
    ] = False,
) -> None:
    """Run a matrix: every combination of benchmark, learner, teacher, variant and seed in a file, each with its exams.

    Each cell has one run directory with a fixed name, so the same command continues where it stopped and leaves
    finished cells alone. A failed cell does not stop the others; the exit code is then 1. Several processes may work on
    a matrix, each on different cells, on one machine or in a shared folder whose file system has locks.
    """
    from mage_es.engine.study.matrix.plan import cells, read_matrix

    found = read_matrix(file)
    seeds = ",".join(map(str, found.seeds))
    registering = ("--register", "--register-seeds", seeds) if register else ()
    tasks = {benchmark: _tasks_sha256(benchmark) for benchmark in found.benchmarks}
    jobs_ = ((cell, _job(cell, found.exams, settings, registering)) for cell in cells(found))
    wanted = [(cell, job._replace(data_sha256=tasks[cell.benchmark])) for cell, job in jobs_]
    if not wanted:
        raise UsageError(f"{file} excludes every cell: there is nothing to run.")
    _require_fits([cell for cell, _ in wanted], settings)
    if dry_run:
        _foretell(out, wanted, settings, exams=len(found.exams))
        out.next(settings.again("matrix", str(file), names=("workers", "runs_dir", "data_dir")))
        return
    outcomes, stop = _run(out, [job for _, job in wanted], settings, jobs=jobs)
    rows = [(outcome.name, outcome.end, f"{outcome.seconds:.1f}" if outcome.seconds else "-") for outcome in outcomes]
    out.report([outcome._asdict() for outcome in outcomes], TextTable("Cells", ("cell", "end", "seconds"), rows))
    how = ("--jobs", str(jobs)) if jobs > 1 else ()
    again = settings.again("matrix", str(file), *how, names=("workers", "runs_dir", "data_dir"))
    _conclude(out, outcomes, settings, again=again, stop=stop)


def _run(
    out: Output, jobs_: Sequence[Job], settings: Settings, *, jobs: int
) -> tuple[list[CellOutcome], type[Interrupted]]:
    """Return how each cell ended, and the error that a requested stop raises."""
    from mage_es.engine.study.matrix.working import Desk, run_here

    with Interrupts() as interrupts:
        desk = Desk(settings.runs_dir, PROGRAM, out.say, interrupts.asked)
        return run_here(jobs_, desk, at_once=jobs), interrupts.kind


def _job(cell: MatrixCell, exams: tuple[str, ...], settings: Settings, registering: tuple[str, ...] = ()) -> Job:
    """Return a cell as a command line with every setting, so that it does the same on every machine."""
    from mage_es.engine.benchmarks.registry import with_own_models
    from mage_es.engine.config import canonical
    from mage_es.engine.study.matrix.working import Job
    from mage_es.engine.study.reporting.places import OF_BASELINES

    own = _settings(cell)
    config = own.config()
    key = str(settings.entries["sign"].value)
    signing = ("--sign", str(Path(key).absolute())) if key else ()
    places = ("--data-dir", str(settings.data_dir.absolute()), "--workers", str(settings.workers), *signing)
    # Defaults are the same on every machine, and without them the command stays short enough to read.
    chosen = {name: entry.value for name, entry in own.entries.items() if entry.origin.split()[0] not in _UNSAID}
    learning = {name: chosen[name] for name in Config.__struct_fields__ if name in chosen and name != "benchmark"}
    if cell.baseline:
        of_baselines = (*OF_BASELINES, "seed", "embedder", "teacher_sees")
        asking = {name: value for name, value in learning.items() if name in of_baselines}
        words = ("baseline", cell.baseline, cell.benchmark, "--run-id", cell.name, *registering, *_words(asking))
        return Job(cell.name, words, exams, "", places)
    begin = ("evolve", cell.benchmark, "--run-id", cell.name, *registering, *_words(learning))
    return Job(cell.name, begin, exams, canonical(with_own_models(config)), places)


def _tasks_sha256(benchmark: str) -> str:
    """Return the hash of the user's own tasks, "" for another benchmark."""
    from mage_es.engine.benchmarks.registry import open_benchmark
    from mage_es.engine.benchmarks.tasks import names_tasks

    return open_benchmark(benchmark, seed=0).data_sha256 if names_tasks(benchmark) else ""


def _words(values: Mapping[str, object]) -> Iterator[str]:
    return chain.from_iterable(as_option(name, value) for name, value in values.items())


def _require_fits(cells: Sequence[MatrixCell], settings: Settings) -> None:
    """Raise `UsageError`, with the cell's name, for a baseline that does not fit its benchmark."""
    from mage_es.engine.study.baseline import require_fit

    seen: set[tuple[str, str, str]] = set()
    for cell in cells:
        if not cell.baseline or (settings.runs_dir / cell.name).exists():
            continue
        config = _settings(cell).config()
        kind = (cell.baseline, cell.benchmark, config.search)
        try:
            if kind not in seen:
                require_fit(cell.baseline, config, data_dir=settings.data_dir)
        except UsageError as error:
            raise UsageError(f"{cell.name}: {error}") from error
        seen.add(kind)


def _settings(cell: MatrixCell) -> Settings:
    """Return a cell's settings: the matrix file overrides the environment and mage-es.toml."""
    from mage_es.engine.benchmarks.registry import check_name
    from mage_es.engine.models.registry import require_learner
    from mage_es.events.errors import nearest

    check_name(cell.benchmark)
    given = {"benchmark": cell.benchmark, "execution": cell.learner, "guidance": cell.teacher, "seed": cell.seed}
    if unknown := cell.settings.keys() - {*Config.__struct_fields__, "preset"}:
        name = min(unknown)
        raise UsageError(f"{cell.name}: a run has no setting `{name}`.{nearest(name, list(Config.__struct_fields__))}")
    try:
        found = resolve({**cell.settings, **given}, environment=os.environ, folder=Path.cwd())
        require_learner(found.config())
        return found
    except UsageError as error:
        raise UsageError(f"{cell.name}: {error}") from error


def _foretell(out: Output, wanted: Sequence[tuple[MatrixCell, Job]], settings: Settings, *, exams: int) -> None:
    """Show the state of each cell, and the calls and dollars of those still to start; no model is called."""
    from mage_es.engine.config import parse
    from mage_es.engine.study.matrix.working import state_of

    out.say("Rehearsing one cell of each kind with embedded models, which cost nothing.")
    forecasts: dict[Config, tuple[float, ...]] = {}
    rows: list[tuple[str, ...]] = []
    sums = [0.0, 0.0, 0.0]
    has_baseline = False
    for cell, job in wanted:
        how_far = state_of(job, settings.runs_dir)
        amounts: tuple[float, ...] = ()
        has_baseline |= how_far == "new" and bool(cell.baseline)
        if how_far == "new" and job.config:
            kind = msgspec.structs.replace(parse(job.config), seed=0)  # seeds cost the same
            if kind not in forecasts:
                forecasts[kind] = _forecast(parse(job.config), settings, exams=exams)
            amounts = forecasts[kind]
            sums = [one + other for one, other in zip(sums, amounts, strict=True)]
        rows.append((cell.name, how_far, *_amounts(amounts)))
    rows.append(("all new cells", "", *_amounts(sums)))
    if has_baseline:
        out.say("Baselines are not in the sums: their calls depend on the replies.")
    columns = ("cell", "state", "execution calls", "guidance calls", "dollars, without exams")
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    out.report(document, TextTable("Cells", columns, rows))


def _forecast(config: Config, settings: Settings, *, exams: int) -> tuple[float, float, float]:
    """Return how many execution calls (exams included) and guidance calls a run will make, and what they will cost in
    dollars."""
    prices = settings.prices()
    found = verb("estimate")(config, data_dir=settings.data_dir, workers=settings.workers, prices=prices)
    calls: dict[str, float] = {tier.tier: tier.calls.expected for tier in found.tiers}
    dollars = found.usd.expected if found.usd else float("nan")
    return calls["execution"] + exams * config.held_out, calls["guidance"], dollars


def _amounts(values: Sequence[float]) -> tuple[str, str, str]:
    if not values:
        return "-", "-", "-"
    execution, guidance, usd = values
    return f"{execution:,.0f}", f"{guidance:,.0f}", "unpriced" if math.isnan(usd) else f"{usd:,.2f}"


def _conclude(
    out: Output, outcomes: Sequence[CellOutcome], settings: Settings, *, again: str, stop: type[Interrupted]
) -> None:
    """Name the commands that continue each unfinished cell, continue all of them, and make the report."""
    left = [outcome for outcome in outcomes if outcome.end not in ("done", "skipped")]
    if left:
        counts = Counter(outcome.end for outcome in left)
        ends = ", ".join(f"{number} {_LEFT[end]}" for end, number in counts.items())
        out.say(f"\n{len(left)} of {len(outcomes)} cells are not done: {ends}.")
    for outcome in left:
        if outcome.command and outcome.end != "taken":
            out.say(f"{outcome.name}: continue with: {outcome.command}")
    report = settings.again("report", str(settings.runs_dir), names=("data_dir", "prices"))
    out.next(*([again] if left else []), report)
    all_ends = {outcome.end for outcome in outcomes}
    if "failed" in all_ends:
        raise typer.Exit(MageError.exit_code)
    if "stopped" in all_ends:
        raise typer.Exit(stop.exit_code)
