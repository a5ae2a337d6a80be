"""What `verify` checks of a served run: the entry point `mage_es.checks` of this wing."""

from collections.abc import Iterator

from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.engine.serving.injections import check_injections
from mage_es.engine.serving.proposals import check_proposals
from mage_es.events.log import LogReader


def checks_of_serving(run: Run, reader: LogReader) -> Iterator[Check]:
    """Yield nothing for a run that was never served."""
    yield from check_injections(reader)
    yield from check_proposals(reader)
