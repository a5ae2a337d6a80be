"""Objects are created once, whole or not at all, in a folder as in a bucket."""

import threading
from pathlib import Path

import pytest

from mage_es.events.care.objects import FolderObjects, Objects, create_once
from mage_es.events.disk import LocalFileSystem
from mage_es.events.errors import PrerequisiteError, SequenceConflict


def test_what_is_created_can_be_listed_and_read(objects: Objects) -> None:
    assert objects.names() == []
    objects.create("b/c", b"\x00bytes")
    objects.create("a", b"")
    assert objects.names() == ["a", "b/c"]
    assert (objects.read("b/c"), objects.read("a")) == (b"\x00bytes", b"")
    with pytest.raises(FileNotFoundError):
        objects.read("b/d")


def test_nothing_is_ever_overwritten(objects: Objects) -> None:
    objects.create("a", b"first")
    with pytest.raises(FileExistsError):
        objects.create("a", b"second")
    assert objects.read("a") == b"first"


def test_the_same_again_is_no_news_and_something_else_is_a_conflict(objects: Objects) -> None:
    assert create_once(objects, "a", b"first")
    assert not create_once(objects, "a", b"first")
    with pytest.raises(SequenceConflict, match="another a than this log"):
        create_once(objects, "a", b"second")


def test_of_many_that_create_at_once_one_wins(objects: Objects) -> None:
    won: list[int] = []

    def create(number: int) -> None:
        try:
            objects.create("a", b"%d" % number)
        except (FileExistsError, PrerequisiteError):
            return
        won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert objects.read("a") == b"%d" % won[0]


def test_a_file_in_the_making_is_no_object(tmp_path: Path) -> None:
    objects = FolderObjects(tmp_path, LocalFileSystem())
    (tmp_path / "a.tmp").write_bytes(b"ha")
    assert objects.names() == []
    objects.create("a", b"whole")
    assert (objects.names(), objects.read("a")) == (["a"], b"whole")


def test_what_is_removed_while_a_folder_is_read_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = FolderObjects(tmp_path, LocalFileSystem())
    objects.create("a", b"stays")
    objects.create("b", b"goes")
    read = Path.rglob

    def read_then_remove(self: Path, pattern: str) -> list[Path]:
        paths = list(read(self, pattern))
        (tmp_path / "b").unlink()
        return paths

    monkeypatch.setattr(Path, "rglob", read_then_remove)
    assert objects.names() == ["a"]
