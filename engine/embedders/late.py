"""The embedder of a run that is only looked at: it is opened at the first text, which most looks never need."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from mage_es.engine.embedders.registry import open_embedder
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import RunStarted


class LateEmbedder:
    """Says of itself what a run's first event says of its embedder, and holds that one against it when it is needed."""

    def __init__(self, started: RunStarted) -> None:
        self.name = started.embedder
        self.dimension = started.embedder_dimension
        self.sha256 = started.embedder_sha256

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension]. Raises `PrerequisiteError` where it is another now."""
        return self._opened.encode(texts)

    @cached_property
    def _opened(self) -> Embedder:
        opened = open_embedder(self.name)
        if (opened.dimension, opened.sha256) != (self.dimension, self.sha256):
            raise PrerequisiteError(
                f"The embedder {self.name} gives other vectors than when the run was started "
                f"({opened.sha256[:16]}, not {self.sha256[:16]}): bring back its model, or start a new run."
            )
        return opened
