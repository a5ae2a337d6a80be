"""Counting what a function does: the same on every machine, as a clock is not."""

import sys
from collections.abc import Callable
from typing import Any


def calls_of(function: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, a function calls in all."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls
