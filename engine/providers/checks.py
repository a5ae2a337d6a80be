"""The doctor's checks of a provider: is the model served, is its context long enough, does it answer a benchmark's real
first prompts as a run asks them, and in the right form?

Rules
    - Few requests per tier: its models; a run's first prompts, each again if a run would ask again; a small typed
      reply. None is retried, and none follows a failure. Limit, second attempt and patience are those of a run, so a
      run's problems show here.
    - A reply without an answer fails the trial, as most other questions would end the same way.
    - The learner is asked `ASKED` questions, as one says little about how it answers; the other tiers one.
    - A check never raises: a problem is a failed check with its remedy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from mage_es.engine.agents.skill_discovery import ontology_brief
from mage_es.engine.benchmarks.registry import title
from mage_es.engine.briefs import OntologyReply, TaskTypesReply
from mage_es.engine.config import Config
from mage_es.engine.providers.llamacpp import LlamaCpp
from mage_es.engine.providers.served import GREETING, ListedModels, ServedModel, trial_cost
from mage_es.engine.rules.task_types import BATCH, task_types_brief
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Question, Verdict, extract_of
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.faults import Fault, ModelFault, shortened
from mage_es.engine.seams.model import MAX_TOKENS, RAISE, Completion, Model, Request, asked_again, reason_of
from mage_es.engine.seams.replies import read_reply
from mage_es.engine.seams.spec import ModelSpec
from mage_es.engine.session.call import typed_request
from mage_es.engine.session.judge import opinion, template_of
from mage_es.engine.verbs.data import tasks_of
from mage_es.engine.verbs.preflight import first_request
from mage_es.events.vocabulary import Tier

FALLBACK = "wordmath"
"""The benchmark of the trial if the data of the requested one is missing."""
ASKED = 3
"""Questions to ask the learner."""
_SHOWN = 60
_MOST_LABELS = 20
"""Tasks with at most this many distinct right answers count as a choice among labels."""


class FirstPrompt(NamedTuple):
    """What a tier is asked first; `read` returns the answer in a reply as displayed, "" if there is none. `score`
    returns whether that answer is right (None: no rule can tell). `labels` are the possible answers, if few."""

    request: Request
    read: Callable[[str], str]
    score: Callable[[str], bool | None] = lambda text: None
    labels: Collection[str] = ()


class DoctorCheck(msgspec.Struct, frozen=True):
    """The result of a check. `optional`: something is missing that only some commands need. `remedy`: how to fix it."""

    name: str
    state: Literal["ok", "optional", "failed"]
    detail: str
    remedy: str = ""


def first_prompts(config: Config, world: World | None) -> Mapping[Tier, Sequence[FirstPrompt]]:
    """Return the first prompts of a run for each tier; without a world those of `FALLBACK`."""
    world = world or tasks_of(msgspec.structs.replace(config, benchmark=FALLBACK, held_out=1, anchors=0), None)
    evolution = [world.questions[name] for name in world.setting.evolution]
    labels = _labels(evolution)
    return {
        "execution": [_answering(world, question, labels) for question in evolution[:ASKED]],
        "guidance": [_guiding(world)],
        "judge": [_judging(world, evolution[0])],
    }


def _labels(questions: Sequence[Question]) -> Collection[str]:
    """Return the right answers of questions if they are so few that each keeps recurring."""
    answers = {question.gold for question in questions}
    return answers if len(answers) <= min(_MOST_LABELS, len(questions) // 3) else ()


def _answering(world: World, question: Question, labels: Collection[str]) -> FirstPrompt:
    request = first_request(world, question.id)
    if is_sequential(world.benchmark):
        environment = world.benchmark.environment(question)
        environment.reset()
        return FirstPrompt(request, lambda text: environment.parse(text) or "")

    def is_right(reply: str) -> bool | None:
        verdict = world.benchmark.score(question, reply)
        return None if verdict.undecided else verdict.correct

    return FirstPrompt(request, extract_of(world.benchmark), is_right, labels)


def _guiding(world: World) -> FirstPrompt:
    evolution = [world.questions[name] for name in world.setting.evolution]
    if world.typing.is_induced:
        questions, _ = task_types_brief(world.setting, title(world.benchmark.name), evolution[:BATCH], {}, "")
        return _asking(typed_request("task_types_v1", questions, TaskTypesReply), TaskTypesReply)
    typed = list(zip(evolution, world.typing.types_of(evolution, {}), strict=True))
    brief, _ = ontology_brief(world.setting, title(world.benchmark.name), world.setting.task_types, typed)
    return _asking(typed_request("ontology_v1", brief, OntologyReply), OntologyReply)


def _judging(world: World, question: Question) -> FirstPrompt:
    told = Verdict(answer=question.gold, score=0.0, strict=True)
    first: Any = next(opinion(question, told, template_of(world.benchmark)))
    return _asking(first.request, first.typed)


def _asking(request: Request, form: type[Any]) -> FirstPrompt:
    return FirstPrompt(request, lambda text: "" if read_reply(text, form)[0] is None else f"a {form.__name__}")


def outcome_of(
    name: str, first: FirstPrompt, tier: Tier, reply: Completion, *, again: Completion | None
) -> DoctorCheck:
    """Judge a trial; `again` is the reply to the second request, if the first gave no answer."""
    last = again or reply
    size = f"{last.output_tokens} tokens, {last.thinking_tokens} of them thinking"
    quiet = "thinking=off (or a number of tokens, as in thinking=1000) in its spec"
    longer = heated = ""
    if tier == "execution":
        longer, heated = f"--max-tokens {RAISE * first.request.max_tokens}, or ", "Set --answer-temperature 0.7, or "
    unheard = f"Set {quiet}, or serve it without the parser that takes its answer for thinking."
    if not last.thinking_tokens:
        unheard = "Try another server or another chat template: it was asked twice and said nothing."
    problems = {
        "truncated": (
            f"its reply was cut after {size}",
            f"Set {longer}{quiet}; where its context ended first, serve it with a longer one.",
        ),
        "looped": (f"its reply repeats itself ({size})", f"{heated}choose a larger model."),
        "empty": (f"its reply has no text (stop reason {last.stop_reason}; {size})", unheard),
        "refused": (f"it refused the first prompt ({size})", "Choose a model that answers it."),
    }
    if problem := problems.get(reason_of(last)):
        detail, remedy = problem
        return DoctorCheck(name, "failed", detail, remedy[:1].upper() + remedy[1:])
    if not (found := first.read(last.text)):
        detail = f"whole ({size}), but without an answer that can be read: ...{shortened(last.text[-_SHOWN:])!r}"
        remedy = "It does not end as the prompt asks. Choose a larger model, or a task with a plainer answer."
        return DoctorCheck(name, "optional", detail, remedy)
    mark = {True: ", right", False: ", wrong", None: ""}[first.score(last.text)]
    detail = f"whole: {size}; its answer: {shortened(found)[:_SHOWN]}{mark}"
    if first.labels and found.casefold() not in {label.casefold() for label in first.labels}:
        remedy = f"List the answers there can be: --labels {','.join(sorted(first.labels))}"
        return DoctorCheck(name, "optional", f"{detail}; it is none of the answers of these tasks", remedy)
    if again and reply.stop_reason == "length":
        detail += f"; the first was cut after {reply.output_tokens} tokens"
        return DoctorCheck(name, "optional", detail, f"A run asks twice for such a reply. To ask once, set {quiet}.")
    return DoctorCheck(name, "ok", detail)


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


def check_provider(
    model: ServedModel, tier: Tier, config: Config, first: Sequence[FirstPrompt]
) -> Iterator[DoctorCheck]:
    """Check the model of a tier; `first` are the prompts of its trial."""
    name, spec = f"{tier} endpoint", model.spec
    try:
        served = model.listed()
    except ModelFault as error:
        if error.fault.kind != "missing":
            yield _failed(name, model, error.fault)
            return
        yield DoctorCheck(name, "ok", f"{model.url} does not list its models")
        served = ListedModels({})
    else:
        if (found := served.find(spec.model)) is None:
            detail = f"{model.url} does not serve {spec.model}.{served.nearest(spec.model)}"
            yield DoctorCheck(name, "failed", detail, "Correct the model's name, or serve that model.")
            return
        yield DoctorCheck(name, "ok", f"{model.url} serves {found}")
    if served.context(spec.model) or "context" in spec.options:
        yield _context(spec, tier, config, served.context(spec.model))
    yield from _trials(model, tier, first)


def check_loaded(model: LlamaCpp, tier: Tier, config: Config, first: Sequence[FirstPrompt]) -> Iterator[DoctorCheck]:
    """Check a model that is in memory: is its context long enough, and does it answer?"""
    spec = model.spec._replace(options={**model.spec.options, "context": str(model.loading.context)})
    yield _context(spec, tier, config, model.loading.trained)
    yield from _trials(model, tier, first)


async def _came_of(model: Model, request: Request) -> Completion | Fault:
    try:
        return await model.complete(request)
    except ModelFault as error:
        return error.fault


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


def _trials(model: ServedModel | LlamaCpp, tier: Tier, first: Sequence[FirstPrompt]) -> Iterator[DoctorCheck]:
    """Yield whether the model answers, and for tiers with typed replies, whether it keeps to the schema."""
    tried, typed = asyncio.run(_ask(model, tier, first))
    said = [reply for replies in tried for reply in replies]
    if came := [reply for reply in (*said, typed) if isinstance(reply, Completion)]:
        yield DoctorCheck(f"{tier} trial", "ok", trial_cost(came))
    for number, (prompt, replies) in enumerate(zip(first, tried, strict=False), start=1):
        name = f"{tier} reply" if len(first) == 1 else f"{tier} reply {number}"
        if isinstance(last := replies[-1], Fault):
            yield _failed(name, model, last)
        else:
            whole = [reply for reply in replies if isinstance(reply, Completion)]
            yield outcome_of(name, prompt, tier, whole[0], again=last if whole[1:] else None)
    if typed is not None:
        yield _typed(f"{tier} typed reply", model, typed)


async def _ask(
    model: ServedModel | LlamaCpp, tier: Tier, first: Sequence[FirstPrompt]
) -> tuple[list[list[Completion | Fault]], Completion | Fault | None]:
    """Return the outcomes of the first prompts up to one that fails, and of a small typed reply if the tier has
    them."""
    tried = list[list[Completion | Fault]]()
    try:
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
        if tier == "execution" or model.spec.options.get("structured") == "none":
            return tried, None
        schema = msgspec.json.encode(msgspec.json.schema(Trial)).decode()
        return tried, await _came_of(model, Request(prompt=GREETING, reply_schema=schema))
    finally:
        if isinstance(model, ServedModel):  # whose client belongs to this loop
            await model.close()


def _typed(name: str, model: ServedModel | LlamaCpp, reply: Completion | Fault) -> DoctorCheck:
    if isinstance(reply, Fault):
        found = _failed(name, model, reply)
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


def _failed(name: str, model: ServedModel | LlamaCpp, fault: Fault) -> DoctorCheck:
    variable = model.spec.options.get("key_env", getattr(model, "KEY", ""))
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
