"""What the benchmarks print: Markdown tables, gates met or not, and the machine that it was measured on."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple


class Ratio(NamedTuple):
    """Medians of what each repetition found, and its extremes."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Ratio:
        """Return median, least and most of some values."""
        found = sorted(values)
        return cls(statistics.median(found), found[0], found[-1])

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g} to {self.most:.3g})"


class Gate(NamedTuple):
    """A goal with its limit: the median must be at least, or at most, that."""

    goal: str
    bound: Literal["at least", "at most"]
    limit: float
    measured: Ratio
    unit: str = "x"

    @property
    def is_met(self) -> bool:
        """Whether the median is within the limit."""
        reached = self.measured.median
        return reached >= self.limit if self.bound == "at least" else reached <= self.limit


def print_gates(gates: Sequence[Gate]) -> None:
    """Print the table of goals."""
    cells = [
        (g.goal, f"{g.bound} {g.limit:g} {g.unit}", str(g.measured), "yes" if g.is_met else "**no**") for g in gates
    ]
    print_table("Gates: median (least to most) of the repetitions", ("goal", "gate", "measured", "met"), cells)


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table with a title above."""
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def print_machine(command: str, packages: Sequence[str]) -> None:
    """Print the command, the machine, and the versions that were measured."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    machine = f"{cpu}, {os.cpu_count()} CPUs, {memory:.0f} GiB, {platform.system()} {platform.release()}, load {load}"
    print(f"\n`{command}` on {machine};")
    print(f"Python {platform.python_version()}, {versions}.")


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []
