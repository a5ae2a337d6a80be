"""Ctrl-C during a run: the first one asks it to stop after the calls in flight, the second one stops now."""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType, TracebackType

_ASKED = b"\nFinishing the calls in flight, then stopping. Ctrl-C again stops now; nothing recorded is lost.\n"


class Interrupts:
    """Listens for Ctrl-C while it is entered; main thread only."""

    def __init__(self) -> None:
        self._asked = False
        self._before: object = None

    def asked(self) -> bool:
        """Return whether a stop was asked for."""
        return self._asked

    def __enter__(self) -> Interrupts:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            # Of the tasks that are cut off asyncio would say that nobody fetched their exception, and of a destructor
            # or callback that is cut off Python that it ignored that; the run stops all the same, as it was asked to.
            logging.getLogger("asyncio").setLevel(logging.CRITICAL)
            sys.unraisablehook = lambda unraisable: None
            raise KeyboardInterrupt
        self._asked = True
        os.write(2, _ASKED)  # not print: a signal may arrive in the middle of another print
