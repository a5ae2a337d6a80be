"""The doctor's checks of a provider: is the model served, is its context long enough, does it answer, and in the right
form?

Rules
    - Few requests per tier: its models, within `TIMEOUT_S` seconds; a run's first prompts (verbs/trials.py), each again
      if a run would ask again; a small typed reply. None is retried, and none follows a failure.
    - The key is cut out of every message of a provider before it is shown.
    - A check never raises: a problem is a failed check with its remedy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.models.clients import http_client, key_of, unconnected
from mage_es.engine.models.llamacpp import LlamaCpp, loading_of
from mage_es.engine.models.openai_compatible import DEFAULT_URL
from mage_es.engine.models.registry import open_model, options_by_provider
from mage_es.engine.seams.faults import Fault, ModelFault, fault_of_status, shortened, without_key
from mage_es.engine.seams.model import MAX_TOKENS, RAISE, Completion, Model, Request, asked_again, reason_of
from mage_es.engine.seams.spec import ModelSpec, parse_spec
from mage_es.engine.verbs.trials import DoctorCheck, FirstPrompt, outcome_of
from mage_es.events.errors import PrerequisiteError, nearest
from mage_es.events.vocabulary import Tier

TIMEOUT_S = 10.0
"""Timeout of each request, in seconds."""
REMOTE = ("anthropic", "openai")
ASKED = (*REMOTE, "llamacpp")
"""The providers whose models get a trial."""

_ANTHROPIC_URL = "https://api.anthropic.com"
_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_GREETING = "Say hello in one word."
_LETTERS_OF_A_TOKEN = 3
"""A low average, so that prompts are overestimated rather than underestimated."""
_LETTERS_OF_A_MEMORY = 800
_LETTERS_OF_A_PRINCIPLE = 200
_LETTERS_BESIDE = 3_000
"""Characters of a prompt without retrieved text: question, template, skill, format."""
_LEAST_BRIEF = 4_000
"""Tokens of the shortest brief with room for one whole question, its reply and the instruction."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The typed reply of a trial. Only a provider that enforces the schema answers a greeting with it."""

    greeting: str
    letters: int


class Served(NamedTuple):
    """The models that a provider lists: id -> context length in tokens, 0 if it does not say."""

    contexts: Mapping[str, int]

    def find(self, model: str) -> str | None:
        """Return the id under which a model is served: its own, or a dated or tagged form of it."""
        if model in self.contexts:
            return model
        forms = (f"{model}:latest", f"models/{model}")
        return next((name for name in self.contexts if name in forms or name.startswith(f"{model}-20")), None)

    def context(self, model: str) -> int:
        """Return the context of a model, 0 if unknown."""
        return self.contexts.get(self.find(model) or "", 0)

    def nearest(self, model: str) -> str:
        return nearest(model, list(self.contexts)[:200])


def check_provider(text: str, tier: Tier, config: Config, first: Sequence[FirstPrompt]) -> Iterator[DoctorCheck]:
    """Check the model of a tier; `first` are the prompts of its trial."""
    spec = parse_spec(text, known=options_by_provider())
    name = f"{tier} endpoint"
    try:
        served = _listed(spec)
    except ModelFault as error:
        if error.fault.kind != "missing":
            yield _failed(name, spec, error.fault)
            return
        yield DoctorCheck(name, "ok", f"{_url(spec)} does not list its models")
        served = Served({})
    else:
        if (found := served.find(spec.model)) is None:
            detail = f"{_url(spec)} does not serve {spec.model}.{served.nearest(spec.model)}"
            yield DoctorCheck(name, "failed", detail, "Correct the model's name, or serve that model.")
            return
        yield DoctorCheck(name, "ok", f"{_url(spec)} serves {found}")
    if served.context(spec.model) or "context" in spec.options:
        yield _context(spec, tier, config, served.context(spec.model))
    yield from _trials(spec, tier, first)


