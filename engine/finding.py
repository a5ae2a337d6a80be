"""What one check of the doctor came to."""

from __future__ import annotations

from typing import Literal

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One check. `optional`: something is missing that only some commands need. `remedy`: what to do."""

    name: str
    state: Literal["ok", "optional", "failed"]
    detail: str
    remedy: str = ""
