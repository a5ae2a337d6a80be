"""The demonstration, on fewer questions."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mage_es.cli.demo import CONFIG, closing, demonstrate, exams
from mage_es.cli.output import Output
from mage_es.cli.settings import resolve


def test_the_demonstration_evolves_examines_and_replays(tmp_path: Path) -> None:
    config = msgspec.structs.replace(CONFIG, iterations=2, pool=20, held_out=20, anchors=10)
    settings = resolve({}, environment={}, folder=tmp_path)
    report = demonstrate(config, settings, Output())
    assert report.run.state == "finished"
    assert (report.before.marker, report.after.marker, report.replay.marker) == ("start", "latest", "iter-1")
    assert all(check.equal for check in report.replay.checks)
    rows = exams(report).rows
    assert [row[0] for row in rows] == ["all", "familiar phrasing", "unfamiliar phrasing"]
    assert "Guidance calls at inference: 0." in closing(report)


def test_it_is_as_large_as_promised() -> None:
    assert (CONFIG.iterations, CONFIG.pool, CONFIG.held_out) == (10, 60, 100)
