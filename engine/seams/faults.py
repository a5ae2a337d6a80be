"""What can go wrong in a call, by kind, and what the engine does about each kind.

kind         HTTP status           what it is                                        what follows
timeout                            no whole reply in time, even if part of it came   retried
connection                         refused, reset, or closed in mid-reply            retried
busy         408 409 425 429 529   too many requests, or the provider is overloaded  retried, fewer calls at once
server       500 and above         the provider failed                               retried
malformed                          the reply is not what the protocol says           retried
no_room                            no room in the context for so long a reply        retried with a lower limit
rejected     400 422, other 4xx    the request itself is refused                     the call is lost
too_long     413, or the words     the prompt does not fit the model's context       a memory is dropped, else lost
denied       401 402 403           no call can succeed until the key is fixed        the run stops
missing      404                   no such model or endpoint                         the run stops

A reply that arrived whole is not a fault, whatever it says. If it is cut, empty or a refusal, it is recorded and counts
as a wrong answer. A status without a row of its own, such as 418, is `rejected` below 500. A lost call is on record and
leaves its question without an answer; the run continues. How often and how long a call is retried, and when the
provider counts as down, is decided in engine/models/retrying.py by the `RetryPolicy`.
"""

import math
import re
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Literal, NamedTuple

from mage_es.events.errors import redacted

FaultKind = Literal[
    "timeout", "connection", "busy", "server", "malformed", "no_room", "rejected", "too_long", "denied", "missing"
]

PASSING: frozenset[FaultKind] = frozenset({"timeout", "connection", "busy", "server", "malformed", "no_room"})
"""Kinds after which the same call may succeed a little later."""

OUTAGES: frozenset[FaultKind] = PASSING - {"no_room"}
"""Kinds that may mean that the provider is down."""

HOPELESS: frozenset[FaultKind] = frozenset({"denied", "missing"})
"""Kinds that would affect every later call too."""

_TOO_LONG = (
    "context length",  # OpenAI, vLLM, SGLang, Mistral
    "context window",
    "context size",  # llama.cpp
    "context limit",  # Anthropic, for prompt and reply together
    "too long",  # Anthropic
    "maximum number of tokens",  # Gemini
    "max_new_tokens",  # text-generation-inference
)
"""The words in which providers say that a prompt does not fit. Any other refusal is `rejected`."""
_KIND_OF_STATUS: Mapping[int, FaultKind] = {
    **dict.fromkeys((401, 402, 403), "denied"),
    404: "missing",
    **dict.fromkeys((408, 409, 425, 429, 529), "busy"),
    413: "too_long",
}
_HALVES = re.compile("[\ud800-\udfff]")
_MOST_WORDS, _MOST_READ = 300, 3000
_YEAR_S = 365 * 86400.0


class Fault(NamedTuple):
    """A failed attempt. `status` is the HTTP status (0: none), `retry_after` the seconds that the provider asks for."""

    kind: FaultKind
    message: str
    status: int = 0
    retry_after: float = 0.0

    @property
    def sentence(self) -> str:
        return self.message if self.message.endswith((".", "!", "?")) else f"{self.message}."

    @property
    def passes(self) -> bool:
        return self.kind in PASSING

    @property
    def is_outage(self) -> bool:
        return self.kind in OUTAGES


class FailedAttempt(NamedTuple):
    """A failed attempt, the microseconds that it took, whether the call is lost with it, and the seconds until its next
    attempt, which a pause of all calls may make longer; 0 if none follows or it is made at once."""

    fault: Fault
    latency_us: int
    is_lost: bool = False
    wait_s: float = 0.0


class ModelFault(Exception):
    """A call failed. A model raises it, and `RetryingClient` tries again or records the loss; whatever else a model
    raises ends the session, and the run can be resumed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def fault_of_status(status: int, message: str, *, retry_after: str | None = None, date: str | None = None) -> Fault:
    """Return the fault for an HTTP error status; `retry_after` and `date` are headers of the response."""
    return Fault(_kind_of(status, message), shortened(message), status, _seconds(retry_after or "", date or ""))


def without_halves(text: str) -> str:
    return _HALVES.sub("\ufffd", text)


def shortened(message: str) -> str:
    """Return a message without secrets on one line, with at most 300 characters."""
    words = " ".join(redacted(message[:_MOST_READ]).split())
    return words if len(words) <= _MOST_WORDS else words[: _MOST_WORDS - 3] + "..."


def _kind_of(status: int, message: str) -> FaultKind:
    if kind := _KIND_OF_STATUS.get(status):
        return kind
    if status >= 500:
        return "server"
    return "too_long" if any(words in message.lower() for words in _TOO_LONG) else "rejected"


def _seconds(retry_after: str, date: str) -> float:
    """Return the seconds in a `retry-after` header, a number or a date: 0 if invalid, a year at most.

    A date is compared with the response's own (`date`), since this machine's clock may be wrong.
    """
    try:
        asked = float(retry_after)
    except ValueError:
        until, now = _moment(retry_after), _moment(date)
        asked = until - (now or time.time()) if until else 0.0
    return min(asked, _YEAR_S) if 0 < asked < math.inf else 0.0


def _moment(date: str) -> float:
    try:
        parsed = parsedate_tz(date)
        return mktime_tz(parsed) if parsed else 0.0
    except (ValueError, OverflowError):
        return 0.0
