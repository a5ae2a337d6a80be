"""Which settings affect a run's results: runs that differ only in others share a row of a table.

Rules
    - A setting of a part that is off, or of something that a benchmark lacks, affects nothing.
    - Sizes are compared as taken: two runs that requested more questions than exist have the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

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

_ONLY_WITH: Mapping[str, Callable[[Config], bool]] = {
    "guard_drop": lambda config: config.guard != "off",
    "catastrophic_drop": lambda config: config.guard != "off",
    "guard_p": lambda config: config.guard == "paired",
    "catastrophic_p": lambda config: config.guard == "paired",
    "principles_per_skill": lambda config: config.principles,
    "failure_memories_per_target": lambda config: config.failure_memories,
    "refresh_gap": lambda config: config.failure_memories,
    "strategy_floor": lambda config: config.failure_memories and config.bundle > 0,
    "long_context": lambda config: config.bundle > 0,
    "exploration": lambda config: config.bandits,
    "warmup": lambda config: config.bandits,
    "search_passages": lambda config: config.search != "",
    "revisit_self": lambda config: config.revisit_cap > 0,
    "exploration_temperature": lambda config: config.explore_episodes > 0,
}
"""Settings that take effect only under a condition."""
_OF_EPISODES = ("explore_episodes", "episode_steps", "episode_history", "exploration_temperature")


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
    found["revisit_cap"] = min(config.revisit_cap, config.pool // 2)
    return found


def bears(name: str, config: Config, *, is_sequential: bool, is_judged: bool) -> bool:
    """Return whether a setting can have affected the results of a run. [tables, ablation]

    `is_sequential`: the benchmark's questions are episodes. `is_judged`: some answer was not left to the rule.
    """
    if name in _OF_EPISODES and not is_sequential:
        return False
    if name == "judge" and not is_judged:
        return False
    return name not in _ONLY_WITH or _ONLY_WITH[name](config)


def differing(runs: Iterable[RecordedRun], names: Iterable[str], *, is_sequential: bool, is_judged: bool) -> list[str]:
    """Return which of these settings part runs: where at least two on which it bears have other values of it."""
    seen: dict[str, set[object]] = {}
    for run in runs:
        here = values(run)
        for name in here.keys() & set(names):
            if bears(name, run.config, is_sequential=is_sequential, is_judged=is_judged):
                seen.setdefault(name, set()).add(here[name])
    return [name for name in Config.__struct_fields__ if len(seen.get(name, ())) > 1]


def told(run: RecordedRun, names: Sequence[str]) -> list[str]:
    """Return settings as words: `pool 60`, `no search`."""
    here = values(run)
    return [f"{name} {here[name]}" if here[name] != "" else f"no {name}" for name in names]
