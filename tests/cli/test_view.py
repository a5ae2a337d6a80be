"""`mage-es view`: a file, a folder, or a server that Ctrl-C ends."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.engine.viewing.conftest import opened
from tests.events.bucket import bucket


@pytest.mark.slow
def test_a_run_becomes_one_file_or_a_folder_and_nothing_is_overwritten(
    mage: Command, finished: Path, tmp_path: Path
) -> None:
    told = mage("view", "first", "--runs-dir", str(finished), "--to", "run.html")
    assert told.code == 0 and re.search(r"run\.html: \d\.\d MB, 1 file$", told.out)
    told = mage("view", "--runs-dir", str(finished), "--to", "site", "--json")
    assert json.loads(told.out)["path"] == "site/index.html" and (tmp_path / "site" / "data" / "runs.js").exists()
    for place in ("run.html", "site"):
        told = mage("view", "first", "--runs-dir", str(finished), "--to", place)
        assert told.code == 2 and "exists" in told.err


def test_a_run_that_is_not_there_is_named(mage: Command, finished: Path) -> None:
    assert "There is no run 'frist'" in mage("view", "frist", "--runs-dir", str(finished), "--no-open").err
    assert "There is no run in" in mage("view", "--runs-dir", "nowhere", "--no-open").err


@contextmanager
def viewing(runs_dir: Path | str, *words: str, **environment: str) -> Iterator[tuple[str, list[str]]]:
    """Run `mage-es view` until the block ends, then end it with Ctrl-C; give its address and, afterwards, all that it
    wrote."""
    where = ("--runs-dir", str(runs_dir)) if runs_dir else ()
    command = (sys.executable, "-m", "mage_es", "view", *where, "--no-open", *words)
    environment = {**os.environ, **environment}
    # Out of the way of the terminal's own Ctrl-C, so that the signal is ours alone.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0, env=environment
    ) as serving:
        assert serving.stdout and serving.stderr
        url, written = serving.stdout.readline().strip(), list[str]()
        try:
            yield url, written
        finally:
            os.kill(serving.pid, signal.SIGINT)
            assert serving.wait(30) == 0
            written += [serving.stdout.read(), serving.stderr.read()]


def got(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def keys_of(folder: Path) -> str:
    """Write a file of keys with one that may look, `key-of-anna`, and return its path."""
    file = folder / "keys.toml"
    file.write_text(f'[[keys]]\nname = "anna"\nsha256 = "{sha256(b"key-of-anna").hexdigest()}"\nviews = true\n')
    return str(file)


@pytest.mark.slow
def test_it_serves_every_run_until_ctrl_c(finished: Path) -> None:
    with viewing(finished) as (url, written):
        assert got(f"{url}data/runs.js")[1].startswith(b'mage("runs",')
    assert "Only this machine can open it. Ctrl-C ends it" in written[1]


@pytest.mark.slow
def test_it_shows_a_bucket_s_runs_behind_keys_and_writes_into_no_folder_that_it_was_not_given(
    mage: Command, finished: Path, tmp_path: Path
) -> None:
    with bucket() as address:
        assert mage("backup", "first", f"{address}/team/first", "--runs-dir", str(finished)).code == 0
        for folder in ("", str(tmp_path / "theirs")):
            temporary = tmp_path / f"temporary-{len(folder)}"
            temporary.mkdir()
            with viewing(folder, f"{address}/team", "--keys", keys_of(tmp_path), TMPDIR=str(temporary)) as (url, said):
                status, content = got(f"{url}data/runs.js", Authorization="Bearer key-of-anna")
                assert status == 200 and [row["run"] for row in opened(content)[1]["runs"]] == ["first"]
                assert got(f"{url}data/first/index.js", Authorization="Bearer key-of-anna")[0] == 200
                assert got(f"{url}data/runs.js")[0] == 401
            assert f"Restored from {address}/team: first." in said[1]
            assert not list(temporary.iterdir()) and (tmp_path / "theirs").exists() == bool(folder)
        assert mage("view", "first", "--runs-dir", str(tmp_path / "theirs"), "--to", "x.html").code == 0


def test_a_bucket_is_looked_at_alone(mage: Command, finished: Path, tmp_path: Path) -> None:
    mage("backup", "first", str(tmp_path / "team" / "first"), "--runs-dir", str(finished))
    for words in (("first", "team"), ("team", "--to", "x.html"), ("s3://bucket/team", "s3://bucket/other")):
        told = mage("view", *words, "--runs-dir", str(finished), "--no-open")
        assert told.code == 2 and "view takes it alone" in told.err


def test_other_machines_are_not_served_without_keys(mage: Command, finished: Path, tmp_path: Path) -> None:
    told = mage("view", "--runs-dir", str(finished), "--host", "0.0.0.0", "--no-open")
    assert told.code == 2 and "Other machines can reach 0.0.0.0" in told.err and "Pass --keys FILE" in told.err
    (tmp_path / "keys.toml").write_text(f'[[keys]]\nname = "app"\nsha256 = "{"0" * 64}"\n')
    told = mage("view", "--runs-dir", str(finished), "--host", "0.0.0.0", "--keys", "keys.toml", "--no-open")
    assert told.code == 2 and "`views = true`" in told.err


@pytest.mark.slow
def test_a_team_looks_with_keys_and_links_and_none_of_them_is_ever_printed(
    mage: Command, finished: Path, tmp_path: Path
) -> None:
    keys = keys_of(tmp_path)
    with viewing(finished, "--host", "0.0.0.0", "--keys", keys) as (url, written):
        here = url.replace("0.0.0.0", "127.0.0.1")
        link = mage("view", "first", "--runs-dir", str(finished), "--keys", keys, "--link", "1h").out.strip()
        assert got(f"{here}data/runs.js", Authorization="Bearer key-of-anna")[0] == 200
        assert got(f"{here}data/runs.js?key=key-of-anna")[0] == got(here, Authorization="Bearer a-wrong-key")[0] == 401
        assert got(f"{here.rstrip('/')}{link}data/runs.js")[0] == 200
        assert got(f"{here.rstrip('/')}{link[:-2]}/")[0] == 403
    said = "".join(written)
    assert f"It asks for a key of {keys}" in said and "plain HTTP" in said
    assert not [secret for secret in ("key-of-anna", "a-wrong-key", link.strip("/")[:30]) if secret in said]
    assert (tmp_path / "keys.toml.secret").read_text() not in said


def test_a_link_is_for_one_run_and_a_span_of_time(mage: Command, finished: Path, tmp_path: Path) -> None:
    line = ("view", "first", "--runs-dir", str(finished), "--keys", keys_of(tmp_path))
    made = json.loads(mage(*line, "--link", "7d", "--json").out)
    assert made["run_id"] == "first" and re.fullmatch(r"/[\w-]+\.[\w-]+/", made["link"])
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", made["expires"])
    told = mage(*line, "--link", "30m")
    assert told.out.startswith("/") and "delete " in told.err and "keys.toml.secret" in told.err
    for span in ("7", "0d", "-1d", "7 days", "99999d", ""):
        told = mage(*line, f"--link={span}")
        assert told.code == 2 and "such as 30m, 12h or 7d" in told.err, span
    for words in ((*line, "--to", "x.html"), (*line, "first"), line[:-2]):
        told = mage(*words, "--link", "7d")
        assert told.code == 2 and "--link takes one RUN" in told.err
    assert "There is no run 'frist'" in mage("view", "frist", *line[2:], "--link", "7d").err
