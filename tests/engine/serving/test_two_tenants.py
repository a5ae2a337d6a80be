"""Two tenants behind one proxy: neither reaches a run, inference, memory, session or word of the other."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from typing import Any, ClassVar

import httpx2
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from mage_es.engine.served.tenants import Key, KeyRing
from mage_es.engine.serving.door import Door
from mage_es.engine.serving.live import LiveRun
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, InferenceOpened
from tests.engine.serving.behind import PATIENCE_S, serving
from tests.engine.serving.conftest import Opening
from tests.engine.serving.upstream import upstream

TENANTS = ("acme", "globex")
tenants = st.sampled_from(TENANTS)
names = st.sampled_from(("same", "other"))


class TwoTenants(RuleBasedStateMachine):
    """Both use the same names for sessions and feedback, and each other's ids. What one says has its name in it."""

    client: ClassVar[httpx2.Client]
    lives: ClassVar[dict[str, LiveRun]]
    known: ClassVar[dict[str, list[str]]]
    """Ids of the inferences of each, over all examples."""

    def call(self, tenant: str, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send a request with a tenant's key; nothing of the other is ever in the reply."""
        headers = {"x-api-key": f"key-of-{tenant}", **options.pop("headers", {})}
        reply = self.client.request(method, path, headers=headers, **options)
        assert other(tenant) not in reply.text
        return reply

    @rule(tenant=tenants, session=names, wish=st.sampled_from(("on", "shadow", "off")))
    def ask(self, tenant: str, session: str, wish: str) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": f"What does {tenant} ask?"}]}
        headers = {"x-session-id": session, "x-mage-memory": wish}
        reply = self.call(tenant, "POST", "/v1/chat/completions", json=body, headers=headers)
        self.known[tenant].append(reply.headers["x-mage-inference"])

    @rule(tenant=tenants, of=tenants, number=st.integers(0, 99))
    def look(self, tenant: str, of: str, number: int) -> None:
        if not self.known[of]:
            return
        name = self.known[of][number % len(self.known[of])]
        reply = self.call(tenant, "GET", f"/v1/inferences/{name}")
        # The other's name may be one's own, too, and then means that.
        assert reply.status_code == (200 if name in self.known[tenant] else 404)
        if reply.status_code == 200:
            opened = reply.json()["opened"]
            assert (opened["key"], reply.json()["run_id"]) == (tenant, f"{tenant}-served")

    @rule()
    def curate(self) -> None:
        """Only a key that curates takes a memory out of use, and only of its own run."""
        memory = next(iter(self.lives["acme"].frozen(1).state.memory.rows())).memory_id
        out = {"action": "quarantine", "reason": "it misleads"}
        assert self.call("globex", "POST", f"/v1/memories/{memory}", json=out).status_code == 403
        assert self.call("acme", "POST", f"/v1/memories/{memory}", json=out).status_code in (200, 400)
        assert self.call("globex", "GET", f"/v1/memories/{memory}").json()["item"]["status"] == "active"
        assert self.call("acme", "GET", f"/v1/memories/{memory}").json()["item"]["status"] == "quarantined"

    @rule(tenant=tenants, of=tenants, number=st.integers(0, 99), again=names, is_session=st.booleans())
    def praise(self, tenant: str, of: str, number: int, again: str, is_session: bool) -> None:
        if not self.known[of]:
            return
        name = self.known[of][number % len(self.known[of])]
        about = {"session_id": again} if is_session else {"inference_id": name}
        said = {**about, "metric": f"liked by {tenant}", "value": 1, "idempotency_key": f"{again}-{number}"}
        reply = self.call(tenant, "POST", "/v1/feedback", json=said)
        if is_session:
            assert reply.status_code in (200, 404, 409)
        else:
            assert reply.status_code in ((200, 409) if name in self.known[tenant] else (404,))

    @rule(tenant=tenants)
    def count(self, tenant: str) -> None:
        assert f'run="{tenant}-served"' in self.call(tenant, "GET", "/metrics").text
        assert [*self.call(tenant, "GET", "/healthz").json()["runs"]] == [f"{tenant}-served"]

    @rule(tenant=tenants)
    def remember(self, tenant: str) -> None:
        assert self.call(tenant, "GET", "/v1/memories/ffffffff").status_code == 404

    def teardown(self) -> None:
        """Each log has its own tenant's events and no others."""
        for tenant, live in self.lives.items():
            reader = LogReader(live.run.log_path)
            seen = [*reader.of(InferenceOpened, FeedbackGiven)]
            assert {event.key for event in seen} <= {tenant}
            assert other(tenant) not in json.dumps([repr(event) for event in seen])
            recorded = {event.inference for event in seen if isinstance(event, InferenceOpened)}
            assert recorded == set(self.known[tenant])


def other(tenant: str) -> str:
    return TENANTS[1 - TENANTS.index(tenant)]


@pytest.fixture
def machine(opening: Opening) -> Iterator[type[TwoTenants]]:
    ring = KeyRing(
        keys=tuple(
            Key(
                name=each,
                sha256=sha256(f"key-of-{each}".encode()).hexdigest(),
                served_run=f"{each}-served",
                curates=each == "acme",
            )
            for each in TENANTS
        )
    )
    lives = {each: opening(f"{each}-served", record_texts=True, learn="propose") for each in TENANTS}
    with ExitStack() as stack:
        server = stack.enter_context(upstream())
        runs = {f"{each}-served": live for each, live in lives.items()}
        url = stack.enter_context(serving(runs, server.url, door=Door(ring, ""), retrieval_s=PATIENCE_S))
        TwoTenants.client = stack.enter_context(httpx2.Client(base_url=url, timeout=PATIENCE_S))
        TwoTenants.lives, TwoTenants.known = lives, {each: [] for each in TENANTS}
        yield TwoTenants


@pytest.mark.slow
def test_two_tenants_never_meet(machine: type[TwoTenants]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=5, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
