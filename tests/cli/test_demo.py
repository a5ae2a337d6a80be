"""The demonstration, on fewer questions."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mage_es.cli.demo import CONFIG, EPISODES, closing, demonstrate, exams
from mage_es.cli.output import Output
from mage_es.cli.settings import resolve
from mage_es.cli.tables import agents

pytestmark = pytest.mark.slow


def test_the_demonstration_evolves_examines_and_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = msgspec.structs.replace(CONFIG, iterations=2, pool=20, held_out=20, anchors=10)
    settings = resolve({}, environment={"MAGE_ES_MAX_CALLS": "1"}, folder=tmp_path)  # a budget of other runs
    episodes = msgspec.structs.replace(EPISODES, pool=4, held_out=4, anchors=4)
    report = demonstrate(config, settings, Output(), episodes=episodes)
    said = capsys.readouterr().err
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


def test_it_is_as_large_as_promised() -> None:
    assert (CONFIG.iterations, CONFIG.pool, CONFIG.held_out) == (10, 60, 100)
