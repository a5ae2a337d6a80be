"""What a model has beside the seam's one method where its provider takes many requests at once, for less money.

Rules
    - A batch outlives the process that submitted it: its id is enough to find it again.
    - Replies come in any order and are told apart by the custom ids that the requests were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from mage_es.engine.models.faults import Fault
from mage_es.engine.models.seam import Completion, Request


@runtime_checkable
class Batching(Protocol):
    """A model whose calls can be made in batches."""

    name: str

    async def submit(self, requests: Mapping[str, Request]) -> str:
        """Hand in requests by custom id (at most 64 letters, digits, hyphens, underscores); return the batch's id.

        Raises `ModelFault`: nothing was handed in, as far as is known.
        """
        ...

    async def has_ended(self, batch_id: str) -> bool:
        """Return whether nothing more will come of a batch. Raises `ModelFault`."""
        ...

    async def replies(self, batch_id: str) -> Mapping[str, Completion | Fault]:
        """Return what became of each request of a batch that has ended, by custom id. Raises `ModelFault`."""
        ...
