"""Which system a run is: the full one, one with a part switched off, or a baseline; and with which models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mage_es.engine.config import Config
from mage_es.engine.reporting.recorded import RecordedRun

FULL = "full"
NO_SUCCESS = "no success memories"
NO_CASCADE = "no cascade"
NO_GUARD = "no guard"

PARTS: Mapping[str, tuple[str, object, object]] = {
    "success_memories": (NO_SUCCESS, True, False),
    "failure_memories": ("no failure memories", True, False),
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
"""The one whose name has the number of its examples."""
ORACLE = "reflexion_oracle"
"""Reflexion as in the original, which stops at the gold answer; shown only if it was run."""
NAMES: Mapping[str, str] = {**BASELINES, ORACLE: "Reflexion, gold stop"}
"""The names of baselines in tables."""


class Placement(NamedTuple):
    """A run's placement in every table; `setting` has what else distinguishes its configuration here."""

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

    `shared` are parts that no run here has, such as the guard: those are a setting. `cascade` has the letters of the
    cascade's parts that some run here has.
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
