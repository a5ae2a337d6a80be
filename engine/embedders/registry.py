"""Embedders by name: `hash`, or `provider/model?option=value` as models are named.

Rules
    - Opening one loads its model, or asks its server for a few vectors, so what is missing shows before a run begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mage_es.engine.embedders import sentence_transformer, served
from mage_es.engine.embedders.protocol import Embedder
from mage_es.engine.models.line import PATIENCE, Patience
from mage_es.engine.models.spec import ModelSpec, parse_spec
from mage_es.engine.plugins import load, open_plugin, plugins
from mage_es.events.errors import UsageError, nearest

OPTIONS: Mapping[str, Sequence[str]] = {
    "openai": served.OPTIONS,
    "sentence-transformers": sentence_transformer.OPTIONS,
}
"""The providers of embedders, and the options that each of them takes."""


def names() -> list[str]:
    """Return the forms that `open_embedder` knows."""
    return ["hash", "openai/<model>?base_url=<url>", "sentence-transformers/<name or folder>"]


def metered(spec: str) -> dict[str, str]:
    """Return an embedder by its tier where its calls may cost something, as far as its name tells; else nothing.

    Raises `UsageError` for what names no embedder.
    """
    return {"embedder": spec} if spec != "hash" and _parsed(spec).provider == "openai" else {}


def open_embedder(spec: str, *, patience: Patience = PATIENCE) -> Embedder:
    """Return the embedder that a spec names, ready to be used; `patience` is had with a server.

    Raises:
        UsageError: No such embedder, provider or option; near matches are listed.
        PrerequisiteError: A package, a model, a key or a server is missing.
    """
    if spec == "hash":
        from mage_es.engine.embedders.hash import HashEmbedder

        return HashEmbedder()
    parsed = _parsed(spec)
    if parsed.provider == "openai":
        return served.open_served(parsed, patience)
    if parsed.provider == "sentence-transformers":
        return sentence_transformer.SentenceTransformer(parsed)
    made = load("mage_es.embedders", parsed.provider)
    plugged: Embedder = open_plugin("mage_es.embedders", parsed.provider, made, parsed)
    return plugged


def _parsed(spec: str) -> ModelSpec:
    if "/" not in spec:
        raise UsageError(f"There is no embedder {spec!r}.{nearest(spec, names())}")
    return parse_spec(spec, known={**dict.fromkeys(plugins("mage_es.embedders")), **OPTIONS})
