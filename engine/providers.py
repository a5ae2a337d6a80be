"""What the doctor asks a model's provider: is the name served, how long may a prompt be, does it reply, in the form?

Rules
    - At most three small requests for a tier, each ended after `PATIENCE_S` seconds, none made again.
    - No word of a provider that holds the key is shown with it.
    - A check never raises; what cannot be had is a finding with what to do about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.finding import Finding
from mage_es.engine.guiding import GUIDANCE_TOKENS
from mage_es.engine.models.clients import key_of, unconnected
from mage_es.engine.models.faults import Fault, ModelFault, fault_of_status, shortened, without_key
from mage_es.engine.models.openai_compatible import DEFAULT_URL
from mage_es.engine.models.registry import OPTIONS, Tier, open_model
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.spec import ModelSpec, parse_spec
from mage_es.events.errors import nearest

PATIENCE_S = 10.0
"""Seconds that a provider has for each request."""
REMOTE = ("anthropic", "openai")
"""Providers that are asked over a network."""

_ANTHROPIC_URL = "https://api.anthropic.com"
_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_LETTERS_OF_A_TOKEN = 3
"""Characters that a token has at least on the average; a prompt is then rather over- than underestimated."""
_LETTERS_OF_A_MEMORY = 800
_LETTERS_OF_A_PRINCIPLE = 200
_LETTERS_BESIDE = 3_000
"""What a prompt holds beside what was retrieved: question, template, skill, format."""
_TOKENS_OF_A_BRIEF = 9_600
"""The first prompt of a run on GSM8K (examples of each task type), as engine/models/context.py estimates it.

Those of MedQA, FinQA, HotpotQA and WebQuestions are shorter; wordmath's, whose types are many, comes to 14,300.
"""
_TOKENS_OF_A_VERDICT = 512
_ENOUGH_TOKENS = 256
"""Tokens of a trial reply, so that a little thinking does not use them up."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The typed reply of a trial; only a provider that enforces the form makes one of a greeting."""

    greeting: str
    letters: int


class Served(NamedTuple):
    """The models that a provider lists: id -> longest context in tokens, 0 where it does not say."""

    contexts: Mapping[str, int]

    def find(self, model: str) -> str | None:
        """Return the id under which a model is served: its own, or that of its dated or tagged form."""
        if model in self.contexts:
            return model
        forms = (f"{model}:latest", f"models/{model}")
        return next((name for name in self.contexts if name in forms or name.startswith(f"{model}-20")), None)


def check_provider(text: str, tier: Tier, config: Config) -> Iterator[Finding]:
    """Yield what a remote provider says of the model of a tier; it is asked for that."""
    spec = parse_spec(text, known=OPTIONS)
    key = key_of(spec, _KEYS[spec.provider], needed=False)
    name = f"{tier} endpoint"
    try:
        served = _listed(spec, key)
    except ModelFault as error:
        if error.fault.kind != "missing":
            yield _failed(name, spec, error.fault)
            return
        yield Finding(name=name, state="ok", detail=f"{_url(spec)} does not list its models")
        served = Served({})
    else:
        yield (found := _is_served(name, spec, served))
        if found.state == "failed":
            return
    if served.contexts.get(served.find(spec.model) or "", 0) or "context" in spec.options:
        yield _context(spec, tier, config, served)
    yield from _trials(spec, tier)


