"""Free space: an iteration is not begun where the disk might fill up in the middle of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from mage_es.events.errors import PrerequisiteError

FLOOR_MIB = 256
"""Free space below which no iteration starts; a long iteration writes a few MiB, its snapshot as much again."""


def require_free_space(path: Path, *, floor_mib: int = FLOOR_MIB) -> None:
    """Raise `PrerequisiteError` where fewer than `floor_mib` MiB are free on the disk that holds `path`."""
    free = shutil.disk_usage(path).free // 2**20
    if free < floor_mib:
        raise PrerequisiteError(
            f"Only {free} MiB are free where {path} lies, and an iteration is not begun below {floor_mib} MiB. "
            "Nothing is lost: free some space and resume."
        )
