"""The command: how it begins, what it refuses, how it ends, and that no key leaves it."""

import asyncio
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run
from mage_es.engine.run.served import Serving
from mage_es.engine.serving.cli.serve import _benefit, _named, _recorded
from mage_es.engine.serving.serve import ServedAt, ServeReport, aserve, serve
from mage_es.engine.serving.server import listening
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import PrerequisiteError, RunLocked, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened
from tests.bench.serve_faults import accounted
from tests.engine.serving.behind import PATIENCE_S
from tests.engine.serving.upstream import events, upstream
from tests.few_words import COMMAND

CHAT = {"model": "m", "messages": [{"role": "user", "content": "What is 3 + 4?"}]}
CLIENT, SECRET, WRONG = "canary-of-the-client", "canary-of-the-upstream", "canary-of-a-stranger"
KEYS = f"""
[[keys]]
name = "acme"
sha256 = "{sha256(CLIENT.encode()).hexdigest()}"
upstream_key_env = "ACME_UPSTREAM"
"""


@contextmanager
def process(run: Run, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the command; give the process, its address and the lines that it said so far."""
    command = [
        sys.executable,
        *COMMAND,
        "serve",
        run.id,
        "--runs-dir",
        str(run.path.parent),
        "--port",
        "0",
        "--retrieval-timeout",
        "60000",
        *words,
    ]
    environment = {**os.environ, **variables}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as found:
        assert found.stderr
        said = list[str]()
        for line in found.stderr:
            said.append(line)
            if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        assert address, "".join(said)
        try:
            yield found, address[0], said
        finally:
            found.kill()


@pytest.mark.slow
def test_a_stop_lets_streams_end_and_records_them_and_no_key_is_anywhere(parent: Run, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(KEYS)
    with (
        upstream() as server,
        process(parent, "--upstream", server.url, "--keys", str(keys), "--access-log", ACME_UPSTREAM=SECRET) as (
            *(proxy, url),
            said,
        ),
        httpx2.Client(base_url=url, headers={"authorization": f"Bearer {CLIENT}"}, timeout=PATIENCE_S) as client,
    ):
        told = [client.get("/metrics").text, client.get("/healthz").text]
        for headers in ({}, {"x-do": "reset"}, {"x-mage-task-type": "nothing"}, {"authorization": f"Bearer {WRONG}"}):
            told.append(client.post("/v1/chat/completions?a=hidden", json=CHAT, headers=headers).text)
        assert {asked.header("authorization") for asked in server.asked} == {f"Bearer {SECRET}"}
        server.go_on.clear()
        with client.stream("POST", "/v1/chat/completions", json=CHAT, headers={"x-do": "wait"}) as reply:
            pieces = reply.iter_raw()
            begin = next(pieces)
            proxy.send_signal(signal.SIGTERM)
            server.go_on.set()
            assert begin + b"".join(pieces) == b"".join(events("/v1/chat/completions"))
        out, err = proxy.communicate(timeout=PATIENCE_S)
        assert proxy.returncode == 0 and f"on record in {parent.id}-served" in out
    reader = LogReader(parent.path.with_name(f"{parent.id}-served") / "log")
    assert {event.key for event in reader.of(InferenceOpened)} == {"acme"}
    ends = {event.inference: event.outcome for event in reader.of(InferenceClosed)}
    assert [*ends.values()] == ["answered", "failed", "answered"]
    lines = [line for line in err.splitlines() if "path=/v1/chat/completions" in line]
    assert [re.findall(r"(?:key|status|inference)=(\S+)", line) for line in lines] == [
        ["acme", "200", "inf-1-1"],
        ["acme", "502", "inf-1-2"],
        ["acme", "400"],
        ["401"],
        ["acme", "200", "inf-1-4"],
    ]
    assert not [line for line in lines if "hidden" in line or "3 + 4" in line]
    told += [out, err, *said]
    told += [path.read_bytes().decode("latin-1") for path in parent.path.parent.rglob("*") if path.is_file()]
    assert not [text for text in told if any(key in text for key in (CLIENT, SECRET, WRONG))]


@pytest.mark.slow
def test_a_server_needs_no_flag_where_its_settings_are_in_the_environment_and_the_file(
    parent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mage-es.toml").write_text('serve_run_id = "from-the-file"\nserve_holdback = 0.0\n')
    variables = {"MAGE_ES_SERVE_ACCESS_LOG": "true", "MAGE_ES_SERVE_RUN_ID": "from-a-variable"}
    with upstream() as server:
        variables["MAGE_ES_SERVE_UPSTREAM"] = server.url
        with (
            process(parent, **variables) as (proxy, url, said),
            httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):
            assert client.post("/v1/chat/completions", json=CHAT).status_code == 200
            proxy.send_signal(signal.SIGTERM)
            _, err = proxy.communicate(timeout=PATIENCE_S)
    assert "from-a-variable" in "".join(said) and "path=/v1/chat/completions" in err
    assert {each.name for each in parent.path.parent.iterdir()} >= {parent.id, "from-a-variable"}


@pytest.mark.slow
def test_a_server_without_an_upstream_says_the_three_ways_to_name_it(parent: Run) -> None:
    command = [sys.executable, "-m", "mage_es", "serve", str(parent.path)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert told.returncode == 2
    assert all(way in told.stderr for way in ("--upstream", "MAGE_ES_SERVE_UPSTREAM", "serve_upstream in"))


def test_what_it_begins_with_is_said_before_anything_is_served(parent: Run) -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PrerequisiteError, match=rf"Port {port} of 127\.0\.0\.1 is in use\."):
            serve(str(parent.path), Serving(upstream="http://u", port=port))
    with pytest.raises(UsageError, match="Other machines can reach"):
        serve(str(parent.path), Serving(upstream="http://u", host="0.0.0.0"))
    with pytest.raises(UsageError, match=r"1\.2\.3\.4:8321 is not an address of this machine"):
        listening("1.2.3.4", 8321)
    for wrong in ("localhost:8000", "ftp://u", "http://", "http://u:canary@u", "http://u/?key=canary"):
        with pytest.raises(UsageError, match="is not the plain address") as told:
            serve(str(parent.path), Serving(upstream=wrong))
        assert "canary" not in str(told.value)


class Own:
    """A model of the user's own, which no name opens."""

    name = "mine/own"

    def __init__(self) -> None:
        self.complete = open_model("builtin/analogist", "execution").complete


def test_a_run_that_could_not_be_published_meanwhile_is_refused_before_it_is_served(tmp_path: Path) -> None:
    own = Models(Own(), open_model("builtin/reference", "guidance"))
    config = Config(benchmark="wordmath", iterations=1, pool=12, held_out=10, anchors=4)
    bare = replace(config, anchors=0, guard="off", gate="off")
    for each, models, told in ((config, own, "mine/own.* publish from Python"), (bare, None, "has no anchors")):
        run = evolve(each, runs_dir=tmp_path, models=models).run_id
        begun = list[ServeReport]()
        begin = partial(serve, str(tmp_path / run), runs_dir=tmp_path, begun=begun.append, stop=lambda: True)
        with pytest.raises(UsageError, match=told):
            begin(Serving(upstream="http://u", port=0, publish_every=5.0))
        assert not begun and not (tmp_path / f"{run}-served").exists()
        assert begin(Serving(upstream="http://u", port=0)).runs, "without it, it is served"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"trust": "gold"}, "With --learn log no answer is learned"),
        ({"trust": "gold", "learn": "propose", "keys": "KEYS"}, "write `trust` beside each key of KEYS"),
    ],
)
def test_a_trust_that_nothing_would_read_is_refused_before_anything_is_served(
    given: dict[str, Any], words: str, parent: Run, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(KEYS)
    given = {name: value if name != "keys" else str(keys) for name, value in given.items()}
    with pytest.raises(UsageError, match=re.escape(words.replace("KEYS", str(keys)))):
        serve(str(parent.path), Serving(upstream="http://127.0.0.1:1", port=0, **given))


def test_of_several_runs_none_is_created_if_one_is_refused(tmp_path: Path) -> None:
    config = Config(benchmark="wordmath", iterations=1, pool=12, held_out=10, anchors=4)
    for name, each in (("good", config), ("bare", replace(config, anchors=0, guard="off", gate="off"))):
        evolve(each, runs_dir=tmp_path, run_id=name)
    keys, before = tmp_path / "keys.toml", {"good", "bare", "keys.toml"}

    def refused(more: str, told: str) -> None:
        keys.write_text(KEYS.replace("upstream_key_env = ", f'run = "good"\n{more}\n#'))
        settings = Serving(upstream="http://u", port=0, keys=str(keys), publish_every=5.0)
        with pytest.raises(UsageError, match=told):
            serve(str(tmp_path / "good"), settings, runs_dir=tmp_path, stop=lambda: True)
        assert {path.name for path in tmp_path.iterdir()} == before

    second = f'[[keys]]\nname = "other"\nsha256 = "{64 * "0"}"\n'
    refused(f'{second}run = "bare"', "has no anchors")
    refused(f'{second}run = "good"\nat = "start"', "would serve good at start to one key and something else")
    refused(f'{second}run = "good"\nserved_run = "a/b"', "a/b")


def test_what_is_not_on_record_is_said_at_the_end() -> None:
    assert [_recorded(lost).partition(" on ")[0] for lost in (0, 1, 8)] == [
        "Everything is",
        "1 request went",
        "8 requests went",
    ]


def test_a_run_that_has_published_is_named_with_its_own_marker() -> None:
    served = ServedAt(run_id="a-served", parent="a", marker="iter-4", floors=(0.0, 0.0), embedder="hash")
    assert _named(served) == "a-served (at iter-4, begun from a)"
    assert _named(replace(served, parent="a-served")) == "a-served (at iter-4)"


def test_how_many_pairs_are_of_an_older_state_is_said_as_it_begins(parent: Run) -> None:
    reports = list[ServeReport]()

    def begun(report: ServeReport) -> None:
        reports.append(report)
        raise InterruptedError

    with pytest.raises(ExceptionGroup):
        serve(str(parent.path), Serving(upstream="http://u", port=0), runs_dir=parent.path.parent, begun=begun)
    [served] = reports[0].runs
    told = "Questions asked both ways (2 of 12 pairs by an answer of an older state):\n"
    assert _benefit(served.benefit, served.stale).startswith(told)


def test_no_piece_of_a_reply_waits_for_the_client_to_confirm_the_one_before() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.slow
def test_a_second_proxy_is_refused_or_takes_a_name_of_its_own(parent: Run) -> None:
    settings = Serving(upstream="http://u/v1/", port=0)
    begin = partial(serve, str(parent.path), runs_dir=parent.path.parent, stop=lambda: True)
    seen = list[ServeReport]()

    def beside(report: ServeReport) -> None:
        with pytest.raises(RunLocked, match="--run-id"):
            begin(settings)
        begin(replace(settings, run_id="other"), begun=seen.append)

    first = begin(settings, begun=beside)
    assert [report.runs[0].run_id for report in (first, *seen)] == [f"{parent.id}-served", "other"]
    assert {report.upstream for report in (first, *seen)} == {"http://u"}


@pytest.mark.slow
def test_what_clients_say_is_published_while_requests_go_on(parent: Run) -> None:
    async def lived(url: str) -> tuple[list[str], list[str]]:
        ready, said, markers = asyncio.Future[ServeReport](), list[str](), list[str]()
        settings = Serving(upstream=url, port=0, learn="propose", publish_every=1 / 60, holdback=0.0)
        told: dict[str, Any] = {"begun": ready.set_result, "say": said.append, "stop": lambda: bool(markers)}
        serving = asyncio.create_task(aserve(str(parent.path), settings, runs_dir=parent.path.parent, **told))
        async with httpx2.AsyncClient(base_url=(await ready).address, timeout=PATIENCE_S) as client:
            asked = await client.post("/v1/chat/completions", json=CHAT)
            name, value = asked.headers["x-mage-inference"], {"answer": "7", "reasoning": "3 + 4 = 7"}
            right = {"inference_id": name, "metric": "right", "value": value, "idempotency_key": "a"}
            assert (await client.post("/v1/feedback", json=right)).status_code == 200
            while len(said) < 2:
                asked = await client.post("/v1/chat/completions", json=CHAT)
            markers += [asked.headers["x-mage-marker"] for asked in [await client.post("/v1/messages", json=CHAT)]]
        await serving
        return said, markers

    with upstream() as server:
        said, markers = asyncio.run(lived(server.url))
    assert (
        "0 published" in said[0] and "for a person: 1; mage-es memory review" in said[1] and markers == ["iter-3"]
    )  # iter-2 has the anchors answered as things were


@pytest.mark.slow
def test_a_publish_that_fails_in_any_way_is_seen_and_tried_again(
    parent: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    is_stale, real = True, shutil.disk_usage

    def usage(path: Any) -> Any:
        if is_stale:
            raise OSError(errno.ESTALE, "Stale file handle")
        return real(path)

    monkeypatch.setattr(shutil, "disk_usage", usage)

    async def lived(url: str) -> tuple[list[str], list[dict[str, Any]], list[str]]:
        nonlocal is_stale
        ready, said, is_over = asyncio.Future[ServeReport](), list[str](), False
        settings = Serving(upstream=url, port=0, learn="propose", publish_every=1 / 60, holdback=0.0)
        told: dict[str, Any] = {"begun": ready.set_result, "say": said.append, "stop": lambda: is_over}
        serving = asyncio.create_task(aserve(str(parent.path), settings, runs_dir=parent.path.parent, **told))
        async with httpx2.AsyncClient(base_url=(await ready).address, timeout=PATIENCE_S) as client:
            asked = await client.post("/v1/chat/completions", json=CHAT)
            value = {"answer": "7", "reasoning": "3 + 4 = 7"}
            word = {"inference_id": asked.headers["x-mage-inference"], "metric": "right", "value": value}
            assert (await client.post("/v1/feedback", json={**word, "idempotency_key": "a"})).status_code == 200
            healths, rows = list[dict[str, Any]](), list[str]()
            for is_failed in (True, False):
                while True:
                    await asyncio.sleep(0.1)
                    assert not serving.done()
                    health = (await client.get("/readyz")).json()
                    if bool(health["runs"][f"{parent.id}-served"]["unpublished"]) == is_failed:
                        break
                healths.append(health)
                rows.append((await client.get("/metrics")).text)
                is_stale = False
        is_over = True
        await serving
        return said, healths, rows

    with upstream() as server:
        said, healths, rows = asyncio.run(asyncio.wait_for(lived(server.url), PATIENCE_S))
    assert "publishing failed and will be tried again: OSError: [Errno 116] Stale file handle" in said[0]
    assert "Traceback" in caplog.text
    assert [each["status"] for each in healths] == ["ok", "ok"], "what it does for requests is not affected"
    for text, value in zip(rows, ("0.0", "1.0"), strict=True):
        assert f'mage_publishing{{run="{parent.id}-served"}} {value}' in text


def test_an_error_of_what_runs_beside_the_server_ends_it(parent: Run, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text(KEYS.replace('upstream_key_env = "ACME_UPSTREAM"', ""))

    def say(words: str) -> None:
        raise BrokenPipeError(words)

    settings = Serving(upstream="http://u", port=0, keys=str(keys))
    with pytest.raises(BrokenPipeError, match="the previous keys still apply"):
        serve(str(parent.path), settings, runs_dir=tmp_path, begun=lambda report: keys.unlink(), say=say)


@pytest.mark.slow
def test_clients_upstream_log_and_metrics_agree_over_faults_and_a_kill(parent: Run) -> None:
    found = accounted(parent, requests=100, kills=1, streams=16)
    assert found.attempts >= 100 and found.outcomes["answered"] > 60 and found.outcomes["failed"]
