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
from mage_es.engine.config import Config
from mage_es.engine.study.reporting.recorded import RecordedRun

FULL = "full"
NO_CASCADE = "no cascade"
PARTS: Mapping[str, object] = {
    **dict.fromkeys(("success_memories", "failure_memories", "strategies", "principles", "tools"), False),
    **dict.fromkeys(("prompt_refinement", "skill_splitting", "retrieval_recipes", "bandits"), False),
    "guard": "off",
}
"""The switches of the system's parts, each with its value without the part."""


def without(field: str) -> str:
    """Return the name of a system without a part."""
    return "no " + field.replace("_", " ")


NO_SUCCESS, NO_GUARD = without("success_memories"), without("guard")

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
"""The baselines of the paper by their names on the command line, in the order of its tables. All others are called by
their names on the command line, and have a column if they were run."""
FEW_SHOT = "few_shot_cot"
"""The baseline whose column has the number of its examples in a note."""


class Placement(NamedTuple):
    """A run's placement in every table; `setting` is what else distinguishes its configuration from others here, `exam`
    the part of it that its baselines must share."""

    benchmark: str
    learner: str
    teacher: str
    setting: str
    system: str
    exam: str = ""

    @property
    def row(self) -> tuple[str, str, str]:
        """Return the key of a row: benchmark, learner, setting."""
        return self.benchmark, self.learner, self.setting

    def baseline(self, name: str) -> Placement:
        """Return the placement of a baseline for comparison: same benchmark, learner and exam."""
        return Placement(self.benchmark, self.learner, "", self.exam, name, self.exam)


def cascade_of(config: Config) -> str:
    return "".join(letter for field, letter in CASCADE.items() if getattr(config, field))


def called(system: str) -> str:
    """Return the name of a baseline, or of a variant of it, in a table."""
    way, comma, rest = system.partition(", ")
    return f"{BASELINES.get(way, way)}{comma}{rest}"


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
    hidden = {"benchmark", "seed", "execution", "guidance", *CASCADE, *PARTS}
    found = {name: value for name, value in msgspec.to_builtins(run.config).items() if name not in hidden}
    found["guard"] = run.config.guard if run.config.guard != PARTS["guard"] else "paired"
    if run.config.teacher_sees == shown_to(run.config.guidance):
        found["teacher_sees"] = "model"  # it follows from the model, which has its own column
    for name in ("held_out", "anchors"):
        if run.taken.get(name, found[name]) < found[name]:
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


class _Compared(NamedTuple):
    """The runs of a benchmark: the parts that none of them has, which do not count as switched off; the letters of the
    cascade that some have; the settings in which they differ, and those in which the baselines of one name differ."""

    lacking: frozenset[str]
    cascade: str
    settings: Sequence[str]
    variants: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, benchmark: str, runs: Sequence[RecordedRun]) -> _Compared:
        systems = [run for run in runs if not run.baseline]
        # A part that is off by default deserves mention only beside a run that has it.
        configs = [Config(benchmark=benchmark), *(run.config for run in systems)]
        lacking = {field for field, off in PARTS.items() if all(getattr(config, field) == off for config in configs)}
        if all(run.config.guard == PARTS["guard"] for run in systems):
            lacking.add("guard")
        apart = {*differing(runs, EXAMINED), *differing(systems, Config.__struct_fields__)}
        return cls(
            frozenset(lacking),
            "".join(sorted({letter for run in systems for letter in cascade_of(run.config)})),
            [name for name in Config.__struct_fields__ if name in apart],
            {
                way: differing([run for run in runs if run.baseline == way], LOOKED_UP)
                for way in {run.baseline for run in runs}
            },
        )

    def system(self, config: Config) -> str:
        """Return `full`, `no success memories`, `cascade ABD`, or several of these joined by commas."""
        off = (field for field, value in PARTS.items() if getattr(config, field) == value and field not in self.lacking)
        names, letters = list(map(without, off)), cascade_of(config)
        if letters != self.cascade:
            names.append(f"cascade {letters}" if letters else NO_CASCADE)
        return ", ".join(names) or FULL


