"""Running a model's program against a test in Monty, a Python interpreter without access to anything outside it, in
worker processes.

It has no files, network, environment or clock, and no part of Python that needs them. Missing parts of the language and
its library are not the program's fault, and are reported separately.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pydantic_monty import Monty

_SECONDS, _LATER, _MEMORY, _DEPTH = 1.0, 5.0, 128 * 2**20, 400
"""Wall-clock seconds for the program and for its test. A second attempt gets more, since a busy machine is not their
fault."""
_LONGEST = 100_000
_LACKING = (NotImplementedError, ModuleNotFoundError)
_COSTLY = (TimeoutError, MemoryError)


class Tested(NamedTuple):
    problem: str
    """Why the program fails, "" if it passes."""
    is_run: bool = True
    """Whether the sandbox could run it to the end."""
    is_costly: bool = False
    """Whether it was stopped because it took too much time or memory. If it neither ran nor was costly, nothing is
    known about the program."""


def run_test(program: str, test: str) -> Tested:
    """Run a program, then a test that knows its names and raises if it is wrong."""
    if len(program) > _LONGEST:
        return Tested(f"the program is longer than {_LONGEST} characters")
    tested = _tested(program, test, _SECONDS)
    return _tested(program, test, _LATER) if tested.problem.startswith(TimeoutError.__name__) else tested


def _tested(program: str, test: str, seconds: float) -> Tested:
    import pydantic_monty as monty

    limits: monty.ResourceLimits = {
        "max_feed_duration_secs": seconds,
        "max_memory": _MEMORY,
        "max_recursion_depth": _DEPTH,
        "max_total_sleep_secs": 0.0,
    }
    try:
        with _workers().checkout(limits=limits) as session:
            for source in (program, test):
                # The last line is a value that can be handed over, whatever the source ends with.
                session.feed_run(f"{source}\nNone", print_callback=lambda stream, text: None)
    except monty.MontyCrashedError as error:
        return Tested(f"the sandbox ended: {error}", is_run=False)
    except monty.MontyError as error:
        cause = error.exception()
        is_costly = isinstance(cause, _COSTLY)
        return Tested(str(error)[:300], is_run=not (is_costly or isinstance(cause, _LACKING)), is_costly=is_costly)
    return Tested("")


@functools.cache
def _workers() -> Monty:
    import pydantic_monty

    return pydantic_monty.Monty().__enter__()
