"""Embedders by name: `hash`, or `provider/model?option=value` as models are named."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from mage_es.engine.embedders import sentence_transformer, served
from mage_es.engine.models.retrying import DEFAULT_RETRIES, RetryPolicy
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.engine.seams.plugins import load, open_plugin, plugins
from mage_es.engine.seams.spec import ModelSpec, parse_spec
from mage_es.events.errors import PrerequisiteError, UsageError, nearest
from mage_es.events.vocabulary import RunStarted

PAPER, PAPERS = "paper", "sentence-transformers/all-MiniLM-L6-v2"
FORMS = ["hash", PAPER, "openai/<model>?base_url=<url>", "sentence-transformers/<name or folder>"]
OPTIONS: Mapping[str, Sequence[str]] = {"openai": served.OPTIONS, "sentence-transformers": sentence_transformer.OPTIONS}


def metered(spec: str) -> dict[str, str]:
    """Return an embedder by its tier if, judging by its name, its calls may cost something; else nothing. Raises
    `UsageError` for an unknown name."""
    return {"embedder": spec} if spec not in ("hash", PAPER) and _parsed(spec).provider == "openai" else {}


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
        except PrerequisiteError:
            spec = "hash"
    if spec == "hash":
        from mage_es.engine.embedders.hash import HashEmbedder

        return HashEmbedder()
    parsed = _parsed(spec)
    if parsed.provider == "openai":
        return served.open_served(parsed, retry_policy)
    if parsed.provider == "sentence-transformers":
        return sentence_transformer.SentenceTransformer(parsed)
    made = load("mage_es.embedders", parsed.provider)
    plugged: Embedder = open_plugin("mage_es.embedders", parsed.provider, made, parsed)
    return plugged


def replacement(spec: str, opened: Embedder) -> list[str]:
    """Return what to say at the start of a run whose embedder is not the one requested."""
    if spec != PAPER or opened.name == PAPERS:
        return []
    return [
        f"The paper's embedder ({PAPERS}) cannot be loaded here, so the run uses {opened.name} instead, as recorded."
    ]


def _parsed(spec: str) -> ModelSpec:
    if "/" not in spec:
        raise UsageError(f"There is no embedder {spec!r}.{nearest(spec, FORMS)}")
    return parse_spec(spec, known={**dict.fromkeys(plugins("mage_es.embedders")), **OPTIONS})


class LateEmbedder:
    """The embedder of a run that is only read: it is opened for the first text, which most readings never need.

    It describes itself as the run's first event does, and checks that when it is needed."""

    def __init__(self, started: RunStarted) -> None:
        self.name = started.embedder
        self.dimension = started.embedder_dimension
        self.sha256 = started.embedder_sha256

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension]. Raises `PrerequisiteError` if the embedder has
        changed."""
        return self._opened.encode(texts)

    @cached_property
    def _opened(self) -> Embedder:
        opened = open_embedder(self.name)
        if (opened.dimension, opened.sha256) != (self.dimension, self.sha256):
            raise PrerequisiteError(
                f"The embedder {self.name} gives different vectors than when the run was started "
                f"({opened.sha256[:16]}, not {self.sha256[:16]}): restore its model, or start a new run."
            )
        return opened
