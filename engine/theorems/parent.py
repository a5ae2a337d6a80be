"""What a run inherited is what its parent has: event by event, if the parent is at hand."""

from __future__ import annotations

from itertools import zip_longest

from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import OF_THE_LEARNER, inheritance, last_inherited, learned_by
from mage_es.engine.theorems.check import Check
from mage_es.engine.theorems.log import problems_of
from mage_es.events.care import verify_log
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import fold

NAME = "parent"
BOUND = "all equal"


def check_parent(reader: LogReader, parent: Run) -> Check:
    """Return whether a run began with what its parent had learned. Raises `UsageError` for a run that has none."""
    begun = inheritance(reader)
    if begun is None:
        raise UsageError(f"{reader.run} does not continue another run: omit --parent.")
    verdict = verify_log(parent.log_path, head=begun.head_chain)
    if problems := problems_of(verdict):
        return Check(name=NAME, ok=False, detail=f"{parent.id}: {problems}", bound=BOUND, damaged=True)
    if verdict.search is None or verdict.search.found is None:
        detail = (
            f"the log of {parent.id} never had the head {begun.head_chain[:16]}, with which {begun.parent} was read"
        )
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=2)
    theirs = LogReader(parent.log_path)
    drafts = learned_by(theirs, begun.seq, begun.iteration, without=OF_THE_LEARNER if begun.learner else frozenset())
    own = reader.records(since=3, until=last_inherited(reader))
    for place, (record, draft) in enumerate(zip_longest(own, drafts), start=3):
        if record is None or draft is None or (record.event, record.iteration) != (draft.event, draft.iteration):
            detail = f"event {place} is not what {parent.id} has in its place"
            return Check(name=NAME, ok=False, detail=detail, measured=f"{place - 3} equal", bound=BOUND, seq=place)
    if wrong := fold(theirs, until=begun.seq).differing(begun.digests):
        detail = f"{', '.join(wrong)} of {parent.id} differs from what the run says of it"
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=2)
    detail = f"its first {len(drafts)} events are those of {parent.id} up to event {begun.seq}"
    return Check(name=NAME, ok=True, detail=detail, measured=f"{len(drafts)} equal", bound=BOUND)
