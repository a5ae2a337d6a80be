"""Markers: how people name a moment of a run, such as `iter-9` or `iter-9/evaluate`.

Forms
    start               the end of the opening, before the log's first iteration: the log's first end of an iteration
    iter-9              all of iteration 9 included
    iter-9/evaluate     up to the end of a phase
    seq:1234            one event
    latest              everything recorded so far
"""

import re
from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from mage_es.events.errors import UsageError, nearest
from mage_es.events.facts import Event, Phase

_ITERATION = re.compile(r"iter-(\d{1,9})(?:/([a-z]+))?")
_SEQ = re.compile(r"seq:(\d{1,18})")
_START = -1


class Marker(msgspec.Struct, frozen=True):
    """A moment: an iteration's end (-1 is the start), the end of one of its phases, an event, or the latest event."""

    kind: Literal["iteration", "phase", "seq", "latest"]
    number: int = 0
    phase: str = ""

    def __str__(self) -> str:
        if self.kind == "iteration":
            return "start" if self.number == _START else f"iter-{self.number}"
        if self.kind == "phase":
            return f"iter-{self.number}/{self.phase}"
        return "latest" if self.kind == "latest" else f"seq:{self.number}"


def parse(text: str) -> Marker:
    """Return the marker that `text` means. Raises `UsageError` for what cannot be a marker in any log."""
    if text == "latest":
        return Marker("latest")
    if text == "start":
        return Marker("iteration", _START)
    if match := _SEQ.fullmatch(text):
        return Marker("seq", int(match[1]))
    if match := _ITERATION.fullmatch(text):
        if match[2] is None:
            return Marker("iteration", int(match[1]))
        if match[2] in get_args(Phase):
            return Marker("phase", int(match[1]), match[2])
        raise UsageError(f"marker {text!r} does not name a phase.{nearest(match[2], list(get_args(Phase)))}")
    raise UsageError(f"{text!r} is not a marker. Write start, iter-9, iter-9/evaluate, seq:1234 or latest.")


def mark_of(iteration: int) -> str:
    """Return how people name the end of an iteration: `iter-9`, or `start` for -1."""
    return str(Marker("iteration", iteration))


def marker_of(event: Event, marks: Mapping[type[Event], tuple[str, ...]]) -> Marker | None:
    """Return the marker that an event sets, given a vocabulary's marks; None if it sets none."""
    if type(event) not in marks:
        return None
    number, *phase = (getattr(event, name) for name in marks[type(event)])
    return Marker("phase", number, *phase) if phase else Marker("iteration", number)


def missing(marker: Marker, present: Mapping[Marker, int], *, run: str, last: int) -> UsageError:
    """Return the error for a marker that the log of a run, with `last` events and these markers, does not have."""
    if marker.kind == "seq":
        return UsageError(f"{run} has no event {marker.number}: its events are 1 to {last}.")
    closed = [other for other in present if other.kind == "iteration"]
    alike = [str(other) for other in present if other.kind == marker.kind]
    reach = f"Closed so far: {closed[0]} to {closed[-1]}." if closed else "Nothing is closed yet: use seq:N or latest."
    return UsageError(f"{run} has no marker {marker}. {reach}{nearest(str(marker), alike) if alike else ''}")
