"""What a client raises leaves the block as a fault; what it does not raise leaves it as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from mage_es.engine.models.clients import as_faults
from mage_es.engine.models.faults import Fault, ModelFault

KEY = "sk-canary-0123456789"
anthropic, openai = pytest.importorskip("anthropic"), pytest.importorskip("openai")
REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1")


def status(client: Any, code: int, body: object) -> Exception:
    response = httpx2.Response(code, headers={"retry-after": "7"}, request=REQUEST)
    error: Exception = client.APIStatusError(f"error {code} {KEY}", response=response, body=body)
    return error


def fault_of(client: Any, error: Exception) -> Fault:
    with pytest.raises(ModelFault) as raised, as_faults(client, url="http://there", key=KEY, silence=3.0):
        raise error
    return raised.value.fault


@pytest.mark.parametrize("client", [anthropic, openai], ids=["anthropic", "openai"])
@pytest.mark.parametrize(
    ("made", "kind", "says"),
    [
        (lambda client: client.APITimeoutError(REQUEST), "timeout", "timed out"),
        (lambda client: client.APIConnectionError(request=REQUEST), "connection", "http://there: "),
        (lambda client: httpx2.ReadTimeout("slow"), "timeout", "nothing more within 3 s"),
        (lambda client: httpx2.ReadError(f"reset {KEY}"), "connection", "http://there: reset [key]"),
        (lambda client: ValueError(f"no JSON: {KEY}"), "malformed", "no JSON: [key]"),
        (lambda client: status(client, 429, {"error": {"message": f"wait {KEY}"}}), "busy", "wait [key]"),
        (lambda client: status(client, 500, {"message": "sorry"}), "server", "sorry"),
        (lambda client: status(client, 500, None), "server", "error 500 [key]"),
    ],
)
def test_whatever_a_client_raises_is_a_fault_without_the_key(
    client: Any, made: Callable[[Any], Exception], kind: str, says: str
) -> None:
    fault = fault_of(client, made(client))
    assert fault.kind == kind and says in fault.message.replace("Request", "request") and KEY not in fault.message
    assert fault.retry_after == (7.0 if fault.status else 0.0)


def test_what_is_no_clients_error_passes() -> None:
    for error in (KeyError("ours"), ModelFault(Fault("empty", "nothing"))):
        with pytest.raises(type(error)) as raised, as_faults(openai, url="", key="", silence=1.0):
            raise error
        assert raised.value is error
