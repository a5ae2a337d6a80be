"""The drafts of a phase that learns: everything it writes, then the mark that lets a resumed run skip it."""

from collections.abc import Iterable

from mage_es.events.vocabulary import Draft, Event, Phase, PhaseCompleted


def phase_drafts(iteration: int, phase: Phase, events: Iterable[Event], *, is_numbered: bool = False) -> list[Draft]:
    """Return the drafts of events with the phase's mark at their end.

    `is_numbered` gives each event its position as ordinal, if two of one type may be about the same subject.
    """
    # An ordinal is part of a fact's identity, so a phase is always numbered or never.
    drafts = [
        Draft(event=event, iteration=iteration, phase=phase, ordinal=place if is_numbered else 0)
        for place, event in enumerate(events)
    ]
    mark = PhaseCompleted(iteration=iteration, phase=phase)
    return [*drafts, Draft(event=mark, iteration=iteration, phase=phase)]
