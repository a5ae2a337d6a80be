"""All task types of the generator, in a fixed order (which the draws depend on)."""

from __future__ import annotations

from mage_es.engine.benchmarks.wordmath.form import TaskType
from mage_es.engine.benchmarks.wordmath.sheets.comparing import AGE, AVERAGE, COMPARISON
from mage_es.engine.benchmarks.wordmath.sheets.going import LEGS, PROGRESS, UNITS
from mage_es.engine.benchmarks.wordmath.sheets.paying import BASKET, DISCOUNT, PROFIT
from mage_es.engine.benchmarks.wordmath.sheets.sharing import FRACTION, LEFTOVER, RATIO, SHARE
from mage_es.engine.benchmarks.wordmath.sheets.working import JOINT, SAVING, SUPPLY

TASK_TYPES: tuple[TaskType, ...] = (
    LEFTOVER, SHARE, RATIO, FRACTION,
    DISCOUNT, BASKET, PROFIT,
    PROGRESS, LEGS, UNITS,
    COMPARISON, AVERAGE, AGE,
    JOINT, SUPPLY, SAVING,
)  # fmt: skip
