"""The further methods of a model whose provider takes batches: many requests at once, at a lower price.

Rules
    - A batch outlives the process that submitted it: its id is enough to find it again.
    - Replies are in any order and are matched by the custom ids of their requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from mage_es.engine.seams.faults import Fault
from mage_es.engine.seams.model import Completion, Request


@runtime_checkable
class Batching(Protocol):
    """A model whose calls can be made in batches."""

    name: str

    async def submit(self, requests: Mapping[str, Request]) -> str:
        """Submit requests by custom id (at most 64 letters, digits, hyphens, underscores); return the batch's id.

        Raises `ModelFault`: nothing was submitted, as far as is known.
        """

    async def has_ended(self, batch_id: str) -> bool:
        """Return whether the batch is complete. Raises `ModelFault`."""

    async def replies(self, batch_id: str) -> Mapping[str, Completion | Fault]:
        """Return the outcomes of a complete batch by custom id. Raises `ModelFault`."""