def check_loaded(model: LlamaCpp, tier: Tier, config: Config, first: Sequence[FirstPrompt]) -> Iterator[DoctorCheck]:
    """Check a model that is in memory: is its context long enough, and does it answer?"""
    spec = parse_spec(model.name, known=options_by_provider())
    spec = spec._replace(options={**spec.options, "context": str(model.loading.context)})
    yield _context(spec, tier, config, model.loading.trained)
    yield from _trials(spec, tier, first)


def room_for_briefs(guidance: str) -> int:
    """Return how many prompt tokens a guidance model has room for besides its reply, 0 if unknown."""
    if guidance.partition("/")[0] not in ("llamacpp", "openai", "vllm"):
        return 0
    spec = parse_spec(guidance, known=options_by_provider())
    if spec.provider == "llamacpp":
        return max(1, loading_of(spec).context - MAX_TOKENS)
    context = spec.options.get("context") or spec.options.get("max_model_len") or ""
    if not context and spec.provider == "openai" and "base_url" in spec.options:
        try:
            context = str(_listed(spec).context(spec.model))
        except (ModelFault, PrerequisiteError):
            return 0  # an absent server shows at the first call
    return max(1, int(context) - MAX_TOKENS) if context.isdecimal() and int(context) else 0


async def require_served(models: Iterable[str]) -> list[str]:
    """Raise `PrerequisiteError` for a model that its server does not know, before a run starts with it. A model missing
    from the server's list gets one short request, as some servers answer under any name; the return value is what each
    cost, as no log has it. A server that cannot be reached shows at the first call."""
    told = list[str]()
    for text in dict.fromkeys(models):
        if text.partition("/")[0] not in REMOTE:
            continue
        spec = parse_spec(text, known=options_by_provider())
        try:
            served = _listed(spec)
        except ModelFault as error:
            if error.fault.kind != "missing":
                continue
            served = Served({})
        if served.find(spec.model) is not None:
            continue
        async with _opened(spec, "execution") as model:
            said = await _came_of(model, Request(prompt=_GREETING, max_tokens=16))
        if isinstance(said, Completion):
            told.append(f"{_url(spec)} does not list {spec.model}, but it answers. {trial_cost([said])}")
        elif said.kind == "missing":
            names = served.nearest(spec.model) if served.contexts else ""
            hint = names or " Check the model's name and the address (base_url)."
            raise PrerequisiteError(f"{_url(spec)} does not serve {spec.model}.{hint} No run was started.")
    return told


@asynccontextmanager
async def _opened(spec: ModelSpec, tier: Tier) -> AsyncIterator[Model]:
    model: Any = open_model(spec.text, tier)
    try:
        yield model
    finally:
        await model.close()


async def _came_of(model: Model, request: Request) -> Completion | Fault:
    try:
        return await model.complete(request)
    except ModelFault as error:
        return error.fault


def trial_cost(replies: Sequence[Completion]) -> str:
    calls = "One trial call" if len(replies) == 1 else f"{len(replies)} trial calls"
    read, written = (sum(getattr(reply, name) for reply in replies) for name in ("input_tokens", "output_tokens"))
    return f"{calls}: {read} tokens in and {written} out, which no ledger counts."


def _listed(spec: ModelSpec) -> Served:
    """Raises `ModelFault`."""
    import httpx2

    key = key_of(spec, _KEYS[spec.provider], needed=False)
    is_claude = spec.provider == "anthropic"
    path = "/v1/models?limit=1000" if is_claude else "/models"
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"} if is_claude else {"authorization": f"Bearer {key}"}
    try:
        with http_client(httpx2.Client, timeout=TIMEOUT_S) as client:
            reply = client.get(_url(spec) + path, headers=headers if key else {})
        said = without_key(reply.text, key)
        rows = [] if reply.is_error else _rows(msgspec.json.decode(said))
    except httpx2.ConnectTimeout:
        raise ModelFault(Fault("connection", shortened(unconnected(_url(spec))))) from None
    except httpx2.TimeoutException:
        raise ModelFault(Fault("timeout", f"{_url(spec)} does not answer within {TIMEOUT_S:g} s")) from None
    except httpx2.HTTPError as error:
        raise ModelFault(Fault("connection", without_key(shortened(f"{_url(spec)}: {error}"), key))) from None
    except (ImportError, OSError, httpx2.InvalidURL):
        told = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY or SSL_CERT_FILE has a value that cannot be used"
        raise ModelFault(Fault("connection", f"{_url(spec)}: {told}")) from None
    except (ValueError, msgspec.DecodeError) as error:
        raise ModelFault(Fault("malformed", f"{_url(spec)} does not speak the protocol: {error}")) from None
    if reply.is_error:
        raise ModelFault(fault_of_status(reply.status_code, f"{reply.status_code}: {said}"))
    return Served({str(row["id"]): int(row.get("max_model_len") or 0) for row in rows})


