"""The page of `mage-es view` in a real browser: what it shows, what it asks for, who can read it."""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.memory import memories
from mage_es.engine.viewing.chunks import script
from tests.viewing.conftest import AXE, RULES, WEB, Looked

pytestmark = pytest.mark.slow

Look = Callable[..., Looked]


def chunk(path: Path) -> Any:
    """Return what a chunk holds."""
    name, pressed = json.loads("[" + path.read_text().strip()[5:-1] + "]")
    assert path.as_posix().endswith(f"data/{name}.js")
    return json.loads(gzip.decompress(base64.b64decode(pressed)))


def column(folder: Path, run: Run, table: str, name: str) -> list[Any]:
    """Return a column of a table of one chunk."""
    values = chunk(folder / "data" / run.id / f"{table}-0.js")["columns"][name]
    return values if isinstance(values, list) else [values["of"][place] for place in values["at"]]


@pytest.fixture
def pages(folder: Path, run: Run) -> dict[str, str]:
    """Every page, by a name, as the end of an address."""
    changed = column(folder, run, "questions", "changed")
    question = column(folder, run, "questions", "id")[changed.index(max(changed))]
    held = column(folder, run, "curations", "id")[0]
    ends = {name: name for name in ("overview", "questions", "memories", "graph", "bandits", "guard", "cost", "events")}
    ends |= {"question": f"questions/{question}", "memory": f"memories/{held}", "event": "events/100"}
    skill = column(folder, run, "mastery", "skill")[-1]
    ends |= {"node": f"graph/skill/{skill}", "compare": "compare?vs=start&ea=0002-latest&eb=0001-start"}
    return {name: f"#/{run.id}/{end}" for name, end in ends.items()}


def go(looked: Looked, end: str) -> None:
    """Go on to another page of the same run."""
    told = "hash => new Promise(done => { location.hash = hash; setTimeout(() => requestAnimationFrame(done), 30); })"
    looked.page.evaluate(told, end)
    looked.page.locator("main:not(:has(.loading)) :is(h1, h2)").first.wait_for()


WAYS = [
    ("folder", 1280, "light", RULES),
    ("file", 390, "dark", ["color-contrast", "target-size"]),
    ("server", 820, "dark", []),
]


@pytest.mark.parametrize(("way", "width", "scheme", "rules"), WAYS, ids=[way[0] for way in WAYS])
def test_every_page_can_be_read_by_all_without_an_error_or_a_request_elsewhere(
    way: str, width: int, scheme: str, rules: list[str], addresses: dict[str, str], pages: dict[str, str], look: Look
) -> None:
    looked = look(addresses[way], width=width, scheme=scheme)
    checked = rules and AXE.exists()
    found = {}
    for name, end in pages.items():
        go(looked, end)
        assert looked.page.locator(".problem, .empty").all_inner_texts() == []
        if (wide := looked.page.evaluate("document.documentElement.scrollWidth")) > width:
            found[f"{name} is wider than the screen"] = [str(wide)]
        if checked:
            found |= {f"{name} {rule}": where for rule, where in looked.barriers(rules).items()}
        if kept := os.environ.get("MAGE_ES_SCREENSHOTS"):
            looked.page.screenshot(path=Path(kept) / f"{name}-{width}-{scheme}.png")
    assert (found, looked.problems) == ({}, [])
    if rules and not checked:
        pytest.skip("axe-core is not installed: npm ci in engine/viewing/web")


def test_each_page_shows_the_moment_in_its_address(
    addresses: dict[str, str], run: Run, look: Look, folder: Path
) -> None:
    looked = look(addresses["folder"])
    for marker in ("iter-0", "iter-1"):
        held = [item for item in memories(run, at=marker).items if item.status == "active"]
        go(looked, f"#/{run.id}/memories?at={marker}&status=active")
        looked.see(re.compile(rf"^{len(held)} (of|memor)"))
        go(looked, f"#/{run.id}/overview?at={marker}")
        assert looked.page.get_by_role("row", name="Memories in use").inner_text().split()[-1] == str(len(held))
        row = looked.page.get_by_role("row", name=re.compile(rf"^{marker} "))
        then = row.inner_text()
        go(looked, f"#/{run.id}/overview")  # an iteration's row is as it was at its end
        assert row.inner_text() == then
    go(looked, f"#/{run.id}/cost")
    looked.see(re.compile("^0 guidance calls; no figure above"))


