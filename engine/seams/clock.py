"""The clock that a retrying client waits by, so that a test can live through a provider's outage of hours."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that never go back, and a way to let them pass."""

    def now(self) -> float:
        """Return seconds since some moment."""

    async def sleep(self, seconds: float) -> None:
        """Return once that many seconds have passed."""


class SystemClock:
    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
