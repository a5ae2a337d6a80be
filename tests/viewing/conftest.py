"""A real browser and a small run to look at: served, as a folder and as one file."""

import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.upkeep.memory import curate, memories
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.export import export
from mage_es.engine.viewing.server import Viewer
from tests.engine.conftest import begin
from tests.paper_parts import PAPER_PARTS

WEB = Path(__file__).parents[2] / "engine" / "viewing" / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
RULES = [f"wcag{version}{level}" for version in ("2", "21", "22") for level in ("a", "aa")]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Software drawing, so that the graph is drawn by WebGL2 on machines without a graphics card too.
_FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


class Looked(NamedTuple):
    """A page under test and what went wrong in it: errors, and requests that leave its own place."""

    page: Any
    problems: list[str]

    def barriers(self, rules: list[str]) -> dict[str, list[str]]:
        """Return what axe finds against these rules on the page, as it is now: rule to pieces of the page."""
        self.page.evaluate(f"window.axe || {AXE.read_text()}")
        ask = "rules => axe.run(document, {runOnly: rules, preload: false, resultTypes: ['violations']})"
        found = self.page.evaluate(ask, rules)["violations"]
        return {one["id"]: [node["html"][:200] for node in one["nodes"][:3]] for one in found}

    def see(self, text: str | re.Pattern[str]) -> None:
        """Wait until the page shows a text."""
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium as this machine has it. While it is open, its driver's event loop is this thread's."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield found
        found.close()


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Looked]]:
    """Open an address in a fresh page; `width`, `scheme` and `script` as a reader's browser may have them."""
    contexts = []

    def opened(url: str, *, width: int = 1280, height: int = 800, scheme: str = "light", script: str = "") -> Looked:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        context.set_default_timeout(120_000)
        if script:
            context.add_init_script(script)
        page, problems = context.new_page(), list[str]()
        place = url.partition("#")[0].rpartition("/")[0]
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on("request", lambda asked: None if asked.url.startswith((place, "data:")) else problems.append(asked.url))
        page.goto(url)
        page.locator("main").wait_for()
        return Looked(page, problems)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small run with an exam before and one after, and one memory in quarantine. Shared: only read it."""
    config = Config(benchmark="wordmath", seed=7, iterations=2, pool=16, held_out=8, anchors=8, **PAPER_PARTS)
    made = begin(tmp_path_factory.mktemp("viewed"), config)
    for at in ("start", "latest"):
        examine(made, at=at, questions=8, control="none", data_dir=None, runtime=Runtime(workers=2))
    shown = [item for item in memories(made, at="latest").items if item.met]
    curate(made, shown[0].memory_id, action="quarantine", reason="a test", by="me")
    return made


@pytest.fixture(scope="session")
def folder(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as a folder. Shared: only read it, or copy it."""
    to = tmp_path_factory.mktemp("site") / "folder"
    export([Viewed(run, whole=True)], to)
    return to


@pytest.fixture(scope="session")
def addresses(run: Run, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where the same run can be looked at: a folder, one file, and the server of `mage-es view`."""
    file = tmp_path_factory.mktemp("one") / "run.html"
    export([Viewed(run, whole=True)], file)
    with watching(run) as url:
        yield {"folder": (folder / "index.html").as_uri(), "file": file.as_uri(), "server": url}


@contextmanager
def watching(run: Run, may_end: threading.Event | None = None, view: type[Viewed] = Viewed) -> Iterator[str]:
    """Serve a run as `mage-es view` does; give the address. Until an event is set, 34 % of the log is read."""

    def read(name: str, each: Run, tell: Callable[[float], None]) -> Viewed:
        if may_end:
            tell(0.34)
            may_end.wait()
        return view(each, name=name, tell=tell)

    with Viewer(lambda: {run.id: run}, read) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()