def test_the_keyboard_moves_through_time_and_the_address_follows(
    addresses: dict[str, str], run: Run, look: Look
) -> None:
    looked = look(f"{addresses['folder']}#/{run.id}/overview?at=iter-0")
    handle = looked.page.get_by_role("slider")
    handle.press("Shift+ArrowRight")
    assert re.search(r"at=seq:\d+$", looked.page.url)
    handle.press("PageUp")
    assert looked.page.url.endswith("at=iter-1")
    moments = looked.page.get_by_label("moment", exact=True)
    assert moments.locator("option").all_inner_texts() == ["iter-1"], "the others are there once one chooses"
    moments.focus()
    moments.select_option("start")
    assert looked.page.url.endswith("at=start")
    moments.select_option("iter-1")
    moments.blur()
    looked.page.locator("body").press("[")
    assert looked.page.url.endswith("at=iter-1/snapshot")
    looked.page.locator("body").press("]")
    looked.page.locator("body").press("c")
    assert looked.page.get_by_role("slider").count() == 2
    looked.page.keyboard.press("2")
    looked.page.get_by_role("heading", name="Questions").wait_for()
    assert "at=iter-1&vs=" in looked.page.url, "another page shows the same two moments"
    looked.page.go_back()
    looked.page.get_by_role("heading", name="Right answers").wait_for()


def test_the_first_key_leads_past_the_tabs_and_dark_is_not_stored(addresses: dict[str, str], look: Look) -> None:
    looked = look(addresses["server"])
    looked.see("Iteration by iteration")
    looked.page.keyboard.press("Tab")
    assert looked.page.evaluate("document.activeElement.innerText") == "To the page"
    looked.page.keyboard.press("Enter")
    assert looked.page.evaluate("document.activeElement.id") == "main"
    colour = "getComputedStyle(document.body).backgroundColor"
    light = looked.page.evaluate(colour)
    looked.page.get_by_role("button", name="Dark").click()
    assert looked.page.evaluate(colour) != light
    assert looked.page.context.storage_state() == {"cookies": [], "origins": []}
    looked.page.reload()
    assert looked.page.evaluate(colour) == light


def test_a_server_checks_the_run_when_asked_and_a_copy_shows_what_was_checked(
    addresses: dict[str, str], look: Look
) -> None:
    look(addresses["file"]).see("when this copy was made")
    looked = look(addresses["server"])
    looked.page.get_by_role("button", name="Verify", exact=True).click()
    looked.see(re.compile(r"\d+ of \d+ checks passed"))


def test_a_prompt_names_what_it_quotes_and_its_hash_is_checked_in_the_page(
    folder: Path, run: Run, look: Look, tmp_path: Path
) -> None:
    shown = column(folder, run, "askings", "memories")
    asking = next(n for n, many in enumerate(shown) if many and n < 100)
    question = column(folder, run, "questions", "id")[column(folder, run, "askings", "question")[asking]]
    end = f"#/{run.id}/questions/{question}?ask=seq:{column(folder, run, 'askings', 'from')[asking]}"
    looked = look((folder / "index.html").as_uri() + end)
    looked.see("have the hash that the log recorded")
    assert looked.page.locator("mark a.tag").first.get_attribute("href").startswith(f"#/{run.id}/memories/")
    looked.page.locator("mark a.tag").first.click()
    looked.page.get_by_role("heading", name="Where it comes from").wait_for()

    forged = shutil.copytree(folder, tmp_path / "forged")
    path = forged / "data" / run.id / "answers-0.js"
    held = chunk(path)
    for call in held["columns"]["calls"][asking]:
        call["system"] += "!"
    path.write_bytes(script(f"{run.id}/answers-0", held))
    look((forged / "index.html").as_uri() + end).see("does not have the hash that the log recorded")


def test_why_an_answer_changed_is_said_beside_it(addresses: dict[str, str], pages: dict[str, str], look: Look) -> None:
    looked = look(addresses["folder"] + pages["question"])
    looked.page.get_by_role("heading", name="What changed").wait_for()
    assert looked.page.locator("#changed tr").count() > 0


