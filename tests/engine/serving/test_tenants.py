"""Who is let in, what is told to those who are not, and that keys stay where they are."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from mage_es.engine.served.tenants import PATHS, KeyRing, Refused, read_keys, require_local
from mage_es.engine.serving.app import App
from mage_es.engine.serving.door import Door, Guest
from mage_es.engine.serving.live import LiveRun
from mage_es.events.errors import PrerequisiteError, UsageError


def hashed(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def written(folder: Path, text: str) -> Path:
    """Write a file of keys and return its place."""
    path = folder / "keys.toml"
    path.write_text(text)
    return path


TWO = f"""
operator_sha256 = "{hashed("op")}"
[[keys]]
name = "acme"
sha256 = "{hashed("key-of-acme")}"
served_run = "acme-served"
upstream_key_env = "ACME_UPSTREAM_KEY"
trust = "scores"
rate = 2
[[keys]]
name = "globex"
sha256 = "{hashed("key-of-globex")}"
served_run = "globex-served"
"""


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Door:
    monkeypatch.setenv("ACME_UPSTREAM_KEY", "sk-upstream")
    return Door(read_keys(written(tmp_path, TWO)), "")


def test_a_key_is_known_in_each_header_that_an_sdk_sends_it_in_and_names_its_run(door: Door) -> None:
    ways = (
        ("authorization", "Bearer key-of-acme"),
        ("authorization", "bearer  key-of-acme"),
        ("x-api-key", "key-of-acme"),
    )
    for header, sent in ways:
        guest = door.admit({header: sent})
        assert guest == Guest(
            name="acme",
            run="acme-served",
            trust="scores",
            upstream_key="sk-upstream",
            credential=header,
            paths=PATHS,
            rate=2.0,
        )
    globex = door.admit({"api-key": "key-of-globex"})
    assert (globex.run, globex.upstream_key) == ("globex-served", "")
    assert door.admit({"authorization": "Bearer op"}) == Guest(is_operator=True)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer "},
        {"authorization": "key"},
        {"authorization": "Basic key-of-acme"},
        {"x-api-key": hashed("key-of-acme")},
        {"x-api-key": "key-of-acm\xe9"},
        {"cookie": "key-of-acme"},
    ],
)
def test_anyone_else_is_refused_and_learns_nothing_of_the_keys(door: Door, headers: dict[str, str]) -> None:
    with pytest.raises(Refused, match=r"not known here|no key in the request") as refused:
        door.admit(headers)
    assert refused.value.status == 401 and "acme" not in refused.value.message


def test_an_empty_operator_key_lets_no_one_in(tmp_path: Path) -> None:
    door = Door(read_keys(written(tmp_path, f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"')), "")
    with pytest.raises(Refused):
        door.admit({"x-api-key": ""})


def test_a_key_has_so_many_requests_a_minute_and_no_other_key_pays_for_it(door: Door) -> None:
    mine, theirs = {"x-api-key": "key-of-acme"}, {"x-api-key": "key-of-globex"}
    door.require_rate(door.admit(mine), now=100.0)
    door.require_rate(door.admit(mine), now=100.0)
    with pytest.raises(Refused, match="2 requests per minute") as refused:
        door.require_rate(door.admit(mine), now=101.0)
    assert refused.value.status == 429 and refused.value.headers == {"retry-after": "29"}
    for _ in range(100):
        door.require_rate(door.admit(theirs), now=101.0)
    door.require_rate(door.admit(mine), now=130.0)


def test_without_keys_only_names_of_this_machine_are_answered() -> None:
    door = Door(None, "r", hosts=("127.0.0.2",))
    for host in ("localhost:8321", "127.0.0.1:8321", "[::1]:8321", "127.0.0.2:8321"):
        assert door.admit({"host": host, "origin": "http://localhost:3000"}) == Guest(run="r", curates=True)
    for wrong in (
        {"host": "evil.example:8321"},
        {"host": "localhost", "origin": "https://evil.example"},
        {"host": "["},
    ):
        with pytest.raises(Refused) as refused:
            door.admit(wrong)
        assert refused.value.status == 403


def test_other_machines_get_in_with_keys_only(tmp_path: Path) -> None:
    keys = read_keys(written(tmp_path, TWO))
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.com"):
        with pytest.raises(UsageError, match="Pass --keys FILE"):
            require_local(host, None)
        require_local(host, keys)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.0.1"):
        require_local(host, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("keys = [", "is not valid TOML"),
        ("keys = []", "has no keys"),
        (f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"\ntrusted = 1', "unknown field `trusted`"),
        ('[[keys]]\nname = "a"\nsha256 = "the key itself"', "matching regex"),
        (f'[[keys]]\nname = "a b"\nsha256 = "{hashed("k")}"', "matching regex"),
        (f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"\nrate = -1', ">= 0"),
        (f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"\npaths = ["/v2/x"]', "matching regex"),
        (f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"\npaths = ["/v1/*/content"]', "matching regex"),
        (TWO.replace("globex", "acme", 1), "two keys have the name acme"),
        (TWO.replace(hashed("key-of-globex"), hashed("key-of-acme")), "two keys have the sha256"),
    ],
)
def test_a_file_of_keys_that_is_not_valid_says_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as told:
        read_keys(written(tmp_path, text))
    assert "the key itself" not in str(told.value)


def test_a_file_that_is_not_there_and_a_variable_that_is_not_set_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_keys(tmp_path / "nowhere.toml")
    with pytest.raises(PrerequisiteError, match="from ACME_UPSTREAM_KEY, which is not set"):
        Door(read_keys(written(tmp_path, TWO)), "")


# ------------------------------------------------------------ what a key may ask of the upstream


def guest(tmp_path: Path, **fields: object) -> Guest:
    more = "".join(f"\n{name} = {value}" for name, value in fields.items())
    door = Door(read_keys(written(tmp_path, f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"{more}')), "")
    return door.admit({"x-api-key": "k"})


def is_allowed(guest: Guest, method: str, path: str) -> bool:
    try:
        guest.require_path(method, path)
    except Refused as refused:
        assert refused.status == 403 and "`paths` in the file of keys" in refused.message
        return False
    return True


def test_a_key_asks_and_lists_models_and_nothing_else_unless_its_file_says_so(tmp_path: Path) -> None:
    plain = guest(tmp_path)
    for method, path in (
        *(("POST", f"/v1/{path}") for path in ("chat/completions", "responses", "messages", "embeddings")),
        *(("GET", "/v1/models"), ("HEAD", "/v1/models"), ("GET", "/v1/models/Qwen/Qwen3-8B")),
    ):
        assert is_allowed(plain, method, path), path
    for method, path in (
        *(("DELETE", "/v1/files/file-1"), ("GET", "/v1/files"), ("POST", "/v1/files"), ("GET", "/v1/responses/resp_1")),
        *(("DELETE", "/v1/models/mine"), ("POST", "/v1/batches"), ("POST", "/v1/chat/completions/x"), ("GET", "/v1/")),
    ):
        assert not is_allowed(plain, method, path), path
    more = guest(tmp_path, paths='["POST /v1/audio/*", "/v1/files/file-1"]')
    for method, path, allowed in (
        ("POST", "/v1/audio/speech", True),
        ("GET", "/v1/audio/speech", False),
        ("DELETE", "/v1/files/file-1", True),
        ("DELETE", "/v1/files/file-12", False),
        ("POST", "/v1/chat/completions", False),
    ):
        assert is_allowed(more, method, path) == allowed
    assert is_allowed(Guest(run="r"), "DELETE", "/v1/files/file-1"), "with its own key, without a file of keys"


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        ('{"model": "small", "messages": []}', True),
        ('{"messages": [{"model": "large"}], "model": "claude-haiku-4-5"}', True),
        ('{"model": "large"}', False),
        ('{"model": "small", "model": "large"}', False),
        ('{"model": "small", "MODEL": "large"}', False),
        ('{"model": "small", "models": ["large"]}', False),
        ('{"model": ["small"]}', False),
        ('[["model", "small"]]', False),
        ("{}", False),
        ("", False),
        ('{"model": "small"', False),
        ("[" * 100_000, False),
    ],
)
def test_a_key_with_models_names_one_of_them_once(tmp_path: Path, body: str, *, allowed: bool) -> None:
    choosy = guest(tmp_path, models='["small", "claude-haiku-*"]')
    try:
        choosy.require_model(body.encode())
    except Refused as refused:
        assert refused.status == 403 and not allowed
    else:
        assert allowed


def test_other_keys_take_over_at_once_and_a_bucket_is_not_filled_by_that(door: Door, tmp_path: Path) -> None:
    mine = {"x-api-key": "key-of-acme"}
    door.require_rate(door.admit(mine), now=100.0)
    door.require_rate(door.admit(mine), now=100.0)
    ring = read_keys(written(tmp_path, TWO.replace(hashed("key-of-globex"), hashed("another"))))
    assert door.change(ring) == []
    with pytest.raises(Refused, match="2 requests per minute"):
        door.require_rate(door.admit(mine), now=100.0)
    with pytest.raises(Refused, match="not known here"):
        door.admit({"x-api-key": "key-of-globex"})
    assert door.admit({"x-api-key": "another"}).name == "globex"


def test_a_key_whose_upstream_key_the_process_lacks_is_left_out_and_the_others_take_over(
    door: Door, tmp_path: Path
) -> None:
    ring: KeyRing = read_keys(written(tmp_path, TWO.replace("ACME_UPSTREAM_KEY", "NOT_SET")))
    assert door.change(ring) == ["acme"]
    with pytest.raises(Refused):
        door.admit({"x-api-key": "key-of-acme"})
    assert door.admit({"x-api-key": "key-of-globex"}).name == "globex"


def test_the_access_log_says_whose_request_was_one_too_many_and_what_asks_no_upstream_is_none(
    tmp_path: Path, serve: Callable[..., LiveRun]
) -> None:
    live, lines = serve(), list[str]()
    key = f'[[keys]]\nname = "a"\nsha256 = "{hashed("k")}"\nserved_run = "{live.run.id}"\nrate = 1'
    door = Door(read_keys(written(tmp_path, key)), "")

    async def asked() -> list[int]:
        app = App(door, "http://127.0.0.1:9", {live.run.id: live}, say=lines.append)
        transport = httpx2.ASGITransport(app=app.asgi)
        headers = {"x-api-key": "k"}
        async with app.running(), httpx2.AsyncClient(transport=transport, base_url="http://a", headers=headers) as it:
            paths = ("/v1/memories/f00d", "/v1/inferences/inf-1-1", "/v1/models", "/v1/models")
            return [(await it.get(path)).status_code for path in paths]

    assert asyncio.run(asked()) == [404, 404, 502, 429]
    assert "key=a " in lines[-1] and "status=429" in lines[-1]
