"""A new learner's re-proof took out of use exactly what the paired record condemns.

From the log alone: the state is folded up to the answers of the re-proof, and the rule is applied to it again.
"""

from collections.abc import Iterator

from mage_es.engine.config import Config
from mage_es.engine.rules.reproof import GATE, harmful, showings, words_of_others
from mage_es.engine.run.inheriting import inheritance
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryQuarantined, MemorySuperseded, PhaseCompleted
from mage_es.projections.fold import fold


def check_reproof(reader: LogReader, config: Config) -> Iterator[Check]:
    """Yield nothing for a run that has nothing to re-prove, or has not asked everything yet."""
    begun = inheritance(reader)
    if begun is None or not begun.reproof:
        return
    marks = {
        event.phase: seq
        for seq, event in reader.numbered(PhaseCompleted)
        if event.iteration == begun.iteration + 1 and event.phase in ("evaluate", "update")
    }
    if len(marks) < 2:
        return
    state = fold(reader, until=marks["evaluate"])
    window = {"since": marks["evaluate"], "until": marks["update"]}
    replaced = {event.memory_id for event in reader.of(MemorySuperseded, **window)}
    out = {event.memory_id: event.reason for event in reader.of(MemoryQuarantined, **window) if event.by == GATE}
    found = showings(state)
    condemned = harmful(found, frozenset(words_of_others(state)))
    wrong = sorted(out.items() ^ {name: condemned[name] for name in condemned.keys() - replaced}.items())
    detail = f"{len(out)} memories went out of use, as the {len(found)} questions that were asked again say"
    if wrong:
        detail = f"{wrong[0][0]} went out of use, or stayed, against the {len(found)} questions asked again"
    bound, measured = "0 against the record", f"{len(wrong)} against the record"
    yield Check(name="re-proof", ok=not wrong, detail=detail, measured=measured, bound=bound, seq=marks["update"])