def test_a_carried_verdict_leads_to_the_asking_that_it_is_from(folder: Path, run: Run, look: Look) -> None:
    asked = {name: column(folder, run, "askings", name) for name in ("carried", "question", "from", "iteration")}
    late = next(n for n, why in enumerate(asked["carried"]) if why)
    question = column(folder, run, "questions", "id")[asked["question"][late]]
    end = f"#/{run.id}/questions/{question}?ask=seq:{asked['from'][late]}"
    looked = look((folder / "index.html").as_uri() + end)
    looked.see(re.compile(rf"verdict carried from start \(not asked at iter-{asked['iteration'][late]}"))
    looked.see("have the hash that the log recorded")


def test_two_exams_are_compared_question_by_question(
    addresses: dict[str, str], pages: dict[str, str], run: Run, folder: Path, look: Look
) -> None:
    looked = look(addresses["folder"] + pages["compare"])
    looked.page.locator(".pairs").wait_for()
    cells = [int(re.sub(r"\D", "", text)) for text in looked.page.locator(".pairs td.num").all_inner_texts()]
    before, after = column(folder, run, "exams", "correct")
    both, only_after, only_before, _ = cells
    assert (both + only_after, both + only_before, sum(cells)) == (after, before, 8)


HOSTILE = (
    "<script>window.taken = 1; alert(1)</script>",
    "<img src=x onerror='window.taken = 1'>",
    "<svg onload='window.taken = 1'><style>body { display: none }</style></svg>",
    "</script></textarea><iframe srcdoc='<script>parent.taken = 1</script>'></iframe>",
    "javascript:window.taken=1 {{7*7}} ${window.taken=1} %3Cscript%3E &lt;b&gt;",
    "taken right \u202eto left\u202c \u2066isolated \x00 \x1b[31m \ud7ff \uffff",
)


def poisoned(value: Any, texts: Iterator[str]) -> Any:
    """Return a value with a hostile text before each of its texts."""
    if isinstance(value, dict):
        return {name: poisoned(each, texts) for name, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, texts) for each in value]
    return f"{next(texts)} {value}" if isinstance(value, str) else value


READ = {
    "questions": ("title",),
    "memories": ("title", "skill", "task_type"),
    "nodes": ("label",),
    "curations": ("reason", "by"),
    "texts": ("fields", "source"),
    "answers": ("question_text", "context", "answer", "expected", "facts", "problem", "arms"),
    "bandits": ("arm",),
    "exams": ("execution", "problem"),
    "events": ("subject", "correlation"),
    "payloads": ("payload",),
    "cost": ("model", "agent"),
    "mastery": ("prompt_template", "strategy"),
}
"""Columns whose texts come from questions, models and people."""


def test_a_text_from_a_log_is_never_more_than_text(
    folder: Path, run: Run, pages: dict[str, str], look: Look, tmp_path: Path
) -> None:
    place = shutil.copytree(folder, tmp_path / "hostile")
    texts = cycle(HOSTILE)
    for table, names in READ.items():
        for path in (place / "data" / run.id).glob(f"{table}-*.js"):
            held = chunk(path)
            held["columns"] |= {name: poisoned(held["columns"][name], texts) for name in names}
            if table == "answers":
                held["texts"] = poisoned(held["texts"], texts)
                for call in (call for calls in held["columns"]["calls"] for call in calls if call["kind"] == "call"):
                    call |= {"reply": f"{next(texts)}{'long ' * 20_000}", "system": next(texts)}
            path.write_bytes(script(f"{run.id}/{path.stem}", held))
    index = chunk(place / "data" / run.id / "index.js")
    told = {
        name: poisoned(index[name], texts) for name in ("problem", "command", "models", "config", "marks", "parent")
    }
    (place / "data" / run.id / "index.js").write_bytes(script(f"{run.id}/index", index | told))

    looked = look((place / "index.html").as_uri())
    for name, end in pages.items():
        go(looked, end)
        looked.page.locator("summary").evaluate_all("all => all.forEach(one => one.click())")
        assert looked.page.locator("main").filter(has_text="taken").count(), f"{name} shows the text"
        assert looked.page.locator("main :is(script, img, iframe, style, b, textarea)").count() == 0
    assert looked.page.evaluate("window.taken") is None
    assert looked.problems == []