def _rows(document: Any) -> list[dict[str, Any]]:
    rows = document.get("data") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise ValueError("its list of models is malformed")
    return rows


def _context(spec: ModelSpec, tier: Tier, config: Config, listed: int) -> DoctorCheck:
    """Check that a model's context has room for the configuration's prompts and replies; its provider says `listed`."""
    context = spec.whole("context", 0) or listed
    reply, prompt = _tokens_needed(tier, config)
    name, shown = f"{tier} context", f"{context} tokens; a reply takes up to {reply}, a full prompt about {prompt}"
    if listed and context > listed:
        remedy = f"Set context={listed} in the spec, or serve the model with a longer context."
        return DoctorCheck(name, "failed", f"context={context}, but the provider serves {listed}", remedy)
    if context >= reply + prompt:
        return DoctorCheck(name, "ok", shown)
    shorter = ", or make --max-tokens or --bundle smaller" if tier == "execution" else ""
    if tier == "guidance":
        shorter = "; briefs are cut to what there is room for"
    remedy = f"{_longer(spec, reply + prompt, listed=listed)}{shorter}."
    # A brief is cut to the available room; an answer prompt drops as many memories as it must, and its reply gets what
    # is left.
    least = reply + _LEAST_BRIEF if tier == "guidance" else reply // 4 + _LETTERS_BESIDE // _LETTERS_OF_A_TOKEN
    is_hopeless = context <= least
    return DoctorCheck(name, "failed" if is_hopeless else "optional", shown, remedy)


def _longer(spec: ModelSpec, needed: int, *, listed: int) -> str:
    """Return how to get a context of this many tokens. A server that lists no context is most often Ollama."""
    if spec.provider == "llamacpp" and listed >= needed:
        return f"Set context={needed} in the spec"
    if spec.provider in ("anthropic", "llamacpp"):
        return f"Choose a model with a context of at least {needed} tokens"
    if listed >= needed:
        return f"Set context={needed} in the spec: the provider serves {listed}"
    how = f"vLLM: --max-model-len {needed}" if listed else f"Ollama: OLLAMA_CONTEXT_LENGTH={needed}"
    said = f", and set context={needed} in the spec" if "context" in spec.options else ""
    return f"Serve the model with a longer context ({how}){said}"


def _tokens_needed(tier: Tier, config: Config) -> tuple[int, int]:
    """Return the tokens of the longest reply, and of a full prompt (estimated)."""
    if tier == "judge":
        return MAX_TOKENS, _LETTERS_BESIDE // _LETTERS_OF_A_TOKEN
    if tier == "guidance":
        return MAX_TOKENS, config.guidance_context
    memories = config.bundle * (config.reasoning_cap + _LETTERS_OF_A_MEMORY)
    letters = memories + config.principles_per_skill * _LETTERS_OF_A_PRINCIPLE + _LETTERS_BESIDE
    return config.max_tokens, letters // _LETTERS_OF_A_TOKEN


