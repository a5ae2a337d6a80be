"""`mage-es fetch`: download the data of benchmarks, or list which benchmarks have theirs."""

import shlex
from typing import Annotated

import msgspec
import typer

from mage_es.cli.options import BenchmarkArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError, UsageError

EXAMPLES = examples(
    "mage-es fetch", "mage-es fetch gsm8k --data-dir data", "mage-es fetch gsm8k --from http://mirror/gsm8k"
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
def fetch(
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
    mirror: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Address of a mirror. [default: the public address]")
    ] = None,
) -> None:
    """List the benchmarks with their data and licences, or download the files of one benchmark from their public
    address.

    Continues an earlier download, shows the licence and records a checksum of each file. Without --data-dir the files
    go to the folder `data`.
    """
    from mage_es.engine.bench.fetching import fetch as fetch_files

    name = settings.flags().get("benchmark")
    if name is None:
        if mirror is not None:
            raise UsageError(f"--from {mirror}: name the benchmark to fetch from there, such as gsm8k.")
        _list(settings, out)
        return
    files = fetch_files(str(name), settings.data_dir, base_url=mirror, announce=out.say)
    rows = [(file.name, str(file.size), file.sha256, file.path) for file in files]
    out.report(files, TextTable("", ("file", "bytes", "sha256", "path"), rows))
    out.next(shlex.join(["mage-es", "evolve", str(name), "--data-dir", str(settings.data_dir)]))


def _list(settings: Settings, out: Output) -> None:
    from mage_es.engine.benchmarks.registry import names, source_of

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
        if row.problem:
            out.say(row.problem)
    wanted = next((row.name for row in found if not row.present and source_of(row.name)), "")
    there = next(row.name for row in found if row.present)
    out.next(settings.again("fetch", wanted) if wanted else settings.again("evolve", there))


def _row(name: str, settings: Settings) -> DataRow:
    from mage_es.engine.bench.dataset import missing_files
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
