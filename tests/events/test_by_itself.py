"""The log with another vocabulary than that of runs: a bank's."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from mage_es.events.care import (
    CompleteBackup,
    back_up,
    complete,
    plan_repair,
    repair_log,
    restore,
    verify_heads,
    verify_log,
)
from mage_es.events.care.objects import FolderObjects
from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.errors import UnknownEvent, UsageError
from mage_es.events.facts import Draft, EmbeddingBytes, Event, SubjectText, Vocabulary
from mage_es.events.facts.private import clear_vector, is_erased, marked_private
from mage_es.events.log import Log, LogReader, follow
from mage_es.events.signing.heads import root_of
from tests.events.samples import abandon, clock, judged

README = Path(__file__).resolve().parents[2] / "events" / "README.md"


class AccountOpened(Event, frozen=True, kw_only=True, tag="account.opened"):
    stream: ClassVar[str] = "account/{0.account}"
    account: str
    owner: SubjectText
    face: EmbeddingBytes = b""


class Deposited(Event, frozen=True, kw_only=True, tag="money.deposited"):
    account: str
    cents: int


class DayClosed(Event, frozen=True, kw_only=True, tag="day.closed"):
    day: int


class BankClosed(Event, frozen=True, kw_only=True, tag="bank.closed"):
    reason: str


BANK = Vocabulary(
    (AccountOpened, Deposited, DayClosed, BankClosed),
    marks={DayClosed: ("day",)},
    heads=(DayClosed,),
    ends=(BankClosed,),
    once=(Deposited,),
)


def fact(event: Event, number: int = 0) -> Draft:
    return Draft(event=event, iteration=0, phase="log", ordinal=number)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A bank's log of two days, sealed, with a third one begun."""
    path = tmp_path / "bank" / "log"
    with Log.create(path, run="bank", clock=clock(), vocabulary=BANK) as log:
        log.append([fact(AccountOpened(account="ann", owner="Ann"))])
        for day in range(2):
            log.append([fact(Deposited(account="ann", cents=100 + day), day), fact(DayClosed(day=day), day)])
    log = Log.open(path, clock=clock(), vocabulary=BANK)
    log.append([fact(Deposited(account="ann", cents=7), 9)])
    abandon(log)
    return path


def test_the_example_of_the_readme_needs_the_log_alone_and_takes_at_most_forty_lines(tmp_path: Path) -> None:
    section = README.read_text(encoding="utf-8").split("## By itself\n")[1].split("\n## ")[0]
    [example] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(example.splitlines()) <= 40 and "mage_es.engine" not in example
    script = tmp_path / "bank.py"
    script.write_text(example, encoding="utf-8")
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=True)
    # Three facts, and the log's own record of what it sealed.
    assert done.stdout == "380 True 4\n"


def test_a_vocabulary_reads_its_own_types_and_names_those_of_another(path: Path, tmp_path: Path) -> None:
    assert [event.cents for event in LogReader(path, vocabulary=BANK).of(Deposited)] == [100, 101, 7]
    with pytest.raises(UnknownEvent, match=r"'account\.opened', which this release does not know"):
        list(LogReader(path).records())
    with pytest.raises(UnknownEvent, match=r"'money\.deposited'"):
        Log.open(path, clock=clock())
    with Log.open(path, clock=clock(), vocabulary=BANK) as log, pytest.raises(UsageError, match="AnswerJudged"):
        log.append([judged(1)])
    with Log.create(tmp_path / "run", run="r1", clock=clock()) as run, pytest.raises(UsageError, match="Deposited"):
        run.append([fact(Deposited(account="ann", cents=1))])


def test_a_type_without_a_tag_or_with_that_of_another_is_refused() -> None:
    class Untagged(Event, frozen=True, kw_only=True):
        x: int

    class Twin(Event, frozen=True, kw_only=True, tag="money.deposited"):
        x: int

    class Seal(Event, frozen=True, kw_only=True, tag="log.segment_sealed"):
        x: int

    for types in ((Untagged,), (Deposited, Twin), (Seal,)):
        with pytest.raises(TypeError, match="needs a tag that no other type has"):
            Vocabulary(types)
    Vocabulary((Deposited, Deposited))


