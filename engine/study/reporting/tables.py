"""The tables of a report by name, in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from mage_es.engine.study.reporting.accuracy import (
    ablation,
    cascade,
    extension,
    main_results,
    seeds,
    sequential,
    sequential_ablation,
    teachers_and_learners,
)
from mage_es.engine.study.reporting.bundles import bundles
from mage_es.engine.study.reporting.cells import StudyTable
from mage_es.engine.study.reporting.costs import calls, cost, latency
from mage_es.engine.study.reporting.growth import growth, recovery
from mage_es.engine.study.reporting.judging import hotpotqa, judging, metrics
from mage_es.engine.study.reporting.settings import settings
from mage_es.engine.study.reporting.study import Study
from mage_es.events.errors import UsageError, nearest

NOTHING = "No run here has data for this table."
TABLES: Mapping[str, Callable[[Study], StudyTable]] = {
    "main": main_results,
    "extension": extension,
    "sequential": sequential,
    "cost": cost,
    "ablation": ablation,
    "ablation-sequential": sequential_ablation,
    "settings": settings,
    "calls": calls,
    "hotpotqa": hotpotqa,
    "metrics": metrics,
    "judging": judging,
    "growth": growth,
    "matrix": teachers_and_learners,
    "variance": seeds,
    "latency": latency,
    "cascade": cascade,
    "bundles": bundles,
    "recovery": recovery,
}


def tables(study: Study, names: Sequence[str] = ()) -> list[StudyTable]:
    """Return the named tables, or all that have data. Raises `UsageError` for a name that no table has."""
    for name in names:
        if name not in TABLES:
            raise UsageError(f"There is no table {name!r}.{nearest(name, list(TABLES))}")
    made = [_entitled(TABLES[name](study), study.titles) for name in names or TABLES]
    if not names:
        return [table for table in made if not table.is_empty]
    return [table if table.rows else replace(table, notes=(*table.notes, NOTHING)) for table in made]


def _entitled(table: StudyTable, titles: Mapping[str, str]) -> StudyTable:
    """Return a table with the titles of the user's own tasks, and their names on the command line in a note."""
    used = {name: each for name, each in titles.items() if any(name in row for row in table.rows)}
    rows = (tuple(used.get(entry, entry) if isinstance(entry, str) else entry for entry in row) for row in table.rows)
    notes = (f"{each}: `{name}`" for name, each in used.items())
    return replace(table, rows=tuple(rows), notes=(*table.notes, *notes))
