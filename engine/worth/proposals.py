"""What clients proposed to a served run and is not in its memory: refused for good, or not tried yet."""

import msgspec

from mage_es.engine.commands import shared
from mage_es.engine.worth.memories import LEAST_PREFIX, ids_of
from mage_es.events import vocabulary as v
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State


class RefusedProposal(msgspec.Struct, frozen=True, kw_only=True):
    """What a publish, a person or the leak guard refused, and why. No text that the leak guard refused is on record, so
    it has no `question`; without a `key`, the run itself would have learned it."""

    memory_id: str
    key: str
    question: str
    why: str


def refused(reader: LogReader, *, until: int | None = None) -> list[RefusedProposal]:
    """Return the proposals that will never be used, in the order in which they were refused, up to event `until`."""
    proposed = {each.memory_id: each for each in reader.of(v.MemoryProposed, until=until)}
    found, key = dict[str, RefusedProposal](), ""
    for event in reader.of(v.FeedbackGiven, v.MemoryRefused, v.ProposalSettled, v.ProposalReviewed, until=until):
        match event:
            case v.FeedbackGiven():
                key = event.key
            case v.MemoryRefused():
                # Of a proposal it comes right after the feedback that made it.
                by = key if event.what == v.tag_of(v.MemoryProposed) else ""
                why = f"It holds a question of the split {event.split}, from which nothing may be learned."
                found[event.memory_id] = RefusedProposal(memory_id=event.memory_id, key=by, question="", why=why)
            case v.ProposalSettled(verdict="refused") | v.ProposalReviewed(verdict="rejected"):
                first = proposed[event.memory_id]
                found[event.memory_id] = RefusedProposal(**shared(first, RefusedProposal), why=event.reason)
            case v.ProposalSettled() | v.ProposalReviewed():
                found.pop(event.memory_id, None)
    return list(found.values())


def require_learned(run_id: str, reader: LogReader, state: State, *names: str) -> None:
    """Raise `UsageError` for the name of something that was only proposed, or refused. A name may also be the beginning
    of an id; one that means nothing at all is no concern of this."""
    known = ids_of(state)
    unknown = tuple(
        name
        for name in names
        if len(name) >= LEAST_PREFIX and name not in known and not any(each.startswith(name) for each in known)
    )
    if unknown:
        tries = f"was proposed; `mage-es publish {run_id}` tries it."
        fates = {each.memory_id: tries for each in state.traffic.proposals("")}
        fates |= {each.memory_id: f"was refused for good: {each.why}" for each in refused(reader, until=state.seq)}
        for found, fate in fates.items():
            if found.startswith(unknown):
                raise UsageError(f"{found} is not in the memory of {run_id}. It {fate}")
