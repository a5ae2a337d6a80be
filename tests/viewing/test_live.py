"""The page of a run that goes on: a served one, whose traffic is looked at while it comes."""

import asyncio
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.rules.feedback import Feedback
from tests.engine.serving.talking import closed, said
from tests.viewing.conftest import AXE, RULES, Looked, watching

pytestmark = pytest.mark.slow

QUESTION = "Tom had 72 marbles and lost 35. How many are left?"


def test_the_traffic_of_a_served_run_is_refreshed_when_asked(
    run: Run, look: Callable[..., Looked], tmp_path: Path
) -> None:
    parent = Run(run.id, shutil.copytree(run.path, tmp_path / "runs" / run.id))
    live = LiveRun.open(parent, learn="propose", holdback=0, record_texts=True)

    def ask(question: str, reply: str) -> str:
        prepared = live.prepare(said(question), "chat", session=question)
        live.submit(prepared).result()
        live.close_inference(closed(prepared.opened.inference, reply=reply))
        return prepared.opened.inference

    said_of = Feedback(metric="right", value=False, idempotency_key="1", inference_id=ask(QUESTION, "It is <b>36</b>."))
    with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop is this thread's
        elsewhere.submit(asyncio.run, live.give_feedback(said_of)).result()
    with watching(live.run) as url:
        looked = look(f"{url}#/{live.run.id}/traffic")
        row = looked.page.locator("tbody tr")
        assert QUESTION in row.inner_text() and "right: no" in row.inner_text()
        assert not AXE.exists() or looked.barriers(RULES) == {}
        ask(f"{QUESTION} Say it in German.", "Es sind 37.")
        looked.page.get_by_role("link", name=QUESTION).click()
        looked.see("It is <b>36</b>.")
        assert not AXE.exists() or looked.barriers(RULES) == {}
        looked.page.get_by_role("link", name="Traffic").first.click()
        assert looked.page.locator("tbody tr").count() == 1, "nothing refreshes by itself"
        looked.page.get_by_role("button", name="Refresh").click()
        looked.see("Say it in German.")
        assert looked.page.locator("tbody tr").count() == 2 and looked.problems == []
    live.close()


def test_a_search_of_an_agent_shows_the_memories_that_it_got(
    run: Run, look: Callable[..., Looked], tmp_path: Path
) -> None:
    mcp = pytest.importorskip("mage_es.engine.serving.mcp", reason="python -m pip install 'mage-es[mcp]'")
    parent = Run(run.id, shutil.copytree(run.path, tmp_path / "runs" / run.id))
    live = LiveRun.open(parent, holdback=0, record_texts=True)
    with ThreadPoolExecutor(1) as elsewhere:
        asked = mcp.SearchMemory(query=QUESTION, limit=2)
        found = elsewhere.submit(mcp.search_memory, mcp.shown_by(live), asked).result()
    with watching(live.run) as url:
        looked = look(f"{url}#/{live.run.id}/traffic")
        looked.page.locator("tbody tr").wait_for()
        cells = looked.page.locator("tbody tr td").all_inner_texts()
        assert "searched" in cells and str(len(found.memories)) == "2" in cells
        looked.page.get_by_role("link", name=QUESTION).click()
        looked.see("Memories returned")
        for memory in found.memories:
            assert looked.page.locator(f"a[href*='{memory.memory_id}']").count() == 1
        assert looked.page.get_by_role("heading", name="Reply").count() == 0 and looked.problems == []
    live.close()


def test_a_page_says_how_much_of_a_long_log_was_read_and_then_shows_it(run: Run, look: Callable[..., Looked]) -> None:
    may_end = threading.Event()
    with watching(run, may_end) as url:
        looked = look(f"{url}#/{run.id}/guard")
        looked.see("Reading the log: 34 %")
        may_end.set()
        looked.page.get_by_role("link", name="Guard", exact=True).wait_for()
        assert looked.problems == []
