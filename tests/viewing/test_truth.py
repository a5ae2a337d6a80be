"""What the page says is so: whole iterations, fair pairs, real differences, every letter, what is whole of a log."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.memory import curate, memories
from mage_es.engine.viewing.chunks import Viewed, script
from mage_es.engine.viewing.export import export
from tests.engine.viewing.conftest import interrupted_in
from tests.engine.viewing.test_chunks import damaged_in
from tests.viewing.conftest import AXE, RULES, Looked, watching
from tests.viewing.test_page import chunk, column, go

pytestmark = pytest.mark.slow

Look = Callable[..., Looked]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    """A run that was stopped while its last iteration asked its anchors, and where it can be looked at."""
    run, to = interrupted_in(tmp_path_factory.mktemp("stopped")), tmp_path_factory.mktemp("site") / "stopped"
    export([Viewed(run, whole=True)], to)
    return run, (to / "index.html").as_uri()


def changed(folder: Path, run: Run, to: Path, table: str, change: Callable[[Any], None]) -> Path:
    """Copy an exported folder with the first chunk of a table changed; return its page."""
    place = shutil.copytree(folder, to)
    path = place / "data" / run.id / f"{table}-0.js"
    held = chunk(path)
    change(held)
    path.write_bytes(script(f"{run.id}/{table}-0", held))
    return place / "index.html"


def test_an_open_iteration_is_apart_and_never_the_headline(stopped: tuple[Run, str], look: Look) -> None:
    run, place = stopped
    looked = look(f"{place}#/{run.id}/overview")
    certificate = looked.page.get_by_role("region", name="Certificate").inner_text()
    assert re.search(r"right on 12 anchors at iter-0\.", certificate), certificate
    assert re.search(r"iter-1 is open\. Right so far: \d+ of \d+ anchors?, which are no sample of all\.", certificate)
    assert "iter-0: the paired table" in certificate and "accepted" in certificate
    chart = looked.page.get_by_role("img", name=re.compile("^Right answers")).get_attribute("aria-label")
    assert re.search(r"anchors \d+ %, \d+ %, –;", chart or ""), chart
    assert re.search(r"anchors so far, open –, –, \d+ %", chart or ""), chart
    row = looked.page.get_by_role("row", name=re.compile("^iter-1 open")).inner_text()
    assert "accepted" not in row
    assert looked.problems == [] and (not AXE.exists() or looked.barriers(RULES) == {})


def test_no_row_is_marked_as_chosen_where_none_was_chosen(stopped: tuple[Run, str], look: Look) -> None:
    run, place = stopped
    looked = look(f"{place}#/{run.id}/overview")
    looked.page.get_by_role("row", name=re.compile("^start")).wait_for()
    assert looked.page.locator("tr[aria-selected]").count() == 0
    go(looked, f"#/{run.id}/guard")
    assert looked.page.locator("tr[aria-selected]").count() == 1


def test_two_moments_are_compared_by_anchors_that_were_asked_on_both_sides(folder: Path, run: Run, look: Look) -> None:
    asked = {
        name: column(folder, run, "askings", name)
        for name in ("question", "purpose", "iteration", "carried", "verdict_of", "exam", "verdict")
    }

    def origins(k: int) -> dict[int, int]:
        rows = (n for n, of in enumerate(asked["purpose"]) if (of, asked["iteration"][n]) == ("anchor", k))
        return {asked["question"][n]: asked["verdict_of"][n] if asked["carried"][n] else n for n in rows}

    now, then = origins(1), origins(-1)
    apart = [question for question in now if now[question] != then[question]]
    assert 0 < len(apart) < len(now)
    looked = look(f"{(folder / 'index.html').as_uri()}#/{run.id}/compare?at=iter-1&vs=start")
    looked.page.locator(".pairs").wait_for()
    cells = [int(re.sub(r"\D", "", text)) for text in looked.page.locator(".pairs td.num").all_inner_texts()]
    assert sum(cells) == len(apart)
    right = [asked["verdict"][now[question]] == "correct" for question in apart]
    assert cells[0] + cells[1] == sum(right)
    looked.see(re.compile(rf"^{len(now) - len(apart)} questions? left out: asked once"))
    titles = looked.page.get_by_role("region", name="Questions that differ").locator("tbody tr").all_inner_texts()
    assert all("revisit" not in title and "fresh" not in title for title in titles)


def test_the_difference_of_two_prompts_is_what_was_edited(folder: Path, run: Run, look: Look, tmp_path: Path) -> None:
    before = [f"line {n}: the same words in both" for n in range(30)]
    after = [*before[20:25], *before[:20], *before[25:]]  # five lines went up
    after[12] = after[12].replace("same", "very same")
    texts = iter(["\n".join(before), "\n".join(after)])
    times = column(folder, run, "askings", "from")
    names = column(folder, run, "questions", "id")
    askings = column(folder, run, "askings", "question")
    exams = column(folder, run, "askings", "exam")
    carried = column(folder, run, "askings", "carried")
    twice = next(
        q
        for q in askings
        if len([n for n, of in enumerate(askings) if of == q and not exams[n] and not carried[n]]) > 1
    )
    rows = [n for n, of in enumerate(askings) if of == twice and not exams[n] and not carried[n]][:2]

    def edit(held: Any) -> None:
        for row in rows:
            (first, *_) = held["columns"]["calls"][row]
            first |= {"prompt": [next(texts)], "system": ""}
            held["columns"]["calls"][row] = [first]

    page = changed(folder, run, tmp_path / "edited", "answers", edit)
    end = f"#/{run.id}/questions/{names[twice]}?ask=seq:{times[rows[1]]}&than=seq:{times[rows[0]]}"
    looked = look(page.as_uri() + end)
    looked.page.locator("#changed summary").click()
    gone, new = (looked.page.locator(f".difference > .{kind}").all_inner_texts() for kind in ("minus", "plus"))
    assert (len(gone), len(new)) == (6, 6), "five lines that moved, one that changed"
    assert looked.page.locator(".difference del").all_inner_texts() == []
    assert [word.strip() for word in looked.page.locator(".difference ins").all_inner_texts()] == ["very"]
    assert looked.problems == []


HIDDEN = "\u202e\u2066\u200b\u00ad\ufeff\x07\u2028\U000e0041"
"""What turns the direction of a text, or cannot be seen."""
_UNSEEN = """() => {
  const hidden = /[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u00ad\\ufeff\\u0007\\u2028\\u{e0041}]/u;
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (hidden.test(walk.currentNode.data)) found.push(walk.currentNode.parentElement.outerHTML);
  for (const one of document.querySelectorAll("*"))
    for (const name of ["title", "aria-label", "placeholder"])
      if (hidden.test(one.getAttribute(name) ?? "")) found.push(`${name} of ${one.tagName}`);
  return found.map(one => one.slice(0, 200));
}"""


def hiding(value: Any) -> Any:
    """Return a value with unseen characters in each of its texts."""
    if isinstance(value, dict):
        return {name: hiding(each) for name, each in value.items()}
    if isinstance(value, list):
        return [hiding(each) for each in value]
    return f"{value[:3]}{HIDDEN}{value[3:]}" if isinstance(value, str) and value else value


TEXTS = {
    "questions": ("title",),
    "memories": ("title", "skill", "task_type"),
    "nodes": ("label",),
    "curations": ("reason", "by"),
    "texts": ("fields", "source"),
    "answers": ("question_text", "answer", "expected", "facts", "problem", "arms", "bundle"),
    "bandits": ("arm", "key"),
    "exams": ("execution", "problem"),
    "events": ("subject", "correlation"),
    "payloads": ("payload",),
    "cost": ("model", "agent"),
    "mastery": ("skill", "strategy"),
}


def test_what_cannot_be_seen_is_named_wherever_it_is_shown(folder: Path, run: Run, look: Look, tmp_path: Path) -> None:
    place = shutil.copytree(folder, tmp_path / "hiding")
    for table, names in TEXTS.items():
        for path in (place / "data" / run.id).glob(f"{table}-*.js"):
            held = chunk(path)
            held["columns"] |= {name: hiding(held["columns"][name]) for name in names}
            if table == "answers":
                held["texts"] = hiding(held["texts"])
                for call in (call for calls in held["columns"]["calls"] for call in calls if call["kind"] == "call"):
                    call |= {"reply": hiding(call["reply"]), "prompt": hiding(["a prompt", *call["prompt"]])}
            path.write_bytes(script(f"{run.id}/{path.stem}", held))
    path = place / "data" / run.id / "index.js"
    index = chunk(path)
    told = {name: hiding(index[name]) for name in ("problem", "command", "models", "config", "marks", "parent", "path")}
    path.write_bytes(script(f"{run.id}/index", index | told))
    question = column(folder, run, "questions", "id")[0]
    memory = column(folder, run, "curations", "id")[0]
    ends = ["overview", "questions", f"questions/{question}", "memories", f"memories/{memory}", "graph", "bandits"]
    ends += ["cost", "events", "events/100", "compare?vs=start&ea=0002-latest&eb=0001-start"]
    looked = look((place / "index.html").as_uri())
    for end in ends:
        go(looked, f"#/{run.id}/{end}")
        looked.page.locator("summary").evaluate_all("all => all.forEach(one => one.click())")
        looked.page.locator("main", has_text="⟨202E⟩").first.wait_for()
        assert looked.page.evaluate(_UNSEEN) == [], end
    assert looked.problems == []


def test_letters_that_join_others_stay_as_they_are(folder: Path, run: Run, look: Look, tmp_path: Path) -> None:
    joined, split = "می\u200cخواهم 👩\u200d🌾 1\ufe0f\u20e3", "pass\u200dword"

    def edit(held: Any) -> None:
        held["columns"]["title"] = [f"{joined} {split}"] * held["rows"]

    page = changed(folder, run, tmp_path / "joined", "questions", edit)
    looked = look(f"{page.as_uri()}#/{run.id}/questions")
    looked.see(f"{joined} pass⟨200D⟩word")


def test_a_time_that_was_chosen_says_that_it_stays_and_can_be_let_go(folder: Path, run: Run, look: Look) -> None:
    asked = {name: column(folder, run, "askings", name) for name in ("question", "from", "exam", "carried", "title")}
    rows = [n for n, exam in enumerate(asked["exam"]) if not exam and not asked["carried"][n]]
    twice = next(q for q in asked["question"] if sum(asked["question"][n] == q for n in rows) > 1)
    first, *_, last = (n for n in rows if asked["question"][n] == twice)
    name = column(folder, run, "questions", "id")[twice]
    end = f"#/{run.id}/questions/{name}?ask=seq:{asked['from'][last]}&at=start"
    looked = look((folder / "index.html").as_uri() + end)
    looked.see(re.compile(rf"^{asked['title'][last]} was chosen above and stays"))
    looked.page.get_by_role("link", name="Follow the bar").click()
    looked.page.get_by_role("slider").press("End")
    assert "ask=" not in looked.page.url and looked.page.get_by_text("was chosen above").count() == 0
    go(looked, f"#/{run.id}/questions/{name}?at=seq:{asked['from'][first]}")
    shown = looked.page.locator(".time[aria-current]")
    assert shown.inner_text().split(maxsplit=1)[1] == asked["title"][first], "without a choice it follows"


def test_a_damaged_log_is_shown_as_far_as_it_is_whole(run: Run, look: Look, tmp_path: Path) -> None:
    copy = Run(run.id, shutil.copytree(run.path, tmp_path / run.id))
    name = damaged_in(copy, copy.events - 1)
    with watching(copy) as url:
        looked = look(f"{url}#/{run.id}/overview")
        banner = looked.page.get_by_role("alert").inner_text()
        assert "This log is damaged." in banner and name in banner
        assert re.search(r"Events 1 to \d+ are whole, and shown here\.", banner) and "--repair" in banner
        looked.page.get_by_role("row", name=re.compile("^iter-1")).wait_for()
        go(looked, f"#/{run.id}/questions")
        looked.page.locator("tbody tr").first.locator("td").last.click()
        looked.see("have the hash that the log recorded")
        assert looked.problems == [] and (not AXE.exists() or looked.barriers(RULES) == {})


def test_a_loaded_page_asks_for_each_chunk_once_until_the_run_grows(run: Run, look: Look, tmp_path: Path) -> None:
    copy, asked = Run(run.id, shutil.copytree(run.path, tmp_path / run.id)), list[str]()

    class Counting(Viewed):
        def chunk(self, name: str) -> bytes:
            asked.append(name)
            return super().chunk(name)

    with watching(copy, view=Counting) as url:
        looked = look(f"{url}#/{run.id}/memories")
        looked.page.locator("tbody tr").first.wait_for()
        assert f"{run.id}/memories-0" in asked
        asked.clear()
        looked.page.reload()
        looked.page.locator("tbody tr").first.wait_for()
        assert set(asked) == {f"{run.id}/index"}, "all else the browser has"
        held = next(item for item in memories(copy, at="latest").items if item.status == "active")
        curate(copy, held.memory_id, action="quarantine", reason="a test", by="me")
        looked.page.reload()
        looked.page.locator(".verdict", has_text="quarantined").first.wait_for()
        assert f"{run.id}/memory_states-0" in asked and looked.problems == []


def test_titles_are_lessons_and_a_search_reads_whole_texts(folder: Path, run: Run, look: Look, tmp_path: Path) -> None:
    end = "and the very last word is zanzibar."

    def lengthen(held: Any) -> None:
        fields = held["columns"]["fields"]
        fields[0] = [*fields[0], ["reasoning", "x " * 500 + end]]

    page = changed(folder, run, tmp_path / "long", "texts", lengthen)
    looked = look(f"{page.as_uri()}#/{run.id}/memories?q=zanzibar")
    looked.see(re.compile("^1 of "))
    title = column(folder, run, "memories", "title")[0]
    assert looked.page.locator("tbody tr a").first.inner_text() == title

    def reword(held: Any) -> None:
        held["columns"]["question"][3] += " x" * 500 + end

    page = changed(folder, run, tmp_path / "worded", "wordings", reword)
    looked = look(f"{page.as_uri()}#/{run.id}/questions?q=ZANZIBAR")
    looked.see(re.compile("^1 of "))
    assert looked.page.locator("tbody tr").count() == 1 and looked.problems == []
