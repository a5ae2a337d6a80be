"""What a complete backup consists of: the name, the size and the SHA-256 of each of its objects, written last.

    whole/<number>      the objects of one complete backup; the newest counts

So every byte of a restored run is compared with a hash, a missing object is noticed, and objects left behind by an
interrupted backup belong to no complete one.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from mage_es.events.care.objects import Objects, ObjectSource, create_once
from mage_es.events.disk.documents import pack, unpack
from mage_es.events.errors import LogDamaged, PrerequisiteError

_NUMBERED = re.compile(r"whole/(\d{8})")


class Item(NamedTuple):
    """An object of a backup: its name, its bytes, and their SHA-256 in hexadecimal digits."""

    name: str
    size: int
    sha256: str


class _Manifest(msgspec.Struct, frozen=True):
    items: tuple[Item, ...]


def item_of(name: str, data: bytes) -> Item:
    return Item(name, len(data), hashlib.sha256(data).hexdigest())


def complete(objects: Objects, items: Iterable[Item]) -> int:
    """Record that a backup of these objects is complete; return the bytes stored, 0 if the newest record already says
    so.

    Raises `LogDamaged` if the newest record cannot be read, and what `create_once` raises.
    """
    found, data = _newest(objects), pack(_Manifest(tuple(sorted(set(items)))))
    if found and objects.read(_name(found)) == data:
        return 0
    create_once(objects, _name(found + 1), data)
    return len(data)


class CompleteBackup:
    """The objects of the newest complete backup at a place, each compared with its hash when it is read.

    Raises `LogDamaged` if the record of them cannot be read, `PrerequisiteError` without one.
    """

    def __init__(self, objects: ObjectSource) -> None:
        self.place, self._objects = objects.place, objects
        if not (number := _newest(objects)):
            raise PrerequisiteError(f"{self.place} holds no complete backup: make one with `mage-es backup`.")
        name = _name(number)
        manifest = unpack(objects.read(name), _Manifest, name=f"{self.place}/{name}")
        self._items = {item.name: item for item in manifest.items}

    def names(self) -> list[str]:
        return sorted(self._items)

    def beyond(self) -> list[str]:
        """Return the heads of a later backup: it was interrupted, or its record is lost."""
        own = {_folder(name): name for name in self.names() if "/head/" in name}
        heads = (name for name in self._objects.names() if "/head/" in name)
        return [name for name in heads if name > own.get(_folder(name), "")]

    def read(self, name: str) -> bytes:
        """Return an object. Raises `LogDamaged` if it is missing or damaged, `FileNotFoundError` if it is not part of
        the backup."""
        if (item := self._items.get(name)) is None:
            raise FileNotFoundError(f"{self.place}/{name} is not part of the newest backup")
        try:
            data = self._objects.read(name)
        except FileNotFoundError as error:
            raise LogDamaged(f"{self.place}/{name} is missing. Use another backup.") from error
        if item_of(name, data) != item:
            raise LogDamaged(f"{self.place}/{name} is damaged: it is not what was backed up. Use another backup.")
        return data


def _newest(objects: ObjectSource) -> int:
    return max((int(match[1]) for name in objects.names() if (match := _NUMBERED.fullmatch(name))), default=0)


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _name(number: int) -> str:
    return f"whole/{number:08d}"
