"""The disk: the only door to files, where a log's files are, the writer's lock, self-checking documents."""

from mage_es.events.disk.documents import Head
from mage_es.events.disk.filesystem import File, FileSystem, LocalFileSystem, Lock, write_new
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.disk.lock import WriterLock

__all__ = ["File", "FileSystem", "Head", "Layout", "LocalFileSystem", "Lock", "Range", "WriterLock", "write_new"]
