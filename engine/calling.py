"""One call by its line, with what the log is to say of it: each failure at once, the reply or the last failure after.

Rules
    - A failed attempt is recorded before the next one is made; what the call comes to is left to whoever asked,
      because it is committed together with what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from mage_es.engine.batching import BatchGate
from mage_es.engine.commands import Call, Command, RecordCall, RecordFailure
from mage_es.engine.models.faults import FailedAttempt
from mage_es.engine.models.line import Line, Unanswered
from mage_es.engine.models.seam import Request

Record = Callable[[Command], object]
"""Decides a command and makes what follows durable."""

Reply = TypeVar("Reply")


async def make(
    call: Call, request: Request, *, line: Line | BatchGate, record: Record, typed: type[Any] | None
) -> RecordCall | RecordFailure:
    """Return the command that records what a call comes to: its reply, or the failure with which it was given up.

    `typed` is the form that the reply must have, None for any.

    Raises:
        ProviderDown: No call to this model can succeed at present.
        Interrupted: A stop was asked for between two attempts, or the budget allows no other.
    """

    def report(failed: FailedAttempt) -> None:
        record(RecordFailure(call, failed))

    try:
        if isinstance(line, BatchGate):
            completion, latency_us = await line.complete(call, request, report=report)
        else:
            completion, latency_us = await line.complete(request, report=report)
    except Unanswered as lost:
        return RecordFailure(call, lost.failed)
    problem = read_reply(completion.text, typed, stop_reason=completion.stop_reason)[1] if typed else ""
    return RecordCall(call, completion, latency_us, problem)


def read_reply(text: str, reply: type[Reply], *, stop_reason: str = "end") -> tuple[Reply | None, str]:
    """Return the reply's JSON object, also where prose or a code fence stands around it, or None and the problem."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None, _because("the reply holds no JSON object", stop_reason)
    try:
        return msgspec.json.decode(text[start : end + 1], type=reply), ""
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:  # the last: nested too deep
        return None, _because(str(error), stop_reason)


def _because(problem: str, stop_reason: str) -> str:
    return problem if stop_reason == "end" else f"{problem} (the reply stopped because of: {stop_reason})"
