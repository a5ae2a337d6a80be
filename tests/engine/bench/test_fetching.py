"""Fetching a benchmark: licence shown, files recorded, nothing fetched twice, content checked."""

import gzip
import hashlib
import json
import os
from pathlib import Path

import pytest

from mage_es.engine.bench.fetching import SOURCES, fetch, fetch_source
from mage_es.engine.benchmarks.registry import DataSource
from mage_es.events.errors import PrerequisiteError, UsageError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[4] / "shared" / "data"))
RECORD = b'{"question": "2 + 3?", "answer": "<<2+3=5>>5\\n#### 5"}\n'


class Said(list[str]):
    def __call__(self, line: str) -> None:
        self.append(line)


def source(server, *, pin: str = "") -> DataSource:
    server.content["/a"], server.content["/b"] = b"alpha", b"beta"
    return DataSource(base_url=server.url, licence="Public Domain", files={"a": pin, "b": ""})


def test_files_are_recorded_with_address_licence_hash_and_size(server, tmp_path: Path) -> None:
    said = Said()
    pin = hashlib.sha256(b"alpha").hexdigest()
    files = fetch_source("x", source(server, pin=pin), tmp_path, announce=said)
    record = json.loads((tmp_path / "SOURCE.json").read_text())
    assert said[0] == "x: licence Public Domain"
    assert [(f.name, f.size, f.is_pinned, f.is_new) for f in files] == [("a", 5, True, True), ("b", 4, False, True)]
    assert record["licence"] == "Public Domain"
    assert [(f["url"], f["sha256"], f["size"]) for f in record["files"]] == [
        (f"{server.url}/{name}", hashlib.sha256(body).hexdigest(), len(body))
        for name, body in (("a", b"alpha"), ("b", b"beta"))
    ]


def test_what_is_there_is_not_fetched_again(server, tmp_path: Path) -> None:
    fetch_source("x", source(server), tmp_path, announce=Said())
    server.requests.clear()
    files = fetch_source("x", source(server), tmp_path, announce=Said())
    assert server.requests == []
    assert [f.is_new for f in files] == [False, False]


def test_a_file_that_was_changed_or_removed_is_fetched_again(server, tmp_path: Path) -> None:
    fetch_source("x", source(server), tmp_path, announce=Said())
    server.requests.clear()
    (tmp_path / "a").write_text("tampered")
    (tmp_path / "b").unlink()
    fetch_source("x", source(server), tmp_path, announce=Said())
    assert [path for path, _ in server.requests] == ["/a", "/b"]
    assert (tmp_path / "a").read_bytes() == b"alpha"


def test_an_unreadable_record_only_means_fetching_again(server, tmp_path: Path) -> None:
    (tmp_path / "SOURCE.json").write_text("{broken")
    assert all(f.is_new for f in fetch_source("x", source(server), tmp_path, announce=Said()))


def test_a_failure_in_the_second_file_keeps_the_first(server, tmp_path: Path) -> None:
    wanted = source(server)
    del server.content["/b"]
    with pytest.raises(PrerequisiteError, match="404"):
        fetch_source("x", wanted, tmp_path, announce=Said())
    server.requests.clear()
    fetch_source("x", source(server), tmp_path, announce=Said())
    assert [path for path, _ in server.requests] == ["/b"]


def test_gsm8k_from_a_mirror_with_another_train_file_is_refused(server, tmp_path: Path) -> None:
    server.content = {"/train.jsonl": RECORD, "/test.jsonl": RECORD}
    with pytest.raises(PrerequisiteError, match="the file was changed or damaged"):
        fetch("gsm8k", tmp_path, base_url=server.url, announce=Said())


@pytest.mark.skipif(not (DATA / "gsm8k" / "train.jsonl.gz").is_file(), reason=f"no GSM8K in {DATA}; set MAGE_ES_DATA")
def test_gsm8k_is_fetched_whole_and_can_be_opened(server, tmp_path: Path) -> None:
    for name in ("train.jsonl", "test.jsonl"):
        server.content[f"/{name}"] = gzip.decompress((DATA / "gsm8k" / f"{name}.gz").read_bytes())
    server.cuts = [1_000_000]
    said = Said()
    train, test = fetch("gsm8k", tmp_path, base_url=f"{server.url}/", announce=said)
    assert (train.is_pinned, train.resumed, test.is_pinned) == (True, 1_000_000, False)
    assert said[-1].startswith("gsm8k: 7473 evolution, ")


@pytest.mark.skipif(not (DATA / "gsm8k" / "train.jsonl.gz").is_file(), reason=f"no GSM8K in {DATA}; set MAGE_ES_DATA")
def test_a_test_file_that_is_no_data_is_refused(server, tmp_path: Path) -> None:
    server.content["/train.jsonl"] = gzip.decompress((DATA / "gsm8k" / "train.jsonl.gz").read_bytes())
    server.content["/test.jsonl"] = b"<html>please log in</html>"
    with pytest.raises(PrerequisiteError, match=r"test\.jsonl, line 1: "):
        fetch("gsm8k", tmp_path, base_url=server.url, announce=Said())


def test_generated_and_unknown_benchmarks_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="wordmath is generated and needs no data"):
        fetch("wordmath", tmp_path, announce=Said())
    with pytest.raises(UsageError, match=r"no benchmark 'gsm8'\. Did you mean gsm8k"):
        fetch("gsm8", tmp_path, announce=Said())


def test_public_addresses_are_https_but_for_one_server_and_only_whole_files_are_pinned() -> None:
    plain = {found.base_url for found in SOURCES.values() if not found.base_url.startswith("https://")}
    assert plain == {"http://curtis.ml.cmu.edu/datasets/hotpot"}, "the only official address of HotpotQA"
    assert SOURCES["gsm8k"].files["test.jsonl"] == ""


def test_a_copy_says_where_upstream_has_it_and_where_it_goes(server, tmp_path: Path) -> None:
    said = Said()
    fetch_source("x", source(server)._replace(by_hand="a zip on a drive"), tmp_path, announce=said)
    assert said[1] == f"x: this is a copy; upstream has a zip on a drive: {tmp_path}"
