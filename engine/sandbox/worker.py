"""The sandbox's process: runs one tool after another, each in a forked child that the kernel keeps within limits.

Started as a script with the limits as JSON; reads one request per line and writes one outcome per line (the first says
that it is ready). It imports nothing of the project, knows no secret (its environment is empty) and ends when its
input ends.

Rules
    - Every run begins from the same state: what a tool did to its process dies with it.
    - A child cannot open anything: it has its pipe and cannot get another descriptor.
    - The same source and arguments give the same outcome, no matter what ran before.
"""

import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import starlark

_TICK = 1000  # instructions between two calls of the interpreter's check; its own figure
_PROBLEM = 300  # characters of a problem's description
_QUERY_SECONDS = 1.0
_DIGITS = 15  # significant digits of a result that is not whole

PRELUDE = """
def sum(items, start = 0):
    total = start
    for item in items:
        total += item
    return total

def round(number, digits = 0):
    scale = 1
    for _ in range(digits):
        scale *= 10
    scaled = int(abs(number) * scale + 0.5)
    whole = scaled if number >= 0 else -scaled
    return whole if digits == 0 else whole / scale
"""
"""The functions that tools have besides the language's own; `round` rounds halves away from zero."""


class ToolFault(Exception): ...


def main() -> None:
    limits = json.loads(sys.argv[1])
    address_space = _address_space() + limits["memory_mib"] * 2**20
    _say({})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["language"] == "sql":
            import duckdb  # noqa: F401  # here, so that no child needs to open its files
        _say(_in_child(request, limits, address_space))


def _say(outcome: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(outcome) + "\n")
    sys.stdout.flush()


