"""The pages of `mage-es view` on a run of 1,000,000 events: first paint, scrubbing, opening a question.

    python -m tests.bench.view_page               a run is made up and exported, then a browser is measured: ten minutes
    python -m tests.bench.view_page --events 100000
    python -m tests.bench.view_page --site site   an export of `mage-es view RUN --to site`

Chromium as this machine has it, drawing in software. A page is shown when what its address asks for is there, counted
from the navigation. A scrub ends with the second frame after the address changed, once all that was drawn is on the
canvas. A question by its address is one of five, the first and the last among them, each in a page that has nothing:
from the navigation until a frame with its prompt, its answer and its verdict was drawn. Each figure is the best and the
median of its repeats: the browser shares the machine.
"""

import argparse
import http.server
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.bench.tables import Gate, Ratio, print_gates, print_machine
from tests.bench.view import FLAGS, PAINT, exported, write
from tests.engine.viewing.conftest import opened, rows_of

PAGES = {
    "overview": ".chart canvas",
    "questions": "tbody tr td a",
    "memories": "tbody tr td a",
    "graph": ".picture canvas",
    "bandits": ".card",
    "compare?vs=iter-50": ".pairs",
}
MOMENTS = ["iter-20", "iter-70", "seq:90001", "iter-33", "iter-60"]
SCRUB = """async moments => {
    const took = [];
    for (const at of moments) {
        const began = performance.now();
        const [path, query] = location.hash.split("?");
        const asked = new URLSearchParams(query || "");
        asked.set("at", at);
        history.replaceState(null, "", `${path}?${asked}`);
        dispatchEvent(new Event("hashchange"));
        await new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done))));
        const gl = document.querySelector(".picture canvas")?.getContext("webgl2");
        gl?.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
        took.push(performance.now() - began);
    }
    return took;
}"""
SHOWN = """new MutationObserver((_, watch) => {
    if (!document.querySelector(".call pre.text")) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => (window.shown = performance.now())));
}).observe(document, {subtree: true, childList: true})"""
WHEN = "new Promise(done => { const look = () => window.shown ? done(shown) : setTimeout(look, 20); look(); })"
OPEN = """async end => {
    const began = performance.now();
    location.hash = end;
    while (!document.querySelector(".call pre.text")) await new Promise(done => setTimeout(done, 5));
    return performance.now() - began;
}"""


def told(name: str, times: list[float]) -> str:
    return f"{name:<32}{min(times):>8.0f}{statistics.median(times):>8.0f}"


def measure(browser: Browser, address: str, ends: list[str], repeats: int) -> None:
    print(f"{'milliseconds':<32}{'best':>8}{'median':>8}")
    run = ends[0].split("/")[1]
    for name, shown in PAGES.items():
        painted, ready, scrubbed, found = (list[float]() for _ in range(4))
        for n in range(repeats):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{address}#/{run}/{name}")
            page.locator(shown).first.wait_for()
            ready.append(page.evaluate("performance.now()"))
            page.wait_for_timeout(1000)
            painted.append(page.evaluate(PAINT))
            scrubbed += page.evaluate(SCRUB, MOMENTS)
            if name == "questions":
                found.append(page.evaluate(OPEN, ends[n % len(ends)]))
            page.close()
        print(told(f"{name}, first paint", painted))
        print(told(f"{name}, all shown", ready))
        print(told(f"{name}, a scrub", scrubbed))
        if found:
            print(told("a question of the list", found))


def by_address(browser: Browser, address: str, repeats: int) -> list[float]:
    """Return the milliseconds of each navigation to a question until it was shown."""
    times = []
    for _ in range(repeats):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(SHOWN)
        page.wait_for_timeout(500)  # until the page before has gone, and this one is as a new tab that waits
        page.goto(address)
        times.append(page.evaluate(WHEN))
        page.close()
    return times


@contextmanager
def over_http(folder: Path) -> Iterator[str]:
    """Serve a folder as any static host does; give its address."""
    handler = partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True  # as every static host does

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def questions_of(site: Path) -> list[str]:
    """Return the addresses of five questions of a site's first run."""
    run = opened((site / "data" / "runs.js").read_bytes())[1]["runs"][0]["run"]
    files = sorted((site / "data" / run).glob("questions-*.js"), key=lambda path: int(path.stem.rpartition("-")[2]))
    ids = [[row["id"] for row in rows_of(opened(path.read_bytes())[1])] for path in (files[0], files[-1])]
    ids[1:1] = [[row["id"] for row in rows_of(opened(files[len(files) // 2].read_bytes())[1])]]
    return [f"#/{run}/questions/{name}" for name in (ids[0][0], ids[0][-1], ids[1][0], ids[2][0], ids[2][-1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--site", type=Path, help="an export that is there")
    given = parser.parse_args()
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = (given.site or Path(folder) / "site").resolve()
        if not given.site:
            write(Path(folder) / "long" / "log", given.events)
            exported(Path(folder) / "long", site)
        ends, page = questions_of(site), (site / "index.html").as_uri()
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        measure(browser, page, ends, given.repeats)
        with over_http(site) as hosted:
            times = [
                [ms for end in ends for ms in by_address(browser, to + end, given.repeats)] for to in (page, hosted)
            ]
        browser.close()
    print_gates([
        Gate("a question by its address, from a folder", "at most", 300, Ratio.of(times[0]), "ms"),
        Gate("a question by its address, over HTTP", "at most", 300, Ratio.of(times[1]), "ms"),
    ])  # fmt: skip
    print_machine("python -m tests.bench.view_page", ("playwright",))


if __name__ == "__main__":
    main()
