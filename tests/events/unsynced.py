"""The disk without waiting for it: for tests that write much and in which no power fails."""

from __future__ import annotations

from pathlib import Path

from mage_es.events.disk import File, LocalFileSystem


class _File:
    def __init__(self, file: File) -> None:
        self.write, self.close = file.write, file.close

    def sync(self) -> None:
        """Return at once."""


class Unsynced(LocalFileSystem):
    """The disk of this machine, never asked to finish writing."""

    def create(self, path: Path) -> File:
        return _File(super().create(path))

    def append(self, path: Path) -> File:
        return _File(super().append(path))

    def sync_folder(self, path: Path) -> None:
        """Return at once."""
