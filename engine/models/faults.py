"""What can go wrong in a call: the kinds of faults, which of them pass by themselves, and what mends the others.

kind            passes?  what it is
timeout         yes      no whole reply in time, however slowly it dripped
connection      yes      refused, reset, or closed in the middle of the reply
busy            yes      408, 409, 429, 529: too many requests, or the provider is overloaded
server          yes      500 and above
malformed       yes      the reply is not what the protocol says
empty           yes      a reply without text
filtered        no       the provider withheld the reply, or the model refused; this question has no answer
rejected        no       400, 413, 422: the request itself; this question has no answer
too_long        no       the prompt does not fit the model's context
denied          no       401, 403: no call can succeed until somebody acts
missing         no       404: no such model or endpoint; no call can succeed until somebody acts
"""

from __future__ import annotations

import math
import re
import time
from email.utils import mktime_tz, parsedate_tz
from typing import Literal, NamedTuple

FaultKind = Literal[
    "timeout",
    "connection",
    "busy",
    "server",
    "malformed",
    "empty",
    "filtered",
    "rejected",
    "too_long",
    "denied",
    "missing",
]

PASSING: frozenset[FaultKind] = frozenset({"timeout", "connection", "busy", "server", "malformed", "empty"})
"""Kinds of which the same call may succeed a little later."""

OUTAGES: frozenset[FaultKind] = PASSING - {"empty"}
"""Kinds that may be the whole provider's; one that sends an empty reply works."""

HOPELESS: frozenset[FaultKind] = frozenset({"denied", "missing"})
"""Kinds that every further call would meet too."""

HIDDEN = "[key]"
"""What stands in the place of a key."""

_TOO_LONG = (
    "context length",  # OpenAI, vLLM, SGLang, Mistral
    "context window",
    "context size",  # llama.cpp
    "context limit",  # Anthropic, for prompt and reply together
    "too long",  # Anthropic
    "maximum number of tokens",  # Gemini
    "max_new_tokens",  # text-generation-inference
)
"""How providers say that a prompt does not fit; a request that is refused in other words is given up."""
_HALVES = re.compile("[\ud800-\udfff]")
_MOST_WORDS = 300
_YEAR_S = 365 * 86400.0
_LEAST_KEY = 8


class Fault(NamedTuple):
    """One failed attempt. `status` is the HTTP status (0: none), `retry_after` the seconds that the provider asks."""

    kind: FaultKind
    message: str
    status: int = 0
    retry_after: float = 0.0

    @property
    def sentence(self) -> str:
        """Return the message with one full stop at its end, however a provider ends its words."""
        return self.message if self.message.endswith((".", "!", "?")) else f"{self.message}."

    @property
    def passes(self) -> bool:
        """Return whether the same call may succeed later."""
        return self.kind in PASSING

    @property
    def is_outage(self) -> bool:
        """Return whether the provider itself may be down."""
        return self.kind in OUTAGES


class FailedAttempt(NamedTuple):
    """An attempt that failed, the microseconds that it took, and whether its call was given up with it."""

    fault: Fault
    latency_us: int
    is_lost: bool = False


class ModelFault(Exception):
    """A call failed; `fault` says how. Raised by adapters, handled where calls are made, never seen by users."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def fault_of_status(status: int, message: str, *, retry_after: str | None = None, date: str | None = None) -> Fault:
    """Return the fault that an HTTP error status stands for; `retry_after` and `date` are headers that came with it."""
    return Fault(_kind_of(status, message), shortened(message), status, _seconds(retry_after or "", date or ""))


def without_key(text: str, key: str) -> str:
    """Return a provider's words without the key that it was sent, should it repeat that, and fit to be recorded.

    A stand-in of a few letters, as servers that want no key are given, is no secret and may be a word. Half of a
    character, which JSON can spell and a reply may be cut to, becomes the mark for what cannot be read.
    """
    return _HALVES.sub("\ufffd", text.replace(key, HIDDEN) if len(key) >= _LEAST_KEY else text)


def other_name(told: object, asked: str, key: str) -> str:
    """Return what a provider calls the model that replied, "" where that is the name asked for, or it tells none."""
    named = shortened(without_key(told, key)) if isinstance(told, str) else ""
    return "" if named == asked else named


def shortened(message: str) -> str:
    """Return a provider's words on one line, at most 300 characters of them."""
    words = " ".join(message.split())
    return words if len(words) <= _MOST_WORDS else words[: _MOST_WORDS - 3] + "..."


def _kind_of(status: int, message: str) -> FaultKind:
    if status in (401, 402, 403):
        return "denied"
    if status == 404:
        return "missing"
    if status in (408, 409, 425, 429, 529):
        return "busy"
    if status >= 500:
        return "server"
    told = message.lower()
    return "too_long" if status == 413 or any(words in told for words in _TOO_LONG) else "rejected"


def _seconds(retry_after: str, date: str) -> float:
    """Return for how many seconds a provider asks, as a number or as a date: 0 for nonsense, a year at most.

    A date is held against the one of the reply itself (`date`), so that the clock of this machine may be wrong.
    """
    try:
        asked = float(retry_after)
    except ValueError:
        until, now = _moment(retry_after), _moment(date)
        asked = until - (now or time.time()) if until else 0.0
    return min(asked, _YEAR_S) if 0 < asked < math.inf else 0.0


def _moment(date: str) -> float:
    """Return the moment that a header names, 0 where it names none."""
    try:
        parsed = parsedate_tz(date)
        return mktime_tz(parsed) if parsed else 0.0
    except (ValueError, OverflowError):
        return 0.0