def _listed(spec: ModelSpec, key: str) -> Served:
    """Return what a provider lists. Raises `ModelFault`."""
    import httpx2

    is_claude = spec.provider == "anthropic"
    path = "/v1/models?limit=1000" if is_claude else "/models"
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"} if is_claude else {"authorization": f"Bearer {key}"}
    try:
        reply = httpx2.get(_url(spec) + path, headers=headers if key else {}, timeout=PATIENCE_S)
        said = without_key(reply.text, key)
        rows = [] if reply.is_error else _rows(msgspec.json.decode(said))
    except httpx2.ConnectTimeout:
        raise ModelFault(Fault("connection", shortened(unconnected(_url(spec))))) from None
    except httpx2.TimeoutException:
        raise ModelFault(Fault("timeout", f"{_url(spec)} does not answer within {PATIENCE_S:g} s")) from None
    except httpx2.HTTPError as error:
        raise ModelFault(Fault("connection", without_key(shortened(f"{_url(spec)}: {error}"), key))) from None
    except (ImportError, OSError, httpx2.InvalidURL):
        told = "what HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE says cannot be used"
        raise ModelFault(Fault("connection", f"{_url(spec)}: {told}")) from None
    except (ValueError, msgspec.DecodeError) as error:
        raise ModelFault(Fault("malformed", f"{_url(spec)} does not speak the protocol: {error}")) from None
    if reply.is_error:
        raise ModelFault(fault_of_status(reply.status_code, f"{reply.status_code}: {said}"))
    return Served({str(row["id"]): int(row.get("max_model_len") or 0) for row in rows})


def _rows(document: Any) -> list[dict[str, Any]]:
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise ValueError("its list of models is none")
    return rows


def _is_served(name: str, spec: ModelSpec, served: Served) -> Finding:
    if found := served.find(spec.model):
        return Finding(name=name, state="ok", detail=f"{_url(spec)} serves {found}")
    detail = f"{_url(spec)} does not serve {spec.model}.{nearest(spec.model, list(served.contexts)[:200])}"
    return Finding(name=name, state="failed", detail=detail, remedy="Correct the model's name, or serve it there.")


def _context(spec: ModelSpec, tier: Tier, config: Config, served: Served) -> Finding:
    """Hold the context of a model against what the configuration's prompts and replies may take."""
    listed = served.contexts.get(served.find(spec.model) or "", 0)
    context = int(spec.number("context", 0)) or listed
    reply, prompt = _tokens_needed(tier, config)
    full = "the first prompt about {} on GSM8K" if tier == "guidance" else "a full prompt about {}"
    name, shown = f"{tier} context", f"{context} tokens; a reply takes up to {reply}, {full.format(prompt)}"
    if listed and context > listed:
        remedy = f"Say context={listed} in the spec, or serve the model with a longer one."
        return Finding(name=name, state="failed", detail=f"context={context}, but {listed} are served", remedy=remedy)
    if context >= reply + prompt:
        return Finding(name=name, state="ok", detail=shown)
    shorter = ", or make --max-tokens or --bundle smaller" if tier == "execution" else ""
    remedy = f"{_longer(spec, reply + prompt, listed=listed)}{shorter}."
    # A guidance prompt has nothing that could be left out; of an answer's the memories go, as many as need be.
    is_hopeless = tier == "guidance" or context <= reply + _LETTERS_BESIDE // _LETTERS_OF_A_TOKEN
    return Finding(name=name, state="failed" if is_hopeless else "optional", detail=shown, remedy=remedy)


def _longer(spec: ModelSpec, needed: int, *, listed: int) -> str:
    """Return how the provider is told to serve so many tokens; who lists no context is most often Ollama."""
    if spec.provider == "anthropic":
        return f"Choose a model with a context of at least {needed} tokens"
    if listed >= needed:
        return f"Say context={needed} in the spec: {listed} are served"
    how = f"vLLM: --max-model-len {needed}" if listed else f"Ollama: OLLAMA_CONTEXT_LENGTH={needed}"
    said = f", and say context={needed} in the spec" if "context" in spec.options else ""
    return f"Serve the model with a longer context ({how}){said}"


def _tokens_needed(tier: Tier, config: Config) -> tuple[int, int]:
    """Return the most tokens of a reply, and what a full prompt may come to."""
    if tier == "judge":
        return _TOKENS_OF_A_VERDICT, _LETTERS_BESIDE // _LETTERS_OF_A_TOKEN
    if tier == "guidance":
        return GUIDANCE_TOKENS, _TOKENS_OF_A_BRIEF
    memories = config.bundle * (config.reasoning_cap + _LETTERS_OF_A_MEMORY)
    letters = memories + config.principles_per_skill * _LETTERS_OF_A_PRINCIPLE + _LETTERS_BESIDE
    return config.max_tokens, letters // _LETTERS_OF_A_TOKEN


