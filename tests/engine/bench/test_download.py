"""Downloads go on where they stopped, and only whole files get their name."""

import hashlib
import socket
import time
from pathlib import Path

import pytest

from mage_es.engine.bench.download import DownloadPolicy, download
from mage_es.events.errors import PrerequisiteError, UsageError

BODY = bytes(range(256)) * 1000
SHA = hashlib.sha256(BODY).hexdigest()


class Said(list[str]):
    def __call__(self, line: str) -> None:
        self.append(line)


def test_a_file_arrives_with_its_hash_and_size(server, tmp_path: Path) -> None:
    server.content["/f"] = BODY
    got = download(f"{server.url}/f", tmp_path / "new" / "f", sha256=SHA, announce=Said())
    assert got == (SHA, len(BODY), 0)
    assert (tmp_path / "new" / "f").read_bytes() == BODY
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["f"]


def test_a_broken_connection_is_tried_again_from_where_it_stopped(server, tmp_path: Path) -> None:
    server.content["/f"], server.cuts = BODY, [100_000]
    said = Said()
    got = download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=said)
    assert got == (SHA, len(BODY), 100_000)
    assert [wanted for _, wanted in server.requests] == ["", "bytes=100000-"]
    assert any("broke off after 100000 bytes" in line for line in said)


def test_after_three_attempts_the_part_stays_for_the_next_command(server, tmp_path: Path) -> None:
    server.content["/f"], server.cuts = BODY, [1000, 2000, 3000]
    with pytest.raises(PrerequisiteError, match=r"after 6000 bytes .*, 3 times\. .* to continue it"):
        download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said())
    assert not (tmp_path / "f").exists()
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said()).resumed == 6000
    assert (tmp_path / "f").read_bytes() == BODY


def test_a_file_that_changed_upstream_is_not_pieced_together(server, tmp_path: Path) -> None:
    server.content["/f"], server.cuts = BODY, [1000, 0, 0]
    with pytest.raises(PrerequisiteError):
        download(f"{server.url}/f", tmp_path / "f", announce=Said())
    server.content["/f"], server.tag = BODY[::-1], '"v2"'
    assert download(f"{server.url}/f", tmp_path / "f", announce=Said()).resumed == 0
    assert (tmp_path / "f").read_bytes() == BODY[::-1]


@pytest.mark.parametrize("tag", ["", 'W/"weak"'])
def test_without_a_strong_tag_a_part_is_never_continued(server, tmp_path: Path, tag: str) -> None:
    server.content["/f"], server.cuts, server.tag = BODY, [1000], tag
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said()).resumed == 0
    assert [wanted for _, wanted in server.requests] == ["", ""]


def test_where_a_part_cannot_be_continued_nobody_is_told_that_it_is(server, tmp_path: Path) -> None:
    server.content["/f"], server.cuts, server.tag = BODY, [1000, 1000, 1000], ""
    with pytest.raises(PrerequisiteError, match=r"after 1000 bytes .*, 3 times\. .* starts over"):
        download(f"{server.url}/f", tmp_path / "f", announce=Said())


def test_a_server_without_ranges_sends_everything_again(server, tmp_path: Path) -> None:
    server.content["/f"], server.cuts, server.has_ranges = BODY, [1000], False
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said()).resumed == 0


def test_a_part_that_is_longer_than_the_file_starts_over(server, tmp_path: Path) -> None:
    server.content["/f"] = BODY
    (tmp_path / "f.part").write_bytes(BODY + b"more")
    (tmp_path / "f.part.etag").write_text(server.tag)
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said()) == (SHA, len(BODY), 0)


def test_a_wrong_checksum_is_refused_and_nothing_is_left(server, tmp_path: Path) -> None:
    server.content["/f"] = BODY + b"x"
    with pytest.raises(PrerequisiteError, match=f"expected {SHA}: the file was changed or damaged"):
        download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said())
    assert list(tmp_path.iterdir()) == []


def test_a_failed_download_leaves_the_old_file_alone(server, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    server.content["/f"] = BODY + b"x"
    with pytest.raises(PrerequisiteError):
        download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said())
    assert (tmp_path / "f").read_text() == "old"


def test_a_missing_file_says_404_and_what_to_do(server, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"/f answered 404 Not Found\. .* put the file at .*/f yourself"):
        download(f"{server.url}/f", tmp_path / "f", announce=Said())


BRIEFLY = DownloadPolicy(attempts=3, first_s=0.01, longest_s=2.0)


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_busy_is_asked_again_and_goes_on_with_what_arrived(
    server, tmp_path: Path, status: int
) -> None:
    server.content["/f"], server.cuts, server.errors = BODY, [1000], [status]
    said = Said()
    got = download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=said, policy=BRIEFLY)
    assert (got.size, got.resumed, len(server.requests)) == (len(BODY), 1000, 3)
    assert sum(f"answered {status}" in line and "asking again in 0 s" in line for line in said) == 1


def test_a_server_is_not_asked_before_it_wants_to_be(server, tmp_path: Path) -> None:
    server.content["/f"], server.errors, server.retry_after = BODY, [429], "1"
    said, began = Said(), time.monotonic()
    download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=said, policy=BRIEFLY)
    assert time.monotonic() - began >= 1.0  # never too early, however slow the machine is
    assert "answered 429 Too Many Requests; asking again in 1 s" in said[0]


def test_a_server_that_stays_busy_is_asked_three_times_and_what_arrived_is_kept(server, tmp_path: Path) -> None:
    server.content["/f"], server.cuts = BODY, [1000, 0, 0]
    with pytest.raises(PrerequisiteError, match="to continue it"):
        download(f"{server.url}/f", tmp_path / "f", announce=Said())
    server.errors, server.requests = [503, 503, 503], []
    with pytest.raises(PrerequisiteError, match=r"/f answered 503 Service Unavailable: run .* later"):
        download(f"{server.url}/f", tmp_path / "f", announce=Said(), policy=BRIEFLY)
    assert len(server.requests) == BRIEFLY.attempts
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA, announce=Said()).resumed == 1000


def test_a_server_that_wants_to_be_left_alone_for_long_ends_the_command_with_the_time(server, tmp_path: Path) -> None:
    server.content["/f"], server.errors, server.retry_after = BODY, [429], "900"
    with pytest.raises(PrerequisiteError, match="run the same command again in 900 seconds, as the server asks"):
        download(f"{server.url}/f", tmp_path / "f", announce=Said())
    assert len(server.requests) == 1


def test_no_network_is_a_prerequisite(tmp_path: Path) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(PrerequisiteError, match=r"cannot be reached: .* Check the network"):
            download(f"http://127.0.0.1:{port}/f", tmp_path / "f", announce=Said())


def test_an_address_that_is_no_web_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="file:///etc/hosts is not a web address"):
        download("file:///etc/hosts", tmp_path / "f", announce=Said())


def test_a_folder_that_cannot_be_made_is_a_prerequisite(server, tmp_path: Path) -> None:
    server.content["/f"] = BODY
    (tmp_path / "file").write_text("")
    with pytest.raises(PrerequisiteError, match="cannot be written"):
        download(f"{server.url}/f", tmp_path / "file" / "f", announce=Said())


def test_a_full_disk_is_told_apart(server, tmp_path: Path) -> None:
    server.content["/f"] = BODY
    (tmp_path / "f.part").symlink_to("/dev/full")
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(PrerequisiteError, match=r"the disk is full\. Free some space"):
        download(f"{server.url}/f", tmp_path / "f", announce=Said())
