"""The tables of a report by name, in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mage_es.engine.reporting.ablation import ablation, cascade, sequential_ablation
from mage_es.engine.reporting.accuracy import extension, main_results, seeds, teachers_and_learners
from mage_es.engine.reporting.bundles import bundles
from mage_es.engine.reporting.cells import Blank, StudyTable
from mage_es.engine.reporting.costs import calls, cost, latency
from mage_es.engine.reporting.growth import growth, recovery
from mage_es.engine.reporting.judging import hotpotqa, judging, metrics
from mage_es.engine.reporting.sequential import sequential
from mage_es.engine.reporting.settings import settings
from mage_es.engine.reporting.study import Study
from mage_es.events.errors import UsageError, nearest

NEEDS: Mapping[str, tuple[str, ...]] = {
    "extension": ("evolve", "finqa"),
    "sequential": ("evolve", "workshop"),
    "ablation-sequential": ("evolve", "workshop", "--no-success-memories"),
    "hotpotqa": ("evolve", "hotpotqa"),
    "metrics": ("evolve", "hotpotqa"),
}
"""The command that begins to fill a table that not every study has rows for."""
EXAMINED_ANYWHERE = "bundles"
"""The table that needs only an exam of any full run."""

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
    return [_excused(study, table) for table in made] if names else [table for table in made if not table.is_empty]


def beginnings(study: Study, names: Sequence[str]) -> dict[str, list[str]]:
    """Return by command the empty tables that it would begin to fill, "" for those that none would."""
    found: dict[str, list[str]] = {}
    for name in names:
        gaps = (entry for row in TABLES[name](study).rows for entry in row if isinstance(entry, Blank))
        wanted = [gap.command for gap in gaps if gap.command]
        # An exam is the smallest step; a whole run is needed only if there is nothing to examine.
        wanted.sort(key=lambda command: (not command.startswith(("mage-es exam ", "mage-es resume ")), len(command)))
        found.setdefault(wanted[0] if wanted else _beginning(study, name), []).append(name)
    return found


def _beginning(study: Study, name: str) -> str:
    """Return the command that begins to fill a table without rows: an exam of an existing run, or a new run."""
    words = NEEDS.get(name, ())
    unsat = [place for place in study.full() if not study.exams(place)]
    near = [place for place in unsat if name == EXAMINED_ANYWHERE or words == ("evolve", place.benchmark)]
    return study.gap(near[0]).command if near else study.command(*words) if words else ""


def _entitled(table: StudyTable, titles: Mapping[str, str]) -> StudyTable:
    """Return a table with the titles of own tasks, and their names on the command line in a note."""
    used = {name: each for name, each in titles.items() if any(name in row for row in table.rows)}
    if not used:
        return table
    rows = (tuple(used.get(entry, entry) if isinstance(entry, str) else entry for entry in row) for row in table.rows)
    notes = (f"{each}: `{name}`" for name, each in used.items())
    return msgspec.structs.replace(table, rows=tuple(rows), notes=(*table.notes, *notes))


def _excused(study: Study, table: StudyTable) -> StudyTable:
    """Return a table; without rows, with a note on what would fill it."""
    if table.rows:
        return table
    command = _beginning(study, table.name)
    needed = f": start with `{command}`" if command else ""
    return msgspec.structs.replace(table, notes=(*table.notes, f"No run here has data for this table{needed}."))
