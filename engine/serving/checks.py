"""What `verify` checks in a served run, from the log alone: the entry point `mage_es.checks` of this wing.

Rules
    - Every injection that the run recorded can be rebuilt, from the state at its marker and from ids: each note is
      rendered again and compared with its hash; its memories were in use at the marker, and near enough; the coin of
      each session is tossed again; and every closed inference was opened first. An anchor's prompt has the same bytes
      before the question, turns included, as a client's turn that gets the same memories.
    - What was learned is decided again (engine/serving/deciding.py): `verify` calls that `learned`.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby

from mage_es.engine.rules.prompt import NOTES
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.world import templates_of
from mage_es.engine.seams.check import Check
from mage_es.engine.served.floors import is_far
from mage_es.engine.served.notes import CaseLayout, in_order, note_of, quotations_of
from mage_es.engine.serving.rules.sittings import is_held_back
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.projections.benefit import Benefit
from mage_es.projections.fold import State, fold

_OF_INJECTIONS = (v.BenefitDecided, v.ServingStarted, v.InferenceOpened, v.InferenceClosed, v.IterationClosed)


def checks_of_serving(run: Run, reader: LogReader) -> Iterator[Check]:
    return check_injections(reader)


def check_injections(reader: LogReader) -> Iterator[Check]:
    """Yield nothing for a run that was never served."""
    name, bound, traffic = "injections", "every note has its hash", _Traffic(_preface(reader))
    seq, problem = next((found for found in traffic.problems(reader) if found[1]), (0, ""))
    if problem:
        yield Check(name=name, ok=False, detail=problem, bound=bound, seq=seq)
    elif detail := traffic.problem():
        yield Check(name=name, ok=True, detail=detail, measured=bound, bound=bound)


class _Traffic:
    """What the log has recorded so far."""

    def __init__(self, preface: str) -> None:
        self.preface = preface
        self.processes: dict[int, v.ServingStarted] = {}
        self.opened = 0
        # Marker, layout, memories and hash of each note, with the first event that has it.
        self.notes: dict[tuple[int, CaseLayout, tuple[str, ...], str], int] = {}
        self._markers: dict[int, int] = {}
        self._benefit, self._benefits = Benefit(), dict[int, Benefit]()
        self._waiting: set[str] = set()
        self._shares = defaultdict[tuple[str, str], set[int]](set)
        """The share held back by each process in which a session had an inference."""

    def problems(self, reader: LogReader) -> Iterator[tuple[int, str]]:
        for seq, event in reader.numbered(*_OF_INJECTIONS):
            yield seq, self._problem_of(seq, event)
        if self.processes:
            yield from self._misrendered(reader)
            yield from _otherwise_asked(reader, self.preface)

    def problem(self) -> str:
        """Return what was found; empty for a run that was never served."""
        if not self.processes:
            return ""
        processes = "1 process" if len(self.processes) == 1 else f"{len(self.processes)} processes"
        return (
            f"{self.opened} inferences of {processes}: {len(self.notes)} different notes were rendered again from "
            "their markers, with memories that were in use and near enough; every coin fell as it did; clients and "
            "anchors get them in one layout"
        )

    def _problem_of(self, seq: int, event: object) -> str:
        match event:
            case v.BenefitDecided():
                self._benefit = Benefit()
                self._benefit.apply(event)
            case v.IterationClosed():
                self._markers[event.iteration] = seq
                self._benefits[event.iteration] = self._benefit
            case v.ServingStarted():
                if event.process != len(self.processes) + 1:
                    return f"process {event.process} comes after {len(self.processes)} others"
                if any(event.salt != other.salt for other in self.processes.values()):
                    return f"process {event.process} has another salt, so sessions change sides"
                self.processes[event.process] = event
            case v.InferenceClosed():
                if event.inference not in self._waiting:
                    return f"{event.inference} was closed without being open"
                self._waiting.remove(event.inference)
            case v.InferenceOpened():
                return self._opened(seq, event)
        return ""

    def _gated(self, event: v.InferenceOpened) -> str:
        """Return the problem if a question got memories although the bare prompt did better on its type, or vice
        versa."""
        is_bare = self._benefits[event.marker].is_bare(event.task_type)
        if event.task_type and event.memories and is_bare and event.treatment != "searched":
            return (
                f"{event.inference} has memories, although the bare prompt did better on questions of {event.task_type}"
            )
        if event.treatment == "bare" and not is_bare:
            return f"{event.inference} is bare, although what was learned is served for {event.task_type}"
        return ""

    def _opened(self, seq: int, event: v.InferenceOpened) -> str:
        process = next(reversed(self.processes), 0)
        if event.inference in self._waiting or not event.inference.startswith(f"inf-{process}-"):
            return f"{event.inference} is not a new inference of process {process}"
        if event.marker not in self._markers:
            return f"{event.inference} sees iteration {event.marker}, which was not closed by then"
        if bool(event.memories) != bool(event.note_sha256) or (event.treatment == "memory" and not event.memories):
            return (
                f"{event.inference} has {len(event.memories)} memories and the note {event.note_sha256[:16] or 'none'}"
            )
        if event.similarities and len(event.similarities) != len(event.memories):
            return f"{event.inference} has {len(event.memories)} memories and {len(event.similarities)} similarities"
        is_told, is_searched = event.treatment == "far", event.treatment == "searched"
        if problem := self._gated(event):
            return problem
        # An agent judges for itself how near is near enough.
        if (is_told != is_far(event.nearest, event.floor) and not is_searched) or (is_told and event.memories):
            return (
                f"{event.inference} is {event.treatment} with {len(event.memories)} memories, the nearest at "
                f"{event.nearest:.3f}, the floor at {event.floor:.3f}"
            )
        self.opened += 1
        self._waiting.add(event.inference)
        started = self.processes[process]
        self._shares[event.key, event.session].add(started.holdback_micro)
        if event.layout not in ("sections", started.layout):
            return (
                f"{event.inference} has cases as {event.layout}, but process {process} shows them as {started.layout}"
            )
        key = (event.marker, CaseLayout(event.layout, started.is_bare, self.preface), event.memories, event.note_sha256)
        if event.memories:
            self.notes.setdefault(key, seq)
        return self._tossed(started, event)

    def _tossed(self, started: v.ServingStarted, event: v.InferenceOpened) -> str:
        if event.treatment not in ("memory", "holdback", "shadow"):
            return ""
        # A session that began under an earlier process keeps the side that it had under that process's share.
        sides = {
            is_held_back(started.salt, event.key, event.session, share_micro=share)
            for share in self._shares[event.key, event.session]
        }
        is_held = event.treatment == "holdback"
        return (
            "" if is_held in sides else f"{event.inference}: the coin of its session does not make it {event.treatment}"
        )

    def _misrendered(self, reader: LogReader) -> Iterator[tuple[int, str]]:
        """Yield the first event and the problem of each note that differs from what its marker and memories give."""
        state = State()
        for marker, notes in groupby(sorted(self.notes), key=lambda note: self._markers[note[0]]):
            state = fold(reader, until=marker, state=state)
            for note in notes:
                if problem := _problem(state, *note[1:]):
                    yield self.notes[note], problem


def _preface(reader: LogReader) -> str:
    """Return the sentence that the run itself puts before notes, whatever this version of the program has."""
    started = next(reader.of(v.RunStarted), None)
    return templates_of(started).get(NOTES, "") if started else ""


def _otherwise_asked(reader: LogReader, preface: str) -> Iterator[tuple[int, str]]:
    """Yield the first anchor whose prompt does not begin, position by position, like a note with the same memories."""
    state, layout = State(), CaseLayout()
    for seq, event in reader.numbered(v.ServingStarted, v.QuestionPlanned, since=last_inherited(reader) + 1):
        if isinstance(event, v.ServingStarted):
            layout = CaseLayout(event.layout, event.is_bare, preface)
        elif isinstance(event, v.QuestionPlanned) and event.purpose == "anchor":
            state = fold(reader, until=seq - 1, state=state)
            names = (*event.principles, *(hit.memory_id for hit in in_order(state, event.memories, layout)))
            if event.spans != quotations_of(state, names, layout):
                yield seq, f"the anchor {event.question_id} was not asked in the layout that is served"
                return


def _problem(state: State, layout: CaseLayout, memories: tuple[str, ...], sha256: str) -> str:
    for name in memories:
        if not state.memory.count_of(name):
            return f"the memory {name} did not exist at the marker"
        if (status := state.memory.row(name).status) != "active":
            return f"the memory {name} was {status} at the marker"
    if (found := note_of(state, memories, layout).sha256) != sha256:
        return f"the note of {', '.join(memories)} has the hash {found[:16]}, but {sha256[:16]} is recorded"
    return ""