def _trials(spec: ModelSpec, tier: Tier) -> Iterator[Finding]:
    """Yield whether the model replies, and for tiers whose replies are typed, whether it keeps to the form."""
    name, options = f"{tier} reply", {**spec.options, "timeout": f"{PATIENCE_S:g}"}
    quick = f"{spec.provider}/{spec.model}?{urlencode(options)}"
    plain = Request(prompt="Say hello in one word.", max_tokens=_ENOUGH_TOKENS)
    if tier == "execution" or spec.options.get("structured") == "none":
        requests = [plain]
    else:
        schema = msgspec.json.encode(msgspec.json.schema(Trial)).decode()
        requests = [plain, msgspec.structs.replace(plain, reply_schema=schema)]
    replies = asyncio.run(_asked(quick, tier, requests))
    if isinstance(replies[0], Completion):
        used = f"{replies[0].input_tokens} tokens in, {replies[0].output_tokens} out"
        yield Finding(name=name, state="ok", detail=f"it replied ({used})")
    else:
        yield _failed(name, spec, replies[0])
    for reply in replies[1:]:
        yield _typed(f"{tier} typed reply", spec, reply)


async def _asked(text: str, tier: Tier, requests: list[Request]) -> list[Completion | Fault]:
    """Return what each request comes to; after one that failed no other is made."""
    model: Any = open_model(text, tier)
    replies: list[Completion | Fault] = []
    try:
        for request in requests:
            replies.append(await model.complete(request))
    except ModelFault as error:
        replies.append(error.fault)
    finally:
        await model.close()
    return replies


def _typed(name: str, spec: ModelSpec, reply: Completion | Fault) -> Finding:
    if isinstance(reply, Fault):
        found = _failed(name, spec, reply)
        remedy = f"{found.remedy} Where the server knows no typed replies, say structured=none."
        return msgspec.structs.replace(found, remedy=remedy)
    try:
        msgspec.json.decode(reply.text, type=Trial)
    except msgspec.DecodeError:
        remedy = (
            "The server ignores response_format, so replies have the right form only by luck: use one that enforces "
            "it (vLLM 0.6, Ollama 0.5 or newer), or try structured=json_object."
        )
        detail = f"a form was asked for, and free text came: {shortened(reply.text)[:60]!r}"
        return Finding(name=name, state="optional", detail=detail, remedy=remedy)
    return Finding(name=name, state="ok", detail="it keeps to the form that is asked for")


def _failed(name: str, spec: ModelSpec, fault: Fault) -> Finding:
    variable = spec.options.get("key_env", _KEYS[spec.provider])
    remedies = {
        "connection": "Start the server, or correct its address (base_url).",
        "timeout": "Wait until the server has loaded its model, or correct its address (base_url).",
        "denied": f"Check the key in the environment variable {variable} and what it may be used for.",
        "missing": "Correct the model's name or the address (base_url).",
        "busy": "Wait and try again; a run waits by itself.",
        "empty": "Give it more tokens (--max-tokens), or say thinking=off if it thinks first.",
        "malformed": "Correct the address (base_url); it ends in /v1 for most servers.",
    }
    state: Literal["optional", "failed"] = "optional" if fault.kind in ("busy", "empty") else "failed"
    remedy = remedies.get(fault.kind, "Read what the provider says, and mend that.")
    return Finding(name=name, state=state, detail=fault.message, remedy=remedy)


def _url(spec: ModelSpec) -> str:
    default = _ANTHROPIC_URL if spec.provider == "anthropic" else DEFAULT_URL
    return spec.options.get("base_url", default).rstrip("/")
