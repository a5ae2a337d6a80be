"""A busy machine must not fail a property: hypothesis has no deadline here."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no_deadline", deadline=None)
settings.load_profile("no_deadline")
