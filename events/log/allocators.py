"""Give freed memory back to the system instead of leaving it with the allocators. A seal briefly takes 150 MiB. Arrow,
and the C library for each thread, keep much of that for the next seal, which in a serving process is hours away. Among
C libraries only glibc needs to be asked.
"""

import ctypes

import pyarrow as pa

_M_MMAP_THRESHOLD = -3  # of malloc.h
_LARGE = 1 << 20


def give_back_large() -> None:
    """Make this process return large blocks as soon as they are freed, since it may run for weeks."""
    # Otherwise the C library treats a block as large only if it exceeds everything freed so far.
    if tune := getattr(ctypes.CDLL(None), "mallopt", None):
        tune(_M_MMAP_THRESHOLD, _LARGE)


def give_back_freed() -> None:
    """Return all currently free memory to the system; this takes a few milliseconds."""
    pa.default_memory_pool().release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
