"""The verb `doctor`: what a run needs from tasks, machine and models, checked item by item, each with its remedy.

Rules
    - Nothing is changed, and a check never raises: a problem is a failed check with its remedy.
    - Only configured models are called, and only if the caller allows it: a server is asked for its list of models, and
      each tier gets a run's first prompts, a second time where a run would ask again. Failed calls are not retried, and
      none is made after a failure. Token limits, second attempts and timeouts are those of a run, so that its problems
      show here.
    - A reply without an answer fails the trial, since most other questions would end the same way. The learner is asked
      `ASKED` questions, because a single one says little about how it answers; each other tier is asked one.
"""

import asyncio
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from mage_es.engine.agents.skill_discovery import TEMPLATES, ontology_brief
from mage_es.engine.benchmarks.registry import title, with_own_models
from mage_es.engine.briefs import FailureBrief, FailureCase, OntologyReply, TaskTypesReply
from mage_es.engine.config import Config
from mage_es.engine.embedders.registry import metered, open_embedder
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.retrying import DEFAULT_RETRIES
from mage_es.engine.providers.estimate import estimate
from mage_es.engine.providers.llamacpp import LlamaCpp
from mage_es.engine.providers.served import ServedModel, trial_cost
from mage_es.engine.rules.briefing import Detail, case_for_teacher, fitted
from mage_es.engine.rules.task_types import BATCH, task_types_brief
from mage_es.engine.rules.writings import CORRECTIONS, ONTOLOGY, STRATEGIES, writings
from mage_es.engine.run.directory import FLOOR_MIB, age, list_runs
from mage_es.engine.run.notices import lone_types
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Question, Verdict, extract_of
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.faults import Fault, ModelFault, shortened
from mage_es.engine.seams.metering import Metered
from mage_es.engine.seams.model import MAX_TOKENS, RAISE, Completion, Request, reason_of, request_after
from mage_es.engine.seams.replies import read_reply
from mage_es.engine.seams.spec import ModelSpec
from mage_es.engine.session.call import typed_request
from mage_es.engine.session.judge import opinion, template_of
from mage_es.engine.verbs.data import DataReport, check, tasks_of
from mage_es.engine.verbs.preflight import asks_guidance, first_request
from mage_es.events.errors import MageError
from mage_es.events.vocabulary import Tier
from mage_es.projections.graph import GENERAL

DISTRIBUTION = "mage-es"
FALLBACK = "wordmath"
"""The benchmark to try if the requested one's data is missing."""
ASKED = 3
"""Questions to ask the learner."""
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""A clock that shows an earlier time, before the release of this package, is wrong."""
_MOST_LABELS = 20
"""Tasks with at most this many distinct right answers count as a choice among labels."""
_LETTERS_OF_A_TOKEN = 3  # a low average, so that prompts are overestimated rather than underestimated
_LETTERS_OF_A_MEMORY, _LETTERS_OF_A_PRINCIPLE = 800, 200
_LETTERS_BESIDE = 3_000
"""Characters of a prompt without retrieved text: question, template, skill, format."""
_LEAST_BRIEF = 4_000
"""Tokens of the shortest brief with room for one whole question, its reply and the instruction."""
_SHORTER, _BRIEFS = ", or make --max-tokens or --bundle smaller", "; briefs are cut to what there is room for"
_LOOPED_TYPED = "Choose a larger model; stream=on in an openai/ spec ends such a reply early."
_QUIET = "thinking=off (or a number of tokens, as in thinking=1000) in its spec"
FAULTS: Mapping[str, str] = {
    "connection": "Start the server, or correct its address (base_url).",
    "timeout": "Wait until the server has loaded its model, or correct its address (base_url).",
    "denied": "Check the key in the environment variable {key} and its permissions.",
    "missing": "Correct the model's name or the address (base_url).",
    "busy": "Wait and try again; a run waits by itself.",
    "too_long": "Set a longer context in its spec, or shorten the prompts: --bundle shows fewer memories.",
    "malformed": "Correct the address (base_url); most servers expect it to end in /v1.",
    "rejected": "Fix what the provider complains about; for a server without typed replies, set structured=none.",
}
"""How to fix what keeps a model from replying, by the kind of fault (engine/seams/faults.py)."""
REPLIES: Mapping[str, tuple[str, str]] = {
    "truncated": ("was cut", f"Raise the learner's --max-tokens, set {_QUIET}, or serve it with a longer context."),
    "looped": ("repeats itself", "Set the learner's --answer-temperature to 0.7, or choose a larger model."),
    "empty": (
        "has no text (stop reason {stop})",
        f"Set {_QUIET}, or serve it without the parser that takes its answer for thinking.",
    ),
    "refused": ("refuses the first prompt", "Choose a model that answers it."),
    "unread": ("", "It does not end as the prompt asks. Choose a larger model, or a task with a plainer answer."),
    "formless": (
        ", inside free text",
        "Use a server that enforces response_format, or try structured=json_object in its spec.",
    ),
    "unlisted": ("; it is none of the answers of these tasks", "List the answers there can be: --labels {labels}"),
    "strayed": (
        "; it is none of the answers that the prompt lists",
        "A run may teach it that: `mage-es try` shows whether. Else choose a larger model.",
    ),
    "again": ("; the first was no answer", f"A run asks twice for such a reply. To ask once, set {_QUIET}."),
    "fine": ("", ""),
}
"""What is said about a reply, and how to get a better one. The reasons why it does not count as an answer come
first."""

CheckState = Literal["ok", "optional", "failed"]


class DoctorCheck(msgspec.Struct, frozen=True):
    """The result of a check. `optional`: a run can start, but something could be better. `remedy`: how to fix it, and
    `option`: the option of a run that does, by name, with its value."""

    name: str
    state: CheckState
    detail: str
    remedy: str = ""
    option: tuple[str, str] | None = None


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Every check, and how a run would divide the `tasks`: None if they cannot be read."""

    checks: tuple[DoctorCheck, ...]
    tasks: DataReport | None


