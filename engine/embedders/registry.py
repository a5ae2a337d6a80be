"""Embedders by name: `hash`, or `provider/model?option=value` as models are named."""

from collections.abc import Sequence
from functools import cached_property

from mage_es.engine.embedders.served import ServedEmbedder, Server
from mage_es.engine.embedders.vectors import CheckedEmbedder
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryPolicy
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.engine.seams.plugins import Group, load, open_plugin, plugins, require_has
from mage_es.engine.seams.spec import ModelSpec, spec_of
from mage_es.events.errors import MageError, PrerequisiteError, UsageError, nearest
from mage_es.events.vocabulary import RunStarted

PAPER, PAPERS = "paper", "sentence-transformers/all-MiniLM-L6-v2"
_GROUP: Group = "mage_es.embedders"


def metered(spec: str) -> dict[str, str]:
    """Return the embedder under its tier if its name says that its calls may cost something; otherwise nothing."""
    provider = spec.partition("/")[0]
    offered = load(_GROUP, provider) if provider in plugins(_GROUP) else None
    return {"embedder": spec} if isinstance(offered, type) and issubclass(offered, Server) else {}


def open_embedder(spec: str, *, retry_policy: RetryPolicy = DEFAULT_RETRIES) -> Embedder:
    """Return the embedder that a spec names, ready to use (for `paper` it may be another, see `replacement`).

    `retry_policy` is for an embedder on a server.

    Raises:
        UsageError: No such embedder, provider or option; near matches are listed.
        PrerequisiteError: A package, a model, a key or a server is missing.
    """
    if spec == PAPER:
        try:
            return open_embedder(PAPERS)
        except MageError:  # a package or the model is missing
            spec = "hash"
    if spec == "hash":
        from mage_es.engine.embedders.hash import HashEmbedder

        return HashEmbedder()
    parsed = _parsed(spec)
    opened: Embedder | Server = open_plugin(_GROUP, parsed.provider, load(_GROUP, parsed.provider), parsed)
    if isinstance(opened, Server):
        return ServedEmbedder(spec, opened, retry_policy)
    require_has(_GROUP, parsed.provider, opened, "name", "dimension", "sha256", "encode")
    return CheckedEmbedder(opened)


def replacement(spec: str, opened: Embedder) -> list[str]:
    """Return what to say at the start of a run whose embedder is not the one requested."""
    if spec != PAPER or opened.name == PAPERS:
        return []
    return [
        f"The paper's embedder ({PAPERS}) cannot be loaded here, so the run uses {opened.name} instead, as recorded."
    ]


def _parsed(spec: str) -> ModelSpec:
    if "/" not in spec:
        forms = ["hash", PAPER, *(f"{provider}/<model>" for provider in plugins(_GROUP))]
        raise UsageError(f"There is no embedder {spec!r}.{nearest(spec, forms)}")
    return spec_of(_GROUP, spec)


class LateEmbedder:
    """The embedder of a run that is only read. It is opened for the first text, so most readers never open it.

    It describes itself as the run's first event does, and checks that when it is opened."""

    def __init__(self, started: RunStarted) -> None:
        self.name = started.embedder
        self.dimension = started.embedder_dimension
        self.sha256 = started.embedder_sha256

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension]. Raises `PrerequisiteError` if the embedder has changed,
        or its provider is no longer installed."""
        return self._opened.encode(texts)

    @cached_property
    def _opened(self) -> Embedder:
        try:
            opened = open_embedder(self.name)
        except UsageError as error:  # it was available when the run was started
            raise PrerequisiteError(str(error)) from None
        if (opened.dimension, opened.sha256) != (self.dimension, self.sha256):
            raise PrerequisiteError(
                f"The embedder {self.name} gives different vectors than when the run was started "
                f"({opened.sha256[:16]}, not {self.sha256[:16]}): restore its model, or start a new run."
            )
        return opened