class Places:
    """The runs of a folder by placement and seed."""

    def __init__(self, runs: Iterable[RecordedRun]) -> None:
        self.runs = list(runs)
        self._notes: list[str] = []
        benchmarks = dict.fromkeys(run.begun.benchmark for run in self.runs)
        self._compared = {
            name: _Compared.of(name, [run for run in self.runs if run.begun.benchmark == name]) for name in benchmarks
        }
        self._by_place: dict[Placement, dict[int, RecordedRun]] = {}
        for run in self.runs:
            seeds = self._by_place.setdefault(self.place(run), {})
            if run.begun.seed in seeds:
                older = seeds[run.begun.seed].run.id
                self._notes.append(
                    f"{older} is left out: {run.run.id} is in its place, with the same seed, and is newer."
                )
            seeds[run.begun.seed] = run

    @property
    def notes(self) -> list[str]:
        """Return notes on what is incomplete or does not count, as far as it was read."""
        return [*self._notes, *(problem for run in self.runs for problem in run.problems)]

    def place(self, run: RecordedRun) -> Placement:
        """Return a run's placement. A baseline has no teacher, and only the settings of the exam."""
        benchmark, learner = run.begun.benchmark, self._names[run.begun.execution_model]
        here = self._compared[benchmark]
        exam = ", ".join(told(run, [name for name in here.settings if name in EXAMINED]))
        if run.baseline:
            system = ", ".join((run.baseline, *told(run, here.variants.get(run.baseline, ()))))
            return Placement(benchmark, learner, "", exam, system, exam)
        unguarded = (NO_GUARD,) if "guard" in here.lacking else ()
        begun = (f"from {run.parent.parent}",) if run.parent else ()
        setting = ", ".join((*unguarded, *told(run, here.settings), *begun))
        return Placement(
            benchmark, learner, self._names[run.begun.guidance_model], setting, here.system(run.config), exam
        )

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

    def at(self, place: Placement) -> Mapping[int, RecordedRun]:
        return dict(sorted(self._by_place.get(place, {}).items()))

    def full(self) -> list[Placement]:
        return [place for place in self.places if place.system == FULL]

    def compared(self) -> list[Placement]:
        """Return the placements of the full system, and one without a teacher where there are only baselines so far."""
        full = self.full()
        known = {place.baseline(FULL) for place in full}
        bare = {place.baseline(FULL) for place in self.places if not place.teacher} - known
        return sorted([*full, *bare], key=_in_order)

    def baselines(self, places: Sequence[Placement], wanted: Iterable[str] = BASELINES) -> list[str]:
        """Return the baselines to compare with: the wanted ones, and others that were run, each variant separately."""
        beside = {place.baseline("") for place in places}
        there = {place.system for place in self.places if not place.teacher and place.baseline("") in beside}
        found = list[str]()
        for way in (*wanted, *sorted({way_of(system) for system in there} - set(BASELINES))):
            variants = sorted(system for system in there if way_of(system) == way != system)
            has_variants = all(self._compared[place.benchmark].variants.get(way) for place in places)
            found += [*([way] if way in there or not has_variants else []), *variants]
        return found

    def shots(self, places: Iterable[Placement]) -> list[str]:
        """Return a note on the examples in few-shot prompts."""
        names, shown = {place.benchmark for place in places}, dict[str, set[int]]()
        for run in self.counted:
            if run.baseline == FEW_SHOT and run.begun.benchmark in names:
                shown.setdefault(run.begun.benchmark, set()).add(run.shots)
        each = (f"{' or '.join(map(str, sorted(counts)))} on {name}" for name, counts in sorted(shown.items()))
        return [f"{BASELINES[FEW_SHOT]}: examples shown: {', '.join(each)}."] if shown else []

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
    known, way = (FULL, *BASELINES), way_of(place.system)
    return [*map(_counted, row)], known.index(way) if way in known else len(known), place.system


def _counted(text: str) -> list[tuple[float, str]]:
    """Return a key by which `pool 60` comes before `pool 200`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(part), "") if at % 2 else (-1.0, part) for at, part in enumerate(parts)]