class FirstPrompt(NamedTuple):
    """The first request to a tier. `read` returns the answer in a reply as displayed, "" if there is none. `score`
    returns whether that answer is right (None: no rule can tell). `labels` are the possible answers, if few, and
    `are_listed` is whether the prompt lists them."""

    request: Request
    read: Callable[[str], str]
    score: Callable[[str], bool | None] = lambda text: None
    labels: Collection[str] = ()
    are_listed: bool = False


def diagnose(
    config: Config,
    *,
    runs_dir: Path,
    data_dir: Path | None,
    now: int,
    calls: bool = True,
    say: Callable[[str], None] = lambda words: None,
) -> Diagnosis:
    """Check everything, the tasks and the configured models first.

    `runs_dir` may not exist yet; `now` is in microseconds since 1970; `calls`: remote providers may be asked; `say`
    reports which, before any is asked.
    """
    config = with_own_models(config)
    about_tasks, report, world = tasks(config, data_dir)
    specs = (config.execution, "" if unread(world) else config.guidance, config.judge, config.embedder)
    names = dict.fromkeys(spec.partition("?")[0] for spec in specs)
    if calls and (remote := [name for name in names if name.partition("/")[0] in ("anthropic", "llamacpp", "openai")]):
        say(f"Asking {', '.join(remote)}: a run's first prompts, which may take minutes (--no-calls skips it).\n")
    asking = (*models(config, world, data_dir=data_dir, calls=calls), *embedder(config.embedder, calls=calls))
    about_types = types(config, world) if world else ()
    return Diagnosis(checks=(about_tasks, *about_types, *asking, *machine(runs_dir, now)), tasks=report)


def unread(world: World | None) -> str:
    """Return why a run would not ask its guidance model, "" if it would."""
    why = "not tried, as a run with these settings never asks it: nothing would read what it writes"
    return "" if not world or asks_guidance(world) else why


def tasks(config: Config, data_dir: Path | None) -> tuple[DoctorCheck, DataReport | None, World | None]:
    """Check that the tasks can be read, divided and scored; return also their world if they can be read."""
    world = None
    try:
        world = tasks_of(config, data_dir)
        report = check(config, world)
    except MageError as error:
        return _problem("tasks", error, "Correct the file or the options."), None, world
    summary = f"{report.evolution} to learn from, {report.anchors} anchors, {report.held_out} held out"
    summary += (
        f", {len(report.left_out)} left out, {report.task_types} task type{'' if report.task_types == 1 else 's'}"
    )
    if lacks := getattr(world.benchmark, "missing", ()):  # optional files of a benchmark that is read from files
        summary += f"; not there: {', '.join(lacks)}"
    return DoctorCheck("tasks", "ok", f"{title(config.benchmark)}: {summary}"), report, world


