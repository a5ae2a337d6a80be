"""`mage-es data`: the benchmarks whose data is present, how to fetch the others, and what a run makes of one."""

import shlex
from typing import Annotated

import msgspec
import typer

from mage_es.cli.options import BenchmarkArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError

LIST_EXAMPLES = examples("mage-es data list", "mage-es data list --data-dir data --json")
CHECK_EXAMPLES = examples("mage-es data check gsm8k --data-dir data", "mage-es data check my.jsonl --scorer number")
FETCH_EXAMPLES = examples(
    "mage-es data fetch gsm8k --data-dir data", "mage-es data fetch gsm8k --from http://mirror/gsm8k"
)


class DataRow(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark: its licence, size and hash if its data is present, else the `problem`."""

    name: str
    present: bool
    evolution: int
    test: int
    licence: str
    sha256: str
    problem: str


@takes("data_dir")
def list_all(*, settings: Settings, out: Output) -> None:
    """List the benchmarks, their data and licences."""
    from mage_es.engine.benchmarks.registry import names
    from mage_es.engine.verbs.data import is_fetched

    found = [_row(name, settings) for name in names()]
    cells = [
        (
            row.name,
            "present" if row.present else "missing",
            str(row.evolution) if row.present else "-",
            str(row.test) if row.present else "-",
            row.licence,
        )
        for row in found
    ]
    out.report(found, TextTable("", ("benchmark", "data", "evolution", "test", "licence"), cells))
    for row in found:
        if not row.present:
            out.say(row.problem)
    wanted = next((row.name for row in found if not row.present and is_fetched(row.name)), "")
    there = next(row.name for row in found if row.present)
    out.next(settings.again("data", "fetch", wanted) if wanted else settings.again("evolve", there))


def _row(name: str, settings: Settings) -> DataRow:
    from mage_es.engine.benchmarks.dataset import missing_files
    from mage_es.engine.benchmarks.registry import open_benchmark

    try:
        benchmark = open_benchmark(name, seed=settings.seed, data_dir=settings.data_dir)
    except PrerequisiteError as error:
        return DataRow(name=name, present=False, evolution=0, test=0, licence="", sha256="", problem=str(error))
    sizes = {split: len(benchmark.questions(split)) for split in ("evolution", "test")}
    return DataRow(
        name=name,
        present=True,
        **sizes,
        licence=benchmark.licence,
        sha256=benchmark.data_sha256,
        problem=missing_files(benchmark),
    )


@takes("seed", "held_out", "anchors", "data_dir", own_tasks=True)
def check_one(
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
) -> None:
    """Read a benchmark or a file of tasks, divide it as a run would, and list what is left out and why."""
    from mage_es.engine.verbs.data import check

    report = check(settings.config(), data_dir=settings.data_dir)
    sizes = (("to learn from", report.evolution), ("anchors", report.anchors), ("held out", report.held_out))
    counts = (*sizes, ("left out", len(report.left_out)), ("task types", report.task_types))
    alike = [", ".join(group) for group in report.groups]
    parts = [TextTable("", tuple(name for name, _ in counts), [tuple(str(count) for _, count in counts)])]
    if report.columns:
        roles = [(row.role, row.column or f"none{f': {row.why}' if row.why else ''}") for row in report.columns]
        parts.append(TextTable("Columns", ("role", "column"), roles))
    if report.left_out:
        parts.append(TextTable("Left out", ("id", "because"), [(one.id, str(one)) for one in report.left_out]))
    if alike:
        parts.append(TextTable("Near-duplicates, each group in one split", ("ids",), [(ids,) for ids in alike]))
    out.report(report, *parts)
    for told in (*report.leaks, *report.said):
        out.say(told)
    out.next(settings.again("evolve", report.benchmark, names=tuple(n for n in settings.flags() if n != "benchmark")))


@takes("data_dir")
def fetch_one(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Name of the benchmark, such as gsm8k.")],
    *,
    settings: Settings,
    out: Output,
    mirror: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Address of a mirror. [default: the public address]")
    ] = None,
) -> None:
    """Download a benchmark's files from their public address.

    Continues an earlier download, shows the licence and records a checksum of each file. Without --data-dir the files
    go to the folder `data`.
    """
    from mage_es.engine.verbs.data import fetch

    files = fetch(name, settings.data_dir, base_url=mirror, announce=out.say)
    rows = [(file.name, str(file.size), file.sha256, file.path) for file in files]
    out.report(files, TextTable("", ("file", "bytes", "sha256", "path"), rows))
    out.next(shlex.join(["mage-es", "evolve", name, "--data-dir", str(settings.data_dir)]))
