"""Settings of the tests of the log: examples may touch the disk, so none is timed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("log", deadline=None, max_examples=60)
settings.load_profile("log")