def types(config: Config, world: World) -> Iterator[DoctorCheck]:
    """Warn if most task types have a single task."""
    for lone in lone_types(config, world.benchmark):
        detail, _, remedy = lone.partition(". ")
        yield DoctorCheck("task types", "optional", detail, remedy)


def models(
    config: Config, world: World | None = None, *, data_dir: Path | None = None, calls: bool
) -> Iterator[DoctorCheck]:
    """Check that every tier's model opens and, if `calls` are allowed, replies to first prompts."""
    first: Mapping[Tier, Sequence[FirstPrompt]] = {}
    tiers: tuple[Tier, ...] = ("execution", "guidance", "judge")
    for tier in tiers:
        if not (spec := getattr(config, tier)):
            continue
        try:
            model = open_model(spec, tier)
        except MageError as error:
            yield _problem(f"{tier} model", error, f"Choose another with --{tier}.")
            continue
        why = unread(world) if tier == "guidance" else ""
        yield DoctorCheck(f"{tier} model", "ok", f"{model.name}; {why}" if why else model.name)
        if calls and not why and isinstance(model, TriedModel):
            first = first or first_prompts(config, world)
            yield from trial(model, tier, config, first[tier])
            if isinstance(model, LlamaCpp) and model.took.written_s:
                yield from _pace(model, tier, config if world else None, data_dir)


def _pace(model: LlamaCpp, tier: Tier, config: Config | None, data_dir: Path | None) -> Iterator[DoctorCheck]:
    """Say how fast a model was in its trial and how long a run of this configuration takes at that pace."""
    took, threads = model.took, f"threads={model.loading.threads}, slots={model.loading.slots}"
    speed = f"{took.read / took.read_s:,.0f} tokens a second in, {took.written / took.written_s:,.0f} out"
    yield DoctorCheck(f"{tier} speed", "ok", f"{speed} ({threads})")
    if config:
        usages = estimate(config, data_dir=data_dir, workers=1, prices=Prices()).tiers
        run = next(each for each in usages if each.tier == tier)
        calls, reading = run.calls.expected, run.input_tokens.expected * took.read_s / took.read
        # The length of its first replies, before it has seen any case, and of usual replies to these questions.
        replies = sorted((took.written / took.calls, run.output_tokens.expected / max(1.0, calls)))
        least, most = ((reading + calls * reply * took.written_s / took.written) / 60 for reply in replies)
        length = f"{calls:,.0f} calls with replies of {replies[0]:.0f} to {replies[1]:.0f} tokens"
        minutes, number = f"about {least:,.0f} to {most:,.0f} minutes", config.iterations
        yield DoctorCheck(f"{tier} time", "ok", f"{minutes} for {length}, in {number} iterations without exams")


