"""Where a setting's value comes from: flag, environment, `mage-es.toml` in the current folder, preset, default.

Rules
    - One name everywhere: `--held-out`, `MAGE_ES_HELD_OUT`, `held_out` in the file and in `Config`.
    - The first of flag, environment, file, benchmark, preset, default that has a value decides; the origin is kept for
      `config show`. (`benchmark`: a size that one is run with, such as the length of an episode.) The preset itself is
      a setting like the others: a flag, a variable, a line in the file.
    - A name that is not a setting, and a value that does not fit, are errors wherever they stand.
"""

from __future__ import annotations

import functools
import math
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args, get_origin

import msgspec

from mage_es.engine.benchmarks.registry import own_defaults, own_models
from mage_es.engine.config import BENCHMARK, Amount, Config, Count
from mage_es.engine.presets import PRESETS, Preset, Starting, other_than
from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.budget import Limits
    from mage_es.engine.notes import Observer
    from mage_es.engine.runtime import Runtime

FILE = "mage-es.toml"
PREFIX = "MAGE_ES_"
DATA_VARIABLE = "MAGE_ES_DATA"
"""The short form of MAGE_ES_DATA_DIR."""
LIMITS = ("max_usd", "max_calls", "max_iterations")
"""Settings of which 0 is no limit, and no value that a flag may have: whoever types it means to spend nothing."""


Dollars = Annotated[float, msgspec.Meta(ge=0)]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a run goes and where things lie: nothing in here changes what a run does."""

    workers: Count = 8
    """Questions that are worked on at the same time."""
    max_connections: Amount = 0
    """Calls to one model in flight at the same time, fewer while its provider is busy; 0: as many as workers."""
    runs_dir: str = "runs"
    """Folder that holds the runs."""
    data_dir: str = "data"
    """Folder that holds the benchmarks' files; MAGE_ES_DATA for short."""
    max_usd: Dollars = 0.0
    """Dollars that a run may cost in all, also over several sessions. A reply whose tokens are not told counts as the
    most that it can cost; a model that never tells any cannot be limited so."""
    max_calls: Amount = 0
    """Calls that a run may make in all, failed attempts and a served embedder's included."""
    max_iterations: Amount = 0
    """Iterations after which a run pauses."""
    guidance_batch: bool = False
    """Hand calls of guidance and judge that do not depend on one another in as batches, where the provider has them:
    half the price at Anthropic, replies within minutes or hours."""
    prices: str = ""
    """File of prices that go before those of the package, in the form of its prices.toml."""


class Setting(NamedTuple):
    """A value and who set it: `flag`, a variable, `mage-es.toml`, `benchmark crafter`, `preset paper` or `default`."""

    name: str
    value: object
    origin: str


class Settings:
    """The settings of one command; `others` are what the other preset would have made of the same words."""

    def __init__(self, entries: Mapping[str, Setting], others: Mapping[str, Setting]) -> None:
        self.entries = entries
        self.others = others

    @property
    def preset(self) -> Preset:
        """Return the preset that a new run starts from."""
        preset: Preset = msgspec.convert(self.entries["preset"].value, Preset)
        return preset

    def differing(self) -> list[tuple[Setting, Setting]]:
        """Return (here, with the other preset) for each setting of a run on which the two presets differ."""
        pairs = [(self.entries[name], self.others[name]) for name in Config.__struct_fields__]
        return [(here, there) for here, there in pairs if here.value != there.value]

    @property
    def runs_dir(self) -> Path:
        """Return the folder of the runs."""
        return Path(str(self.entries["runs_dir"].value))

    @property
    def data_dir(self) -> Path:
        """Return the folder of the benchmarks' files."""
        return Path(str(self.entries["data_dir"].value))

    @property
    def workers(self) -> int:
        """Return the number of questions that are worked on at the same time."""
        value = self.entries["workers"].value
        assert isinstance(value, int)
        return value

    @property
    def max_connections(self) -> int:
        """Return the most calls to one model in flight."""
        value = self.entries["max_connections"].value
        assert isinstance(value, int)
        return value or self.workers

    @property
    def limits(self) -> Limits:
        """Return what a run may use."""
        from mage_es.engine.budget import Limits

        return msgspec.convert([self.entries[name].value for name in Limits._fields], Limits)

    @property
    def batches(self) -> bool:
        """Return whether calls go in batches where they can."""
        return bool(self.entries["guidance_batch"].value)

    @property
    def prices(self) -> Path | None:
        """Return the file of the user's own prices, None without one."""
        return Path(str(value)) if (value := self.entries["prices"].value) else None

    def runtime(self, observer: Observer, stop: Callable[[], bool]) -> Runtime:
        """Return how a verb of the engine is to work. Raises `UsageError` for a file of prices that is none."""
        from mage_es.engine.pricing import read_prices
        from mage_es.engine.runtime import Runtime

        return Runtime(
            workers=self.workers,
            max_connections=self.max_connections,
            observer=observer,
            stop=stop,
            limits=self.limits,
            prices=read_prices(self.prices),
            batches=self.batches,
        )

    def config(self, *, benchmark: str | None = None) -> Config:
        """Return the configuration of a new run; `benchmark` where none was named. Raises `UsageError`."""
        values = {name: self.entries[name].value for name in Config.__struct_fields__}
        values["benchmark"] = values["benchmark"] or benchmark
        if values["benchmark"] is None:
            raise UsageError(
                "No benchmark was named. `mage-es data list` shows them; one is wordmath. "
                "Questions of your own are given to `mage-es evolve` with --tasks FILE."
            )
        return msgspec.convert(values, Config)

    def about(self, benchmark: str) -> Settings:
        """Return the same settings for another benchmark, which is named where no flag of its own names it."""
        entry = Setting("benchmark", benchmark, "flag")
        return Settings({**self.entries, "benchmark": entry}, {**self.others, "benchmark": entry})

    def again(self, *words: str, names: tuple[str, ...] = ("runs_dir", "data_dir")) -> str:
        """Return a command line with the same places, where those came from flags."""
        places = [(name, self.entries[name]) for name in names if self.entries[name].origin == "flag"]
        options = [word for name, entry in places for word in _as_option(name, entry.value)]
        return shlex.join(["mage-es", *words, *options])

    def flags(self) -> dict[str, object]:
        """Return the settings that came from a flag of this command."""
        return {name: entry.value for name, entry in self.entries.items() if entry.origin == "flag"}


