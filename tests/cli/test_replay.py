"""`mage-es replay` from the outside."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Digest, Draft, IterationClosed

Command = Callable[..., Any]


def test_the_newest_run_is_rebuilt_and_every_digest_is_equal(mage: Command, runs_dir: Path) -> None:
    outcome = mage("replay", "--until", "iter-1")
    assert outcome.code == 0
    rows = [line.split() for line in outcome.out.splitlines() if line.endswith((" yes", " NO", "not recorded"))]
    assert {"graph", "memory", "bandits"} <= {row[0] for row in rows}
    assert all(row[1] == row[2] and row[3] == "yes" and len(row[1]) == 16 for row in rows)
    assert "Next: mage-es exam first --at iter-1" in outcome.err


def test_the_rebuilt_state_goes_where_it_is_asked_to(mage: Command, runs_dir: Path, tmp_path: Path) -> None:
    outcome = mage("replay", "first", "--until", "iter-0", "--into", "rebuilt", "--json")
    assert json.loads(outcome.out)["marker"] == "iter-0"
    assert any((tmp_path / "rebuilt").iterdir())
    again = mage("replay", "first", "--until", "iter-0", "--into", "rebuilt")
    assert (again.code, "rebuilt is not empty" in again.err) == (2, True)


@pytest.mark.slow
def test_tables_are_written_for_lancedb_on_request(mage: Command, runs_dir: Path, tmp_path: Path) -> None:
    assert mage("replay", "--until", "iter-0", "--into", "without").code == 0
    assert not (tmp_path / "without" / "memory").exists()
    assert mage("replay", "--until", "iter-0", "--into", "with", "--tables").code == 0
    assert any((tmp_path / "with" / "memory").glob("*.lance"))


@pytest.mark.parametrize("marker", ["iter-9", "iter-x", "latets", "seq:99999999", "iter-1/evalute", ""])
def test_a_marker_that_does_not_exist_is_a_usage_error(mage: Command, runs_dir: Path, marker: str) -> None:
    outcome = mage("replay", "--until", marker)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("mage-es: ")
    assert any(way_out in outcome.err for way_out in ("iter-1", "latest", "its events are 1 to"))


@pytest.mark.slow
def test_a_digest_that_differs_gives_exit_code_one(mage: Command, runs_dir: Path) -> None:
    path = runs_dir / "first" / "log"
    closed = list(LogReader(path).of(IterationClosed))[-1]
    assert isinstance(closed, IterationClosed)
    with Log.open(path, clock=lambda: 0) as log:
        wrong = tuple(Digest(projection=digest.projection, value="0" * 64) for digest in closed.digests)
        false = IterationClosed(
            **{**{name: getattr(closed, name) for name in closed.__struct_fields__}, "digests": wrong}
        )
        log.append([Draft(event=false, iteration=2, phase="close")])
    outcome = mage("replay", "--until", "latest")
    assert outcome.code == 1
    assert " NO" in outcome.out
    assert "mage-es verify" in outcome.err
    checked = mage("replay", "--check")
    assert checked.code == 1
    assert "graph: recorded 000" in checked.out


def test_check_compares_every_closed_iteration_and_builds_nothing(mage: Command, runs_dir: Path) -> None:
    outcome = mage("replay", "--check", "--json")
    assert outcome.code == 0
    assert [(check["iteration"], check["equal"]) for check in json.loads(outcome.out)] == [
        (-1, True),
        (0, True),
        (1, True),
    ]
    assert not (runs_dir / "first" / "replays").exists()
