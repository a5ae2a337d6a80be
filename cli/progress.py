"""The progress display of a run: phase, questions, accuracy so far, calls, time left.

One line ends each round of questions; in between there is a live line on a terminal, and elsewhere a line every `EVERY`
seconds. What the first run of a command says about the tasks is not repeated for its other runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from mage_es.cli.output import message

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from mage_es.engine.run.runtime import ProgressNote

EVERY = 15.0
"""Seconds between plain lines within one phase."""

ENOUGH = 60.0
"""Seconds of work that say how long the rest takes: the first replies come late, or from a cache."""

_WIDE = 100
"""How many columns a terminal needs for a bar."""

_PHASES = ("open", "plan", "explore", "evaluate", "update", "evolve", "snapshot", "form")
_APART = frozenset(("exam", "asked again", "judged again"))
"""What is no phase of an evolution: each is the whole of its own work."""
_ASKING = frozenset(("explore", "evaluate", "snapshot", "form")) | _APART
"""Phases that ask questions; each gets a line when it ends."""


class TimeLeft:
    """The time left in an evolution, or in what is asked apart from one, extrapolated from its progress since its first
    question. There is no estimate in the first `ENOUGH` seconds nor, in an evolution, before an iteration has ended:
    how many questions a phase asks is known only when it begins, and the opening asks others. If there is only one
    iteration, it asks all anchors, as the opening did."""

    def __init__(self) -> None:
        self._work = ("", False)
        self._start: tuple[float, float, int] | None = None
        self._sizes: dict[str, int] = {}

    def seconds_left(self, note: ProgressNote, *, now: float) -> float | None:
        """Return the seconds left; None before enough has been seen, and at the end."""
        is_apart = note.phase in _APART
        work = (note.run_id, is_apart)
        if work != self._work:  # a ring has many runs, each with an exam
            self._work, self._start, self._sizes = work, None, {}
        is_first = self._start is None or note.iteration == self._start[2]
        is_only = is_first and note.iteration + 1 == note.iterations
        if note.phase in _ASKING:
            self._sizes[note.phase] = max(note.total, self._sizes.get(note.phase, 0) if is_only else 0)
        if note.iteration < 0 and not is_apart:
            return None
        far = self._fraction(note)
        if self._start is None:
            self._start = (now, far, note.iteration)
        began, at, _ = self._start
        is_known = is_apart or not is_first or (is_only and "snapshot" in self._sizes)
        is_seen = now - began >= ENOUGH and is_known
        if not is_seen or far - at < 0.01 or far >= 1:
            return None
        return (now - began) * (1 - far) / (far - at)

    def _fraction(self, note: ProgressNote) -> float:
        """Return how much of the run is done, as if an iteration consisted only of its questions."""
        if note.phase in _APART:
            return note.done / note.total if note.total else 1.0
        before = _PHASES[: _PHASES.index(note.phase)]
        asked = sum(self._sizes.get(phase, 0) for phase in before) + (note.done if note.phase in _ASKING else 0)
        return min(1.0, (note.iteration + asked / max(1, sum(self._sizes.values()))) / max(note.iterations, 1))


class ProgressDisplay:
    """An observer of a run, for a `with` block. `run_id` is that of the last note, "" before the first one."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, is_publish: bool = False) -> None:
        self.run_id, self._is_publish = "", is_publish
        self._clock = clock
        self._estimate = TimeLeft()
        self._bar: Bar | None = None
        self._spoken = (("", 0), clock())
        self._said, self._is_beginning = set[str](), True

    def __enter__(self) -> ProgressDisplay:
        if sys.stderr.isatty():
            self._bar = _live_bar()
            self._bar.add_task("starting")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def observe(self, note: ProgressNote) -> None:
        before, self.run_id = self.run_id, note.run_id
        if before not in ("", note.run_id):
            self._print(f"Now {note.run_id}")
            self._is_beginning = True
        now = self._clock()
        left = None if self._is_publish else self._estimate.seconds_left(note, now=now)
        if note.is_announcement:
            if not self._is_beginning or note.message not in self._said:
                self._print(message(note.message))
            self._said.add(note.message)
        elif self._is_worth_a_line(note, now=now):
            self._print(_published(note) if self._is_publish else describe(note, left))
        self._is_beginning &= note.is_announcement
        if self._bar is not None:
            shown = _published(note) if self._is_publish else ", ".join((*_how_far(note), *_time_left(left)))
            for task in self._bar.task_ids:
                self._bar.update(task, completed=note.done, total=note.total or 1, description=shown)

    def _is_worth_a_line(self, note: ProgressNote, *, now: float) -> bool:
        """Return whether a round of questions has just ended or, without a live line, `EVERY` seconds have passed."""
        (phase, at), current = self._spoken, (note.phase, note.iteration)
        is_complete = note.done >= note.total
        is_end = note.phase in _ASKING and is_complete and note.total > 0 and phase != current
        if not is_end and (self._bar is not None or now - at < EVERY):
            return False
        self._spoken = (current if is_complete else phase, now)
        return True

    def _print(self, line: str) -> None:
        if self._bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.console.print(line, markup=False, highlight=False)


def describe(note: ProgressNote, left: float | None) -> str:
    revisits = [f"revisits {note.revisits[0]}/{note.revisits[1]}"] if note.revisits[1] else []
    calls = f"calls {note.execution_calls} and {note.guidance_calls} for guidance"
    more = [note.message] if note.message else []
    return message(", ".join((*_how_far(note), *revisits, calls, *_time_left(left), *more)))


def _published(note: ProgressNote) -> str:
    """Return how far a publish has got; only anchors whose prompts it changes are answered again."""
    level = "" if note.level is None else f", {100 * note.level:.1f} % of {note.anchors} right"
    what = "anchors that see something new" if note.phase == "snapshot" else note.phase
    return f"iter-{note.iteration}: {what} {note.done}/{note.total}{level}, calls {note.execution_calls}"


def _how_far(note: ProgressNote) -> Iterator[str]:
    start = "" if note.phase in _APART else "start: "
    # A method that searches takes as many rounds as it needs.
    at = f"iter-{note.iteration} of {note.iterations}" if note.iteration < note.iterations else f"iter-{note.iteration}"
    where = f"{at}: " if note.iteration >= 0 else start
    yield f"{where}{note.phase}{f' {note.done}/{note.total}' if note.total else ''}"
    if note.level is not None:
        what, of = ("anchor ", f" of {note.anchors}") if note.phase == "snapshot" else ("", "")
        yield f"{what}{note.measure} {100 * note.level:.1f} %{of}"


def _time_left(seconds: float | None) -> Iterator[str]:
    if seconds is not None:
        yield f"{duration(seconds)} left"


def duration(seconds: float) -> str:
    """Return `12 s`, `3 min 20 s` or `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _live_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console, text = Console(stderr=True), TextColumn("{task.description}", markup=False)
    bar = [BarColumn(bar_width=20)] if console.width >= _WIDE else []  # the counts in the text already say this
    return Progress(text, *bar, console=console, transient=True)
