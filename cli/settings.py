"""The settings of a command: from a flag, the environment, `mage-es.toml` in this folder, a preset or a default.

Rules
    - One name everywhere: `--held-out`, `MAGE_ES_HELD_OUT`, `held_out` in the file and in `Config`. An option of serve
      alone is `--port` there, and elsewhere `MAGE_ES_SERVE_PORT` and `serve_port`.
    - The first of flag, environment, file, benchmark, preset and default that has a value wins; `config` prints
      which it was. A benchmark brings its own sizes, such as the length of an episode. The preset is itself a setting.
    - An unknown name or an invalid value is an error, wherever it comes from.
"""

from __future__ import annotations

import functools
import math
import re
import shlex
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args, get_origin

import msgspec

from mage_es.engine.benchmarks.files import VARIABLE, read_toml
from mage_es.engine.benchmarks.registry import needs_learner, own_defaults, own_models
from mage_es.engine.config import BENCHMARK, MOST_WORKERS, PRESETS, Amount, Config, Preset, Starting
from mage_es.engine.run.served import Serving
from mage_es.events.errors import PrerequisiteError, UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.run.budget import Limits
    from mage_es.engine.run.directory import Run
    from mage_es.engine.run.pricing import Prices
    from mage_es.engine.run.runtime import Observer, Runtime, Telemetry
    from mage_es.events.signing.notes import Signer

FILE = "mage-es.toml"
PREFIX = "MAGE_ES_"
DATA_VARIABLE = "MAGE_ES_DATA"
"""The short form of MAGE_ES_DATA_DIR."""
COLLECTOR_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
"""The variable by which OpenTelemetry itself names a collector."""
LIMITS = ("max_usd", "max_calls", "max_iterations")
"""Settings where 0 means no limit. A flag may not be 0: a user who types that means to spend nothing."""
NO_LIMIT = "none"
"""The word that lifts a limit when it is given as a flag."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a run goes and where its files are: nothing here changes what a run does."""

    workers: Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)] = 8
    """Questions worked on at the same time."""
    max_connections: Annotated[int, msgspec.Meta(ge=0, le=MOST_WORKERS)] = 0
    """Most calls to one model in flight, fewer while its provider is busy; 0: as many as workers."""
    runs_dir: str = "runs"
    """Folder of the runs."""
    data_dir: str = "data"
    """Folder of the benchmarks' files; also MAGE_ES_DATA."""
    max_usd: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    """Dollars that a run may cost, over all its sessions, or one command that asks again. A reply without token counts
    is charged at its highest possible cost; a model that never reports tokens cannot be limited this way."""
    max_calls: Annotated[int, msgspec.Meta(ge=0, le=10**12)] = 0
    """Calls that a run may make, over all its sessions, or one command that asks again; failed attempts and those of a
    served embedder count."""
    max_iterations: Amount = 0
    """Iterations after which a run pauses."""
    guidance_batch: bool = False
    """Send independent calls of guidance and judge as batches, if the provider offers them: half the price at
    Anthropic, replies within minutes or hours. A snapshot may wait for several, one after another: whether more
    questions are asked follows from the judge's verdicts on those before."""
    sign: str = ""
    """File of a key, made by `mage-es key new`: heads of each log are signed with it when a run or serving begins
    and ends, and before and after each exam."""
    by: str = "user"
    """Your name, recorded with your decisions on memories. A log keeps names forever, so none is taken from the
    machine's accounts."""
    prices: str = ""
    """File of prices that override those of the package, in the form of its prices.toml."""
    otel_endpoint: str = ""
    """Collector that gets traces and metrics of OpenTelemetry (OTLP over HTTP), such as http://localhost:4318; also
    OTEL_EXPORTER_OTLP_ENDPOINT."""
    otel_texts: bool = False
    """Send it recorded texts, too, not only names, ids and numbers."""


SERVE = "serve_"
SERVING = tuple(SERVE + name for name in Serving.__struct_fields__)
GROUPS: Mapping[type[msgspec.Struct], str] = {Config: "", Starting: "", Machine: "", Serving: SERVE}
"""The structs of all settings, and the prefix of the names in each."""


class ResolvedSetting(NamedTuple):
    """A value and its origin: `flag`, a variable, `mage-es.toml`, `benchmark crafter`, `preset paper`, `default`."""

    name: str
    value: object
    origin: str