def test_a_mark_names_a_moment_and_renews_the_head(path: Path) -> None:
    reader = LogReader(path, vocabulary=BANK)
    assert [reader.resolve(marker) for marker in ("start", "iter-0", "iter-1")] == [3, 3, 5]
    with Log.open(path, clock=clock(), vocabulary=BANK) as log:
        heads = Layout(path).head
        before = heads.read_bytes()
        log.append([fact(Deposited(account="ann", cents=1), 10)])
        assert heads.read_bytes() == before
        log.append([fact(DayClosed(day=2), 2)])
        assert heads.read_bytes() != before


def test_what_is_recorded_once_is_not_looked_for_and_everything_else_is_found(path: Path) -> None:
    with Log.open(path, clock=clock(), vocabulary=BANK) as log:
        assert list(log.append([fact(DayClosed(day=1), 1)]).seqs) == [5]
        assert list(log.append([fact(Deposited(account="ann", cents=101), 1)]).seqs) == [log.head.seq]


def test_a_follower_stops_at_the_event_that_ends_a_log(path: Path) -> None:
    with Log.open(path, clock=clock(), vocabulary=BANK) as log:
        log.append([fact(BankClosed(reason="sold"))])

    def wait() -> None:
        raise AssertionError("nothing follows the end")

    followed = [record.event for record in follow(path, since=1, wait=wait, vocabulary=BANK)]
    assert BankClosed(reason="sold") in followed


def test_a_private_field_and_the_vector_beside_it_are_sealed(path: Path) -> None:
    vector = b"\x00\x00\x80\x3f" * 64
    with Log.open(path, clock=clock(), vocabulary=BANK) as log:
        log.seal_texts_of(["bea"])
        opened = AccountOpened(account="bea", owner="Beatrix Unlikely", face=vector)
        log.append([marked_private(fact(opened), frozenset({"bea"}))])
    stored = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
    assert b"Unlikely" not in stored and vector not in stored
    _, event = LogReader(path, vocabulary=BANK).of(AccountOpened)
    assert event.owner == "Beatrix Unlikely" and clear_vector(event.face, event.owner) == vector
    (path.parent / "keys").rename(path.parent / "lost")
    _, sealed = LogReader(path, vocabulary=BANK).of(AccountOpened)
    assert is_erased(sealed.owner) and sealed.face == event.face


def test_questions_need_types_for_them(path: Path) -> None:
    with (
        Log.open(path, clock=clock(), vocabulary=BANK) as log,
        pytest.raises(UsageError, match="names no types for them"),
    ):
        log.store([], [])
    assert LogReader(path, vocabulary=BANK).questions() == ([], None)


def test_care_takes_the_vocabulary_too(path: Path, tmp_path: Path) -> None:
    fs, place = LocalFileSystem(), FolderObjects(tmp_path / "place", LocalFileSystem())
    assert verify_log(path, vocabulary=BANK).is_sound
    assert not verify_log(path).is_sound
    assert verify_heads(path, vocabulary=BANK).problems == ()
    stored, copy = back_up(path, place, at="", fs=fs, vocabulary=BANK), tmp_path / "copy"
    complete(place, stored.items)
    assert restore(CompleteBackup(place), copy, at="", fs=fs, vocabulary=BANK) == stored.head
    assert root_of(copy, vocabulary=BANK) == root_of(path, vocabulary=BANK)
    # What was a tail is sealed now, so that the two are compared record by record.
    Log.open(path, clock=clock(), vocabulary=BANK).close()
    assert back_up(path, place, at="", fs=fs, vocabulary=BANK).head.seq > stored.head.seq
    # With the file after it goes the record of a segment's hash: then its own events have to vouch for it.
    for file in copy.glob("wal/*.wal"):
        file.unlink()
    assert plan_repair(copy, vocabulary=BANK).whole_seq == 5
    assert repair_log(copy, clock=clock(), vocabulary=BANK).whole_seq == 5
    assert verify_log(copy, vocabulary=BANK).is_sound
