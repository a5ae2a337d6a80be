"""What `verify` and `reproduce` print from a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mage_es.cli.output import TextTable

if TYPE_CHECKING:
    from mage_es.engine.auditing.theorems.grounds import Ground
    from mage_es.engine.seams.check import Check


def checks(title: str, found: Iterable[Check]) -> TextTable:
    rows = [(check.name, check.result, check.measured, check.bound, check.seq or "", check.detail) for check in found]
    return TextTable(title, ("check", "result", "measured", "allowed", "breaks at event", "detail"), rows)


def grounds(rows: Iterable[Ground]) -> list[TextTable]:
    """Return what each claim rests on, or [] for a damaged log, which supports no claim."""
    words = {
        "recomputed": "proved by recomputing",
        "a head you kept": "proved if you kept the head",
        "belief": "must be believed",
    }
    lines = [(words[row.rests_on], row.claim, row.state) for row in rows]
    return [TextTable("What this rests on", ("how", "claim", "this run"), lines)] if lines else []
