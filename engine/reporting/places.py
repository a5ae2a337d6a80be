"""Where each run of a folder stands: by benchmark, learner, teacher, setting and system, and by seed.

Rules
    - Settings that bear on the result part systems; a baseline is parted by those of the exam, and is compared with
      systems that agree with it in these.
    - Of several runs of one place and seed the newest counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import Config, difference
from mage_es.engine.reporting.conditions import EXAMINED, LOOKED_UP, differing, told
from mage_es.engine.reporting.recorded import Recorded
from mage_es.engine.reporting.systems import (
    BASELINES,
    FEW_SHOT,
    FULL,
    NAMES,
    NO_GUARD,
    Place,
    short,
    system_of,
    way_of,
)

Seeds = Mapping[int, Recorded]


class _Apart(NamedTuple):
    """The settings in which the runs of a benchmark stand apart: any, and those of the baselines of each name."""

    settings: Sequence[str]
    baselines: Mapping[str, Sequence[str]]


class Places:
    """Runs by place and seed."""

    def __init__(self, runs: Iterable[Recorded]) -> None:
        self.runs = list(runs)
        self._notes: list[str] = []
        benchmarks = sorted({run.begun.benchmark for run in self.runs})
        self._guarded = {run.begun.benchmark for run in self.runs if run.config.guard != "off"}
        self._apart = {benchmark: self._setting_apart(benchmark) for benchmark in benchmarks}
        # Both take the whole configuration apart, and every gap asks for them of every run.
        self._conditions = {run: self._conditions_of(run) for run in self.runs}
        self._places = {run: self._place_of(run) for run in self.runs}
        self._by_place: dict[Place, dict[int, Recorded]] = {}
        self._examined: dict[Place, str] = {}
        for run, place in self._places.items():
            self._examined[place._replace(system=FULL)] = self._conditions[run]
            seeds = self._by_place.setdefault(place, {})
            if run.begun.seed in seeds:
                self._notes.append(_superseded(seeds[run.begun.seed], run))
            seeds[run.begun.seed] = run

    @property
    def notes(self) -> list[str]:
        """Return what is not whole, or counts for nothing, as far as anything was read."""
        return [*self._notes, *(problem for run in self.runs for problem in run.problems)]

    def place(self, run: Recorded) -> Place:
        """Return where a run stands. A baseline knows no teacher, and no setting but those of the exam."""
        return self._places[run]

    def conditions_of(self, run: Recorded) -> str:
        """Return the part of a run's setting that is the exam's."""
        return self._conditions[run]

    def _place_of(self, run: Recorded) -> Place:
        benchmark, learner = run.begun.benchmark, self._names[run.begun.execution_model]
        apart = self._apart[benchmark]
        if run.baseline:
            system = ", ".join((run.baseline, *told(run, apart.baselines.get(run.baseline, ()))))
            return Place(benchmark, learner, "", self._conditions[run], system)
        shared = self._shared(benchmark)
        setting = ", ".join((*shared, *told(run, apart.settings)))
        return Place(benchmark, learner, self._names[run.begun.guidance_model], setting, system_of(run, shared=shared))

    def conditions(self, place: Place) -> str:
        """Return the part of a place's setting that is the exam's: what its baselines must agree in."""
        return self._examined.get(place._replace(system=FULL), place.setting)

    def _conditions_of(self, run: Recorded) -> str:
        apart = self._apart[run.begun.benchmark]
        return ", ".join(told(run, [name for name in apart.settings if name in EXAMINED]))

    def _setting_apart(self, benchmark: str) -> _Apart:
        """Return the settings that part the runs of a benchmark, of the systems and of the baselines of each name."""
        here = [run for run in self.runs if run.begun.benchmark == benchmark]
        is_sequential = self.is_sequential(benchmark)
        # Whether a judge was needed takes every exam to be read: asked only where it matters.
        is_judged = len({run.config.judge for run in here}) > 1 and any(run.is_judged for run in here)

        def parting(runs: Iterable[Recorded], names: Iterable[str]) -> list[str]:
            return differing(runs, names, is_sequential=is_sequential, is_judged=is_judged)

        systems = [run for run in here if not run.baseline]
        ways = sorted({run.baseline for run in here} - {""})
        settings = {*parting(here, EXAMINED), *parting(systems, Config.__struct_fields__)}
        return _Apart(
            [name for name in Config.__struct_fields__ if name in settings],
            {way: parting([run for run in here if run.baseline == way], LOOKED_UP) for way in ways},
        )

    def _shared(self, benchmark: str) -> frozenset[str]:
        """Return `no guard` where no run of a benchmark has one: it learns as the full system does."""
        return frozenset() if benchmark in self._guarded else frozenset({NO_GUARD})

    @property
    def counted(self) -> list[Recorded]:
        """Return the runs that stand in the tables."""
        return [run for place in self.places for run in self.at(place).values()]

    @cached_property
    def places(self) -> Sequence[Place]:
        """Every place that a run has, sorted, full systems first within a row and baselines as the paper has them."""
        return sorted(self._by_place, key=_in_order)

    def at(self, place: Place) -> Seeds:
        """Return the runs of a place by seed."""
        return dict(sorted(self._by_place.get(place, {}).items()))

    def full(self) -> list[Place]:
        """Return the places of the full system, no baseline among them."""
        return [place for place in self.places if place.system == FULL]

    def compared(self) -> list[Place]:
        """Return the places of the full system, and one without a teacher for what has baselines only so far."""
        full = self.full()
        known = {(place.benchmark, place.learner, self.conditions(place)) for place in full}
        others = {(p.benchmark, p.learner, p.setting) for p in self.places if not p.teacher} - known
        bare = (Place(benchmark, learner, "", setting, FULL) for benchmark, learner, setting in others)
        return sorted([*full, *bare], key=_in_order)

    def baseline(self, place: Place, name: str) -> Place:
        """Return where a baseline stands that a place is compared with: same benchmark, learner and exam."""
        return Place(place.benchmark, place.learner, "", self.conditions(place), name)

    def baselines(self, places: Sequence[Place], wanted: Iterable[str] = BASELINES) -> list[str]:
        """Return the baselines that stand beside these places: the wanted ones, others that were run, each variant."""
        beside = {(place.benchmark, place.learner, self.conditions(place)) for place in places}
        there = {p.system for p in self.places if not p.teacher and (p.benchmark, p.learner, p.setting) in beside}
        ways = [*wanted, *sorted({way_of(system) for system in there} - set(BASELINES))]
        found = list[str]()
        for way in ways:
            variants = sorted(system for system in there if way_of(system) == way and system != way)
            is_plain = way in there or not all(self.has_variants(place.benchmark, way) for place in places)
            found += [*([way] if is_plain else []), *variants]
        return found

    def called(self, system: str, places: Iterable[Place]) -> str:
        """Return what a system is called in a table of these places: few-shot prompts by the number of examples."""
        way, comma, rest = system.partition(", ")
        name = NAMES.get(way, way)
        shown = {count for counts in self._shown(places).values() for count in counts}
        if way == FEW_SHOT and len(shown) == 1:
            name = name.replace("few", str(*shown))
        return f"{name}{comma}{rest}"

    def shots(self, places: Iterable[Place]) -> str:
        """Return a note on how many examples few-shot prompts showed, "" where the name of the column says it."""
        shown = self._shown(places)
        if len({count for counts in shown.values() for count in counts}) < 2:
            return ""
        each = (f"{' or '.join(map(str, sorted(counts)))} on {name}" for name, counts in sorted(shown.items()))
        return f"{NAMES[FEW_SHOT]}: examples shown: {', '.join(each)}."

    def _shown(self, places: Iterable[Place]) -> dict[str, set[int]]:
        """Return by benchmark the numbers of examples that few-shot prompts showed."""
        names = {place.benchmark for place in places}
        found: dict[str, set[int]] = {}
        for run in self.counted:
            if run.baseline == FEW_SHOT and run.begun.benchmark in names:
                found.setdefault(run.begun.benchmark, set()).add(run.shots)
        return found

    def has_variants(self, benchmark: str, way: str) -> bool:
        """Return whether baselines of one name on a benchmark differ in where they look things up."""
        return benchmark in self._apart and bool(self._apart[benchmark].baselines.get(way))

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """What the benchmarks are called that have a long name, which are own tasks; not where two would be alike."""
        names = {run.begun.benchmark for run in self.runs}
        called = {name: title(name) for name in names}
        alike = Counter(called.values())
        return {name: short for name, short in sorted(called.items()) if short != name and alike[short] == 1}

    def is_sequential(self, benchmark: str) -> bool:
        """Return whether the questions of a benchmark are episodes."""
        return any(run.is_sequential for run in self.runs if run.begun.benchmark == benchmark)

    @cached_property
    def models(self) -> Mapping[str, str]:
        """The whole names of models by those that they are called by in tables."""
        return {name: model for model, name in self._names.items()}

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The short names of models, the whole ones where two would be called the same."""
        models = {model for run in self.runs for model in (run.begun.execution_model, run.begun.guidance_model)}
        taken = [short(model) for model in models]
        return {model: short(model) if taken.count(short(model)) == 1 else model for model in models}


def _in_order(place: Place) -> tuple[object, ...]:
    """Return the key by which places are sorted: rows as they read, systems as the paper has them, then by name."""
    row = (place.benchmark, place.learner, place.setting, place.teacher)
    known, way = (FULL, *NAMES), way_of(place.system)
    return [*map(_counted, row)], known.index(way) if way in known else len(known), place.system


def _counted(text: str) -> list[tuple[float, str]]:
    """Return a key by which `pool 60` comes before `pool 200`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(part), "") if at % 2 else (-1.0, part) for at, part in enumerate(parts)]


def _superseded(older: Recorded, newer: Recorded) -> str:
    """Return the note on a run in whose place a newer one counts."""
    changed = [name for name, _, _ in difference(older.config, newer.config) if name != "guidance"]
    same = f"differs only in {', '.join(changed)}, which bears on no result here," if changed else "is the same"
    return f"{older.run.id} is left out: {newer.run.id} {same} and has the same seed, and is newer."
