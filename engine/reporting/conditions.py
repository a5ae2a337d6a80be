"""Which settings part the runs of a table; sizes are compared as taken, not as requested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mage_es.engine.benchmarks.registry import shown_to
from mage_es.engine.config import Config, canonical
from mage_es.engine.reporting.recorded import RecordedRun
from mage_es.engine.reporting.systems import CASCADE, PARTS

EXAMINED = ("held_out", "judge", "max_tokens", "answer_temperature", "episode_steps", "episode_history")
"""What a system and its baselines must share: which questions are asked, and how they are answered."""
LOOKED_UP = ("search", "search_passages")
"""What distinguishes two baselines of one name: what they search, and how many passages they see."""
OF_BASELINES = ("anchors", "execution", "task_types", *EXAMINED, *LOOKED_UP)
"""The settings that affect a baseline; the others concern learning."""
ALL = "all"
"""The size of a split that took all questions."""


def values(run: RecordedRun) -> dict[str, object]:
    """Return every setting but benchmark, seed, models and the switches of parts, as it took effect."""
    config = run.config
    whole = {field: on for field, (_, on, off) in PARTS.items() if getattr(config, field) == off}
    restored = msgspec.structs.replace(config, seed=0, **whole, **dict.fromkeys(CASCADE, True))
    found: dict[str, object] = msgspec.json.decode(canonical(restored))
    for name in ("benchmark", "seed", "execution", "guidance"):
        del found[name]
    if config.teacher_sees == shown_to(config.guidance):
        found["teacher_sees"] = "model"  # it goes with the model, which a table has apart
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
