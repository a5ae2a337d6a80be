"""The page of `mage-es view` on a run of 1,000,000 events: first paint, scrubbing, opening a question.

    python -m tests.bench.view_page                the tables of such a run are made up here, then a browser is measured
    python -m tests.bench.view_page --events 100000

A graph of a tenth as many nodes and a fifth as many edges, a quarter as many askings. Chromium as this machine has it,
drawing in software. A page is shown when what its address asks for is there, counted from the navigation. A scrub ends
with the second frame after the address changed, once all that was drawn is on the canvas. Each figure is the best and
the median of its repeats: the browser shares the machine.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from mage_es.engine.viewing.chunks import script
from mage_es.engine.viewing.export import STATIC, static
from mage_es.engine.viewing.tables import packed

RUN = "big"
ITERATIONS = 100
SKILLS = 500
SIZES = {"questions": 2000, "askings": 4000, "answers": 100}
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
OPEN = """async () => {
    const began = performance.now();
    location.hash = "#/big/questions/q-7";
    while (!document.querySelector(".call pre.text")) await new Promise(done => setTimeout(done, 5));
    return performance.now() - began;
}"""


class Site:
    """The folder of an export, with tables that were made up."""

    def __init__(self, to: Path) -> None:
        self.to, self.chunks, self.counts = to, dict[str, list[list[Any]]](), dict[str, int]()
        (to / "data" / RUN).mkdir(parents=True)
        for name in STATIC:
            (to / name).write_bytes(static(name))

    def put(self, table: str, columns: dict[str, list[Any]], **beside: Any) -> None:
        rows, size = len(next(iter(columns.values()))), SIZES.get(table, 20_000)
        self.counts[table], self.chunks[table] = rows, []
        for n, first in enumerate(range(0, rows, size)):
            last = min(rows, first + size) - 1
            data = script(f"{RUN}/{table}-{n}", packed(columns, first, last, **beside))
            self.write(f"{RUN}/{table}-{n}", data)
            self.chunks[table].append([f"{RUN}/{table}-{n}", first, last, len(data)])

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
    lists: list[list[int]] = [[] for _ in range(questions)]
    for n, question in enumerate(asked):
        lists[question].append(n)
    begun = sorted(random.randrange(1, events - 20) for _ in range(askings))
    verdicts = [random.choice(["correct", "wrong"]) for _ in range(askings)]
    site.put("questions", {
        "id": [f"q-{n}" for n in range(questions)], "split": ["evolution"] * questions, "askings": lists,
        "task_type": [f"t{n % 50}" for n in range(questions)],
        "title": [f"How many apples of number {n} does a pie take" for n in range(questions)],
    })  # fmt: skip
    site.put("askings", {
        "from": begun, "judged": [at + 10 for at in begun], "question": asked, "verdict": verdicts, "seq": begun,
        "iteration": [at * ITERATIONS // events for at in begun], "purpose": ["fresh"] * askings,
        "task_type": [f"t{n % 50}" for n in asked], "skill": [f"s{n % SKILLS}" for n in asked],
        "exam": [None] * askings, "carried": [False] * askings, "score_micro": [0] * askings,
    })  # fmt: skip
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
    names = [f"iter-{n // 5}" + (f"/{phases[n % 5]}" if phases[n % 5] else "") for n in range(len(stops))]
    markers = [
        {"name": name, "seq": stop, "iteration": n // 5, "phase": phases[n % 5]}
        for n, (name, stop) in enumerate(zip(names, stops, strict=True))
    ]
    index = {
        **dict.fromkeys(("path", "problem", "head", "command"), ""), "run": RUN, "kind": "questions", "last": events,
        "state": "finished", "benchmark": "made up", "config": {}, "models": {}, "began_us": 0, "ended_us": 0,
        "stops": stops, "markers": markers, "marks": [], "types": [], "chunks": site.chunks, "counts": site.counts,
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made(Path(folder) / "site", given.events)
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        measure(browser, (Path(folder) / "site" / "index.html").as_uri(), given.repeats)
        browser.close()


if __name__ == "__main__":
    main()