def _in_child(request: dict[str, str], limits: dict[str, Any], address_space: int) -> dict[str, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run: Callable[..., Any] = evaluate
            if request["language"] == "sql":
                run = partial(compare_rows, _databases(limits))
                address_space = _address_space() + limits["memory_mib"] * 2**20
            _confine(writing, limits, address_space)
            os.write(1, json.dumps(_run(run, request, limits)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if said and not os.WIFSIGNALED(status):
        outcome: dict[str, str] = json.loads(said)
        return outcome
    return {"result": "", "problem": _death(status, limits)}


def _confine(writing: int, limits: dict[str, Any], address_space: int) -> None:
    """Remove everything but the pipe, and let the kernel enforce the limits on the rest."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for target, source in ((0, nothing), (1, writing), (2, nothing)):
        os.dup2(source, target)
    os.closerange(3, 64)
    signal.setitimer(signal.ITIMER_REAL, limits["wall_seconds"])
    # Exceeding the hard CPU limit kills without a reason (SIGKILL); the soft one, a second earlier, sends SIGXCPU.
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 1))
    # macOS does not support this one: there a tool's time bounds its memory.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    for kind, most in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 3),
    ):
        resource.setrlimit(kind, (most, most))


def _run(run: Callable[..., Any], request: dict[str, str], limits: dict[str, Any]) -> dict[str, str]:
    try:
        value = run(request["source"], json.loads(request["arguments"]), limits)
        return {"result": _bounded(to_text(value), limits), "problem": ""}
    except ToolFault as fault:
        return {"result": "", "problem": str(fault)}
    except MemoryError:
        return {"result": "", "problem": _out_of_memory(limits)}
    except starlark.StarlarkError as error:
        return {"result": "", "problem": _reason(str(error), limits)}
    except ValueError:  # an integer with more digits than Python turns into text
        return {"result": "", "problem": "a number is too large to be handed over"}
    except BaseException as error:  # a panic of the interpreter is not an Exception; it panics when memory runs out
        is_panic = type(error).__name__ == "PanicException"
        problem = _out_of_memory(limits) if is_panic else f"the interpreter failed: {type(error).__name__}"
        return {"result": "", "problem": problem}


def evaluate(source: str, arguments: dict[str, Any], limits: dict[str, Any]) -> Any:
    dialect = starlark.Dialect.extended()
    dialect.enable_load = False
    dialect.enable_f_strings = True
    dialect.enable_types = starlark.DialectTypes.PARSE_ONLY
    ticks = 0

    def is_exhausted() -> bool:
        nonlocal ticks
        ticks += 1
        return bool(ticks * _TICK > limits["steps"])

    options = starlark.EvalOptions(check_cancelled=is_exhausted, max_callstack_size=limits["call_depth"])
    module, language = starlark.Module(), starlark.Globals.standard()
    for name, text in (("prelude", PRELUDE), ("tool", source)):
        starlark.eval_with(options, module, starlark.parse(name, text, dialect), language)
    return module.freeze().call_with(options, "run", **arguments).value


def _databases(limits: dict[str, Any]) -> list[Any]:
    """Return two empty in-memory databases, which open system files only when they start."""
    import duckdb

    options: dict[str, Any] = {
        "threads": 1,
        "memory_limit": f"{limits['memory_mib'] // 4}MB",
        "enable_external_access": "false",
    }
    return [duckdb.connect(":memory:", config={**options, "autoload_known_extensions": "false"}) for _ in range(2)]


def compare_rows(databases: list[Any], query: str, task: dict[str, Any], limits: dict[str, Any]) -> str:
    """Return "same" if a query gives the same rows as the right one, in its order if it is ordered, or else "other". A
    query has one second of processor time. Running out of memory, or a failure of the task's own query, is a fault."""
    import duckdb

    try:
        right = _rows(databases[0], task["schema"], task["right"])
    except duckdb.Error as error:
        raise ToolFault(f"the task's own query fails: {str(error)[:_PROBLEM]}") from error
    try:
        signal.setitimer(signal.ITIMER_PROF, _QUERY_SECONDS)
        given = _rows(databases[1], task["schema"], query)
    except (MemoryError, duckdb.OutOfMemoryException) as error:
        raise MemoryError from error
    except Exception:  # whatever a model's query makes the library, or the timer above, raise
        return "other"
    is_ordered = "order by" in " ".join(task["right"].rpartition(")")[2].casefold().split())
    return "same" if (given == right if is_ordered else sorted(given) == sorted(right)) else "other"


def _rows(database: Any, schema: str, query: str) -> list[tuple[str, ...]]:
    database.execute(schema)
    database.execute("SET lock_configuration = true")
    return [tuple(map(_cell, row)) for row in database.execute(query).fetchall()]


def _cell(value: object) -> str:
    """Return a cell as text: numbers by value, to as many digits as sums in any order agree on."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.9g}"
    return repr(value)


def to_text(value: Any) -> str:
    """Return a result as text: strings unchanged, whole numbers without a fraction, everything else as JSON."""
    if value is None:
        raise ToolFault("it returned nothing, or a number that is not finite")
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _number(value)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError, TypeError) as error:
        raise ToolFault("the result cannot be written as text") from error


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ToolFault("it returned nothing, or a number that is not finite")
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else f"{value:.{_DIGITS}g}"


def _bounded(text: str, limits: dict[str, Any]) -> str:
    if len(text) > limits["result"]:
        raise ToolFault(f"the result is longer than {limits['result']} characters")
    return text


def _reason(message: str, limits: dict[str, Any]) -> str:
    if "Evaluation cancelled" in message:
        return f"it took more than {limits['steps']} steps"
    if "call stack" in message.lower():
        return f"it called functions more than {limits['call_depth']} deep"
    lines = message.splitlines()
    found = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    if not found:
        return message[:_PROBLEM]
    place = lines[found[-1] + 1] if found[-1] + 1 < len(lines) else ""
    line = place.rpartition("tool:")[2].partition(":")[0]
    return lines[found[-1]].removeprefix("error: ")[:_PROBLEM] + (f" (line {line})" if line.isdigit() else "")


def _death(status: int, limits: dict[str, Any]) -> str:
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if ended_by == signal.SIGXCPU:
        return f"it took more than {limits['cpu_seconds']} s of processor time"
    if ended_by == signal.SIGPROF:
        return f"it took more than {_QUERY_SECONDS:.0f} s of processor time"
    if ended_by == signal.SIGALRM:
        return f"it took more than {limits['wall_seconds']} s"
    if ended_by in (signal.SIGABRT, 0):
        return _out_of_memory(limits)
    return f"it broke the interpreter (signal {ended_by})"


def _out_of_memory(limits: dict[str, Any]) -> str:
    return f"it needed more than {limits['memory_mib']} MiB of memory"


def _address_space() -> int:
    """Return how many bytes of address space this process has; a safe guess if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 2**30


if __name__ == "__main__":
    main()
