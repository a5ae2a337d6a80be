"""The page of `mage-es view` on a run of 1,000,000 events: first paint, scrubbing, opening a question.

    python -m tests.bench.view_page                the tables of such a run are made up here, then a browser is measured
    python -m tests.bench.view_page --events 100000
    python -m tests.bench.view_page --site site    an export of `mage-es view RUN --to site`: its questions by address

A graph of a tenth as many nodes and a fifth as many edges, a quarter as many askings. Chromium as this machine has it,
drawing in software. A page is shown when what its address asks for is there, counted from the navigation. A scrub ends
with the second frame after the address changed, once all that was drawn is on the canvas. A question by its address is
one of five, the first and the last among them, each in a page that has nothing: from the navigation until a frame with
its prompt, its answer and its verdict was drawn. Each figure is the best and the median of its repeats: the browser
shares the machine.
"""

from __future__ import annotations

import argparse
import http.server
import math
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from mage_es.engine.viewing.chunks import script
from mage_es.engine.viewing.export import STATIC, static
from mage_es.engine.viewing.tables import packed, picked, places
from tests.bench.tables import Gate, Ratio, print_gates
from tests.engine.viewing.conftest import opened, rows_of

RUN = "big"
ITERATIONS = 100
SKILLS = 500
SIZES = {"questions": 2000, "asked": 100, "askings": 4000, "answers": 100}
FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PAGES = {
    "overview": ".chart canvas",
    "questions": "tbody tr td a",
    "questions/q-7": ".call pre.text",
    "memories": "tbody tr td a",
    "graph": ".picture canvas",
    "bandits": ".card",
    "compare?vs=iter-50": ".pairs",
}
PAINT = "performance.getEntriesByType('paint').find(one => one.name === 'first-contentful-paint').startTime"
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
OPEN = """async () => {
    const began = performance.now();
    location.hash = "#/big/questions/q-7";
    while (!document.querySelector(".call pre.text")) await new Promise(done => setTimeout(done, 5));
    return performance.now() - began;
}"""


