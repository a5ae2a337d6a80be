"""What a tool run may use. The step count is exact and is normally reached first; the other limits catch what it cannot
see.

A single built-in operation (a repetition of a long text, a power of a large integer) is one step, however expensive:
memory, processor time and wall time bound those, in the kernel.
"""

import msgspec


class ToolLimits(msgspec.Struct, frozen=True, kw_only=True):
    steps: int = 1_000_000
    """Instructions of the interpreter, counted in thousands."""
    call_depth: int = 24
    """Nested calls, and so the depth of recursion."""
    memory_mib: int = 256
    """Address space beyond that of the waiting worker."""
    cpu_seconds: int = 2
    wall_seconds: float = 120.0
    """Wall-clock time. A tool never waits, so only a machine that keeps it from running makes it reach this limit. A
    merely busy machine, which must not change a result, does not."""
    source: int = 8_000  # in characters, like the next two
    arguments: int = 4_000
    result: int = 2_000
