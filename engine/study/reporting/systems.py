"""Which system a run is: the full one, one with a part switched off, or a baseline; and the settings in which runs
differ. Sizes are compared as they were taken, not as requested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import shown_to
from mage_es.engine.config import Config, canonical
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
