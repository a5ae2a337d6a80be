"""`verify --repair`, and `verify --head`, from the outside."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.events.disk import LocalFileSystem
from mage_es.events.errors import WriterPoisoned
from mage_es.events.log import Log
from mage_es.events.vocabulary import Draft, RunResumed

Command = Callable[..., Any]


def damage(runs_dir: Path) -> Path:
    """Take away the last write-ahead file of the run, and with it the record of its last segment."""
    file = max((runs_dir / "first" / "log" / "wal").iterdir())
    file.unlink()
    return file


@pytest.mark.slow
def test_a_repair_shows_the_loss_first_and_changes_nothing(mage: Command, runs_dir: Path) -> None:
    damage(runs_dir)
    before = {file: file.read_bytes() for file in (runs_dir / "first").rglob("*") if file.is_file()}
    outcome = mage("verify", "first", "--repair")
    assert outcome.code == 1
    assert "would be lost" in outcome.out and "is missing" in outcome.out
    assert "Nothing has changed" in outcome.err and "Next: mage-es verify first --repair --lose " in outcome.err
    assert before == {file: file.read_bytes() for file in (runs_dir / "first").rglob("*") if file.is_file()}


@pytest.mark.slow
def test_a_repaired_run_verifies_and_goes_on(mage: Command, runs_dir: Path) -> None:
    head = json.loads(mage("runs", "show", "first", "--json").out)["head"]
    damage(runs_dir)
    assert "mage-es verify first --repair" in mage("verify", "first").err
    refused = mage("resume", "first")
    assert refused.code == 5 and "mage-es verify RUN --repair" in refused.err
    outcome = mage("verify", "--repair", "--lose", "1", "--json")
    assert outcome.code == 1
    report = json.loads(outcome.out)
    assert report["done"] and report["lost_first"] == report["whole_seq"] + 1
    assert mage("verify", "first").code == 0
    assert mage("resume", "first").code == 0
    after = mage("verify", "first", "--head", head)
    assert after.code == 1 and "not a head of this log" in after.out
    again = mage("verify", "first", "--repair")
    assert again.code == 0 and "nothing to repair" in again.out


@pytest.mark.slow
def test_a_cut_takes_events_only_where_their_number_is_given_and_says_what_goes_and_where_it_is_kept(
    mage: Command, runs_dir: Path
) -> None:
    """One flipped bit in the first segment takes all that comes after it."""
    log = runs_dir / "first" / "log"
    first = min(path for path in (log / "seg").iterdir() if ".vec." not in path.name)
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 4
    first.write_bytes(data)
    before = {file: file.read_bytes() for file in log.rglob("*") if file.is_file() and file.name != "LOCK"}
    shown = mage("verify", "first", "--repair")
    lost = re.search(r"Events 1 to (\d+), \1 in all, would be lost\. No iteration is left\.", shown.out)
    assert lost and "No other file of the run has these events" in shown.err
    folder = (log / "quarantine").relative_to(runs_dir.parent)
    assert f"would be kept in {folder};" in shown.out
    for words in (("--yes",), ("--lose", "3"), ("--lose", "all"), ("--yes", "--lose", "3")):
        assert mage("verify", "first", "--repair", *words).code == 1
        assert before == {file: file.read_bytes() for file in before}, words
    done = mage("verify", "first", "--repair", "--lose", lost[1])
    assert done.code == 1 and f"is kept in {folder};" in done.out
    kept = [file.read_bytes() for file in (log / "quarantine").iterdir()]
    assert all(before[file] in kept for file in before if file.parent.name == "seg")
    resumed = mage("resume", "first")
    assert resumed.code != 0 and f"A repair cut its first {lost[1]} events out of the log" in resumed.err


@pytest.mark.parametrize(
    "words", [("--yes",), ("--lose", "3"), ("--repair", "--head", "0123456789abcdef"), ("--repair", "--key", "k")]
)
def test_options_that_do_not_go_together_are_refused_and_change_nothing(
    mage: Command, runs_dir: Path, words: tuple[str, ...]
) -> None:
    outcome = mage("verify", "first", *words)
    assert (outcome.code, "--repair" in outcome.err) == (2, True)


@pytest.mark.slow
def test_a_repair_names_the_exams_that_it_cuts_off_and_what_it_cannot_mend(mage: Command, runs_dir: Path) -> None:
    mage("exam", "--questions", "3")
    log = runs_dir / "first" / "log"
    segments = sorted(path for path in (log / "seg").iterdir() if ".vec." not in path.name)
    segments[-1].write_bytes(b"")  # the events since the run's end: the exam's record
    shown = mage("verify", "first", "--repair")
    for outcome in (shown, mage(*shown.err.partition("Next: mage-es ")[2].split())):
        assert outcome.code == 1 and "no longer count: 0001-latest" in outcome.out
    verified = mage("verify", "first")
    assert verified.code == 0 and "of a state that a repair removed" in verified.out
    again = mage("exam", "first", "--questions", "3", "--json")
    assert again.code == 0 and mage("verify", "first").code == 0
    [texts] = (log / "questions").iterdir()
    texts.write_bytes(texts.read_bytes() * 2)
    outcome = mage("verify", "first", "--repair", "--yes")
    assert outcome.code == 5 and "no repair mends" in outcome.out and texts.name[:20] in outcome.out


@pytest.mark.slow
def test_a_head_printed_earlier_is_found_after_the_run_went_on(mage: Command, runs_dir: Path) -> None:
    shown = mage("runs", "show", "first").out
    head = next(line.split()[1] for line in shown.splitlines() if line.strip().startswith("head "))
    outcome = mage("verify", "first", "--head", head)
    assert outcome.code == 0 and "the present head" in outcome.out
    with Log.open(runs_dir / "first" / "log", clock=lambda: 1_700_000_000_000_000) as writer:
        resumed = RunResumed(package_version="0", attempt=99)
        writer.append([Draft(event=resumed, iteration=0, phase="open", ordinal=99)])
    outcome = mage("verify", "first", "--head", head)
    assert outcome.code == 0 and "were appended since" in outcome.out


@pytest.mark.slow
def test_another_head_fails_the_check_and_nonsense_is_a_usage_error(mage: Command, runs_dir: Path) -> None:
    outcome = mage("verify", "first", "--head", "0123456789abcdef")
    assert outcome.code == 1 and "not a head of this log" in outcome.out
    outcome = mage("verify", "first", "--head", "latest")
    assert outcome.code == 2 and "is not a head" in outcome.err


class Stopping(LocalFileSystem):
    """A disk that stops the writer when a segment has its name and nothing records it yet."""

    armed = False

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        if self.armed and path.name == "seg":
            raise OSError("stopped")


def stop_sealing(log: Path) -> list[Path]:
    """Leave a log in the window of a seal; return the files of the segment that is not recorded yet."""
    before, disk = set((log / "seg").iterdir()), Stopping()
    writer = Log.open(log, clock=lambda: 1_700_000_000_000_000, fs=disk)
    writer.append([Draft(event=RunResumed(package_version="0", attempt=99), iteration=0, phase="open", ordinal=99)])
    disk.armed = True
    with pytest.raises(WriterPoisoned):
        writer.close()
    return sorted(set((log / "seg").iterdir()) - before)


@pytest.mark.slow
def test_a_segment_that_is_damaged_while_it_is_sealed_is_mended_without_a_loss(
    mage: Command, runs_dir: Path, tmp_path: Path
) -> None:
    [segment] = stop_sealing(runs_dir / "first" / "log")
    assert mage("verify", "first").code == 0
    data, sound = segment.read_bytes(), shutil.copytree(runs_dir, tmp_path / "sound")
    harms = {"flip": bytes([data[0] ^ 1]) + data[1:], "missing": None}
    for name, harmed in harms.items():
        shutil.rmtree(runs_dir)
        shutil.copytree(sound, runs_dir)
        segment.unlink()
        if harmed is not None:
            segment.write_bytes(harmed)
        red = mage("verify", "first").code
        assert (name, red) == (name, 0 if harmed is None else 5)
        shown = mage("verify", "first", "--repair")
        assert (shown.code == 0) == (red == 0) and ("nothing to repair" in shown.out) == (red == 0), name
        if red:
            assert segment.name in shown.out and "no event is lost" in shown.out and not shown.out.count("would be")
            assert segment.read_bytes() == harmed, name  # only --yes changes anything
        assert mage("verify", "first", "--repair", "--yes").code == 0, name
        if red:
            assert segment.read_bytes() == data, name
            assert mage("verify", "first").code == 0 and "nothing to repair" in mage("verify", "first", "--repair").out
