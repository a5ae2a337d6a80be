"""Embedders by name."""

from __future__ import annotations

from mage_es.engine.embedders.protocol import Embedder
from mage_es.events.errors import UsageError, nearest


def names() -> list[str]:
    """Return the names that `open_embedder` knows."""
    return ["hash"]


def open_embedder(spec: str) -> Embedder:
    """Return the embedder of that name. Raises `UsageError` with the near matches for an unknown one."""
    if spec == "hash":
        from mage_es.engine.embedders.hash import HashEmbedder

        return HashEmbedder()
    raise UsageError(f"There is no embedder {spec!r}.{nearest(spec, names())}")
