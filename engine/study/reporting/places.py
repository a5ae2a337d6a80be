"""Which system each run of a folder is, with its benchmark, learner, teacher, setting and seed.

Rules
    - A system is the full one, one with a part switched off, or a baseline.
    - Runs that differ in a setting have different placements. For a baseline only the settings of the exam count; it is
      compared with systems that have the same. Sizes are compared as they were taken, not as requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import shown_to
from mage_es.engine.config import Config
from mage_es.engine.study.reporting.recorded import RecordedRun

FULL = "full"
NO_CASCADE = "no cascade"
PARTS: Mapping[str, object] = {
    **dict.fromkeys(("success_memories", "failure_memories", "strategies", "principles", "tools"), False),
    **dict.fromkeys(("prompt_refinement", "skill_splitting", "retrieval_recipes", "bandits"), False),
    "guard": "off",
}
"""The settings that switch the system's parts, each with the value that turns its part off."""
WITHOUT: Mapping[str, str] = {field: f"no {field.replace('_', ' ')}" for field in PARTS}
"""What a system without a part is called."""
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

EXAMINED = ("held_out", "judge", "max_tokens", "answer_temperature", "episode_steps", "episode_history")
"""What a system and its baselines must share: which questions are asked, and how they are answered."""
LOOKED_UP = ("search", "search_passages")
"""What distinguishes two baselines of one name: what they search, and how many passages they see."""
OF_BASELINES = ("anchors", "execution", "task_types", *EXAMINED, *LOOKED_UP)
"""The settings that affect a baseline; the others concern learning."""
ALL = "all"
"""The size of a split that took all questions."""


class Placement(NamedTuple):
    """A run's placement in every table; `setting` is what else distinguishes its configuration from others here, `exam`
    the part of it that its baselines must share."""

    benchmark: str
    learner: str
    teacher: str
    setting: str
    system: str
    exam: str = ""

    def baseline(self, name: str) -> Placement:
        """Return the placement of a baseline for comparison: same benchmark, learner and exam."""
        return Placement(self.benchmark, self.learner, "", self.exam, name, self.exam)

    @property
    def order(self) -> tuple[object, ...]:
        """Return a sort key: rows as they read, systems in the paper's order, then by name."""
        known, way = (FULL, *BASELINES), way_of(self.system)
        row = map(_counted, (self.benchmark, self.learner, self.setting, self.teacher))
        return *row, known.index(way) if way in known else len(known), self.system


def _counted(text: str) -> list[tuple[float, str]]:
    """Return a key by which `pool 60` comes before `pool 200`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(part), "") if at % 2 else (-1.0, part) for at, part in enumerate(parts)]


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


def placements(runs: Sequence[RecordedRun]) -> dict[RecordedRun, Placement]:
    """Return the placement of each run: a benchmark's runs are compared with each other."""
    alike: dict[str, list[RecordedRun]] = {}
    for run in runs:
        alike.setdefault(run.begun.benchmark, []).append(run)
    models = {model for run in runs for model in (run.begun.execution_model, run.begun.guidance_model)}
    taken = [short(model) for model in models]
    names = {model: short(model) if taken.count(short(model)) == 1 else model for model in models}
    return {run: place for here in alike.values() for run, place in _placed(here, names)}


def _placed(runs: Sequence[RecordedRun], names: Mapping[str, str]) -> Iterator[tuple[RecordedRun, Placement]]:
    systems, settings = [run for run in runs if not run.baseline], {run: values(run) for run in runs}
    # A part that is off by default deserves mention only beside a run that has it. If no run has a guard, that is a
    # setting.
    configs = [run.config for run in systems]
    is_unguarded = all(config.guard == PARTS["guard"] for config in configs)
    known = [*configs, Config(benchmark=runs[0].begun.benchmark)]
    parts = {field: off for field, off in PARTS.items() if any(getattr(config, field) != off for config in known)}
    if is_unguarded:
        del parts["guard"]
    cascade = "".join(sorted({letter for config in configs for letter in cascade_of(config)}))
    apart = differing([settings[run] for run in systems], Config.__struct_fields__)
    apart = [name for name in Config.__struct_fields__ if name in (*differing(settings.values(), EXAMINED), *apart)]
    for run in runs:
        exam = _in_words(settings[run], [name for name in apart if name in EXAMINED])
        benchmark, learner = run.begun.benchmark, names[run.begun.execution_model]
        if run.baseline:  # it has no teacher, and only the settings of the exam
            looked_up = differing([settings[other] for other in runs if other.baseline == run.baseline], LOOKED_UP)
            system = ", ".join((run.baseline, *_in_words(settings[run], looked_up)))
            yield run, Placement(benchmark, learner, "", ", ".join(exam), system, ", ".join(exam))
            continue
        off = [WITHOUT[field] for field, value in parts.items() if getattr(run.config, field) == value]
        if (letters := cascade_of(run.config)) != cascade:
            off.append(f"cascade {letters}" if letters else NO_CASCADE)
        begun = [f"from {run.parent.parent}"] if run.parent else []
        differences = ", ".join(
            [*([WITHOUT["guard"]] if is_unguarded else []), *_in_words(settings[run], apart), *begun]
        )
        teacher = names[run.begun.guidance_model]
        yield run, Placement(benchmark, learner, teacher, differences, ", ".join(off) or FULL, ", ".join(exam))


def values(run: RecordedRun) -> dict[str, object]:
    """Return every setting except benchmark, seed, models and the switches of parts, as it took effect."""
    hidden = {"benchmark", "seed", "execution", "guidance", *CASCADE, *PARTS}
    settings = {name: value for name, value in msgspec.to_builtins(run.config).items() if name not in hidden}
    settings["guard"] = run.config.guard if run.config.guard != PARTS["guard"] else "paired"
    if run.config.teacher_sees == shown_to(run.config.guidance):
        settings["teacher_sees"] = "model"  # it follows from the model, which has its own column
    for name in ("held_out", "anchors"):
        if run.taken.get(name, settings[name]) < settings[name]:
            settings[name] = ALL
    return settings


def differing(settings: Iterable[Mapping[str, object]], names: Sequence[str]) -> list[str]:
    """Return the names of the settings in which runs differ."""
    runs = list(settings)
    return [name for name in names if len({here.get(name) for here in runs}) > 1]


def _in_words(here: Mapping[str, object], names: Iterable[str]) -> list[str]:
    """Return settings as words: `pool 60`, `no search`."""
    return [f"{name} {here[name]}" if here[name] != "" else f"no {name}" for name in names]
