"""No key reaches a file, a stream or a prompt, whatever a provider does with the one that it was sent.

The provider echoes the key in everything that it may say: replies, their ids and reasons, the names of its models,
errors of every status, and bodies that are none. Every byte of the folder and of both streams is searched.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from mage_es.cli import main
from mage_es.engine.players.analogist.model import reply
from mage_es.engine.players.reference.authors import AUTHORS
from mage_es.engine.players.reference.model import read_brief
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import CallFailed, ModelCalled
from tests.engine.providers.provider import request_of
from tests.hostile.server import Reply, Said, completion, embedding, failure, hostile, message

pytestmark = pytest.mark.slow

KEYS = {
    "OPENAI_API_KEY": "sk-canary-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-canary-anthropic-0123456789",
    "MY_OWN_KEY": "canary.of/another+kind==0123456789",
}
PLANTED = {
    "HF_TOKEN": "hf_canary0123456789",
    "AWS_SESSION_TOKEN": "canary//session+0123456789==",
    "DATABASE_URL": "postgres://me:canary%40url-0123456789@h/db",
    "FTP_PROXY": "http://me:canary-proxy-0123456789@127.0.0.1:9",
}
"""Secrets of other programs in the same environment."""
NEEDLES = (
    *KEYS.values(),
    *(PLANTED[name] for name in ("HF_TOKEN", "AWS_SESSION_TOKEN")),
    "canary%40url-0123456789",
    "canary@url-0123456789",
    "canary-proxy-0123456789",
    b64encode(b"me:canary-proxy-0123456789").decode(),
)
"""What may be found nowhere."""
SMALL = ("--iterations", "1", "--pool", "12", "--held-out", "10", "--anchors", "4", "--workers", "1", "--run-id", "r")
PASSING = (400, 408, 413, 422, 429, 500, 503, 529)


EVERYTHING = " ".join(NEEDLES)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Echo:
    """A provider that repeats the key wherever it can, and fails now and then with each of some faults."""

    def __init__(self, faults: dict[str, tuple[int, ...]] | None = None) -> None:
        self.faults = {path: list(statuses) for path, statuses in (faults or {}).items()}
        self.keys: set[str] = set()
        self.prompts: list[str] = []
        self._asked: Counter[str] = Counter()

    def __call__(self, said: Said) -> Reply:
        key = said.headers.get("authorization", said.headers.get("x-api-key", ""))
        self.keys.add(key.removeprefix("Bearer "))
        path = said.path.rpartition("/v1/")[2].partition("?")[0]
        self._asked[path] += 1
        if self._asked[path] % 3 == 1 and self.faults.get(path):
            return self._failed(self.faults[path].pop(0), key)
        if path == "models":
            return Reply(200, {"data": [{"id": "exec", "owned_by": key}, {"id": f"exac-{key}"}, {"id": "guide"}]})
        if path == "embeddings":
            return embedding(said.body["input"])
        self.prompts.append(str(said.body))
        return self._replied(said, key)

    def _replied(self, said: Said, key: str) -> Reply:
        request = request_of(said.body)
        prompt = request.prompt
        if "```rejected" not in prompt and "```json" in prompt and self._asked["messages"] % 2:
            return _echoing(message(f"I will not tell you that {key}"), key)
        if "```json" in prompt:
            brief = read_brief(prompt.partition("\n\nYour last reply")[0])
            authored = AUTHORS[type(brief)](brief)
            return _echoing(message(msgspec.json.encode(authored).decode()), key)
        return _echoing(completion(f"My key is {key}.\n{reply(request)}"), key)

    @staticmethod
    def _failed(status: int, key: str) -> Reply:
        if status == 0:
            return Reply(200, f"what is {key}?")
        if status == 1:
            return Reply(200, {"id": key, "object": key, "choices": [], "content": key, "error": key})
        return failure(status, f"the key {key} may not, since {key} is {key}" + "." * 280 + key)


def _echoing(given: Reply, key: str) -> Reply:
    body = {**given.body, "id": f"id-{key}", "model": key, "system_fingerprint": key}
    if "choices" in body:
        body["choices"] = [{**body["choices"][0], "finish_reason": f"stop-{key}"}]
    return Reply(given.status, body)


Mage = Callable[..., Outcome]


@pytest.fixture
def mage(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mage]:
    """A function that runs a command line among planted keys; at the end nothing that was written holds one."""
    for name, key in (KEYS | PLANTED).items():
        monkeypatch.setenv(name, key)
    monkeypatch.delenv("MAGE_ES_DATA", raising=False)  # the doctor would read every benchmark's data
    monkeypatch.chdir(tmp_path)
    written = [""]

    def command(*words: str) -> Outcome:
        capfd.readouterr()
        code: object = 0
        try:
            main(list(words))
        except SystemExit as exited:
            code = exited.code
        streams = capfd.readouterr()
        written.extend(streams)
        assert isinstance(code, int)
        return Outcome(code, *streams)

    yield command
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for needle in NEEDLES:
        assert needle not in "".join(written)
        assert [path for path, content in files.items() if needle.encode() in content] == [], needle


def models(url: str) -> tuple[str, ...]:
    execution = f"openai/exec?base_url={url}/v1&key_env=MY_OWN_KEY"
    tiers = ("--execution", execution, "--guidance", f"anthropic/guide?base_url={url}")
    return (*tiers, "--embedder", f"openai/embed?base_url={url}/v1")


@pytest.mark.paper("beyond the paper, terminals and keys")
def test_a_whole_run_with_every_fault_that_passes_and_all_that_can_be_looked_at(mage: Mage, tmp_path: Path) -> None:
    faults = {"chat/completions": (*PASSING, 0, 1), "messages": (500, 429, 0), "embeddings": (500, 0, 1)}
    echo = Echo(faults)
    with hostile(echo) as url:
        outcome = mage("evolve", "wordmath", *SMALL, *models(url))
        assert outcome.code == 0, outcome.err
        assert mage("doctor", *models(url)).code in (0, 4)
        assert mage("ask", "How many are 3 and 4?", "r").code == 0
        assert mage("exam", "r", "--questions", "4").code == 0
        looks = [("runs", "show", "r"), ("log", "r", "-n", "500"), ("log", "r", "-n", "500", "--json")]
        looks += [("memory", "list", "r"), ("verify", "r"), ("replay", "r"), ("config",)]
        looks += [("export", "r", "--format", "jsonl", "--to", "out"), ("show", "no-such-question", "r")]
        for look in looks:
            assert mage(*look).code in (0, 2), look
    assert echo.keys == set(KEYS.values())
    events = list(LogReader(tmp_path / "runs" / "r" / "log").of(ModelCalled, CallFailed))
    assert {event.tier for event in events if isinstance(event, ModelCalled)} == {"execution", "guidance"}
    assert len({event.status for event in events if isinstance(event, CallFailed)}) >= 5
    assert any("My key is Bearer [key]" in event.text for event in events if isinstance(event, ModelCalled))
    assert not any(key in prompt for prompt in echo.prompts for key in KEYS.values())


@pytest.mark.parametrize(
    ("path", "status"),
    [("chat/completions", 401), ("chat/completions", 404), ("messages", 403), ("embeddings", 401), ("models", 401)],
)
def test_every_refusal_with_and_without_a_traceback(mage: Mage, path: str, status: int) -> None:
    echo = Echo({path: (status,) * 99})
    with hostile(echo) as url:
        if path == "models":
            mage("doctor", *models(url))
        else:
            assert mage("evolve", "wordmath", *SMALL, *models(url)).code == 4
            assert mage("resume", "r", "--workers", "1", "--debug").code in (4, 2, 0)
        mage("doctor", *models(url), "--json")
    assert echo.keys <= set(KEYS.values()) and echo.keys


@pytest.mark.parametrize(
    "option", ["api_key=KEY", "token=KEY", "base_url=http://me:KEY@h/v1", "base_url=http://h/v1?k=KEY"]
)
def test_a_key_in_a_spec_is_refused_without_being_repeated(mage: Mage, option: str) -> None:
    spec = f"openai/exec?{option.replace('KEY', 'canary-0123456789')}"
    outcome = mage("evolve", "wordmath", *SMALL, "--execution", spec)
    doctor = mage("doctor", "--embedder", spec, "--json")
    assert (outcome.code, doctor.code) == (2, 4)
    assert "key_env=NAME" in outcome.err
    assert "canary" not in outcome.out + outcome.err + doctor.out + doctor.err.partition("Next:")[0]


def test_what_any_server_says_of_other_programs_secrets_is_in_no_file_and_on_no_stream(
    mage: Mage, tmp_path: Path
) -> None:
    (tmp_path / "mine.csv").write_text("question,answer\n" + "".join(f"Is it {k}?,{k}\n" for k in range(12)))
    page = {"title": f"Rivers {EVERYTHING}", "extract": f"Rivers. {EVERYTHING}"}

    def respond(said: Said) -> Reply:
        headers = {"location": f"http://elsewhere/{EVERYTHING.replace(' ', '/')}", "x-request-id": EVERYTHING}
        if "/moved" in said.path:
            return Reply(302, EVERYTHING, headers)
        if "/w/api" in said.path:
            return Reply(200, {"query": {"search": [page], "pages": [page]}}, headers)
        if "/refused" in said.path:
            return failure(401, EVERYTHING)
        if "chat" in said.path:
            return completion(f"{EVERYTHING}\nAnswer: {EVERYTHING}")
        return failure(500, EVERYTHING)

    with hostile(respond) as url:
        words = ("mine.csv", "--pool", "4", "--anchors", "2", "--run-id", "r", "--iterations", "1", "--workers", "1")
        search = ("--search", f"wikipedia?base_url={url}/w/api.php", "--search-passages", "1")
        told = mage("evolve", *words, "--execution", f"openai/exec?base_url={url}/v1", *search)
        assert told.code == 0, told.err
        for place in ("refused", "moved"):
            spec = f"openai/exec?base_url={url}/{place}/v1"
            assert mage("evolve", "wordmath", *SMALL[:-1], "s", "--execution", spec, "--debug").code == 4
            mage("doctor", "--execution", spec, "--embedder", spec, "--json")
        assert mage("fetch", "gsm8k", "--from", f"{url}/moved", "--debug").code == 4
        assert mage("fetch", "gsm8k", "--from", f"http://me:{KEYS['MY_OWN_KEY']}@h").code == 2
    for look in (("log", "r", "-n", "500", "--json"), ("show", "row-1", "r"), ("verify", "r")):
        mage(*look)
    assert mage("export", "r", "--format", "jsonl", "--to", "out").code == 0
    assert mage("report", "runs", "--to", "tables").code == 0
    shown = "".join(path.read_text() for path in (tmp_path / "out").glob("*.jsonl"))
    assert "Rivers. [key]" in shown and "Answer: [key]" in shown
    assert mage("score", f"/{EVERYTHING}.jsonl", "--predictions", f"{EVERYTHING}.jsonl").code == 4
    assert mage("runs", "show", f"--{EVERYTHING}").code == 2
    assert mage("matrix", f"{EVERYTHING}.toml").code == 2
