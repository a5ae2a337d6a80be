"""`mage-es fetch` from the outside; downloads come from a server in this process."""

import functools
import gzip
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.seams.plugins import installed

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
REAL = Path(os.environ.get("MAGE_ES_DATA") or Path(__file__).parents[3] / "shared" / "data").absolute() / "gsm8k"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Return the address of a server of the real files, as far as they are there."""
    folder = tmp_path / "served"
    folder.mkdir()
    for name in ("train.jsonl", "test.jsonl"):
        if (REAL / name).exists():
            shutil.copy(REAL / name, folder)
        elif (REAL / f"{name}.gz").exists():
            (folder / name).write_bytes(gzip.decompress((REAL / f"{name}.gz").read_bytes()))
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_list_says_what_is_there_and_how_to_get_the_rest(mage: Command) -> None:
    outcome = mage("fetch")
    assert outcome.code == 0
    rows = {line.split()[0]: line.split()[1] for line in outcome.out.splitlines()[1:]}
    assert (rows["wordmath"], rows["gsm8k"]) == ("present", "missing")
    assert "mage-es fetch gsm8k" in outcome.err


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the name of a benchmark of another package, whose data is not there and which is listed first."""
    (tmp_path / "a_plugin.py").write_text(
        "from mage_es.engine.bench.gsm8k import GSM8K\nFIRST = GSM8K._replace(name='aardvark')\n"
    )
    info = tmp_path / "a_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mage_es.benchmarks]\naardvark = a_plugin:FIRST\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    yield "aardvark"
    monkeypatch.undo()
    sys.modules.pop("a_plugin", None)
    installed.cache_clear()


def test_the_list_sends_nobody_to_fetch_what_another_package_offers(mage: Command, plugin: str) -> None:
    outcome = mage("fetch")
    rows = [line.split()[:2] for line in outcome.out.splitlines()]
    assert [plugin, "missing"] in rows and f"The package that offers {plugin} says" in outcome.err
    assert f"fetch {plugin}" not in outcome.err and "Next: mage-es fetch finqa" in outcome.err
    refused = mage("fetch", plugin)
    assert refused.code == 2 and f"mage-es evolve {plugin} --data-dir FOLDER" in refused.err


@pytest.mark.skipif(not REAL.is_dir(), reason="the GSM8K files are not there: set MAGE_ES_DATA")
def test_what_was_fetched_is_listed_with_size_and_licence(mage: Command, address: str) -> None:
    fetched = mage("fetch", "gsm8k", "--from", address)
    assert fetched.code == 0
    assert "licence MIT" in fetched.err and "train.jsonl" in fetched.out
    assert "Next: mage-es evolve gsm8k --data-dir data" in fetched.err
    listed = json.loads(mage("fetch", "--data-dir", "data", "--json").out)
    row = next(row for row in listed if row["name"] == "gsm8k")
    assert (row["present"], row["evolution"], row["test"] > 1000) == (True, 7473, True)
    assert "MIT" in row["licence"]


def test_a_server_without_the_file_gives_exit_code_four(mage: Command, address: str) -> None:
    outcome = mage("fetch", "gsm8k", "--from", f"{address}/nowhere")
    assert (outcome.code, outcome.out) == (4, "")
    assert "404" in outcome.err


@pytest.mark.parametrize(("name", "part"), [("gsm8", "Did you mean gsm8k?"), ("wordmath", "generated")])
def test_what_cannot_be_fetched_is_a_usage_error(mage: Command, name: str, part: str) -> None:
    outcome = mage("fetch", name)
    assert (outcome.code, part in outcome.err) == (2, True)


def test_an_address_with_a_password_is_refused_unseen(mage: Command) -> None:
    outcome = mage("fetch", "gsm8k", "--from", "http://me:pa55word@127.0.0.1:9")
    assert (outcome.code, "pa55word" in outcome.out + outcome.err) == (2, False)


def test_a_mirror_without_a_benchmark_is_refused(mage: Command) -> None:
    outcome = mage("fetch", "--from", "http://127.0.0.1:9")
    assert (outcome.code, "name the benchmark" in outcome.err) == (2, True)
