"""Places that keep a backup: a folder, and a bucket of a local server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mage_es.events.care.buckets import S3Objects
from mage_es.events.care.objects import FolderObjects, Objects
from mage_es.events.disk import LocalFileSystem
from tests.events.bucket import bucket


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a bucket."""
    with bucket() as address:
        yield address


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """An empty place of either kind."""
    if request.param == "folder":
        return FolderObjects(tmp_path / "deep" / "place", LocalFileSystem())
    return S3Objects(f"{request.getfixturevalue('address')}/prefix/{tmp_path.name}")
