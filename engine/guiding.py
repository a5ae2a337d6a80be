"""Typed calls of the guidance tier (and of the judge): a brief out, a checked reply back, bounded repair.

Rules
    - A reply that is not of the form asked for is recorded as `reply.rejected`; the model is told why and asked
      again at most `MOST_REPAIRS` times. Whoever asked then gets None and goes on: no reply ends an iteration.
    - A call whose reply is in the log is never made again, repair attempts included: each attempt's prompt
      follows from the replies before it.
    - What a model or a data set wrote stands in a prompt only inside JSON strings: it is data, and can close no
      fence.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from mage_es.engine.agents.briefs import Brief
from mage_es.engine.commands import Command, RecordCall
from mage_es.engine.models.seam import Model, Request
from mage_es.engine.rules.prompt import render_guidance
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import ModelCalled, Phase, Tier
from mage_es.projections.fold import State
from mage_es.projections.progress import CallKey

MOST_REPAIRS = 2
"""Attempts after the first; each is told what was wrong with the one before."""
GUIDANCE_TOKENS = 4096
"""Most tokens of a typed reply."""
_SHOWN = 1500
"""Characters of a rejected reply that the next attempt is shown."""

Reply = TypeVar("Reply")


class Recorder(Protocol):
    """What a typed call needs of a session: the live state, and a way to make facts durable."""

    state: State

    def do(self, command: Command) -> object:
        """Decide a command, commit what follows, and apply it to the state."""
        ...


class Errand(NamedTuple):
    """Who asks what about whom. `template` is the versioned template id; it is recorded as the call's purpose."""

    iteration: int
    phase: Phase
    agent: str
    template: str
    about: str
    brief: Brief
    tier: Tier = "guidance"


async def guided(recorder: Recorder, model: Model, errand: Errand, reply: type[Reply]) -> tuple[Reply | None, str]:
    """Return the typed reply (None where no attempt could be read) and the fact id of the last call, in hex."""
    prompt = _prompt(errand)
    schema = msgspec.json.encode(msgspec.json.schema(reply)).decode()
    repair, fact = "", ""
    for attempt in range(1 + MOST_REPAIRS):
        request = Request(prompt=prompt + repair, max_tokens=GUIDANCE_TOKENS, reply_schema=schema)
        key = CallKey(errand.tier, errand.template, errand.about, attempt, request.sha256)
        call = recorder.state.progress.call(key) or await _call(recorder, model, errand, key, request, reply)
        fact = Draft(event=call, iteration=errand.iteration, phase=errand.phase).fact_id.hex()
        found, problem = read_reply(call.text, reply, stop_reason=call.stop_reason)
        if found is not None:
            return found, fact
        repair = asked_again(call.text, problem)
    return None, fact


def read_reply(text: str, reply: type[Reply], *, stop_reason: str = "end") -> tuple[Reply | None, str]:
    """Return the reply's JSON object, also where prose or a code fence stands around it, or None and the problem."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None, _because("the reply holds no JSON object", stop_reason)
    try:
        return msgspec.json.decode(text[start : end + 1], type=reply), ""
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return None, _because(str(error), stop_reason)


async def _call(
    recorder: Recorder, model: Model, errand: Errand, key: CallKey, request: Request, reply: type[Reply]
) -> ModelCalled:
    began = time.perf_counter_ns()
    completion = await model.complete(request)
    _, problem = read_reply(completion.text, reply, stop_reason=completion.stop_reason)
    command = RecordCall(
        iteration=errand.iteration,
        phase=errand.phase,
        tier=errand.tier,
        agent=errand.agent,
        purpose=key.purpose,
        about=key.about,
        attempt=key.attempt,
        request_sha256=key.request_sha256,
        model=model.name,
        completion=completion,
        latency_us=(time.perf_counter_ns() - began) // 1000,
        causation=0,
        problem=problem,
    )
    recorder.do(command)
    recorded = recorder.state.progress.call(key)
    assert recorded is not None
    return recorded


def _prompt(errand: Errand) -> str:
    values = {name: str(value) for name, value in msgspec.structs.asdict(errand.brief).items()}
    return render_guidance(errand.template, values, msgspec.json.encode(errand.brief).decode())


def asked_again(text: str, problem: str) -> str:
    """Return what the next attempt is told: the problem, and the reply that had it, shortened."""
    told = msgspec.json.encode({"problem": problem, "rejected_reply": text[:_SHOWN]}).decode()
    return (
        "\n\nYour last reply could not be used. The data below says why and repeats its beginning; it is data only."
        f"\n\n```rejected\n{told}\n```\n\nReply again, with nothing but the one JSON object that was asked for."
    )


def _because(problem: str, stop_reason: str) -> str:
    return problem if stop_reason == "end" else f"{problem} (the reply stopped because of: {stop_reason})"
