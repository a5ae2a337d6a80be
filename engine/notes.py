"""What a run says while it works: signs of life, read off its log, for the command line and for Python."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A sign of life: what is being done, how far it is, and how well it goes.

    `done` and `total` count questions (or guidance calls) of the current phase. `measure` says what `level` is:
    accuracy, or the mean score where questions are episodes; of the questions judged so far in the phase, None before
    the first, and revisits apart, of which `revisits` has the right ones and all. A message that is `aloud` is to be
    shown at once.
    """

    run_id: str
    iteration: int
    iterations: int
    phase: str
    done: int
    total: int
    measure: str
    level: float | None
    execution_calls: int
    guidance_calls: int
    revisits: tuple[int, int] = (0, 0)
    message: str = ""
    aloud: bool = False


Observer = Callable[[Note], None]
