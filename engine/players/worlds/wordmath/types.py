"""All task types of the generator, read from `sheets/*.toml`."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from mage_es.engine.players.worlds.wordmath.form import ProblemType, problem_type

# The order of the sheets, and of the types in them, must never change: every draw depends on it.
_SHEETS = ("sharing", "paying", "going", "comparing", "working")


def _read(sheet: str) -> list[ProblemType]:
    text = files("mage_es.engine.players.worlds.wordmath").joinpath(f"sheets/{sheet}.toml").read_text(encoding="utf-8")
    return [problem_type(name, **table) for name, table in tomllib.loads(text).items()]


TASK_TYPES: tuple[ProblemType, ...] = tuple(found for sheet in _SHEETS for found in _read(sheet))
