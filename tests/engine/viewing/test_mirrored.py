"""A page of runs that follows what a team backs up."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.backup import backup
from mage_es.engine.upkeep.memory import curate, memories
from mage_es.engine.viewing.mirrored import EVERY_S, Mirrored, is_mirrored
from mage_es.engine.viewing.server import Viewer
from mage_es.events.errors import UsageError
from tests.engine.viewing.conftest import opened
from tests.engine.viewing.test_server import ask, read, seen, serving


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


def listing(mirrored: Mirrored) -> Callable[[], dict[str, Run]]:
    return lambda: {run.id: run for run in mirrored()}


def test_a_page_shows_what_was_backed_up_after_its_server_began_a_minute_later_at_most(
    copied: Run, tmp_path: Path
) -> None:
    team, said, clock = tmp_path / "team", list[str](), Hands()
    backup(copied, str(team / "early"))
    mirrored = Mirrored(str(team), tmp_path / "here", say=said.append, clock=clock)
    with serving(Viewer(listing(mirrored), seen)) as viewer:

        def listed() -> list[str]:
            return sorted(row["run"] for row in opened(ask(viewer, "data/runs.js")[1])[1]["runs"])

        before = read(viewer, Run("early", copied.path))["last"]
        memory = memories(copied, at="latest").items[0].memory_id
        curate(copied, memory, action="quarantine", reason="doubtful", by="me")
        for name in ("early", "later"):
            backup(copied, str(team / name))
        assert listed() == ["early"], "within a minute the bucket is left alone"
        clock.at += EVERY_S
        assert listed() == ["early", "later"]
        for name in ("early", "later"):
            assert read(viewer, Run(name, copied.path))["last"] == copied.events > before
    assert said == [f"Restored from {team}: early.", f"Restored from {team}: later, early."]


def test_a_bucket_that_fails_later_changes_nothing_that_is_shown_and_is_said_once(copied: Run, tmp_path: Path) -> None:
    team, said, clock = tmp_path / "team", list[str](), Hands()
    backup(copied, str(team / "r"))
    (team / "begun").mkdir()
    (team / "begun" / "FORMAT").touch()
    mirrored = Mirrored(str(team), tmp_path / "here", say=said.append, clock=clock)
    assert len(said) == 2 and "begun is left out" in said[1]
    shutil.rmtree(team)
    for _ in range(3):
        clock.at += EVERY_S
        assert [run.id for run in mirrored()] == ["r"]
    assert len(said) == 3 and "could not be looked at" in said[2]
    with pytest.raises(UsageError, match="There is no backup in"):
        Mirrored(str(team), tmp_path / "here", say=said.append, clock=clock)


def test_a_folder_of_runs_is_no_folder_of_backups(copied: Run, tmp_path: Path) -> None:
    backup(copied, str(tmp_path / "team" / "r"))
    assert is_mirrored("s3://bucket/team") and is_mirrored(str(tmp_path / "team"))
    assert not any(map(is_mirrored, (str(copied.path), str(copied.path.parent), copied.id, str(tmp_path / "nowhere"))))
