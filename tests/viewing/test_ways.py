"""Ways through the page: the list of runs, sorted tables, rows and points that lead on, words that are explained."""

import re
import threading
from collections.abc import Callable, Iterator

import pytest

from mage_es.cli.explain import glossary
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.server import Viewer
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BanditUpdated
from tests.engine.conftest import begin
from tests.viewing.conftest import AXE, RULES, Looked
from tests.viewing.test_page import go

pytestmark = pytest.mark.slow

Look = Callable[..., Looked]


@pytest.fixture(scope="module")
def several(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Run], str]]:
    """Two runs behind one server, whose list can be added to, and the server's address."""
    config = Config(benchmark="wordmath", seed=7, iterations=1, pool=16, held_out=8, anchors=8)
    other = begin(tmp_path_factory.mktemp("several"), config, run_id="short")
    for at in ("start", "latest"):
        examine(other, at=at, questions=8, control="none", data_dir=None, runtime=Runtime(workers=2))
    runs = {run.id: run, other.id: other}
    with Viewer(lambda: dict(runs), lambda name, each, tell: Viewed(each, name=name), words=glossary()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield runs, server.url
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")], ids=["wide", "narrow"])
def test_all_runs_are_listed_and_two_of_them_compared(
    several: tuple[dict[str, Run], str], look: Look, width: int, scheme: str
) -> None:
    _, url = several
    looked = look(url, width=width, scheme=scheme)
    looked.page.get_by_role("row", name=re.compile("^Compare small.* small .*finished 2 of 2")).wait_for()
    short = looked.page.get_by_role("row", name=re.compile("^Compare short.* % → "))
    short.wait_for()  # its summary is read after the list
    text = short.inner_text()
    assert re.search(r"[+\d.−]+ [\d.−]+ to [\d.−]+", text) and re.search(r"\d+ % → \d+ %", text), text
    assert "$0.00" in text and re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d", text) and "1 of 1" in text
    assert looked.page.evaluate("document.documentElement.scrollWidth") <= width
    assert not AXE.exists() or looked.barriers(RULES) == {}
    looked.see("Pick two runs to compare them.")
    for box in looked.page.get_by_role("checkbox").all():
        box.check()
    assert "pick=" in looked.page.url
    looked.page.get_by_role("link", name="Compare", exact=True).click()
    looked.page.locator(".pairs").wait_for()
    assert re.search(r"with=(small|short)", looked.page.url)
    looked.see(re.compile("^A: exam 0002-latest, B: exam 0002-latest"))
    looked.page.get_by_role("link", name="All runs").click()
    looked.page.get_by_role("heading", name="Runs").wait_for()
    assert looked.problems == []


def test_a_run_that_came_later_is_in_the_list_when_it_is_looked_at_again(
    several: tuple[dict[str, Run], str], look: Look
) -> None:
    runs, url = several
    looked = look(url)
    looked.page.get_by_role("link", name="short").click()
    looked.page.get_by_role("heading", name="Right answers").wait_for()
    runs["later"] = Run("later", runs["short"].path)
    try:
        looked.page.get_by_role("link", name="All runs").click()
        looked.page.get_by_role("link", name="later").click()
        looked.page.get_by_role("heading", name="Right answers").wait_for()
        assert "#/later/" in looked.page.url and looked.problems == []
    finally:
        del runs["later"]


def test_a_table_is_sorted_by_its_titles_and_the_address_keeps_the_order(
    addresses: dict[str, str], run: Run, look: Look
) -> None:
    looked = look(f"{addresses['folder']}#/{run.id}/memories")
    title = looked.page.get_by_role("button", name="prompts, whole run")
    column = looked.page.locator("tbody tr:not(.spacer) td:nth-child(5)")
    column.first.wait_for()

    def numbers() -> list[int]:
        return [int(text.replace(",", "")) for text in column.all_inner_texts()]

    before = numbers()
    title.click()
    assert numbers() == sorted(before, reverse=True) != before
    assert looked.page.locator("th[aria-sort=descending]").inner_text().startswith("prompts")
    title.press("Enter")
    assert numbers() == sorted(before)
    looked.page.reload()
    column.first.wait_for()
    assert numbers() == sorted(before) and "sort=memories.prompts-whole-run" in looked.page.url
    title.click()
    assert numbers() == before
    go(looked, f"#/{run.id}/memories?sort=-memories.right")
    shares = looked.page.locator("tbody tr:not(.spacer) td:nth-child(6)").all_inner_texts()
    assert [text == "–" for text in shares] == sorted(text == "–" for text in shares), "what has no value comes last"


def test_a_click_anywhere_in_a_row_leads_where_its_link_leads(addresses: dict[str, str], run: Run, look: Look) -> None:
    looked = look(f"{addresses['folder']}#/{run.id}/questions")
    row = looked.page.locator("tbody tr").nth(2)
    to = row.locator("td.grow a").get_attribute("href")
    row.locator("td").last.click()
    assert to and looked.page.url.endswith(to)
    go(looked, f"#/{run.id}/events")
    looked.page.locator("tbody tr").nth(4).locator("td").last.click()
    looked.page.get_by_role("heading", name="Payload").wait_for()
    go(looked, f"#/{run.id}/guard")
    looked.page.locator("tbody tr", has_text="iter-0").last.locator("td").nth(2).click()
    assert looked.page.url.endswith("/guard/0")
    looked.page.go_back()
    looked.page.get_by_role("row", name=re.compile("^iter-0")).get_by_role("link").last.click()
    assert "/events/" in looked.page.url, "a link of its own leads where it says"


def test_a_point_of_a_chart_leads_to_its_iteration(addresses: dict[str, str], run: Run, look: Look) -> None:
    looked = look(f"{addresses['folder']}#/{run.id}/overview")
    plot = looked.page.locator(".chart .u-over")
    plot.scroll_into_view_if_needed()
    width = plot.bounding_box()["width"]
    plot.click(position={"x": width / 3, "y": 20})  # start, 0, 1: the nearest to a third is 0
    looked.page.wait_for_url(re.compile("at=iter-0"))
    looked.page.go_back()
    assert "at=" not in looked.page.url and looked.problems == []


def test_a_word_of_the_glossary_explains_itself_to_pointer_and_keyboard(
    several: tuple[dict[str, Run], str], run: Run, look: Look
) -> None:
    _, url = several
    looked = look(f"{url}#/{run.id}/overview")
    tip = looked.page.get_by_role("tooltip")
    looked.page.locator("th [data-term=anchors]").hover()
    tip.wait_for()
    assert glossary()["anchor"] in tip.inner_text()
    tip.hover()
    looked.page.wait_for_timeout(300)
    assert tip.is_visible(), "one can go there and read"
    looked.page.keyboard.press("Escape")
    assert tip.count() == 0
    looked.page.locator("dt [data-term=Guard]").focus()
    tip.wait_for()
    assert glossary()["guard"] in tip.inner_text()
    assert looked.page.locator("[aria-describedby=explanation]").inner_text() == "Guard"
    assert not AXE.exists() or looked.barriers(RULES) == {}
    go(looked, f"#/{run.id}/memories")
    looked.page.get_by_label("Task type").focus()
    assert glossary()["task type"] in tip.inner_text() and looked.problems == []


def test_the_pulls_of_all_keys_are_those_that_were_rewarded(addresses: dict[str, str], run: Run, look: Look) -> None:
    looked = look(f"{addresses['folder']}#/{run.id}/bandits")
    total = looked.page.get_by_text(re.compile(r"^\d+ keys, [\d,]+ pulls$")).inner_text()
    pulls = sum(1 for _ in LogReader(run.log_path).of(BanditUpdated))
    assert int(re.sub(r"\D", "", total.split(",", 1)[1])) == pulls