class Settings:
    """The settings of one command."""

    typed: tuple[str, ...] = ()
    """The benchmark and the options of the user's own tasks, as words of the command line; they become one setting."""

    def __init__(self, entries: Mapping[str, ResolvedSetting], found: Mapping[str, Run] | None = None) -> None:
        self.entries = entries
        self._runs = dict(found or {})
        values = {name: entry.value for name, entry in entries.items()}
        self.preset: Preset = msgspec.convert(values["preset"], Preset)
        self.seed = msgspec.convert(values["seed"], int)
        machine = msgspec.convert(values, Machine)
        self.runs_dir, self.data_dir = Path(machine.runs_dir), Path(machine.data_dir)
        self.workers, self.max_connections = machine.workers, machine.max_connections or machine.workers
        self.batches = machine.guidance_batch

    @property
    def serving(self) -> Serving:
        return msgspec.convert({name.removeprefix(SERVE): self.entries[name].value for name in SERVING}, Serving)

    @property
    def limits(self) -> Limits:
        from mage_es.engine.run.budget import Limits

        return msgspec.convert({name: self.entries[name].value for name in Limits.__struct_fields__}, Limits)

    def within(self, recorded: Limits) -> Settings:
        """Return the same settings with a run's recorded limits, except where a flag or a stricter limit is given."""
        kept = {
            name: limit
            for name, limit in msgspec.structs.asdict(recorded).items()
            if limit and self.entries[name].origin != "flag" and not 0 < float(str(self.entries[name].value)) < limit
        }
        return Settings({**self.entries, **_of(kept, "the run")}, self._runs)

    def begun(self, name: str) -> Config:
        """Return the configuration that a run started with."""
        from mage_es.engine.config import parse
        from mage_es.engine.run.world import first_event
        from mage_es.events.log import LogReader

        return parse(first_event(LogReader(self.find_run(name).log_path)).config)

    def upon(self, begun: Config) -> Settings:
        """Return the same settings, with those of a run to continue in place of defaults and the benchmark's own."""
        kept = {
            name: getattr(begun, name)
            for name in Config.__struct_fields__
            if self.entries[name].origin == "default" or self.entries[name].origin.startswith("benchmark ")
        }
        return Settings({**self.entries, **_of(kept, "the run")}, self._runs)

    def prices(self) -> Prices:
        """Return what models cost; the user's own file comes first. Raises `UsageError` for a file that is not
        valid."""
        from mage_es.engine.run.pricing import read_prices

        return read_prices(str(self.entries["prices"].value) or None)

    def find_run(self, name: str | None) -> Run:
        """Return the run of that name or path, the newest one by default; from then on also by its id, wherever it is.
        Raises `UsageError`."""
        from mage_es.engine.run.directory import find_run

        run = self._runs.get(name or "") or find_run(self.runs_dir, name)
        self._runs[run.id] = run
        return run

    @property
    def by(self) -> str:
        return str(self.entries["by"].value)

    def signer(self) -> Signer | None:
        """Return the key that heads are signed with, None if no file is named. Raises `PrerequisiteError`."""
        from mage_es.events.signing.notes import read_signer

        file = str(self.entries["sign"].value)
        return read_signer(Path(file)) if file else None

    def telemetry(self, say: Callable[[str], None]) -> Telemetry | None:
        """Return the collector that traces are sent to, None where none is named. If the extra is missing, a collector
        that is named for every program of this machine is skipped, and `say` is called. Raises `PrerequisiteError`."""
        from mage_es.engine.run.runtime import Telemetry
        from mage_es.engine.run.telemetry import require_otel

        endpoint = self.entries["otel_endpoint"]
        if not endpoint.value:
            return None
        try:
            require_otel()
        except PrerequisiteError as error:
            if endpoint.origin != COLLECTOR_VARIABLE:
                raise
            say(f"{COLLECTOR_VARIABLE} is set, but nothing is sent: {error}")
            return None
        return Telemetry(str(endpoint.value), bool(self.entries["otel_texts"].value))

    def runtime(self, observer: Observer, stop: Callable[[], bool]) -> Runtime:
        from mage_es.engine.run.runtime import Runtime

        return Runtime(
            workers=self.workers,
            max_connections=self.max_connections,
            observer=observer,
            stop=stop,
            limits=self.limits,
            prices=self.prices(),
            batches=self.batches,
            signer=self.signer(),
            telemetry=self.telemetry(functools.partial(print, file=sys.stderr)),
        )

    def config(self, *, benchmark: str | None = None) -> Config:
        """Return the configuration of a new run; `benchmark` is used if none is named. Raises `UsageError`."""
        values = {name: self.entries[name].value for name in Config.__struct_fields__}
        values["benchmark"] = values["benchmark"] or benchmark
        if values["benchmark"] is None:
            raise UsageError(
                "Name a benchmark, such as wordmath; `mage-es fetch` shows them all. "
                "For your own questions, name their file, such as `mage-es evolve my.jsonl`."
            )
        return msgspec.convert(values, Config)

    def again(self, *words: str, names: tuple[str, ...] = ("runs_dir", "data_dir")) -> str:
        """Return a command line that repeats the named settings, if they came from flags, and the folder of a run that
        was named by its path."""
        given = {name: self.entries[name].value for name in names if self.entries[name].origin == "flag"}
        for run in filter(None, (self._runs.get(word.partition("@")[0]) for word in words)):
            if run.path.parent.resolve() != self.runs_dir.resolve():
                given["runs_dir"] = run.path.parent
        options = [word for name, value in given.items() for word in as_option(name, value)]
        return shlex.join(["mage-es", *words, *options])

    def flags(self) -> dict[str, object]:
        return {name: entry.value for name, entry in self.entries.items() if entry.origin == "flag"}


def flag_of(name: str) -> str:
    return f"--{name.removeprefix(SERVE).replace('_', '-')}"


