"""A team before the page: a key is asked for, a link is made for a guest, who sees one run and can pass on no other."""

import re
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from mage_es.cli.explain import glossary
from mage_es.engine.run.directory import Run
from mage_es.engine.viewing.access import Access
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.server import Viewer
from tests.viewing.conftest import AXE, RULES, Looked

pytestmark = pytest.mark.slow

Look = Callable[..., Looked]


@pytest.fixture
def team(run: Run, tmp_path: Path) -> Iterator[tuple[str, Access]]:
    """Two runs behind the key `key-of-anna`: the server's address, and its way in."""
    keys = tmp_path / "keys.toml"
    keys.write_text(
        f'[[keys]]\nname = "anna"\nsha256 = "{sha256(b"key-of-anna").hexdigest()}"\nviews = true\n', encoding="utf-8"
    )
    runs, access = {run.id: run, "other": Run("other", run.path)}, Access(keys)

    def look(name: str, each: Run, tell: Callable[[float], None]) -> Viewed:
        return Viewed(each, name=name, tell=tell)

    with Viewer(lambda: dict(runs), look, access=access, words=glossary()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.url, access
        server.shutdown()
        thread.join()


def logged_in(look: Look, url: str, *, width: int = 1280) -> Looked:
    looked = look(url, width=width)
    assert looked.problems.pop().endswith("401 (Unauthorized)"), "as a browser calls the page that asks for a key"
    looked.page.get_by_label("Key").fill("key-of-anna")
    looked.page.get_by_role("button", name="Log in").click()
    looked.page.get_by_role("heading", name="Runs").wait_for()
    return looked


@pytest.mark.parametrize("width", [1280, 390])
def test_one_logs_in_with_a_key_sees_all_runs_and_logs_out(team: tuple[str, Access], look: Look, width: int) -> None:
    url, _ = team
    looked = look(url, width=width)
    assert not AXE.exists() or looked.barriers(RULES) == {}
    looked.page.get_by_label("Key").fill("key-of-bob")
    looked.page.keyboard.press("Enter")
    looked.see("This key is not known here.")
    looked = logged_in(look, url, width=width)
    looked.page.get_by_role("link", name="other").wait_for()
    assert looked.page.url == url and looked.problems == []
    assert looked.page.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}", (
        "no script can read the login"
    )
    looked.page.reload()
    looked.page.get_by_role("heading", name="Runs").wait_for()
    if width > 400:
        looked.page.get_by_role("link", name="Log out").click()
        looked.page.get_by_label("Key").wait_for()
        looked.page.goto(url)
        looked.page.get_by_label("Key").wait_for()


def test_a_run_is_shared_as_it_is_shown_with_a_guest_who_sees_that_run_alone(
    team: tuple[str, Access], run: Run, look: Look
) -> None:
    url, _ = team
    looked = logged_in(look, url)
    looked.page.goto(f"{url}#/{run.id}/memories")
    looked.page.get_by_text("Share", exact=True).click()
    looked.see(re.compile(r"Until 20\d\d-\d\d-\d\d .* UTC it shows this run alone"))
    assert not AXE.exists() or looked.barriers(RULES) == {}
    link = looked.page.locator(".share code").inner_text()
    assert link.startswith(url) and link.endswith(f"/#/{run.id}/memories") and looked.problems == []
    guest = look(link)
    guest.page.get_by_role("heading", name="Memories").wait_for()
    text = guest.page.locator("header.top").inner_text()
    assert not re.search("Share|Log out|All runs|anna", text) and guest.problems == []
    guest.page.goto(f"{link.partition('#')[0]}#/other/overview")
    guest.see("Run other is not among these")


def test_a_link_that_expired_says_so(team: tuple[str, Access], run: Run, look: Look) -> None:
    url, access = team
    looked = look(f"{url}{access.link(run.id, -1)[0]}/#/{run.id}/overview")
    looked.see(re.compile("This link expired on .* UTC. Ask for another."))
    assert looked.page.get_by_label("Key").count() == 0
    assert [problem[-15:] for problem in looked.problems] == ["403 (Forbidden)"]
    assert not AXE.exists() or looked.barriers(RULES) == {}