def _as_option(name: str, value: object) -> tuple[str, ...]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return (f"--{flag}" if value else f"--no-{flag}",)
    return (f"--{flag}", str(value))


@functools.cache
def fields() -> Mapping[str, msgspec.structs.FieldInfo]:
    """Return every setting by name, those of `Config` first."""
    from msgspec.structs import fields as of

    return {field.name: field for struct in (Config, Starting, Machine) for field in of(struct)}


def resolve(flags: Mapping[str, object], *, environment: Mapping[str, str], folder: Path) -> Settings:
    """Return all settings; flags that are None were not used. Raises `UsageError`."""
    layers = (_from_flags(flags), _from_environment(environment), _from_file(folder / FILE))
    named = _first(layers, "preset") or Setting("preset", fields()["preset"].default, "default")
    preset: Preset = msgspec.convert(named.value, Preset)
    return Settings(_entries(layers, preset), _entries(layers, other_than(preset)))


def _entries(layers: Sequence[Mapping[str, Setting]], preset: Preset) -> dict[str, Setting]:
    entries: dict[str, Setting] = {}
    own: Mapping[str, object] = {}
    for name, field in fields().items():  # the benchmark is the first of them
        default = None if field.default is msgspec.NODEFAULT else field.default
        if name in own:
            least = Setting(name, own[name], f"benchmark {entries['benchmark'].value}")
        elif name in PRESETS[preset]:
            least = Setting(name, PRESETS[preset][name], f"preset {preset}")
        else:
            least = Setting(name, default, "default")
        entries[name] = _first(layers, name) or least
        if name == "benchmark":
            own = own_defaults(str(entries[name].value))
    for name, model in own_models(str(entries["benchmark"].value))._asdict().items():
        if entries[name].value == BENCHMARK:
            entries[name] = entries[name]._replace(value=model)
    return entries


def _first(layers: Sequence[Mapping[str, Setting]], name: str) -> Setting | None:
    return next((layer[name] for layer in layers if name in layer), None)


def _from_flags(flags: Mapping[str, object]) -> dict[str, Setting]:
    given = {name: value for name, value in flags.items() if value is not None}
    found = {
        name: Setting(name, _fit(name, value, f"--{name.replace('_', '-')}"), "flag") for name, value in given.items()
    }
    for name in LIMITS:
        if name in found and not found[name].value:
            flag, variable = f"--{name.replace('_', '-')}", f"{PREFIX}{name.upper()}"
            raise UsageError(
                f"{flag}: with {given[name]} nothing could be done. Give more than that; for no limit leave {flag} out "
                f"({variable}=0 in the environment lifts one that {FILE} sets)."
            )
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, Setting]:
    known = {PREFIX + name.upper(): name for name in fields()} | {DATA_VARIABLE: "data_dir"}
    found: dict[str, Setting] = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        if variable not in known:
            raise UsageError(f"The environment variable {variable} is no setting.{nearest(variable, list(known))}")
        name = known[variable]
        found[name] = Setting(name, _fit(name, environment[variable], variable), variable)
    return found


def _from_file(path: Path) -> dict[str, Setting]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}. Correct that line.") from error
    for name in content:
        if name not in fields():
            raise UsageError(f"{path}: `{name}` is no setting.{nearest(name, list(fields()))}")
    return {name: Setting(name, _fit(name, value, f"{path}: {name}"), FILE) for name, value in content.items()}


def kind(name: str) -> object:
    """Return the plain type of a setting, without its bounds."""
    wanted = fields()[name].type
    return get_args(wanted)[0] if get_origin(wanted) is Annotated else wanted


def _fit(name: str, value: object, place: str) -> object:
    """Return the value in the setting's type; texts are read as numbers and booleans where those are meant."""
    try:
        fitted: object = msgspec.convert(value, type=fields()[name].type, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}: {value!r} does not fit.{_hint(kind(name), value, str(error))}") from error
    if isinstance(fitted, float) and not math.isfinite(fitted):
        raise UsageError(f"{place}: {value!r} does not fit. Give a finite number.")
    return fitted


def _hint(wanted: object, value: object, reason: str) -> str:
    if get_origin(wanted) is Literal:
        return nearest(str(value), list(get_args(wanted)))
    asked = _KINDS.get(wanted, "a text")
    if bound := re.fullmatch(r"Expected `\w+` (>=|>|<=|<) (\S+)", reason):
        return f" Give {asked} {_BOUNDS[bound[1]]} {bound[2]}."
    if " matching regex " in reason:
        return " Give an exact fraction such as 3/10, or a whole number."
    if ", got " in reason:
        return f" Give {asked}."
    return f" {reason}."


_BOUNDS = {">=": "of at least", ">": "above", "<=": "of at most", "<": "below"}
_KINDS: dict[object, str] = {int: "a whole number", float: "a number", bool: "true or false"}
