"""What a bucket refuses is said in words that lead on."""

import sys

import pytest

from mage_es.events.care.buckets import S3Objects
from mage_es.events.errors import PrerequisiteError
from tests.events.bucket import bucket


def test_without_obstore_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("obstore", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PrerequisiteError, match=r"python -m pip install 'mage-es\[s3\]'"):
        S3Objects("s3://runs")


def test_a_bucket_that_does_not_exist_is_a_missing_prerequisite() -> None:
    with bucket():
        objects = S3Objects("s3://elsewhere/prefix")
        for act in (objects.names, lambda: objects.create("a", b"")):
            with pytest.raises(PrerequisiteError, match=r"s3://elsewhere/prefix cannot be used.*404.*AWS_ENDPOINT_URL"):
                act()


def test_prefixes_do_not_see_each_other() -> None:
    with bucket() as address:
        S3Objects(f"{address}/one").create("a", b"1")
        assert S3Objects(f"{address}/on").names() == []
        assert S3Objects(address).names() == ["one/a"]