def as_option(name: str, value: object) -> tuple[str, ...]:
    flag = flag_of(name)
    if isinstance(value, bool):
        return (flag if value else f"--no-{flag[2:]}",)
    return (flag, str(value))


@functools.cache
def fields() -> Mapping[str, msgspec.structs.FieldInfo]:
    """Return every setting by name, those of `Config` first."""
    from msgspec.structs import fields as of

    return {before + field.name: field for struct, before in GROUPS.items() for field in of(struct)}


def resolve(flags: Mapping[str, object], *, environment: Mapping[str, str], folder: Path) -> Settings:
    """Return all settings; a flag that is None was not given. Raises `UsageError`."""
    layers = [_from_flags(flags), _from_environment(environment), _from_file(folder / FILE)]
    defaults = {name: field.default for name, field in fields().items()}
    least = _of({name: None if of is msgspec.NODEFAULT else of for name, of in defaults.items()}, "default")
    chosen = ChainMap(*layers, least)
    benchmark, preset = str(chosen["benchmark"].value), msgspec.convert(chosen["preset"].value, Preset)
    own = _of(own_defaults(benchmark), f"benchmark {benchmark}")
    entries = dict(ChainMap(*layers, own, _of(PRESETS[preset], f"preset {preset}"), least))
    for name, model in own_models(benchmark)._asdict().items():
        # It is for the user to say which model does the user's own tasks.
        if entries[name].value == BENCHMARK and not (name == "execution" and needs_learner(benchmark)):
            entries[name] = entries[name]._replace(value=model)
    return Settings(entries)


def _of(values: Mapping[str, object], origin: str) -> dict[str, ResolvedSetting]:
    return {name: ResolvedSetting(name, value, origin) for name, value in values.items()}


def _from_flags(flags: Mapping[str, object]) -> dict[str, ResolvedSetting]:
    found = dict[str, object]()
    for name, given in flags.items():
        if given is None:
            continue
        is_lifted = name in LIMITS and given == NO_LIMIT
        found[name] = 0 if is_lifted else _fit(name, given, flag_of(name))
        if name in LIMITS and not is_lifted and not found[name]:
            raise UsageError(
                f"{flag_of(name)} {given} would allow nothing. Give a larger number, or {NO_LIMIT} for no limit."
            )
    return _of(found, "flag")


def _from_environment(environment: Mapping[str, str]) -> dict[str, ResolvedSetting]:
    known = {PREFIX + name.upper(): name for name in fields()} | {DATA_VARIABLE: "data_dir"}
    found: dict[str, ResolvedSetting] = {}
    if collector := environment.get(COLLECTOR_VARIABLE):
        found["otel_endpoint"] = ResolvedSetting("otel_endpoint", collector, COLLECTOR_VARIABLE)
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable == VARIABLE:
            continue
        if variable not in known:
            raise UsageError(f"The environment variable {variable} names no setting.{nearest(variable, list(known))}")
        name = known[variable]
        found[name] = ResolvedSetting(name, _fit(name, environment[variable], variable), variable)
    return found


def _from_file(path: Path) -> dict[str, ResolvedSetting]:
    try:
        content = read_toml(path)
    except FileNotFoundError:
        return {}
    for name in content:
        if name not in fields():
            raise UsageError(f"{path}: there is no setting `{name}`.{nearest(name, list(fields()))}")
    return _of({name: _fit(name, value, f"{path}: {name}") for name, value in content.items()}, FILE)


def kind(name: str) -> object:
    """Return the plain type of a setting, without its bounds."""
    wanted = fields()[name].type
    return get_args(wanted)[0] if get_origin(wanted) is Annotated else wanted


def _fit(name: str, value: object, place: str) -> object:
    """Return the value as the setting's type; a text may be a number or a boolean. `place` is named in the error."""
    try:
        fitted: object = msgspec.convert(value, type=fields()[name].type, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(misfit(place, value, kind(name), str(error))) from error
    if isinstance(fitted, float) and not math.isfinite(fitted):
        raise UsageError(f"{place}: {value!r} is not valid. Give a finite number.")
    return fitted


def misfit(place: str, value: object, wanted: object, reason: str) -> str:
    """Return what is wrong with a value of a type, and what to give; `reason` is in the words of msgspec."""
    return f"{place}: {value!r} is not valid.{_hint(wanted, value, reason)}"


def _hint(wanted: object, value: object, reason: str) -> str:
    if get_origin(wanted) is Literal:
        return nearest(str(value), list(get_args(wanted)))
    asked = _KINDS.get(wanted, "a text")
    if bound := re.fullmatch(r"Expected `\w+` (>=|>|<=|<) (\S+)", reason):
        return f" Give {asked} {_BOUNDS[bound[1]]} {bound[2]}."
    if " matching regex " in reason:
        return " Give an exact fraction such as 3/10, or a whole number."
    if ", got " in reason or reason.startswith("Invalid enum"):
        return f" Give {asked}."
    return f" {reason}."


_BOUNDS = {">=": "of at least", ">": "above", "<=": "of at most", "<": "below"}
_KINDS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    float | Literal["auto"]: "auto or a cosine between 0 (off) and 1",
}
