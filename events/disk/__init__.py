"""The disk: the only door to files and objects, where a log's files are, the writer's lock, self-checking documents."""

from mage_es.events.disk.documents import Head
from mage_es.events.disk.filesystem import File, FileSystem, LocalFileSystem, Lock, write_new
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.disk.lock import WriterLock
from mage_es.events.disk.objects import FolderObjects, Objects, create_once
from mage_es.events.disk.s3 import SCHEME, S3Objects

__all__ = [
    "SCHEME",
    "File",
    "FileSystem",
    "FolderObjects",
    "Head",
    "Layout",
    "LocalFileSystem",
    "Lock",
    "Objects",
    "Range",
    "S3Objects",
    "WriterLock",
    "create_once",
    "write_new",
]
