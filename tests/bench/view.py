"""What it costs to look at a long run: its export, and its pages in Chromium, from the exported folder and a server.

    python -m tests.bench.view                     about ten minutes
    python -m tests.bench.view --events 100000     a quick look

The log is made up (tests/bench/long_run.py), so no prompt of it can be rendered again. The export is the one of the
command, with `verify` in a process of its own; memory is the proportional set size of both, looked at four times a
second. A page is ready when what it shows is there; a scrub lasts until the next moment is drawn, by whatever draws
WebGL here.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from mage_es.events.log import Log
from tests.bench.long_run import commits
from tests.bench.tables import Gate, Ratio, print_gates, print_machine, print_table

PAGES = {
    "overview": ".chart canvas",
    "questions": "tbody tr td a",
    "memories": "tbody tr td a",
    "graph": ".picture canvas",
    "bandits": ".card",
    "events": "tbody td a.num",
}
"""Pages by name, each with what is there once it is ready."""
FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
COMMAND = (sys.executable, "-m", "mage_es", "view")
MOMENTS = 9
LIMITS_MS = {"first paint": 1500, "scrub": 250, "a question": 300}
ANSWER = ".answer"
CLICK = """async ([link, answer]) => {
  const began = performance.now();
  document.querySelector(link).click();
  while (!document.querySelector(answer)) await new Promise(done => setTimeout(done, 2));
  return performance.now() - began;
}"""
SCRUB = """async shares => {
  const took = [], slider = document.querySelector("[role=slider]"), last = +slider.getAttribute("aria-valuemax");
  for (const share of shares) {
    const began = performance.now(), [path, query] = location.hash.split("?"), moved = new URLSearchParams(query);
    moved.set("at", `seq:${Math.round(last * share)}`);
    history.replaceState(null, "", `${path}?${moved}`);
    dispatchEvent(new Event("hashchange"));
    await new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done))));
    const canvas = document.querySelector(".picture canvas"), gl = canvas && canvas.getContext("webgl2");
    gl && gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // until it is drawn
    took.push(performance.now() - began);
  }
  return took;
}"""


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
        with browser() as new_page:
            rows, found = looked((site / "index.html").as_uri(), new_page, options.repetitions)
            with served(run) as url:
                first = [paint(url, "overview", new_page)[:2] for _ in range(options.repetitions)]
    print_table("Milliseconds from the folder, medians", ("page", "first paint", "ready", "scrub"), rows)
    server = [f"{paint_ms:,.0f} and {ready_ms:,.0f}" for paint_ms, ready_ms in first]
    print_table("Milliseconds from the server", ("first paint and ready, time by time",), [(", ".join(server),)])
    gates = [
        Gate("export, wall", "at most", 120, Ratio.of(walls), "s"),
        Gate("export, memory of both processes", "at most", 1536, Ratio.of(memory), "MiB"),
        Gate("first paint, from the server", "at most", 1500, Ratio.of(each[0] for each in first), "ms"),
        *(Gate(name, "at most", LIMITS_MS[name.split(",")[0]], ratio, "ms") for name, ratio in found.items()),
    ]
    print_gates(gates)
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
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield lambda: found.new_page(viewport={"width": 1280, "height": 900})
        found.close()


@contextmanager
def served(run: Path) -> Iterator[str]:
    with subprocess.Popen((*COMMAND, str(run), "--no-open"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()


def paint(url: str, name: str, new_page: Any, selector: str = "", moments: int = 0) -> tuple[float, float, list[float]]:
    """Open a page; return milliseconds to its first paint, until it is ready, and of each scrub."""
    page = new_page()
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(f"{url}#/long/{name}")
    page.locator(selector or PAGES[name]).first.wait_for(timeout=120_000)
    ready = 1000 * (time.perf_counter() - began)
    painted = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
    first = page.evaluate(painted)
    page.wait_for_timeout(500)
    took = page.evaluate(SCRUB, [(7 * n % MOMENTS + 1) / (MOMENTS + 1) for n in range(moments)])
    page.close()
    return first, ready, took


def looked(url: str, new_page: Any, repetitions: int) -> tuple[list[tuple[str, ...]], dict[str, Ratio]]:
    """Open every page a few times; return the table, and what has a gate."""
    lists = [clicked(url, new_page) for _ in range(repetitions)]
    rows, first, scrubs = [], list[float](), dict[str, Ratio]()
    for name, selector in (*PAGES.items(), (lists[0][1], ANSWER)):
        times = [paint(url, name, new_page, selector, moments=MOMENTS) for _ in range(repetitions)]
        scrub = scrubs[f"scrub, {'a question' if '/' in name else name}"] = Ratio.of(
            took for each in times for took in each[2]
        )
        first += [each[0] for each in times]
        found = (Ratio.of(first[-repetitions:]), Ratio.of(each[1] for each in times), scrub)
        rows.append((name, *(f"{each.median:,.0f}" for each in found)))
    opening = Ratio.of(took for took, _ in lists)
    return rows, {"first paint, every page": Ratio.of(first), "a question, from the list": opening, **scrubs}


def clicked(url: str, new_page: Any) -> tuple[float, str]:
    """Open a question from the list; return milliseconds, and the end of its address."""
    page = new_page()
    page.goto(f"{url}#/long/questions")
    link = page.locator(PAGES["questions"]).first
    link.wait_for(timeout=120_000)
    page.wait_for_timeout(500)
    took = page.evaluate(CLICK, [PAGES["questions"], ANSWER])
    end = page.url.partition("#/long/")[2]
    page.close()
    return took, end


if __name__ == "__main__":
    main()
