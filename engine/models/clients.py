"""What the official clients of providers have in common: a key from the environment, and one tree of errors.

The clients of OpenAI and Anthropic are made by the same generator, so what either raises becomes a fault here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from mage_es.engine.models.faults import Fault, ModelFault, fault_of_status, shortened, without_key
from mage_es.engine.models.spec import ModelSpec
from mage_es.events.errors import PrerequisiteError

TIMEOUT = 600.0
"""Seconds for one whole reply of a model."""


def key_of(spec: ModelSpec, variable: str, *, needed: bool) -> str:
    """Return the key in the environment, "" where none is needed. Raises `PrerequisiteError` where one is missing."""
    variable = spec.options.get("key_env", variable)
    key = os.environ.get(variable, "")
    if not key and (needed or "key_env" in spec.options):
        raise PrerequisiteError(f"{spec.text} needs a key: export {variable}=...")
    return key


@contextmanager
def as_faults(client: ModuleType, *, url: str, key: str, silence: float) -> Iterator[None]:
    """Let whatever a client raises in a block leave it as a `ModelFault`, with no word of the key that it was sent.

    `client` is the module whose errors these are (`openai` or `anthropic`), `url` the address that is asked, `silence`
    for how many seconds it may say nothing.

    Raises:
        ModelFault: The call failed; the fault says how.
    """
    import httpx2

    raised: Any = client
    try:
        yield
    except raised.APITimeoutError as error:
        raise ModelFault(Fault("timeout", _heard(str(error), key))) from None
    except raised.APIStatusError as error:
        told = error.response.headers.get("retry-after")
        raise ModelFault(fault_of_status(error.status_code, _heard(_words(error), key), retry_after=told)) from None
    except raised.APIConnectionError as error:
        raise ModelFault(Fault("connection", _heard(f"{url}: {error.__cause__ or error}", key))) from None
    # Clients wrap what goes wrong before a reply begins, not what ends one in its middle.
    except httpx2.TimeoutException:
        raise ModelFault(Fault("timeout", f"nothing more within {silence:g} s")) from None
    except httpx2.TransportError as error:
        raise ModelFault(Fault("connection", _heard(f"{url}: {error}", key))) from None
    except (raised.APIError, ValueError) as error:
        raise ModelFault(Fault("malformed", _heard(str(error), key))) from None


def _heard(words: str, key: str) -> str:
    return shortened(without_key(words, key))


def _words(error: Any) -> str:
    """Return what a provider says in the body of an error, the client's own words where it says nothing."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else None
    return str(inner["message"]) if isinstance(inner, dict) and inner.get("message") else str(error.message)