def test_a_line_of_ten_million_letters_is_shown_in_parts(folder: Path, run: Run, look: Look, tmp_path: Path) -> None:
    place = shutil.copytree(folder, tmp_path / "long")
    path = place / "data" / run.id / "answers-0.js"
    held = chunk(path)
    call = held["columns"]["calls"][0][0]
    call |= {"prompt": [*call["prompt"], "x" * 10_000_000], "reply": "y" * 10_000_000}
    path.write_bytes(script(f"{run.id}/answers-0", held))
    question = column(folder, run, "questions", "id")[column(folder, run, "askings", "question")[0]]
    end = f"#/{run.id}/questions/{question}?ask=seq:{column(folder, run, 'askings', 'from')[0]}"
    looked = look((place / "index.html").as_uri() + end)
    parts = looked.page.get_by_role("button", name=re.compile("Show more: 9,9.* characters left"))
    parts.first.click()
    assert [len(text) // 50_000 for text in looked.page.locator(".call pre").all_inner_texts()][-2:] == [2, 0]
    assert parts.count() == 2 and looked.problems == []


def test_a_page_says_what_is_missing_and_what_to_do(folder: Path, run: Run, look: Look, tmp_path: Path) -> None:
    partial = shutil.copytree(folder, tmp_path / "partial")
    (partial / "data" / run.id / "guard-0.js").unlink()
    place = (partial / "index.html").as_uri()
    look(f"{place}#/{run.id}/guard").see("Was the whole folder copied")
    looked = look(f"{place}#/{run.id}/questions?q=nothing+like+this")
    looked.see("No question fits these filters")
    looked.page.get_by_role("link", name="Show all").click()
    looked.page.locator("tbody tr").first.wait_for()
    go(looked, f"#/{run.id}/memories?at=start")
    looked.see("Nothing was learned up to this moment")
    go(looked, f"#/{run.id}/overview?at=iter-77")
    looked.see("which this run does not have")
    (partial / "data" / "runs.js").write_bytes(script("runs", {"runs": []}))
    look(place).see("There is no run here")


def test_the_graph_is_drawn_moved_and_zoomed(addresses: dict[str, str], run: Run, look: Look) -> None:
    looked = look(f"{addresses['folder']}#/{run.id}/graph")
    looked.see("links of memories")
    picture = looked.page.locator(".picture")

    def drawn() -> bytes:  # without the names, which have a canvas of their own, and the buttons above
        looked.page.evaluate("document.querySelectorAll('.names, .zoom').forEach(one => (one.style.opacity = 0))")
        shot: bytes = picture.screenshot()
        return shot

    whole = drawn()
    assert len(whole) > 8_000, "a picture with nodes and edges is larger than an empty one"
    looked.page.get_by_role("button", name="Zoom in").click()
    near = drawn()
    picture.press("ArrowLeft")
    beside = drawn()
    touch = looked.page.context.new_cdp_session(looked.page)
    x, y = (picture.bounding_box()[side] + 200 for side in "xy")
    for kind, apart in (("touchStart", 20), ("touchMove", 60), ("touchEnd", 0)):
        fingers = [{"x": x + side * apart, "y": y, "id": side} for side in (0, 1)] if apart else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    assert len({whole, near, beside, drawn()}) == 4, "a button zooms, a key moves, two fingers zoom"
    assert looked.problems == []


def test_a_browser_without_webgl_says_so_and_leads_to_neighbours(
    addresses: dict[str, str], pages: dict[str, str], look: Look
) -> None:
    without = """
        const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
            return kind === "webgl2" ? null : get.call(this, kind, ...rest);
        };"""
    looked = look(addresses["folder"] + pages["node"], script=without)
    looked.see("draws no WebGL2")
    assert looked.page.locator(".node li a").count() > 0 and looked.problems == []


def test_the_application_is_what_its_sources_build_and_small(tmp_path: Path) -> None:
    static = WEB.parent / "static"
    assert sum(len(gzip.compress(path.read_bytes())) for path in static.iterdir()) <= 80_000
    if not (WEB / "node_modules" / "esbuild").exists():
        pytest.skip("esbuild is not installed: npm ci in engine/viewing/web")
    subprocess.run(["npm", "run", "check"], cwd=WEB, check=True)
    subprocess.run(["node", "build.mjs", tmp_path], cwd=WEB, check=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in static.iterdir()
    }, "npm run build in engine/viewing/web"
