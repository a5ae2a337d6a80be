"""Ctrl-C during a run: the first one asks it to stop after the calls in flight, the second one stops now.

SIGTERM, which containers and batch systems send, is treated the same; only its exit code differs. Work that waits for
no call and never checks for a requested stop, such as dividing the tasks, is cut off: it has nothing to finish.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from mage_es.events.errors import Interrupted, Terminated

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_SIGNALS = {signal.SIGINT: "Ctrl-C again", signal.SIGTERM: "A second SIGTERM"}
_ASKED = "\nFinishing the calls in flight, then stopping. {} stops now; nothing recorded is lost.\n"
_TURN, _TURNS = 0.5, 2
"""Seconds between two looks at work that was asked to stop, and how many looks in a row may find no reaction."""


class SecondTermination(KeyboardInterrupt):
    """A second SIGTERM: like a second Ctrl-C, but with another exit code."""


class Interrupts:
    """Handles Ctrl-C and SIGTERM inside a `with` block; main thread only."""

    def __init__(self) -> None:
        self._asked, self._is_cut = False, False
        self._deaf = 0
        self._before: dict[signal.Signals, object] = {}
        self.kind: type[Interrupted] = Interrupted
        """The error that the requested stop will raise."""

    def asked(self) -> bool:
        if self._asked:
            signal.setitimer(signal.ITIMER_REAL, 0)  # from now on it is stopping
        return self._asked

    def __enter__(self) -> Interrupts:
        self._before = {each: signal.signal(each, self._handle) for each in _SIGNALS}
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._look)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the handlers. Raises `Terminated` in place of `Interrupted` after SIGTERM."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, before in self._before.items():
            signal.signal(each, before)  # type: ignore[arg-type]
        if kind is Interrupted and self.kind is not kind:
            raise self.kind(str(error)) from error

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            self._cut_off(is_termination=number == signal.SIGTERM)
            return
        self._asked = True
        self.kind = Terminated if number == signal.SIGTERM else Interrupted
        message = _ASKED.format(_SIGNALS[signal.Signals(number)])
        os.write(2, message.encode())  # not print: the signal may interrupt another print, which is not reentrant
        signal.setitimer(signal.ITIMER_REAL, _TURN, _TURN)

    def _look(self, number: int, frame: FrameType | None) -> None:
        self._deaf = 0 if _waiting_loop() else self._deaf + 1
        if self._deaf > _TURNS:
            self._cut_off(is_termination=self.kind is Terminated)

    def _cut_off(self, *, is_termination: bool) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        # asyncio would log an unretrieved exception for each task that is cut off here, and Python an ignored one for
        # each destructor: noise, since the user asked for exactly this.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        sys.unraisablehook = lambda unraisable: None
        stop = SecondTermination if is_termination else KeyboardInterrupt
        loop = _waiting_loop()
        if loop is None or self._is_cut:
            raise stop

        def cut_off() -> None:
            raise stop

        # Raised here it could break off the callback by which a task tells its group that it has ended, for which the
        # group would then wait forever.
        self._is_cut = True
        loop.call_soon_threadsafe(cut_off)


def _waiting_loop() -> AbstractEventLoop | None:
    """Return the loop of this thread if it runs no task at the moment: it waits for calls."""
    if "asyncio" not in sys.modules:  # commands without a loop do not load it
        return None
    try:
        from asyncio import current_task, get_running_loop

        return get_running_loop() if current_task() is None else None
    except (ImportError, RuntimeError):  # it is being imported, or there is no loop
        return None
