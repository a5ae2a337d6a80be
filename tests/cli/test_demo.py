"""The demonstration, on fewer questions."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from mage_es.cli.demo import CONFIG, EPISODES, DemoReport, closing, demonstrate, exams
from mage_es.cli.output import Output
from mage_es.cli.settings import resolve
from mage_es.cli.tables import agents
from tests.cli.conftest import Command
from tests.viewing.conftest import Looked, browser, look

__all__ = ["browser", "look"]

pytestmark = pytest.mark.slow


class Demo(NamedTuple):
    report: DemoReport
    said: str
    folder: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    config = msgspec.structs.replace(CONFIG, iterations=2, pool=20, held_out=20, anchors=10)
    settings = resolve(
        {"runs_dir": str(folder / "runs")}, environment={"MAGE_ES_MAX_CALLS": "1"}, folder=folder
    )  # a budget of other runs
    episodes = msgspec.structs.replace(EPISODES, pool=4, held_out=4, anchors=4)
    with redirect_stderr(io.StringIO()) as said:
        return Demo(demonstrate(config, settings, Output(), episodes=episodes), said.getvalue(), folder)


def test_the_demonstration_evolves_examines_and_replays(demo: Demo) -> None:
    report, said, _ = demo
    assert said.index("Episodes in a generated workshop:") < said.index("Questions of wordmath, then an exam")
    assert report.run.state == "finished"
    assert (report.before.marker, report.after.marker, report.replay.marker) == ("start", "latest", "iter-1")
    assert all(check.equal for check in report.replay.checks)
    rows = exams(report).rows
    assert [row[0] for row in rows] == ["all", "familiar phrasing", "unfamiliar phrasing"]
    assert "Guidance calls at inference: 0." in closing(report)
    at_work = agents("", report.run, report.episodes)
    names = [row[0] for row in at_work.rows if row[0]]
    assert names == ["SkillDiscovery", "Navigator", "Explorer", "Learner", "Critic", "Curator"]
    assert "nothing to do" not in [row[2] for row in at_work.rows]


def test_its_runs_are_one_file_to_look_at(demo: Demo, mage: Command, look: Callable[..., Looked]) -> None:
    report, _, folder = demo
    page = folder / "demo.html"
    runs = (report.run.run_id, report.episodes.run_id)
    assert mage("view", *runs, "--runs-dir", str(folder / "runs"), "--to", str(page)).code == 0
    looked = look(f"{page.as_uri()}#/{runs[0]}/overview")
    looked.page.locator(".claim").first.wait_for()
    learned = closing(report).splitlines()[-1]
    assert looked.page.locator(".claim .num").all_inner_texts() == re.findall(r"\d+ %", learned)
    looked.page.get_by_label("Run", exact=True).select_option(runs[1])
    looked.see(re.compile("^workshop, .* finished$"))
    assert looked.problems == []


def test_it_is_as_large_as_promised() -> None:
    assert (CONFIG.iterations, CONFIG.pool, CONFIG.held_out) == (10, 60, 100)
