"""Which system each run of a folder is, with its benchmark, learner, teacher, setting and seed.

Rules
    - A system is the full one, one with a part switched off, or a baseline.
    - Runs that differ in a setting have different placements. For a baseline only the settings of the exam count; it is
      compared with systems that have the same. Sizes are compared as they were taken, not as requested.
    - Of several runs with the same placement and seed, the newest counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import shown_to, title
from mage_es.engine.config import Config, canonical, difference
from mage_es.engine.study.reporting.recorded import RecordedRun

FULL = "full"
NO_SUCCESS = "no success memories"
NO_CASCADE = "no cascade"
NO_GUARD = "no guard"

PARTS: Mapping[str, tuple[str, object, object]] = {
    "success_memories": (NO_SUCCESS, True, False),
    "failure_memories": ("no failure memories", True, False),
    "strategies": ("no strategies", True, False),
    "principles": ("no principles", True, False),
    "tools": ("no tools", True, False),
    "prompt_refinement": ("no prompt refinement", True, False),
    "skill_splitting": ("no skill splitting", True, False),
    "retrieval_recipes": ("no retrieval recipes", True, False),
    "bandits": ("no bandits", True, False),
    "guard": (NO_GUARD, "paired", "off"),
}
"""The name of a system without a part, and the switch's values with and without it."""

CASCADE: Mapping[str, str] = {
    "cascade_principles": "A",
    "cascade_action_recipes": "B",
    "cascade_plan": "C",
    "cascade_frontier": "D",
}
"""The letters of the cascade's parts; appendix "Cascade-Retrieval Components"."""

BASELINES: Mapping[str, str] = {
    "zero_shot_cot": "0-shot CoT",
    "few_shot_cot": "few-shot CoT",
    "self_consistency": "SC (10)",
    "react": "ReAct",
    "reflexion": "Reflexion",
}
"""The baselines of the paper by their names on the command line, in the order of its tables."""
FEW_SHOT = "few_shot_cot"
"""The baseline whose name has the number of its examples."""
ORACLE = "reflexion_oracle"
"""Reflexion as in the original, which stops at the gold answer; it is shown only if it was run."""
METHODS: Mapping[str, str] = {
    "zero_shot": "0-shot",
    "nearest_label": "nearest label",
    "knn": "5 nearest",
    "knn_lines": "5 nearest, lines",
    "full_history": "full history",
    "dynamic_cheatsheet": "cheatsheet",
    "cheatsheet_retrieval": "cheatsheet, retrieval",
    "reasoning_bank": "ReasoningBank",
    "ace": "ACE",
    "expel": "ExpeL",
    "gepa": "GEPA",
}
"""The methods that learn, which have a column if they were run."""
NAMES: Mapping[str, str] = {**BASELINES, ORACLE: "Reflexion, gold stop", **METHODS}
"""The names of baselines in tables."""


class Placement(NamedTuple):
    """A run's placement in every table; `setting` is what else distinguishes its configuration from others here."""

    benchmark: str
    learner: str
    teacher: str
    setting: str
    system: str

    @property
    def row(self) -> tuple[str, str, str]:
        """Return the key of a row: benchmark, learner, setting."""
        return self.benchmark, self.learner, self.setting


def system_of(run: RecordedRun, *, shared: frozenset[str] = frozenset(), cascade: str) -> str:
    """Return `full`, `no success memories`, `cascade ABD`, several of these joined by commas, or a baseline's name.

    `shared` are parts that no run here has, such as the guard or bandits: they do not count as switched off.
    `cascade` has the letters of the cascade's parts that some run here has.
    """
    if run.baseline:
        return run.baseline
    names = [
        name for field, (name, _, off) in PARTS.items() if getattr(run.config, field) == off and name not in shared
    ]
    letters = cascade_of(run.config)
    if letters != cascade:
        names.append(f"cascade {letters}" if letters else NO_CASCADE)
    return ", ".join(names) or FULL


def cascade_of(config: Config) -> str:
    return "".join(letter for field, letter in CASCADE.items() if getattr(config, field))


def way_of(system: str) -> str:
    """Return a baseline's name on the command line, without what distinguishes its variants."""
    return system.partition(", ")[0]


def short(model: str) -> str:
    """Return a model's own name: `vllm/Qwen/Qwen3-8B?max_model_len=4096` is Qwen3-8B."""
    return model.partition("?")[0].rpartition("/")[2] or model


EXAMINED = ("held_out", "judge", "max_tokens", "answer_temperature", "episode_steps", "episode_history")
"""What a system and its baselines must share: which questions are asked, and how they are answered."""
LOOKED_UP = ("search", "search_passages")
"""What distinguishes two baselines of one name: what they search, and how many passages they see."""
OF_BASELINES = ("anchors", "execution", "task_types", *EXAMINED, *LOOKED_UP)
"""The settings that affect a baseline; the others concern learning."""
ALL = "all"
"""The size of a split that took all questions."""


