"""What it costs to look at a long run: its export, and its first page from a server.

    python -m tests.bench.view                     about ten minutes
    python -m tests.bench.view --events 100000     a quick look

The log is made up (tests/bench/long_run.py), so no prompt of it can be rendered again. The export is the one of the
command, with `verify` in a process of its own; memory is the proportional set size of both, looked at four times a
second. The server's first page is that of a run which it has not read, then of one which it has. The pages themselves
are measured by tests/bench/view_page.py.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from mage_es.events.log import Log
from tests.bench.long_run import commits
from tests.bench.tables import Gate, Ratio, print_gates, print_machine

FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PAINT = "performance.getEntriesByType('paint').find(one => one.name === 'first-contentful-paint').startTime"
COMMAND = (sys.executable, "-m", "mage_es", "view")


def main() -> None:
    """Make the run, export it, look at it, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run, site = Path(folder) / "runs" / "long", Path(folder) / "site"
        written = write(run / "log", options.events)
        walls, memory = [], []
        for _ in range(options.repetitions):
            shutil.rmtree(site, ignore_errors=True)
            wall, most = exported(run, site)
            walls.append(wall)
            memory.append(most)
        sizes = [path.stat().st_size for path in site.rglob("*.*")]
        print(f"{written:,} events: {len(sizes):,} files, {sum(sizes) / 1e6:.0f} MB")
        with served(run) as url:
            unread, read = opened(url), opened(url)
    print_gates([
        Gate("export, wall", "at most", 120, Ratio.of(walls), "s"),
        Gate("export, memory of both processes", "at most", 1536, Ratio.of(memory), "MiB"),
        Gate("first paint, from the server", "at most", 1500, Ratio.of((unread[0], read[0])), "ms"),
    ])  # fmt: skip
    print(f"\nThe overview was there after {unread[1]:.1f} s, once the log was read after {read[1]:.1f} s.")
    print_machine("python -m tests.bench.view", ("msgspec", "pyarrow", "playwright"))


def write(path: Path, events: int) -> int:
    """Write a log of so many events and return how many it has."""
    clock, total = iter(range(1_700_000_000_000_000, 1 << 62, 1000)).__next__, 0
    with Log.create(path, run=path.parent.name, clock=clock) as log:
        for commit in filter(None, commits()):
            log.append(commit)
            total += len(commit)
            if total >= events:
                return total
    raise AssertionError("a made-up run has no end")


def exported(run: Path, site: Path) -> tuple[float, float]:
    """Export with the command; return seconds, and MiB of all its processes at most."""
    began, most = time.perf_counter(), 0
    with subprocess.Popen((*COMMAND, str(run), "--to", str(site)), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, sum(map(proportional, family(process.pid))))
            time.sleep(0.25)
    assert process.returncode == 0
    return time.perf_counter() - began, most / 1024


def family(process: int) -> list[int]:
    """Return a process and all that it began."""
    found = [process]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, text_of(children).split())
    return found


def proportional(process: int) -> int:
    """Return the proportional set size of a process in KiB."""
    lines = text_of(Path(f"/proc/{process}/smaps_rollup")).splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended
        return ""


@contextmanager
def served(run: Path) -> Iterator[str]:
    with subprocess.Popen((*COMMAND, str(run), "--no-open"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()


def opened(url: str) -> tuple[float, float]:
    """Open a run's overview; return milliseconds to the first paint, and seconds until it is there."""
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        page = browser.new_page()
        page.goto("about:blank")
        began = time.perf_counter()
        page.goto(url)
        page.locator(".chart canvas").first.wait_for(timeout=300_000)
        ready = time.perf_counter() - began
        painted: float = page.evaluate(PAINT)
        browser.close()
    return painted, ready


if __name__ == "__main__":
    main()
