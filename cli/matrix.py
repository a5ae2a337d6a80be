"""`mage-es matrix`: every combination of benchmarks, models, variants and seeds that a file names, run and examined."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from mage_es.cli.interrupts import Interrupts
from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings, resolve
from mage_es.engine.config import Config
from mage_es.engine.matrix.sample import SAMPLE
from mage_es.events.errors import Interrupted, MageError, UsageError

if TYPE_CHECKING:
    from mage_es.engine.matrix.plan import Cell
    from mage_es.engine.matrix.working import Desk, Job, Outcome

_FILE = "\n".join(f"  {line}" for line in SAMPLE.rstrip().splitlines())
EXAMPLES = (
    examples("mage-es matrix paper.toml --dry-run", "mage-es matrix paper.toml --jobs 4 --runs-dir runs/paper")
    + f"\n\n\b\nA matrix file:\n{_FILE}"
)
PROGRAM = (sys.executable, "-c", "from mage_es.cli import main; main()")
"""This command line as a process of its own."""
_LEFT = {"failed": "failed", "stopped": "stopped", "leased": "in the hands of another process"}
_UNSAID = ("default", "benchmark")
"""Where a setting comes from that nobody set: its own default, or the benchmark's."""


@takes("workers", "runs_dir", "data_dir", "prices")
def matrix(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The matrix file; one stands below.")],
    *,
    settings: Settings,
    runner: Annotated[
        Literal["processes", "ray"],
        typer.Option("--runner", help="Processes of this machine, or tasks of a Ray cluster."),
    ] = "processes",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Cells at a time (processes).")] = 1,
    store: Annotated[
        str, typer.Option("--store", help="Where Ray's cells are kept: a folder that all see, or s3://bucket/prefix.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell the cells, how far each is, and the calls.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a matrix: every benchmark, learner, teacher, variant and seed of a file, each with its exams.

    One run directory for each cell, of a name that stays: the same command goes on where it stopped, and leaves
    finished cells alone. A failed cell does not stop the others; then the exit code is 1. Any number of machines may
    work on one matrix in one folder: each cell is leased to one of them.
    """
    from mage_es.engine.matrix.plan import cells, read_matrix

    out = Output(as_json=as_json)
    if store and runner != "ray":
        raise UsageError("--store is where Ray's cells are kept: say --runner ray, or leave it out.")
    found = read_matrix(file)
    wanted = [(cell, _job(cell, found.exams, settings)) for cell in cells(found)]
    if not wanted:
        raise UsageError(f"{file} excludes every cell: there is nothing to run.")
    _require_fits([cell for cell, _ in wanted], settings)
    if dry_run:
        _foretell(out, [cell for cell, _ in wanted], [job for _, job in wanted], settings, exams=len(found.exams))
        out.next(settings.again("matrix", str(file), names=("workers", "runs_dir", "data_dir")))
        return
    outcomes, stop = _run(out, [job for _, job in wanted], settings, runner=runner, jobs=jobs, store=store)
    out.report([outcome._asdict() for outcome in outcomes], _table(outcomes))
    how = [*(("--runner", runner, "--store", store) if store else ()), *(("--jobs", str(jobs)) if jobs > 1 else ())]
    again = settings.again("matrix", str(file), *how, names=("workers", "runs_dir", "data_dir"))
    _conclude(out, outcomes, settings, again=again, stop=stop)


def _run(
    out: Output, jobs_: Sequence[Job], settings: Settings, *, runner: str, jobs: int, store: str
) -> tuple[list[Outcome], type[Interrupted]]:
    """Return how each cell ended, and what a stop is called if one was asked for."""
    from mage_es.engine.matrix.local import Stops, run_here

    with Interrupts() as interrupts:
        stops = Stops(interrupts.asked)
        if runner == "processes":
            return run_here(jobs_, _desk(out, settings, stops), at_once=jobs, stops=stops), interrupts.kind
        from mage_es.engine.matrix.on_ray import run_on_ray

        if not store:
            raise UsageError("Ray's machines need one place for the cells: name it with --store FOLDER or s3://...")
        outcomes = run_on_ray(
            jobs_, store=store, runs_dir=settings.runs_dir, program=PROGRAM[1:], say=out.say, asked=stops.asked
        )
        return outcomes, interrupts.kind


def _desk(out: Output, settings: Settings, stops: Any) -> Desk:
    from mage_es.engine.matrix.leases import Leases
    from mage_es.engine.matrix.local import holder, is_gone
    from mage_es.engine.matrix.working import NOTES, Desk
    from mage_es.events.filesystem import LocalFileSystem
    from mage_es.events.objects import FolderObjects

    settings.runs_dir.mkdir(parents=True, exist_ok=True)
    place = FolderObjects(settings.runs_dir / NOTES / "leases", LocalFileSystem())
    leases = Leases(place, holder(), is_gone=is_gone)
    return Desk(settings.runs_dir, PROGRAM, leases, out.say, stops.asked)


def _job(cell: Cell, exams: tuple[str, ...], settings: Settings) -> Job:
    """Return a cell as commands; whatever decides what a run does is said in them, so it is the same everywhere."""
    from mage_es.engine.config import canonical
    from mage_es.engine.matrix.working import Job
    from mage_es.engine.reporting.study import OF_BASELINES

    own = _settings(cell)
    config = own.config()
    places = ("--data-dir", str(settings.data_dir.absolute()), "--workers", str(settings.workers))
    # What nobody set is the same wherever the command runs, and left out so that people can read it.
    chosen = {name: entry.value for name, entry in own.entries.items() if entry.origin.split()[0] not in _UNSAID}
    learning = {name: chosen[name] for name in Config.__struct_fields__ if name in chosen and name != "benchmark"}
    if cell.baseline:
        asking = {name: value for name, value in learning.items() if name in (*OF_BASELINES, "seed")}
        words = ("baseline", cell.baseline, cell.benchmark, "--run-id", cell.name, *_options(asking))
        return Job(cell.name, words, exams, "", places)
    begin = ("evolve", cell.benchmark, "--run-id", cell.name, *_options(learning))
    return Job(cell.name, begin, exams, canonical(config), places)


def _require_fits(cells: Sequence[Cell], settings: Settings) -> None:
    """Raise `UsageError`, with the cell's name, for a baseline that makes no sense on its benchmark."""
    from mage_es.engine.baselines.running import require_fit

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


def _settings(cell: Cell) -> Settings:
    """Return a cell's settings: the file's win over the environment's and mage-es.toml's."""
    from mage_es.engine.benchmarks.registry import check_name

    check_name(cell.benchmark)
    given = {"benchmark": cell.benchmark, "execution": cell.learner, "guidance": cell.teacher, "seed": cell.seed}
    if unknown := cell.settings.keys() - {*Config.__struct_fields__, "preset"}:
        from mage_es.events.errors import nearest

        name = min(unknown)
        raise UsageError(
            f"{cell.name}: `{name}` is no setting of a run.{nearest(name, list(Config.__struct_fields__))}"
        )
    try:
        return resolve({**cell.settings, **given}, environment=os.environ, folder=Path.cwd())
    except UsageError as error:
        raise UsageError(f"{cell.name}: {error}") from error


def _options(values: Mapping[str, Any]) -> list[str]:
    words = []
    for name, value in values.items():
        flag = name.replace("_", "-")
        words += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words


def _foretell(out: Output, cells: Sequence[Cell], jobs: Sequence[Job], settings: Settings, *, exams: int) -> None:
    """Show each cell, how far it is, and the calls and dollars of what is left to begin; nothing is called for it."""
    from mage_es.engine.config import parse
    from mage_es.engine.matrix.working import standing

    out.say("Rehearsing one cell of each kind with embedded models; none is called that costs anything.")
    told: dict[Config, tuple[float, ...]] = {}
    rows: list[tuple[str, ...]] = []
    sums = [0.0, 0.0, 0.0]
    for cell, job in zip(cells, jobs, strict=True):
        how_far = standing(job, settings.runs_dir)
        amounts: tuple[float, ...] = ()
        if how_far == "new" and job.config:
            kind = msgspec.structs.replace(parse(job.config), seed=0)  # seeds cost the same
            if kind not in told:
                told[kind] = _forecast(parse(job.config), settings, exams=exams)
            amounts = told[kind]
            sums = [one + other for one, other in zip(sums, amounts, strict=True)]
        rows.append((cell.name, how_far, *_amounts(amounts)))
    rows.append(("all that is new", "", *_amounts(sums)))
    if any(cell.baseline and row[1] == "new" for cell, row in zip(cells, rows, strict=False)):
        out.say("Baselines are in no sum: what they take depends on how they go.")
    columns = ("cell", "standing", "execution calls", "guidance calls", "dollars, without exams")
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    out.report(document, Table("Cells", columns, rows))


def _forecast(config: Config, settings: Settings, *, exams: int) -> tuple[float, float, float]:
    """Return the execution calls (one for each question of the exams), the guidance calls, and the dollars of a run."""
    from mage_es.engine.estimating import estimate
    from mage_es.engine.pricing import read_prices

    prices = read_prices(settings.prices)
    found = estimate(config, data_dir=settings.data_dir, workers=settings.workers, prices=prices)
    calls = {tier.tier: tier.calls.expected for tier in found.tiers}
    usd = [tier.usd.expected for tier in found.tiers if tier.usd is not None]
    dollars = sum(usd) if len(usd) == len(found.tiers) else float("nan")
    return calls["execution"] + exams * config.held_out, calls["guidance"], dollars


def _amounts(values: Sequence[float]) -> tuple[str, str, str]:
    if not values:
        return "-", "-", "-"
    execution, guidance, usd = values
    return f"{execution:,.0f}", f"{guidance:,.0f}", "unpriced" if math.isnan(usd) else f"{usd:,.2f}"


def _table(outcomes: Sequence[Outcome]) -> Table:
    rows = [(o.name, o.end, f"{o.seconds:.1f}" if o.seconds else "-") for o in outcomes]
    return Table("Cells", ("cell", "end", "seconds"), rows)


def _conclude(
    out: Output, outcomes: Sequence[Outcome], settings: Settings, *, again: str, stop: type[Interrupted]
) -> None:
    """Name the commands that go on with what is not done, each cell by itself and all of them, and the report."""
    left = [outcome for outcome in outcomes if outcome.end not in ("done", "skipped")]
    if left:
        counts = Counter(outcome.end for outcome in left)
        said = ", ".join(f"{number} {_LEFT[end]}" for end, number in counts.items())
        out.say(f"\n{len(left)} of {len(outcomes)} cells are not done: {said}.")
    for outcome in left:
        if outcome.command and outcome.end != "leased":
            out.say(f"{outcome.name}: go on with: {outcome.command}")
    report = settings.again("report", str(settings.runs_dir), names=("data_dir", "prices"))
    out.next(*([again] if left else []), report)
    ends = {outcome.end for outcome in outcomes}
    if "failed" in ends:
        raise typer.Exit(MageError.exit_code)
    if "stopped" in ends:
        raise typer.Exit(stop.exit_code)