def values(run: RecordedRun) -> dict[str, object]:
    """Return every setting except benchmark, seed, models and the switches of parts, as it took effect."""
    config = run.config
    whole = {field: on for field, (_, on, off) in PARTS.items() if getattr(config, field) == off}
    restored = msgspec.structs.replace(config, seed=0, **whole, **dict.fromkeys(CASCADE, True))
    found: dict[str, object] = msgspec.json.decode(canonical(restored))
    for name in ("benchmark", "seed", "execution", "guidance"):
        del found[name]
    if config.teacher_sees == shown_to(config.guidance):
        found["teacher_sees"] = "model"  # it follows from the model, which has its own column
    for name in ("held_out", "anchors"):
        if run.taken.get(name, getattr(config, name)) < getattr(config, name):
            found[name] = ALL
    return found


def differing(runs: Iterable[RecordedRun], names: Sequence[str]) -> list[str]:
    """Return in which of these settings runs differ."""
    found = [values(run) for run in runs]
    return [name for name in Config.__struct_fields__ if name in names and len({here.get(name) for here in found}) > 1]


def told(run: RecordedRun, names: Sequence[str]) -> list[str]:
    """Return settings as words: `pool 60`, `no search`."""
    here = values(run)
    return [f"{name} {here[name]}" if here[name] != "" else f"no {name}" for name in names]


Seeds = Mapping[int, RecordedRun]


class _Compared(NamedTuple):
    """The runs of a benchmark: the parts that none of them has, which do not count as switched off; the letters of the
    cascade that some have; the settings in which they differ, and those in which the baselines of one name differ."""

    lacking: frozenset[str]
    cascade: str
    settings: Sequence[str]
    baselines: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, benchmark: str, runs: Sequence[RecordedRun]) -> _Compared:
        systems = [run for run in runs if not run.baseline]
        # A part that is off by default deserves mention only beside a run that has it.
        configs = [Config(benchmark=benchmark), *(run.config for run in systems)]
        lacking = {
            name for field, (name, _, off) in PARTS.items() if all(getattr(config, field) == off for config in configs)
        }
        unguarded = {NO_GUARD} if all(run.config.guard == "off" for run in systems) else set()
        apart = {*differing(runs, EXAMINED), *differing(systems, Config.__struct_fields__)}
        ways = sorted({run.baseline for run in runs} - {""})
        return cls(
            frozenset(lacking | unguarded),
            "".join(sorted({letter for run in systems for letter in cascade_of(run.config)})),
            [name for name in Config.__struct_fields__ if name in apart],
            {way: differing([run for run in runs if run.baseline == way], LOOKED_UP) for way in ways},
        )