def _trials(spec: ModelSpec, tier: Tier, first: Sequence[FirstPrompt]) -> Iterator[DoctorCheck]:
    """Yield whether the model answers, and for tiers with typed replies, whether it keeps to the schema."""
    tried, typed = asyncio.run(_ask(spec, tier, first))
    said = [reply for replies in tried for reply in replies]
    if came := [reply for reply in (*said, typed) if isinstance(reply, Completion)]:
        yield DoctorCheck(f"{tier} trial", "ok", trial_cost(came))
    for number, (prompt, replies) in enumerate(zip(first, tried, strict=False), start=1):
        name = f"{tier} reply" if len(first) == 1 else f"{tier} reply {number}"
        if isinstance(last := replies[-1], Fault):
            yield _failed(name, spec, last)
        else:
            whole = [reply for reply in replies if isinstance(reply, Completion)]
            yield outcome_of(name, prompt, tier, whole[0], again=last if whole[1:] else None)
    if typed is not None:
        yield _typed(f"{tier} typed reply", spec, typed)


async def _ask(
    spec: ModelSpec, tier: Tier, first: Sequence[FirstPrompt]
) -> tuple[list[list[Completion | Fault]], Completion | Fault | None]:
    """Return the outcomes of the first prompts up to one that fails, and of a small typed reply if the tier has
    them."""
    async with _opened(spec, tier) as model:
        tried = list[list[Completion | Fault]]()
        for prompt in first:
            said = await _came_of(model, prompt.request)
            tried.append([said])
            if isinstance(said, Fault):
                again = prompt.request if said.kind == "no_room" else None
            else:
                again = asked_again(prompt.request, said, most=RAISE * prompt.request.max_tokens)
            if again:
                tried[-1].append(await _came_of(model, again))
            if isinstance(tried[-1][-1], Fault):
                return tried, None
        if tier == "execution" or spec.options.get("structured") == "none":
            return tried, None
        schema = msgspec.json.encode(msgspec.json.schema(Trial)).decode()
        return tried, await _came_of(model, Request(prompt=_GREETING, reply_schema=schema))


def _typed(name: str, spec: ModelSpec, reply: Completion | Fault) -> DoctorCheck:
    if isinstance(reply, Fault):
        found = _failed(name, spec, reply)
        remedy = f"{found.remedy} If the server does not support typed replies, set structured=none."
        return msgspec.structs.replace(found, remedy=remedy)
    if reason := reason_of(reply):
        remedy = "Set thinking=off in its spec, or structured=none if the form is what it fails at."
        return DoctorCheck(name, "optional", f"a small typed reply came back {reason}", remedy)
    try:
        msgspec.json.decode(reply.text, type=Trial)
    except msgspec.DecodeError:
        remedy = (
            "The server ignores response_format, so replies have the right form only by luck: use a server that "
            "enforces it (vLLM 0.6, Ollama 0.5 or newer), or try structured=json_object."
        )
        detail = f"the request had a schema, and the reply is free text: {shortened(reply.text)[:60]!r}"
        return DoctorCheck(name, "optional", detail, remedy)
    return DoctorCheck(name, "ok", "it keeps to the requested schema")


def _failed(name: str, spec: ModelSpec, fault: Fault) -> DoctorCheck:
    variable = spec.options.get("key_env", _KEYS.get(spec.provider, ""))
    remedies = {
        "connection": "Start the server, or correct its address (base_url).",
        "timeout": "Wait until the server has loaded its model, or correct its address (base_url).",
        "denied": f"Check the key in the environment variable {variable} and its permissions.",
        "missing": "Correct the model's name or the address (base_url).",
        "busy": "Wait and try again; a run waits by itself.",
        "too_long": "Set a longer context in its spec, or shorten the prompts: --bundle shows fewer memories.",
        "malformed": "Correct the address (base_url); most servers expect it to end in /v1.",
    }
    remedy = remedies.get(fault.kind, "Fix what the provider complains about.")
    return DoctorCheck(name, "optional" if fault.kind == "busy" else "failed", fault.message, remedy)


def _url(spec: ModelSpec) -> str:
    default = _ANTHROPIC_URL if spec.provider == "anthropic" else DEFAULT_URL
    return spec.options.get("base_url", default).rstrip("/")
