"""What a client raises leaves the block as a fault; what it does not raise leaves it as it is."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from mage_es.engine.models.registry import open_model
from mage_es.engine.models.retrying import RetryingClient, RetryPolicy, Unanswered
from mage_es.engine.providers import clients
from mage_es.engine.providers.anthropic_api import Anthropic
from mage_es.engine.providers.clients import as_faults, key_of
from mage_es.engine.providers.embeddings import EmbeddingsEndpoint
from mage_es.engine.providers.openai_compatible import OpenAICompatible
from mage_es.engine.seams.faults import FailedAttempt, Fault, ModelFault
from mage_es.engine.seams.model import Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.events.errors import PrerequisiteError
from tests.hostile.server import Reply, Said, hostile

KEY = "sk-canary-0123456789"
REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1")


@pytest.fixture(params=["anthropic", "openai"])
def client(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)  # a second of imports, which collecting the tests does not need


@pytest.fixture
def openai() -> Any:
    return pytest.importorskip("openai")


def status(client: Any, code: int, body: object) -> Exception:
    response = httpx2.Response(code, headers={"retry-after": "7"}, request=REQUEST)
    error: Exception = client.APIStatusError(f"error {code} {KEY}", response=response, body=body)
    return error


def fault_of(client: Any, error: Exception) -> Fault:
    with pytest.raises(ModelFault) as raised, as_faults(client, url="http://there", key=KEY, silence=3.0):
        raise error
    return raised.value.fault


@pytest.mark.parametrize(
    ("made", "kind", "says"),
    [
        (lambda client: client.APITimeoutError(REQUEST), "timeout", "nothing more within 3 s (timeout=SECONDS in its"),
        (lambda client: client.APIConnectionError(request=REQUEST), "connection", "http://there: "),
        (lambda client: httpx2.ReadTimeout("slow"), "timeout", "nothing more within 3 s"),
        (lambda client: httpx2.ReadError(f"reset {KEY}"), "connection", "http://there: reset [key]"),
        (lambda client: ValueError(f"no JSON: {KEY}"), "malformed", "no JSON: [key]"),
        (lambda client: status(client, 429, {"error": {"message": f"wait {KEY}"}}), "busy", "wait [key]"),
        (lambda client: status(client, 500, {"message": "sorry"}), "server", "sorry"),
        (lambda client: status(client, 500, None), "server", "error 500 [key]"),
        (lambda client: status(client, 400, {"error": f"no such thing {KEY}"}), "rejected", "no such thing [key]"),
        (lambda client: status(client, 400, {"detail": "unheard of"}), "rejected", "unheard of"),
        (lambda client: status(client, 502, "<html>bad gateway"), "server", "bad gateway"),
        (lambda client: status(client, 500, {"error": {"message": {"a": KEY}}}), "server", "error 500 [key]"),
        (lambda client: status(client, 500, {"error": "half \ud800"}), "server", "half \ufffd"),
        (lambda client: RecursionError("nested"), "malformed", "nested"),
    ],
)
def test_whatever_a_client_raises_is_a_fault_without_the_key(
    client: Any, made: Callable[[Any], Exception], kind: str, says: str
) -> None:
    fault = fault_of(client, made(client))
    assert fault.kind == kind and says in fault.message.replace("Request", "request") and KEY not in fault.message
    assert fault.retry_after == (7.0 if fault.status else 0.0)


@pytest.mark.parametrize("url", ["https://there:1", "http://there:1"])
def test_where_no_connection_comes_about_in_time_it_is_said_what_to_check(client: Any, url: str) -> None:
    error = client.APITimeoutError(REQUEST)
    error.__cause__ = httpx2.ConnectTimeout("")
    with pytest.raises(ModelFault) as raised, as_faults(client, url=url, key=KEY, silence=3.0):
        raise error
    fault = raised.value.fault
    assert fault.kind == "connection" and f"no connection to {url}" in fault.message
    assert ("TLS" in fault.message) is url.startswith("https")


@pytest.mark.parametrize(("words", "sentence"), [("no", "no."), ("No.", "No."), ("Really?", "Really?"), ("", ".")])
def test_a_fault_is_a_sentence_however_a_provider_ends_its_words(words: str, sentence: str) -> None:
    assert Fault("busy", words).sentence == sentence


@pytest.mark.parametrize(
    ("retry_after", "date", "asked"),
    [
        ("2.5", "", 2.5),
        ("Sat, 21 Nov 2026 10:00:09 GMT", "Sat, 21 Nov 2026 10:00:00 GMT", 9.0),
        ("Sat, 21 Nov 2026 10:00:00 GMT", "Sat, 21 Nov 2026 10:00:09 GMT", 0.0),
        ("Sat, 21 Foo 2026 10:00:00 GMT", "never", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "", 0.0),
        ("inf", "", 0.0),
        ("1e300", "", 365 * 86400.0),
        ("nan", "", 0.0),
        ("-3", "", 0.0),
        ("soon", "", 0.0),
    ],
)
def test_a_provider_asks_for_patience_in_seconds_or_by_a_date_of_its_own_clock(
    openai: Any, retry_after: str, date: str, asked: float
) -> None:
    response = httpx2.Response(429, headers={"retry-after": retry_after, "date": date}, request=REQUEST)
    assert fault_of(openai, openai.APIStatusError("later", response=response, body=None)).retry_after == asked


@pytest.mark.parametrize("key", [f"  {KEY}\n", f"{KEY}\r\n"])
def test_blanks_around_a_key_are_no_part_of_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", key)
    assert key_of(parse_spec("openai/x", known={"openai": ()}), "CANARY_KEY", needed=True) == KEY


@pytest.mark.parametrize("key", ["sk-canary\n0123456789", "sk-canary-\u00e9", "sk-canary\t0123456789"])
def test_a_key_that_no_request_can_carry_is_refused_unseen(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", key)
    with pytest.raises(PrerequisiteError, match="The key in CANARY_KEY cannot be sent") as raised:
        key_of(parse_spec("openai/x", known={"openai": ()}), "CANARY_KEY", needed=False)
    assert "sk-" not in str(raised.value)


PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("HTTP_PROXY", " (through HTTP_PROXY; NO_PROXY=there goes without)"),
        ("ALL_PROXY", " (through ALL_PROXY; NO_PROXY=there goes without)"),
        ("HTTPS_PROXY", ""),
    ],
)
def test_a_connection_that_fails_behind_a_proxy_says_which_and_the_way_round_it(
    openai: Any, variable: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "http://me:secret@127.0.0.1:9")
    broken = openai.APIConnectionError(request=REQUEST)
    assert fault_of(openai, broken).message == f"http://there{told}: Connection error."
    monkeypatch.setenv("NO_PROXY", "there")
    assert fault_of(openai, broken).message == "http://there: Connection error."


@pytest.mark.parametrize("kind", [Anthropic, OpenAICompatible], ids=["anthropic", "openai"])
@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "http://me:secret@there:x"), ("SSL_CERT_FILE", "/no/such/file"), ("HTTP_PROXY", "ftp://secret")],
)
def test_an_environment_that_no_client_can_be_made_from_is_told_with_the_variables(
    kind: type[Any], variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("anthropic"), pytest.importorskip("openai")
    monkeypatch.setenv(variable, value)
    spec = parse_spec("x/y?base_url=http://127.0.0.1:9", known={"x": ("base_url",)})
    with pytest.raises(PrerequisiteError, match=r"Correct or unset HTTP_PROXY, .*SSL_CERT_FILE") as raised:
        asyncio.run(kind(spec).complete(Request(prompt="?")))
    assert "secret" not in str(raised.value)


def test_what_is_no_clients_error_passes(openai: Any) -> None:
    for error in (KeyError("ours"), ModelFault(Fault("malformed", "nothing"))):
        with pytest.raises(type(error)) as raised, as_faults(openai, url="", key="", silence=1.0):
            raise error
        assert raised.value is error


@pytest.mark.parametrize("spec", ["openai/m?base_url={}/v1", "anthropic/m?base_url={}", "embedder/m?base_url={}/v1"])
@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (Reply(307, {}, {"location": "http://127.0.0.2:9/v1/elsewhere?key=1"}), "missing", "127.0.0.2:9/v1/elsewhere,"),
        (Reply(301, {}, {"location": "/v1/elsewhere"}), "missing", "redirects to /v1/elsewhere,"),
        (Reply(200, gzip.compress(b" " * 10**6), {"content-encoding": "gzip"}), "malformed", "compressed"),
        (Reply(200, b" " * 10**5), "malformed", "more than 9999 bytes"),
        (Reply(500, b"it died", {"content-type": "text/plain; charset=hex"}), "server", "it died"),
    ],
)
def test_no_redirect_is_followed_and_no_size_or_encoding_is_believed(
    spec: str, reply: Reply, kind: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(spec.partition("/")[0].replace("embedder", "openai"))
    monkeypatch.setattr(clients, "MOST_BYTES", 9999)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    asked: list[Said] = []

    def respond(said: Said) -> Reply:
        asked.append(said)
        return reply

    with hostile(respond) as url, pytest.raises(ModelFault) as raised:
        parsed = parse_spec(spec.format(url), known=dict.fromkeys(("openai", "anthropic", "embedder"), ("base_url",)))
        if parsed.provider == "embedder":
            EmbeddingsEndpoint(parsed).embed(["a"])
        else:
            model = OpenAICompatible(parsed) if parsed.provider == "openai" else Anthropic(parsed)

            async def once() -> None:
                try:
                    await model.complete(Request(prompt="a"))
                finally:
                    await model.close()

            asyncio.run(once())
    assert (raised.value.fault.kind, says in raised.value.fault.message) == (kind, True), raised.value.fault
    assert [said.headers["accept-encoding"] for said in asked] == ["identity"]


@pytest.mark.parametrize("spec", ["openai/g?timeout=0.2", "openai/g?stream=on&stall=0.2", "anthropic/g?timeout=0.2"])
def test_a_call_that_takes_too_long_is_closed_before_it_is_sent_again_and_says_which_option_waits_longer(
    spec: str,
) -> None:
    seen, failed, served = list[str](), list[FailedAttempt](), asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        seen.append("sent")
        await reader.read()  # until the other side closes
        seen.append("closed")
        writer.close()
        await writer.wait_closed()
        served.release()

    async def ask() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            model = open_model(f"{spec}&base_url={url}", "guidance")
            twice = RetryPolicy(attempts=2, first_wait_s=0.01)
            client = RetryingClient(model, connections=2, retry_policy=twice)
            with pytest.raises(Unanswered):
                await client.complete(Request(prompt="?"), report=failed.append)
            await client.aclose()
            for _ in range(2):
                await served.acquire()

    asyncio.run(ask())
    assert seen[:3] == ["sent", "closed", "sent"]
    [first] = failed
    assert first.fault.message.endswith(
        f"({'stall' if 'stall' in spec else 'timeout'}=SECONDS in its spec waits longer)"
    )
