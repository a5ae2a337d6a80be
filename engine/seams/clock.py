"""The clock that a retrying client waits by, so that a test can live through a provider's outage of hours."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in seconds, and a way to wait."""

    def now(self) -> float:
        """Return the seconds since an arbitrary moment."""

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
