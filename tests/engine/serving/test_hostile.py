"""Clients of a served run who mean ill: what they teach lies in its quotation, does nothing, reaches no one else."""

import asyncio
from hashlib import sha256
from itertools import product
from pathlib import Path

import httpx2
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.directory import Run
from mage_es.engine.served.tenants import Key, KeyRing
from mage_es.engine.serving.door import Door
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.publish import publish
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.upkeep.memory import curate_all
from mage_es.engine.upkeep.review import review
from tests.engine.serving.behind import PATIENCE_S, serving
from tests.engine.serving.talking import said
from tests.engine.serving.upstream import upstream
from tests.hostile.attacks import INJECTIONS

pytestmark = pytest.mark.slow
QUESTION = "A canary of {name} sits by 12 rolls and eats 5 of them. How many rolls with {name} are still there?"
TYPE, OTHER = "wordmath_leftover", "wordmath_age"


def test_what_a_hostile_client_demonstrates_lies_quoted_before_its_own_type_and_nowhere_else(
    evolved_once: Run, tmp_path: Path
) -> None:
    live = LiveRun.open(evolved_once, runs_dir=tmp_path, name="theirs", learn="propose", holdback=0)
    for name, attack in INJECTIONS.items():
        opened = live.prepare(said(QUESTION.format(name=name)), "chat", key="evil", task_type=TYPE)
        live.submit(opened).result()
        value = {"answer": "7", "reasoning": f"canary {attack}".replace("\0", "")[:30_000]}
        given = Feedback(metric="m", value=value, idempotency_key=name, inference_id=opened.opened.inference)
        asyncio.run(live.give_feedback(given, key="evil"))
    live.close()
    # No anchor is near enough to judge them, so they wait until a person lets them pass.
    [done] = publish(live.run).keys
    waiting = review(live.run).proposals
    assert (done.published, done.waiting) == (0, len(waiting)) and len(waiting) > len(INJECTIONS) / 2
    approved = [(proposal.memory_id, "to see what it can do") for proposal in waiting]
    curate_all(live.run, approved, action="approve", by="alice")
    [done] = publish(live.run).keys
    assert done.published == len(waiting), done
    again = LiveRun.open(live.run, learn="log", holdback=0)
    notes = {}
    for task_type, attack in product((TYPE, OTHER), INJECTIONS):
        asked = said(QUESTION.format(name=attack))
        prepared = again.prepare(asked, "chat", task_type=task_type, session=f"{task_type} {attack}")
        notes[task_type, attack] = "\n".join(text for note in prepared.notes.values() for text in note.said)
    again.close()
    assert any("canary" in note for (name, _), note in notes.items() if name == TYPE)
    assert not any("canary" in note for (name, _), note in notes.items() if name == OTHER)
    for note in notes.values():
        outside = [line for line in note.splitlines() if not line.startswith(("> ", ">"))]
        assert not any("canary" in line or "Ignore" in line or "<|" in line for line in outside), note
        assert not any(token in note for token in ("<|im_end|>", "<|eot_id|>", "[/INST]", "<end_of_turn>", "</think>"))
    other = LiveRun.open(evolved_once, runs_dir=tmp_path, name="ours", holdback=0)
    prepared = other.prepare(said(QUESTION.format(name="chatml")), "chat", task_type=TYPE)
    assert "canary" not in "\n".join(text for note in prepared.notes.values() for text in note.said)
    other.close()
    assert not [check for check in verify(live.run).checks if not check.ok]


def test_a_tenant_reaches_nothing_of_another_by_any_route(evolved_once: Run, tmp_path: Path) -> None:
    lives = {
        name: LiveRun.open(evolved_once, runs_dir=tmp_path, name=name, learn="propose", holdback=0)
        for name in ("theirs", "ours")
    }
    keys = [Key(name=n, sha256=sha256(n.encode()).hexdigest(), served_run=n, upstream_key_env="") for n in lives]
    door = Door(KeyRing(keys=tuple(keys)), "")
    chat = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_memory"}}
    call["params"]["arguments"] = {"query": QUESTION, "task_type": TYPE}  # type: ignore[index]
    with upstream() as server, serving(lives, server.url, door=door, retrieval_s=PATIENCE_S) as url:

        def as_(name: str) -> httpx2.Client:
            return httpx2.Client(base_url=url, headers={"x-api-key": name}, timeout=PATIENCE_S)

        with as_("theirs") as evil, as_("ours") as mine:
            inference = mine.post("/v1/chat/completions", json=chat).headers["x-mage-inference"]
            assert mine.get(f"/v1/inferences/{inference}").json()["run_id"] == "ours"
            for path in (inference, f"..%2f..%2fours%2f{inference}", "%2e%2e", "%00", "x" * 5000):
                assert evil.get(f"/v1/inferences/{path}").status_code in (400, 404), path
            word = {"metric": "m", "value": True, "idempotency_key": "1"}
            for about in ({"inference_id": inference}, {"session_id": inference}):
                assert evil.post("/v1/feedback", json={**word, **about}).status_code == 404
            assert evil.post("/v1/feedback", json={**word, "run": "ours"}).status_code == 400
            assert evil.post("/v1/feedback", content=b"[" * 500_000).status_code == 400
            for client, run in ((evil, "theirs"), (mine, "ours")):
                reply = client.post("/mcp", json=call, headers={"accept": "application/json"})
                assert reply.json()["result"]["structuredContent"]["run_id"] == run
                assert f'run="{"ours" if run == "theirs" else "theirs"}"' not in client.get("/metrics").text
                assert list(client.get("/healthz").json()["runs"]) == [run]
            with httpx2.Client(base_url=url, timeout=PATIENCE_S) as stranger:
                for path in ("/mcp", "/v1/feedback", "/v1/chat/completions"):
                    assert stranger.post(path, json=call).status_code == 401
                health = stranger.get("/healthz").json()
                assert (health["status"], health["runs"], health["upstream"]["problem"]) == ("ok", {}, "")
            assert mine.get("/mcp").status_code == 405
            assert mine.post("/mcp", json=call, headers={"host": "evil.example"}).status_code == 421