class Site:
    """The folder of an export, with tables that were made up."""

    def __init__(self, to: Path) -> None:
        self.to, self.chunks, self.counts = to, dict[str, list[int]](), dict[str, int]()
        (to / "data" / RUN).mkdir(parents=True)
        for name in STATIC:
            (to / name).write_bytes(static(name))

    def put(self, table: str, columns: dict[str, list[Any]], **beside: Any) -> None:
        rows, size = len(next(iter(columns.values()))), SIZES.get(table, 20_000)
        self.counts[table], self.chunks[table] = rows, [size, -(-rows // size)]
        for n, first in enumerate(range(0, rows, size)):
            name = f"{RUN}/{table}-{n}"
            self.write(name, script(name, packed(columns, first, min(rows, first + size) - 1, **beside)))

    def put_asked(self, questions: dict[str, list[Any]], askings: dict[str, list[Any]]) -> None:
        """Write the chunks in which a page finds a question by its id."""
        own: list[list[int]] = [[] for _ in questions["id"]]
        for n, question in enumerate(askings["question"]):
            own[question].append(n)
        found = places(questions["id"], -(-len(own) // SIZES["asked"]))
        self.counts["asked"], self.chunks["asked"] = len(own), [SIZES["asked"], len(found)]
        for place, rows in enumerate(found):
            theirs = [n for row in rows for n in own[row]]
            held = {"questions": picked(questions, rows), "askings": picked(askings, theirs)}
            self.write(f"{RUN}/asked-{place}", script(f"{RUN}/asked-{place}", held))

    def write(self, name: str, data: bytes) -> None:
        (self.to / "data" / f"{name}.js").write_bytes(data)


def made(to: Path, events: int) -> None:
    """Write the tables of a run of so many events."""
    random, site = Random(1), Site(to)
    nodes, edges, askings, questions = events // 10, events // 5, events // 4, events // 20
    fixed = SKILLS + 200
    births = sorted(random.randrange(1, events) for _ in range(nodes))
    centres = [(random.uniform(-1, 1), random.uniform(-1, 1)) for _ in range(SKILLS)]
    around = [(random.random() ** 0.5 * 0.06, random.random() * math.tau) for _ in range(nodes)]
    site.put("nodes", {
        "from": births, "to": [None] * nodes,
        "id": [f"skill/s{n}" if n < SKILLS else f"memory/{n:032x}" for n in range(nodes)],
        "kind": ["skill" if n < SKILLS else "task_type" if n < fixed else "memory" for n in range(nodes)],
        "layer": ["capability" if n < SKILLS else "task" if n < fixed else "experience" for n in range(nodes)],
        "label": [f"A question of number {n} about things" for n in range(nodes)],
        "x": [round(centres[n % SKILLS][0] + r * math.cos(a), 5) for n, (r, a) in enumerate(around)],
        "y": [round(centres[n % SKILLS][1] + r * math.sin(a), 5) for n, (r, a) in enumerate(around)],
    })  # fmt: skip
    sources = [random.randrange(fixed, nodes) for _ in range(edges)]
    targets = [n % SKILLS if random.random() < 0.9 else random.randrange(fixed) for n in sources]
    site.put("edges", {
        "from": [max(births[p], births[q]) for p, q in zip(sources, targets, strict=True)],
        "source": sources, "target": targets, "kind": ["exercises"] * edges, "derived": [True] * edges,
    })  # fmt: skip
    born, many = births[fixed:], nodes - fixed
    site.put("memories", {
        "from": born, "id": [f"{n:032x}" for n in range(fixed, nodes)], "kind": ["success_memory"] * many,
        "task_type": [f"t{n % 50}" for n in range(many)], "skill": [f"s{n % SKILLS}" for n in range(many)],
        "question": [n % questions for n in range(many)], "iteration": [at * ITERATIONS // events for at in born],
        "phase": ["update"] * many, "title": [f"A question of number {n} about more things" for n in range(many)],
    })  # fmt: skip
    site.put("memory_states", {
        "from": born * 2, "to": [min(events, at + 5000) for at in born] + [None] * many,
        "memory": [*range(many)] * 2, "status": ["active"] * (2 * many), "met": [0] * many + [3] * many,
        **{name: [None] * (2 * many) for name in ("by", "successes", "failures", "confidence_micro")},
    })  # fmt: skip
    asked = [random.randrange(questions) for _ in range(askings)]
    begun = sorted(random.randrange(1, events - 20) for _ in range(askings))
    verdicts = [random.choice(["correct", "wrong"]) for _ in range(askings)]
    all_questions: dict[str, list[Any]] = {
        "id": [f"q-{n}" for n in range(questions)], "split": ["evolution"] * questions,
        "task_type": [f"t{n % 50}" for n in range(questions)],
        "title": [f"How many apples of number {n} does a pie take" for n in range(questions)],
        **{name: [5] * questions for name in ("asked", "wrong", "unanswered", "changed")},
    }  # fmt: skip
    all_askings: dict[str, list[Any]] = {
        "from": begun, "judged": [at + 10 for at in begun], "question": asked, "verdict": verdicts, "seq": begun,
        "iteration": [at * ITERATIONS // events for at in begun], "purpose": ["fresh"] * askings,
        "task_type": [f"t{n % 50}" for n in asked], "skill": [f"s{n % SKILLS}" for n in asked],
        "exam": [None] * askings, "carried": [""] * askings, "score_micro": [0] * askings,
    }  # fmt: skip
    site.put("questions", all_questions)
    site.put("askings", all_askings)
    site.put_asked(all_questions, all_askings)
    words = "Shelves and boxes, trains and miles, all in one line of a prompt.\n"
    call = {"kind": "call", "agent": "Learner", "tier": "execution", "model": "m", "system": "", "rest": "", "seq": 1}
    call |= {"prompt": [words * 40], "reply": words * 4, "input_tokens": 700, "output_tokens": 70, "request_sha256": ""}
    answer = {"question_text": words, "answer": "4", "calls": [call], "bundle": [], "left_out": [], "arms": []}
    site.put("answers", {name: [value] * askings for name, value in answer.items()}, texts=[])
    stops = [(n + 1) * events // (5 * ITERATIONS) for n in range(5 * ITERATIONS)]
    ends = [*stops[1:], None]
    growing = {
        name: [*range(len(stops))] for name in ("memories", "nodes", "edges", "execution_calls", "guidance_calls")
    }
    site.put("overview", {
        "from": stops, "to": ends, "iteration": [n // 5 for n in range(len(stops))],
        "anchor_iteration": [n // 5 for n in range(len(stops))], "anchor_total": [100] * len(stops),
        "anchor_correct": [20 + n // 10 for n in range(len(stops))], "guard": ["accepted"] * len(stops), **growing,
        **{name: [0] * len(stops) for name in ("quarantined", "fresh_correct", "fresh_total", "usd")},
    })  # fmt: skip
    arms = [(k, arm, n) for k in range(SKILLS) for arm in ("cot", "direct", "chain", "tool") for n in range(0, 500, 12)]
    site.put("bandits", {
        "from": [stops[n] for _, _, n in arms], "to": [ends[n + 11] if n + 11 < 500 else None for _, _, n in arms],
        "bandit": ["routing"] * len(arms), "key": [f"s{k}" for k, _, _ in arms], "arm": [arm for _, arm, _ in arms],
        **{name: [3_000_000] * len(arms) for name in ("alpha_micro", "beta_micro")}, "pulls": [5] * len(arms),
    })  # fmt: skip
    phases = ("plan", "evaluate", "update", "evolve", "")
    numbers = range(len(stops))
    when = {"seq": stops, "iteration": [n // 5 for n in numbers], "phase": [phases[n % 5] for n in numbers]}
    index = {
        **dict.fromkeys(("path", "problem", "head", "command"), ""), "run": RUN, "kind": "questions", "last": events,
        "state": "finished", "benchmark": "made up", "config": {}, "models": {}, "began_us": 0, "ended_us": 0,
        "markers": packed(when, 0, len(stops) - 1), "marks": [], "types": [], "copy": True, "chunks": site.chunks,
        "anchors": [[stops[n], (20 + n // 10) / 100] for n in numbers if n % 10 == 0], "counts": site.counts,
    }  # fmt: skip
    site.write(f"{RUN}/index", script(f"{RUN}/index", index))
    site.write("runs", script("runs", {"runs": [{"run": RUN}]}))


def told(name: str, times: list[float]) -> str:
    return f"{name:<32}{min(times):>8.0f}{statistics.median(times):>8.0f}"


def measure(browser: Browser, address: str, repeats: int) -> None:
    print(f"{'milliseconds':<32}{'best':>8}{'median':>8}")
    for name, shown in PAGES.items():
        painted, ready, scrubbed, opened = (list[float]() for _ in range(4))
        for _ in range(repeats):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{address}#/{RUN}/{name}")
            page.locator(shown).first.wait_for()
            ready.append(page.evaluate("performance.now()"))
            page.wait_for_timeout(1000)
            painted.append(page.evaluate(PAINT))
            scrubbed += page.evaluate(SCRUB, ["iter-20", "iter-70", "seq:500001", "iter-33", "iter-90"])
            if name == "questions":
                opened.append(page.evaluate(OPEN))
            page.close()
        print(told(f"{name}, first paint", painted))
        print(told(f"{name}, all shown", ready))
        print(told(f"{name}, a scrub", scrubbed))
        if opened:
            print(told("a question of the list", opened))


def by_address(browser: Browser, address: str, repeats: int) -> list[float]:
    """Return the milliseconds of each navigation to a question until it was shown."""
    times = []
    for _ in range(repeats):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(SHOWN)
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
    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def questions_of(site: Path) -> list[str]:
    """Return the addresses of five questions of a site's first run."""
    run = opened((site / "data" / "runs.js").read_bytes())[1]["runs"][0]["run"]
    files = sorted((site / "data" / run).glob("questions-*.js"), key=lambda path: int(path.stem.rpartition("-")[2]))
    ids = [[row["id"] for row in rows_of(opened(path.read_bytes())[1])] for path in (files[0], files[-1])]
    ids[1:1] = [[row["id"] for row in rows_of(opened(files[len(files) // 2].read_bytes())[1])]]
    return [f"#/{run}/questions/{name}" for name in (ids[0][0], ids[0][-1], ids[1][0], ids[2][0], ids[2][-1])]


def measure_questions(browser: Browser, site: Path, repeats: int) -> None:
    ends = questions_of(site)
    with over_http(site) as hosted:
        print_gates([
            Gate(
                f"a question by its address, {way}",
                "at most",
                300,
                Ratio.of(ms for end in ends for ms in by_address(browser, address + end, repeats)),
                "ms",
            )
            for way, address in (("from a folder", (site / "index.html").as_uri()), ("over HTTP", hosted))
        ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--site", type=Path, help="an export, whose questions alone are opened")
    given = parser.parse_args()
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = given.site or Path(folder) / "site"
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        if not given.site:
            made(site, given.events)
            measure(browser, (site / "index.html").as_uri(), given.repeats)
        measure_questions(browser, site.resolve(), given.repeats)
        browser.close()


if __name__ == "__main__":
    main()
