"""LangGraph and LiteLLM, as the page on production uses them, on loopback. Neither is a dependency of ours."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.directory import Run
from mage_es.engine.serving.live import LiveRun
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, InferenceOpened
from tests.engine.serving.api import Api, api
from tests.engine.serving.behind import PATIENCE_S, serving
from tests.engine.serving.conftest import Opening
from tests.test_papers import production

QUESTION = "Ben picks out 3 notebooks at $4 each and 2 pens at $1.50 each. What does he pay?"
ASKED = [{"role": "user", "content": QUESTION}]
needs_langgraph = pytest.mark.skipif(not find_spec("langgraph"), reason="python -m pip install langgraph")
needs_litellm = pytest.mark.skipif(not find_spec("litellm"), reason="python -m pip install litellm")


@pytest.fixture
def server() -> Iterator[Api]:
    with api() as found:
        yield found


@pytest.fixture
def proxy(opening: Opening, server: Api) -> Iterator[tuple[LiveRun, str]]:
    live = opening("litellm")
    with serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as address:
        yield live, address


def said_to(server: Api) -> list[list[dict[str, Any]]]:
    """Return the messages of each request that arrived."""
    return [json.loads(got.body)["messages"] for got in server.got]


@needs_langgraph
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_replayed_checkpoint_gives_the_same_bytes_without_a_second_search(
    server: Api, parent: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(parent.path, support := parent.path.parent / "support")
    monkeypatch.chdir(support.parent.parent)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    text = production("import mage_es\nimport openai\nfrom langchain_core").replace("http://localhost:8000", server.url)
    text = text.replace(', at="iter-9"', "").replace("patience_s=5.0", f"patience_s={PATIENCE_S}, holdback=0.0")
    names: dict[str, Any] = {"__name__": "paper"}
    exec(compile(text, "LangGraph", "exec"), names)
    graph, thread, run = names["graph"], names["thread"], names["run"]
    log = LogReader(support.parent / "support-graph" / "log")
    [opened] = log.of(InferenceOpened)
    assert (opened.session, opened.treatment) == ("customer-17", "memory")
    assert [word.inference for word in log.of(FeedbackGiven)] == [opened.inference]
    # No memory is in a checkpoint: the question, the reply, an id.
    asked, reply = graph.get_state(thread).values["messages"]
    assert (asked.content, reply.content) == (QUESTION, "It is 7.")
    assert reply.response_metadata == {"inference": opened.inference} and asked.response_metadata == {}
    [sent] = said_to(server)
    assert sent != ASKED and sent[-1]["content"].endswith(QUESTION)

    before = next(each for each in graph.get_state_history(thread) if each.next == ("answer",))
    graph.invoke(None, before.config)
    run.close()  # as a process that ends
    exec(text[: text.index("def answer")], names)
    graph.invoke(None, before.config)
    bodies = [got.body for got in server.got]
    assert len(bodies) == 3 and len(set(bodies)) == 1
    log.refresh()
    again = list(log.of(InferenceOpened))
    assert {(each.memories, each.note_sha256) for each in again} == {(opened.memories, opened.note_sha256)}
    # Only the first one was looked up: a part of its text was read.
    assert [each.read_to > 0 for each in again] == [True, False, False]
    names["run"].close()
    assert verify(Run("support-graph", support.parent / "support-graph")).ok


@needs_litellm
@pytest.mark.slow
def test_litellm_before_the_proxy_gets_memories_and_an_id_for_feedback(
    proxy: tuple[LiveRun, str], server: Api, tmp_path: Path
) -> None:
    live, address = proxy
    text = production("import litellm").replace("http://localhost:8321", address)
    [entry] = yaml.safe_load(production("model_list:").replace("http://localhost:8321", address))["model_list"]
    more = f"""
for model, base in (("anthropic/claude-sonnet-4-6", {address!r}), ("openai/gpt", {address!r} + "/v1")):
    stream = litellm.completion(model=model, api_base=base, messages={ASKED!r}, stream=True)
    print("".join(each.choices[0].delta.content or "" for each in stream))
router = litellm.Router(model_list=[{entry!r}])
print(router.completion(model="support", messages={ASKED!r}).choices[0].message.content)
"""
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [sys.executable, "-W", "ignore", "-c", text + more]
    done = subprocess.run(command, env={**os.environ, **keys}, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reply, inference, *others = done.stdout.splitlines()
    assert reply == "It is 7." and others == ["It is 7."] * 3
    assert [got.path for got in server.got] == [
        *("/v1/chat/completions", "/v1/messages", "/v1/chat/completions", "/v1/chat/completions")
    ]
    opened = list(LogReader(live.run.log_path).of(InferenceOpened))
    assert (opened[0].inference, opened[0].session) == (inference, "customer-17")
    assert [each.treatment for each in opened] == ["memory"] * 4
    assert all(len(str(messages)) > 2 * len(str(ASKED)) for messages in said_to(server))


@contextmanager
def litellm_proxy(config: str, folder: Path, key: str) -> Iterator[str]:
    """Run LiteLLM's own proxy with a configuration; skip where its server is not installed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (file := folder / f"{port}.yaml").write_text(config)
    known = {"LITELLM_MASTER_KEY": key, "OPENAI_API_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = ["litellm", "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env={**os.environ, **known}, cwd=folder, **streams) as process:
        assert process.stdout
        rest = threading.Thread(target=deque, args=(process.stdout, 0))
        try:
            said = list[str]()
            for line in process.stdout:
                said.append(line)
                if "Uvicorn running on" in line:
                    break
            else:
                if "litellm[proxy]" in "".join(said):
                    pytest.skip("python -m pip install 'litellm[proxy]'")
                raise AssertionError("".join(said))
            rest.start()  # so that it never waits for someone to read
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            if rest.ident:
                rest.join()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("litellm"), reason="python -m pip install 'litellm[proxy]'")
def test_litellms_own_proxy_works_before_ours_and_behind_it(opening: Opening, server: Api, tmp_path: Path) -> None:
    live, key = opening("both-sides"), f"sk-{secrets.token_hex(16)}"
    own = {"model": "openai/Qwen/Qwen3-8B", "api_base": f"{server.url}/v1", "api_key": "none"}
    behind = yaml.safe_dump(
        {
            "model_list": [{"model_name": "Qwen/Qwen3-8B", "litellm_params": own}],
            "general_settings": {"master_key": key},
        }
    )
    with (
        litellm_proxy(behind, tmp_path, key) as upstream,
        serving({"r": live}, upstream, retrieval_s=PATIENCE_S) as address,
        litellm_proxy(production("model_list:").replace("http://localhost:8321", address), tmp_path, key) as front,
    ):
        asked = {"model": "support", "messages": ASKED}
        headers = {"authorization": f"Bearer {key}", "x-session-id": "customer-17"}
        reply = httpx2.post(f"{front}/v1/chat/completions", json=asked, headers=headers, timeout=120)
        assert reply.json()["choices"][0]["message"]["content"] == "It is 7.", reply.text
    [opened] = LogReader(live.run.log_path).of(InferenceOpened)
    assert (opened.session, opened.treatment) == ("customer-17", "memory")
    assert reply.headers["llm_provider-x-mage-inference"] == opened.inference
    [messages] = said_to(server)
    assert len(str(messages)) > 2 * len(str(ASKED)) and messages[-1]["content"].endswith(QUESTION)
