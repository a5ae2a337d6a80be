"""What `mage-es replay --check` prints: every closed iteration, folded again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mage_es.cli.output import TextTable
from mage_es.cli.tables import mark_of

if TYPE_CHECKING:
    from mage_es.engine.auditing.recheck import IterationCheck
    from mage_es.engine.run.directory import Run


def rechecked(run: Run) -> tuple[list[IterationCheck], TextTable]:
    """Return the comparison of each closed iteration, as it is and as a table; it ends at the first that differs."""
    from mage_es.engine.auditing.recheck import recheck
    from mage_es.events.log import LogReader

    checks = recheck(LogReader(run.log_path), run.snapshots_path)
    rows = [
        (
            mark_of(check.iteration),
            "yes" if check.equal else "NO",
            "" if check.equal else f"{check.projection}: recorded {check.recorded}, rebuilt {check.rebuilt}",
            check.field,
        )
        for check in checks
    ]
    columns = ("iteration", "equal", "first difference", "field")
    return checks, TextTable("Every iteration folded again", columns, rows)
