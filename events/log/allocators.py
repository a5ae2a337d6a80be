"""What allocators keep of freed memory, given back to the system.

A seal takes 150 MiB for a moment. Arrow, and the C library for each thread, keep much of that for the next one, which
in a process that serves is hours away. Of C libraries only glibc's has to be asked.
"""

import ctypes

import pyarrow as pa

_M_MMAP_THRESHOLD = -3  # of malloc.h
_LARGE = 1 << 20


def give_back_large() -> None:
    """Have this process, to its end, give back whatever is large when it is freed: for one that runs for weeks."""
    # Otherwise the C library counts as large only what is larger than anything freed so far.
    if tune := getattr(ctypes.CDLL(None), "mallopt", None):
        tune(_M_MMAP_THRESHOLD, _LARGE)


def give_back_freed() -> None:
    """Give back what is free now; takes some milliseconds."""
    pa.default_memory_pool().release_unused()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
