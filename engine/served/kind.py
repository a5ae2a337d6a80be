"""Which runs are served ones: they begin with what another had learned, and learn from what clients say."""

from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import inheritance
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader

SUFFIX = "-served"
"""The suffix that a served run's name adds to its parent's."""


def is_served(reader: LogReader) -> bool:
    begun = inheritance(reader)
    return begun is not None and begun.is_served


def require_not_served(run: Run, reader: LogReader) -> None:
    """Raise `UsageError` for a run that learns by publishing, not in iterations of Algorithm 1."""
    if is_served(reader):
        raise UsageError(
            f"{run.id} is served and learns from what its clients say: continue with `mage-es serve {run.id}`, or "
            f"publish what was proposed with `mage-es publish {run.id}`. To learn more from tasks, start a run that "
            f"continues it: `mage-es evolve BENCHMARK --from {run.id}`."
        )
