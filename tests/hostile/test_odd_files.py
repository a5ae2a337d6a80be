"""Whatever lies in the place of a file: each command ends soon, says what and where, and shows the other runs."""

import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest

from mage_es.engine.run.pricing import read_prices
from mage_es.engine.served.tenants import read_keys
from mage_es.events.disk.opening import OddFile, open_regular, opened, read_small
from mage_es.events.errors import UsageError
from tests.hostile.odd import COMMANDS, EVERYWHERE, ODD, not_for_ever, places, put, require_told, run_command

SMALL = ("--iterations", "1", "--pool", "12", "--held-out", "12", "--anchors", "6", "--gate", "off")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, one with an exam, which is only copied."""
    folder = tmp_path_factory.mktemp("odd")
    for run in ("odd", "whole"):
        assert (
            run_command(("evolve", "wordmath", *SMALL, "--run-id", run, "--runs-dir", str(folder / "runs"))).code == 0
        )
    assert run_command(("exam", "odd", "--questions", "5", "--runs-dir", str(folder / "runs"))).code == 0
    return folder / "runs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", [kind for kind in ODD if kind != "deep"])
def test_only_a_regular_file_within_its_limit_is_opened_and_nothing_waits(folder: Path, kind: str) -> None:
    put(kind, folder / "odd")
    with not_for_ever(kind), pytest.raises(OSError, match="odd") as refused:
        read_small(folder / "odd")
    assert isinstance(refused.value, OddFile) or kind == "unreadable"
    (folder / "link").symlink_to("odd")
    with not_for_ever(kind), pytest.raises(OSError, match="link"):
        read_small(folder / "link")


def test_a_link_to_a_file_is_that_file_and_a_limit_is_named(folder: Path) -> None:
    (folder / "file").write_bytes(b"12345")
    (folder / "link").symlink_to("file")
    assert read_small(folder / "link") == b"12345"
    with opened(folder / "file") as file:
        assert file.read(2) == b"12"
    with pytest.raises(OddFile, match="file is a file of 5 bytes, where at most 4 are expected"):
        read_small(folder / "file", 4)
    with pytest.raises(FileNotFoundError):
        open_regular(folder / "absent")


@pytest.mark.parametrize("kind", ODD)
def test_settings_keys_and_tasks_that_are_no_files_are_refused_by_name(folder: Path, kind: str) -> None:
    for name, words in (
        ("mage-es.toml", ("config",)),
        ("tasks.jsonl", ("doctor", "tasks.jsonl", "--no-calls")),
        ("matrix.toml", ("matrix", "matrix.toml", "--dry-run")),
        ("SOURCE", ("restore", "SOURCE", "again")),
    ):
        put(kind, folder / name)
        told = run_command(words)
        assert told.code in (2, 4, 5), (name, told)
        assert name in told.err and "is a bug" not in told.err and len(told.err) < 600, told
        shutil.rmtree(folder / name) if kind == "folder" else (folder / name).unlink()
    put(kind, folder / "odd.toml")
    for read in (read_keys, read_prices):
        with not_for_ever(kind), pytest.raises((UsageError, OSError), match=r"odd\.toml"):
            read(folder / "odd.toml")


def cases(run: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield every place with two kinds of odd things, and a command of one run for each, of all runs for the second."""
    kinds, commands, everywhere = cycle(ODD), cycle(COMMANDS), cycle(EVERYWHERE[:2])
    for place in places(run):
        for kind in islice(kinds, 2):
            yield place, kind, next(commands)
        yield place, kind, next(everywhere)


@pytest.mark.slow
def test_each_command_ends_with_a_clear_line_and_shows_the_other_runs(made: Path, folder: Path) -> None:
    before: tuple[str, str] | None = None
    for place, kind, words in cases(made / "odd"):
        if (place, kind) != before or "delete" in words:
            shutil.rmtree(folder / "runs", ignore_errors=True)
            shutil.copytree(made, folder / "runs", symlinks=True)
            put(kind, folder / "runs" / "odd" / place)
            before = place, kind
        require_told(place, kind, words)


@pytest.mark.parametrize("kind", ODD)
def test_what_lies_among_the_runs_hides_none_of_them(made: Path, folder: Path, kind: str) -> None:
    (folder / "runs").mkdir()
    shutil.copytree(made / "whole", folder / "runs" / "whole")
    put(kind, folder / "runs" / "odd")
    for words in EVERYWHERE[:2]:
        require_told(".", kind, words)