def first_prompts(config: Config, world: World | None) -> Mapping[Tier, Sequence[FirstPrompt]]:
    """Return the first prompts of a run for each tier; without a world those of `FALLBACK`."""
    world = world or tasks_of(msgspec.structs.replace(config, benchmark=FALLBACK, held_out=1, anchors=0), None)
    evolution = [world.questions[name] for name in world.setting.evolution]
    # Right answers are labels if they are so few that each keeps recurring.
    labels = {question.gold for question in evolution}
    labels = labels if len(labels) <= min(_MOST_LABELS, len(evolution) // 3) else set()
    verdict = Verdict(answer=evolution[0].gold, score=0.0, strict=True)
    judging: Any = next(opinion(evolution[0], verdict, template_of(world.benchmark)))
    return {
        "execution": [_answering(world, question, labels) for question in evolution[:ASKED]],
        "guidance": [_guiding(world, evolution)],
        "judge": [_typed(judging.request, judging.typed)],
    }


def _answering(world: World, question: Question, labels: Collection[str]) -> FirstPrompt:
    request = first_request(world, question.id)
    if is_sequential(world.benchmark):
        environment = world.benchmark.environment(question)
        environment.reset()
        return FirstPrompt(request, lambda text: environment.parse(text) or "")

    def is_right(reply: str) -> bool | None:
        verdict = world.benchmark.score(question, reply)
        return None if verdict.undecided else verdict.correct

    return FirstPrompt(request, extract_of(world.benchmark), is_right, labels, bool(world.setting.traits.labels))


def _guiding(world: World, evolution: Sequence[Question]) -> FirstPrompt:
    setting, name = world.setting, title(world.benchmark.name)
    if world.typing.is_induced:
        questions, _ = task_types_brief(setting, name, evolution[:BATCH], {}, "")
        return _typed(typed_request("task_types_v1", questions, TaskTypesReply), TaskTypesReply)
    typed = list(zip(evolution, world.typing.types_of(evolution, {}), strict=True))
    if ONTOLOGY in (wanted := writings(setting, types=len(setting.task_types))):
        brief, _ = ontology_brief(setting, name, setting.task_types, typed)
        return _typed(typed_request("ontology_v1", brief, OntologyReply), OntologyReply)
    # If nothing reads skills, a run asks about failures only; here, as if the learner's reply were empty.
    task_type = typed[0][1]
    missed = [question for question, of in typed if of == task_type][: setting.config.failure_memories_per_target]

    def failures(detail: Detail) -> FailureBrief:
        cases = (msgspec.structs.asdict(case_for_teacher(setting, question, detail)) for question in missed)
        return FailureBrief(
            task_type=task_type,
            skill=GENERAL,
            cases=tuple(FailureCase(**case) for case in cases),
            wants_strategy=STRATEGIES in wanted,
            limit=len(missed) if CORRECTIONS in wanted else 0,
        )

    template, form = TEMPLATES[FailureBrief]
    about_failures, _ = fitted(setting, 0, template, task_type, failures)
    return _typed(typed_request(template, about_failures, form), form)


def _typed(request: Request, form: type[Any]) -> FirstPrompt:
    return FirstPrompt(request, lambda text: "" if read_reply(text, form)[0] is None else f"a {form.__name__}")


TriedModel = ServedModel | LlamaCpp


def trial(model: TriedModel, tier: Tier, config: Config, first: Sequence[FirstPrompt]) -> Iterator[DoctorCheck]:
    """Check the model of a tier: is it served, is its context long enough, and how does it reply to its first
    prompts?"""
    if isinstance(model, LlamaCpp):
        context, trained = model.loading.context, model.loading.trained
    else:
        endpoint, trained = _endpoint(model, f"{tier} endpoint")
        yield endpoint
        if endpoint.state != "ok":
            return
        context = model.spec.whole("context", 0) or trained
    if context:
        yield _context(model.spec, tier, config, context, trained)
    tried = asyncio.run(_replies(model, [prompt.request for prompt in first]))
    if came := [reply for replies in tried for reply in replies if isinstance(reply, Completion)]:
        yield DoctorCheck(f"{tier} trial", "ok", trial_cost(came))
    for number, (prompt, (*before, last)) in enumerate(zip(first, tried, strict=False), start=1):
        name = f"{tier} reply" if len(first) == 1 else f"{tier} reply {number}"
        yield _fault(name, model, last) if isinstance(last, Fault) else _outcome(name, prompt, last, bool(before))


def _endpoint(model: ServedModel, name: str) -> tuple[DoctorCheck, int]:
    """Check that a server has a model; return also the context that it lists, 0 if it does not say."""
    wanted = model.spec.model
    try:
        listed = model.listed()
    except ModelFault as error:
        return _fault(name, model, error.fault), 0
    if not listed.contexts:
        return DoctorCheck(name, "ok", f"{model.url} does not list its models"), 0
    if (name_there := listed.find(wanted)) is None:
        detail = f"{model.url} does not serve {wanted}.{listed.nearest(wanted)}"
        return DoctorCheck(name, "failed", detail, "Correct the model's name, or serve that model."), 0
    return DoctorCheck(name, "ok", f"{model.url} serves {name_there}"), listed.context(wanted)


async def _replies(model: TriedModel, requests: Sequence[Request]) -> list[list[Completion | Fault]]:
    """Return the outcome of each request, and of its second attempt if a run would make one, up to the first that
    fails."""
    tried = list[list[Completion | Fault]]()
    try:
        for request in requests:
            again: Request | None = request
            said = list[Completion | Fault]()
            tried.append(said)
            while again and len(said) < 2:
                try:
                    said.append(reply := await model.complete(again))
                    again = request_after(again, reply, most=RAISE * again.max_tokens)
                except ModelFault as error:
                    said.append(error.fault)
                    again = again if error.fault.kind == "no_room" else None
            if isinstance(said[-1], Fault):
                break
        return tried
    finally:
        if isinstance(model, ServedModel):  # whose client belongs to this loop
            await model.close()


def _outcome(name: str, first: FirstPrompt, reply: Completion, is_second: bool) -> DoctorCheck:
    """Judge the last reply to a first prompt."""
    size = f"{reply.output_tokens} tokens, {reply.thinking_tokens} of them thinking"
    if reason := reason_of(reply):
        words, remedy = REPLIES[reason]
        is_typed = bool(first.request.reply_schema)
        if reason == "looped" and is_typed:
            remedy = _LOOPED_TYPED
        option = ("answer_temperature", "0.7") if reason == "looped" and not is_typed else None
        return DoctorCheck(name, "failed", f"its reply {words.format(stop=reply.stop_reason)}: {size}", remedy, option)
    answer, is_typed, labels = first.read(reply.text), bool(first.request.reply_schema), ",".join(sorted(first.labels))
    if not answer:
        detail = f"whole ({size}), but without an answer that can be read: ...{shortened(reply.text[-60:])!r}"
        return DoctorCheck(name, "optional", detail, REPLIES["formless" if is_typed else "unread"][1])
    mark = {True: ", right", False: ", wrong", None: ""}[first.score(reply.text)]
    if first.labels and answer.casefold() not in {label.casefold() for label in first.labels}:
        kind = "strayed" if first.are_listed else "unlisted"
    elif is_typed and not reply.text.lstrip().startswith("{"):
        kind = "formless"
    else:
        kind = "again" if is_second else "fine"
    words, remedy = REPLIES[kind]
    detail = f"whole: {size}; its answer: {shortened(answer)[:60]}{mark}{words}"
    option = ("labels", labels) if kind == "unlisted" else None
    return DoctorCheck(name, "optional" if remedy else "ok", detail, remedy.format(labels=shlex.quote(labels)), option)


def _fault(name: str, model: TriedModel, fault: Fault) -> DoctorCheck:
    key = model.spec.options.get("key_env", getattr(model, "KEY", ""))
    remedy = FAULTS.get(fault.kind, FAULTS["rejected"]).format(key=key)
    return DoctorCheck(name, "optional" if fault.kind == "busy" else "failed", fault.message, remedy)


def _problem(name: str, problem: object, otherwise: str) -> DoctorCheck:
    """Return a failed check for one of our own error messages; its remedy is the command that the message recommends,
    if any."""
    way = re.search(r"(python -m pip install |export |mage-es fetch ).*", str(problem))
    lines = [f"{line.removesuffix('.')}." for line in str(problem).splitlines()]  # one for each row of a file
    return DoctorCheck(name, "failed", "\n".join(lines), way[0] if way else otherwise)


def _context(spec: ModelSpec, tier: Tier, config: Config, context: int, listed: int) -> DoctorCheck:
    """Check that a context has room for the configuration's prompts and replies; its provider says `listed`."""
    memories = config.bundle * (config.reasoning_cap + _LETTERS_OF_A_MEMORY)
    letters = memories + config.principles_per_skill * _LETTERS_OF_A_PRINCIPLE + _LETTERS_BESIDE
    beside = _LETTERS_BESIDE // _LETTERS_OF_A_TOKEN
    # A brief is cut to the available room; an answer prompt drops as many memories as it must, and its reply gets what
    # is left.
    reply, prompt, least, or_else = {
        "execution": (config.max_tokens, letters // _LETTERS_OF_A_TOKEN, config.max_tokens // 4 + beside, _SHORTER),
        "guidance": (MAX_TOKENS, config.guidance_context, MAX_TOKENS + _LEAST_BRIEF, _BRIEFS),
        "judge": (MAX_TOKENS, beside, MAX_TOKENS // 4 + beside, ""),
    }[tier]
    name, needed = f"{tier} context", reply + prompt
    if listed and context > listed:
        remedy = f"Set context={listed} in the spec, or serve the model with a longer context."
        return DoctorCheck(name, "failed", f"context={context}, but the provider serves {listed}", remedy)
    shown = f"{context} tokens; a reply takes up to {reply}, a full prompt about {prompt}"
    if context >= needed:
        return DoctorCheck(name, "ok", shown)
    if listed >= needed:
        how = f"Set context={needed} in the spec: the provider serves {listed}"
    elif spec.provider in ("anthropic", "llamacpp"):
        how = f"Choose a model with a context of at least {needed} tokens"
    else:
        server = f"vLLM: --max-model-len {needed}; Ollama: OLLAMA_CONTEXT_LENGTH={needed}, and context={needed}"
        how = f"Serve the model with a longer context ({server} in the spec)"
    return DoctorCheck(name, "failed" if context <= least else "optional", shown, f"{how}{or_else}.")


def embedder(spec: str, *, calls: bool) -> Iterator[DoctorCheck]:
    """Check that the embedder embeds a text; for a served one, also that its tokens are counted."""
    is_served = bool(metered(spec))
    if is_served and not calls:
        yield DoctorCheck("embedder", "ok", f"{spec}, not asked")
        return
    try:
        opened = open_embedder(spec, retry_policy=DEFAULT_RETRIES._replace(attempts=1))
        dimensions = opened.encode(["a question"]).shape[1]
    except MageError as error:
        server = "Correct name, key or address; the server must offer /v1/embeddings (vLLM: --runner pooling)."
        problem = str(error).partition(". Check the key")[0]
        yield _problem("embedder", problem, server if is_served else "Choose another with --embedder.")
        return
    yield DoctorCheck("embedder", "ok", f"{spec}, {dimensions} dimensions, {opened.sha256[:16]}")
    if isinstance(opened, Metered):
        attempts = opened.meter.read()
        texts, tokens = sum(each.texts for each in attempts), sum(each.input_tokens for each in attempts)
        remedy = "" if tokens else "Limit calls (--max-calls) rather than dollars; both are recorded either way."
        state: CheckState = "ok" if tokens else "optional"
        yield DoctorCheck("embedder tokens", state, f"{tokens} reported for {texts} texts", remedy)


def machine(runs_dir: Path, now: int) -> Iterator[DoctorCheck]:
    """Check the folder of runs, the clock (microseconds since 1970) and the packages."""
    folder = next(path for path in (runs_dir.absolute(), *runs_dir.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(folder).free // 2**20
    shown, remedy = f"{runs_dir.absolute()} is writable, with {free} MiB free", ""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        if free < FLOOR_MIB:
            remedy = f"No iteration starts below {FLOOR_MIB} MiB: free some, or choose another --runs-dir."
    except OSError as error:
        shown = f"{folder}: {error.strerror}"
        remedy = f"Make the folder writable (chmod u+w {folder}), or choose another with --runs-dir."
    yield DoctorCheck("runs folder", "failed" if remedy else "ok", shown, remedy)
    moment, runs = datetime.fromtimestamp(now / 1e6, tz=UTC), list_runs(runs_dir)
    shown, remedy = f"{moment:%Y-%m-%d %H:%M:%S} UTC", ""
    if moment < EARLIEST or (runs and age(runs[-1])[0] > now * 1000):
        shown += f" is before run {runs[-1].id}" if runs else " is in the past"
        remedy = "Set the system clock: records carry its time, and the newest run is found by it."
    yield DoctorCheck("clock", "failed" if remedy else "ok", shown, remedy)
    needed = [re.split(r"[^\w.-]", each)[0] for each in metadata.requires(DISTRIBUTION) or () if "extra ==" not in each]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    whole = ", ".join(f"{name} {metadata.version(name)}" for name in needed)
    yield DoctorCheck(DISTRIBUTION, "ok", f"{metadata.version(DISTRIBUTION)} on {python}; {whole}")