class Places:
    def __init__(self, runs: Iterable[RecordedRun]) -> None:
        self.runs = list(runs)
        self._notes: list[str] = []
        benchmarks: dict[str, list[RecordedRun]] = {}
        for run in self.runs:
            benchmarks.setdefault(run.begun.benchmark, []).append(run)
        self._compared = {benchmark: _Compared.of(benchmark, here) for benchmark, here in benchmarks.items()}
        self._by_place: dict[Placement, dict[int, RecordedRun]] = {}
        self._examined: dict[Placement, str] = {}
        for run in self.runs:
            place = self.place(run)
            self._examined[place._replace(system=FULL)] = self._examined_as(run)
            seeds = self._by_place.setdefault(place, {})
            if run.begun.seed in seeds:
                self._notes.append(_superseded(seeds[run.begun.seed], run))
            seeds[run.begun.seed] = run

    @property
    def notes(self) -> list[str]:
        """Return notes on what is incomplete or does not count, as far as it was read."""
        return [*self._notes, *(problem for run in self.runs for problem in run.problems)]

    def place(self, run: RecordedRun) -> Placement:
        """Return a run's placement. A baseline has no teacher, and only the settings of the exam."""
        benchmark, learner = run.begun.benchmark, self._names[run.begun.execution_model]
        here = self._compared[benchmark]
        if run.baseline:
            system = ", ".join((run.baseline, *told(run, here.baselines.get(run.baseline, ()))))
            return Placement(benchmark, learner, "", self._examined_as(run), system)
        unguarded = (NO_GUARD,) if NO_GUARD in here.lacking else ()
        begun = (f"from {run.parent.parent}",) if run.parent else ()
        setting = ", ".join((*unguarded, *told(run, here.settings), *begun))
        system = system_of(run, shared=here.lacking, cascade=here.cascade)
        return Placement(benchmark, learner, self._names[run.begun.guidance_model], setting, system)

    def _examined_as(self, run: RecordedRun) -> str:
        settings = self._compared[run.begun.benchmark].settings
        return ", ".join(told(run, [name for name in settings if name in EXAMINED]))

    def conditions(self, place: Placement) -> str:
        """Return the exam's part of a placement's setting, which its baselines must share."""
        return self._examined.get(place._replace(system=FULL), place.setting)

    @property
    def counted(self) -> list[RecordedRun]:
        return [run for place in self.places for run in self.at(place).values()]

    @property
    def learning(self) -> list[RecordedRun]:
        """Return the runs that count and learned: baselines do not."""
        return [run for run in self.counted if not run.baseline]

    @cached_property
    def places(self) -> Sequence[Placement]:
        """Every placement, sorted: full systems first within a row, baselines in the paper's order."""
        return sorted(self._by_place, key=_in_order)

    def at(self, place: Placement) -> Seeds:
        return dict(sorted(self._by_place.get(place, {}).items()))

    def full(self) -> list[Placement]:
        return [place for place in self.places if place.system == FULL]

    def compared(self) -> list[Placement]:
        """Return the placements of the full system, and one without a teacher where there are only baselines so far."""
        full = self.full()
        known = {(place.benchmark, place.learner, self.conditions(place)) for place in full}
        others = {(p.benchmark, p.learner, p.setting) for p in self.places if not p.teacher} - known
        bare = (Placement(benchmark, learner, "", setting, FULL) for benchmark, learner, setting in others)
        return sorted([*full, *bare], key=_in_order)

    def baseline(self, place: Placement, name: str) -> Placement:
        """Return the placement of a baseline for comparison: same benchmark, learner and exam."""
        return Placement(place.benchmark, place.learner, "", self.conditions(place), name)

    def baselines(self, places: Sequence[Placement], wanted: Iterable[str] = BASELINES) -> list[str]:
        """Return the baselines to compare with: the wanted ones, and others that were run, each variant separately."""
        beside = {(place.benchmark, place.learner, self.conditions(place)) for place in places}
        there = {p.system for p in self.places if not p.teacher and (p.benchmark, p.learner, p.setting) in beside}
        ways = [*wanted, *sorted({way_of(system) for system in there} - set(BASELINES))]
        found = list[str]()
        for way in ways:
            variants = sorted(system for system in there if way_of(system) == way and system != way)
            has_variants = all(self._compared[place.benchmark].baselines.get(way) for place in places)
            is_plain = way in there or not has_variants
            found += [*([way] if is_plain else []), *variants]
        return found

    def called(self, system: str, places: Iterable[Placement]) -> str:
        """Return the name of a system in a table of these placements, with the number of examples for few-shot
        prompts."""
        way, comma, rest = system.partition(", ")
        name = NAMES.get(way, way)
        shown = {count for counts in self._shown(places).values() for count in counts}
        if way == FEW_SHOT and len(shown) == 1:
            name = name.replace("few", str(*shown))
        return f"{name}{comma}{rest}"

    def shots(self, places: Iterable[Placement]) -> list[str]:
        """Return a note on the examples in few-shot prompts, none if a column's name gives their number."""
        shown = self._shown(places)
        if len({count for counts in shown.values() for count in counts}) < 2:
            return []
        each = (f"{' or '.join(map(str, sorted(counts)))} on {name}" for name, counts in sorted(shown.items()))
        return [f"{NAMES[FEW_SHOT]}: examples shown: {', '.join(each)}."]

    def _shown(self, places: Iterable[Placement]) -> dict[str, set[int]]:
        names = {place.benchmark for place in places}
        found: dict[str, set[int]] = {}
        for run in self.counted:
            if run.baseline == FEW_SHOT and run.begun.benchmark in names:
                found.setdefault(run.begun.benchmark, set()).add(run.shots)
        return found

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Short titles of the user's own tasks, which have long names, except titles that two would share."""
        names = {run.begun.benchmark for run in self.runs}
        called = {name: title(name) for name in names}
        alike = Counter(called.values())
        return {name: short for name, short in sorted(called.items()) if short != name and alike[short] == 1}

    def is_sequential(self, benchmark: str) -> bool:
        return any(run.is_sequential for run in self.runs if run.begun.benchmark == benchmark)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The short names of models, or the full ones if two models share a short one."""
        models = {model for run in self.runs for model in (run.begun.execution_model, run.begun.guidance_model)}
        taken = [short(model) for model in models]
        return {model: short(model) if taken.count(short(model)) == 1 else model for model in models}


def _in_order(place: Placement) -> tuple[object, ...]:
    """Return a sort key: rows as they read, systems in the paper's order, then by name."""
    row = (place.benchmark, place.learner, place.setting, place.teacher)
    known, way = (FULL, *NAMES), way_of(place.system)
    return [*map(_counted, row)], known.index(way) if way in known else len(known), place.system


def _counted(text: str) -> list[tuple[float, str]]:
    """Return a key by which `pool 60` comes before `pool 200`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(part), "") if at % 2 else (-1.0, part) for at, part in enumerate(parts)]


def _superseded(older: RecordedRun, newer: RecordedRun) -> str:
    changed = [name for name, _, _ in difference(older.config, newer.config) if name != "guidance"]
    same = f"differs only in {', '.join(changed)}, which affects no result here," if changed else "is the same"
    return f"{older.run.id} is left out: {newer.run.id} {same} and has the same seed, and is newer."
