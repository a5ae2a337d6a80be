"""What a key gets at through the proxy: its own inferences, some paths and models, bodies and texts of some size."""

import asyncio
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.run.served import Serving
from mage_es.engine.served.tenants import Key, KeyRing
from mage_es.engine.serving.door import Door
from mage_es.engine.serving.live import LONGEST_TEXT
from mage_es.engine.serving.serve import ServeReport, aserve
from mage_es.events.errors import UsageError
from tests.engine.serving.behind import PATIENCE_S, serving
from tests.engine.serving.conftest import Opening
from tests.engine.serving.upstream import REPLIES, Upstream

CHAT = {"model": "small", "messages": [{"role": "user", "content": "What is 3 + 4?"}]}
MOST = 200_000


def key(name: str, **fields: Any) -> Key:
    return Key(name=name, sha256=sha256(name.encode()).hexdigest(), served_run="served", **fields)


RING = KeyRing(keys=(key("acme", trust="full"), key("globex", models=("small",), paths=("/v1/*",))))


@pytest.fixture(scope="module")
def url(opening: Opening, server: Upstream) -> Iterator[str]:
    """A proxy for two keys of one run, which records texts."""
    live = opening("allowed", learn="propose", record_texts=True)
    with serving({"served": live}, server.url, door=Door(RING, ""), retrieval_s=PATIENCE_S, most_body=MOST) as address:
        yield address


def call(url: str, name: str, method: str, path: str, **options: Any) -> httpx2.Response:
    headers = {"x-api-key": name, **options.pop("headers", {})}
    return httpx2.request(method, f"{url}{path}", headers=headers, timeout=PATIENCE_S, **options)


def test_what_a_key_may_not_ask_never_reaches_the_upstream(url: str, server: Upstream) -> None:
    before = len(server.asked)
    for method, path in (("DELETE", "/v1/files/file-1"), ("GET", "/v1/responses/resp_1"), ("POST", "/v1/batches")):
        refused = call(url, "acme", method, path)
        assert refused.status_code == 403 and "may not send" in refused.json()["error"]["message"]
    for body in ({**CHAT, "model": "large"}, {"messages": CHAT["messages"]}):
        for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/images/generations"):
            assert call(url, "globex", "POST", path, json=body).status_code == 403
    assert len(server.asked) == before
    assert call(url, "acme", "GET", "/v1/models").status_code == 200
    assert call(url, "globex", "POST", "/v1/embeddings", json={"model": "small", "input": "x"}).status_code == 200
    assert [asked.target for asked in server.asked[before:]] == ["/v1/models", "/v1/embeddings"]
    assert server.asked[-1].body == b'{"model":"small","input":"x"}'


def test_a_key_reads_its_own_inferences_only(url: str) -> None:
    name = call(url, "acme", "POST", "/v1/chat/completions", json=CHAT).headers["x-mage-inference"]
    assert call(url, "acme", "GET", f"/v1/inferences/{name}").json()["opened"]["key"] == "acme"
    others, nowhere = (call(url, "globex", "GET", f"/v1/inferences/{each}") for each in (name, "inf-9-9"))
    assert others.status_code == nowhere.status_code == 404
    assert others.text.replace(name, "") == nowhere.text.replace("inf-9-9", ""), "nor does it learn that there is one"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_whichever_way_it_comes(url: str, path: str, *, is_chunked: bool) -> None:
    body = b'{"model": "small", "x": "' + b"x" * MOST + b'"}'
    sent: Any = iter([body[:1000], body[1000:]]) if is_chunked else body
    # Where it goes on piece by piece, a client that is still sending may find the connection closed.
    refused = call(url, "globex", "POST", path, content=sent)
    assert refused.status_code == 413 and f"larger than {MOST} bytes" in refused.text


def test_of_a_text_on_record_there_is_a_bounded_part_and_how_much_is_missing(
    url: str, server: Upstream, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {**CHAT, "messages": [{"role": "user", "content": "q" * (LONGEST_TEXT + 7)}]}
    said = REPLIES["/v1/chat/completions"]["choices"][0]["message"]
    monkeypatch.setitem(said, "content", "r" * (LONGEST_TEXT + 9))
    name = call(url, "acme", "POST", "/v1/chat/completions", json=long).headers["x-mage-inference"]
    report: dict[str, Any] = {"closed": None}
    while not report["closed"]:  # no client waits for that
        report = call(url, "acme", "GET", f"/v1/inferences/{name}").json()
    assert (report["opened"]["question"], report["opened"]["question_cut"]) == ("q" * LONGEST_TEXT, 7)
    assert (report["closed"]["reply"], report["closed"]["reply_cut"]) == ("r" * LONGEST_TEXT, 9)


KEYS = """
[[keys]]
name = "acme"
sha256 = "{acme}"
[[keys]]
name = "globex"
sha256 = "{globex}"
"""


@pytest.mark.slow
def test_the_keys_of_a_server_are_those_of_its_file_whenever_that_changes(
    parent: Run, server: Upstream, tmp_path: Path
) -> None:
    path = tmp_path / "keys.toml"

    def write(acme: str, *, also: str = "") -> None:
        digests = {name: sha256(each.encode()).hexdigest() for name, each in (("acme", acme), ("globex", "two"))}
        path.write_text(KEYS.format(**digests) + also)

    async def lived() -> list[str]:
        ready, said, over = asyncio.Future[ServeReport](), list[str](), list[bool]()
        settings = Serving(upstream=server.url, port=0, keys=str(path))
        told: dict[str, Any] = {"begun": ready.set_result, "say": said.append, "stop": lambda: bool(over)}
        task = asyncio.create_task(aserve(str(parent.path), settings, runs_dir=parent.path.parent, **told))
        await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
        async with httpx2.AsyncClient(base_url=ready.result().address, timeout=PATIENCE_S) as client:

            async def let_in(*names: str) -> list[bool]:
                replies = [await client.get("/v1/models", headers={"x-api-key": name}) for name in names]
                return [reply.status_code == 200 for reply in replies]

            async def heard(words: str) -> None:
                async with asyncio.timeout(PATIENCE_S):
                    while not any(words in each for each in said):
                        await asyncio.sleep(0.05)
                said.clear()

            assert await let_in("one", "two", "three") == [True, True, False]
            write("three")
            await heard("2 keys are accepted")
            assert await let_in("one", "two", "three") == [False, True, True]
            write("one", also="trust = 7")
            await heard("the previous keys still apply")
            assert await let_in("one", "two", "three") == [False, True, True]
            write("one", also='served_run = "another"')
            await heard("1 keys are accepted. globex: only after a restart, as a run or a variable is new.")
            assert await let_in("one", "two", "three") == [True, False, False]
            path.unlink()
            await heard("the previous keys still apply")
            assert await let_in("one") == [True]
            over.append(True)
        await task
        return said

    write("one")
    asyncio.run(lived())


def test_a_cap_of_nothing_is_refused(parent: Run) -> None:
    with pytest.raises(UsageError, match=r"--max-body is 0: give how many MiB"):
        asyncio.run(aserve(str(parent.path), Serving(upstream="http://u", max_body=0)))
