"""What a run of a tool may use. The count of steps is met first and is exact; the others catch what it cannot see.

A single built-in operation (a repetition of a long text, a power of a large integer) is one step whatever it costs:
memory, processor time and wall time bound those, in the kernel.
"""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one run of a tool."""

    steps: int = 1_000_000
    """Instructions of the interpreter, counted in thousands."""
    call_depth: int = 24
    """Calls inside one another; what is left of recursion."""
    memory_mib: int = 256
    """Address space beyond that of the waiting worker."""
    cpu_seconds: int = 2
    """Processor time."""
    wall_seconds: float = 120.0
    """Time on the clock. A tool waits for nothing, so this ends only what the machine itself keeps from running; a busy
    machine, which must not change a result, does not come near it."""
    source: int = 8_000
    """Characters of a tool's source."""
    arguments: int = 4_000
    """Characters of the JSON object of arguments."""
    result: int = 2_000
    """Characters of a result."""
