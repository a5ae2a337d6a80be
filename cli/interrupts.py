"""Ctrl-C during a run: the first one asks it to stop after the calls in flight, the second one stops now.

SIGTERM, by which containers and batch systems end a program, is heard likewise; only the exit code is its own.
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
    """A second SIGTERM: what a second Ctrl-C is, told apart for its exit code."""


class Interrupts:
    """Listens for Ctrl-C and SIGTERM while it is entered; main thread only."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, object] = {}
        self.kind: type[Interrupted] = Interrupted
        """What the stop that was asked for is called."""

    def asked(self) -> bool:
        """Return whether a stop was asked for."""
        return self._asked

    def __enter__(self) -> Interrupts:
        self._before = {each: signal.signal(each, self._handle) for each in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Listen no more. Raises `Terminated` where SIGTERM is why the block was interrupted."""
        for each, before in self._before.items():
            signal.signal(each, before)  # type: ignore[arg-type]
        if kind is Interrupted and self.kind is not kind:
            raise self.kind(str(error)) from error

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_termination = number == signal.SIGTERM
        if self._asked:
            # Of the tasks that are cut off asyncio would say that nobody fetched their exception, and of a destructor
            # or callback that is cut off Python that it ignored that; the run stops all the same, as it was asked to.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            sys.unraisablehook = lambda unraisable: None
            raise SecondTermination if is_termination else KeyboardInterrupt
        self._asked = True
        self.kind = Terminated if is_termination else Interrupted
        told = _ASKED.format(_SIGNALS[signal.Signals(number)])
        os.write(2, told.encode())  # not print: a signal may arrive in the middle of another print
