"""Ctrl-C during a run: the first one asks it to stop after the calls in flight, the second one stops now.

SIGTERM, which containers and batch systems send, is treated the same; only its exit code differs.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType, TracebackType

from mage_es.events.errors import Interrupted, Terminated

_SIGNALS = {signal.SIGINT: "Ctrl-C again", signal.SIGTERM: "A second SIGTERM"}
_ASKED = "\nFinishing the calls in flight, then stopping. {} stops now; nothing recorded is lost.\n"


class SecondTermination(KeyboardInterrupt):
    """A second SIGTERM: like a second Ctrl-C, but with another exit code."""


class Interrupts:
    """Handles Ctrl-C and SIGTERM inside a `with` block; main thread only."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, object] = {}
        self.kind: type[Interrupted] = Interrupted
        """The error that the requested stop will raise."""

    def asked(self) -> bool:
        return self._asked

    def __enter__(self) -> Interrupts:
        self._before = {each: signal.signal(each, self._handle) for each in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the handlers. Raises `Terminated` in place of `Interrupted` after SIGTERM."""
        for each, before in self._before.items():
            signal.signal(each, before)  # type: ignore[arg-type]
        if kind is Interrupted and self.kind is not kind:
            raise self.kind(str(error)) from error

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_termination = number == signal.SIGTERM
        if self._asked:
            # asyncio would log an unretrieved exception for each task that is cut off here, and Python an ignored one
            # for each destructor: noise, since the user asked for exactly this.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            sys.unraisablehook = lambda unraisable: None
            raise SecondTermination if is_termination else KeyboardInterrupt
        self._asked = True
        self.kind = Terminated if is_termination else Interrupted
        message = _ASKED.format(_SIGNALS[signal.Signals(number)])
        os.write(2, message.encode())  # not print: the signal may interrupt another print, which is not reentrant
