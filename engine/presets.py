"""Presets: whole sets of settings under one name. `paper` is the paper read literally, `default` what we decided.

Rules
    - A preset is a layer below everything that somebody set himself, and above the defaults. What is recorded is the
      configuration that comes out, not the preset's name.
    - `paper` names every value of the hyperparameter table, also those that are the default now, so that a default
      that changes later does not change the paper's.
    - What the paper leaves open (probability of a uniform arm, length of a kept reasoning, K of appendix B's recipes)
      stays at the default, and so do models and embedder, which say who does the work and not how.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from mage_es.engine.config import Config, checked

Preset = Literal["default", "paper"]

PAPER: Mapping[str, object] = {
    # Hyperparameter table, in its order.
    "mastery_increase": 0.6,
    "mastery_decay": 0.1,
    "mastery_threshold": 0.5,
    "recency_weight": "3/10",
    "targets": 3,
    "bundle": 3,
    "long_context": 500,
    "strategy_floor": 0.55,
    "refresh_gap": 5,
    "principles_per_skill": 12,
    "warmup": 20,
    "guard_drop": 0.03,
    "catastrophic_drop": 0.05,
    "answer_temperature": 0.0,
    "exploration_temperature": 0.3,
    "pool": 200,
    "iterations": 20,
    # Section 4.1: 200 held-out questions.
    "held_out": 200,
    # Eq. 2 is the only estimate of mastery that the frontier reads.
    "frontier_estimator": "ratchet",
    # Eq. 1: "the failure count for task type t".
    "failure_signal": "window",
    # Algorithm 1, last line: accuracies are compared as they are; there is no anchor set to set apart.
    "guard": "paper",
    "anchors": 0,
    # Nothing in section 3.5 leaves out the memories of the question itself; appendix, table of revisits.
    "revisit_self": "include",
    "revisit_cap": 100,
    # Upstream task types come from the gold answer (GSM8K step counts, FinQA operations).
    "task_types": "gold",
    # Section 3.3 and appendix "Cascade-Retrieval Components": everything that the paper has is switched on.
    "success_memories": True,
    "failure_memories": True,
    "principles": True,
    "tools": True,
    "prompt_refinement": True,
    "skill_splitting": True,
    "retrieval_recipes": True,
    "bandits": True,
    "cascade_principles": True,
    "cascade_action_recipes": True,
    "cascade_plan": True,
    "cascade_frontier": True,
}
"""Every setting on which the paper has a word, with the value that its words give literally."""

PRESETS: Mapping[Preset, Mapping[str, object]] = {"default": {}, "paper": PAPER}


def configured(preset: Preset, **explicit: Any) -> Config:
    """Return the configuration of a preset with the settings given explicitly, which win over it.

    Raises:
        UsageError: A value is out of bounds.
        TypeError: A name is not a setting.
    """
    return checked(Config(**{**PRESETS[preset], **explicit}))


def other_than(preset: Preset) -> Preset:
    """Return the other preset, to which `config show` prints the difference."""
    return "default" if preset == "paper" else "paper"


class Starting(msgspec.Struct, frozen=True, kw_only=True):
    """What a new run's configuration starts from. Not recorded: the configuration that comes out is."""

    preset: Preset = "default"
    """Values for all settings that nobody sets: `default`, or `paper`, which is the paper read literally."""
