"""Embedders are opened by name."""

import pytest

from mage_es.engine.embedders.registry import open_embedder
from mage_es.events.errors import UsageError


def test_hash_opens_the_embedder_of_that_name() -> None:
    assert open_embedder("hash").name == "hash"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("hsh", r"no embedder 'hsh'\. Did you mean hash\?"),
        ("minilm", "Known: hash, openai/<model>"),
        ("sentence-transformer/x", r"no provider 'sentence-transformer'.*Did you mean sentence-transformers\?"),
        ("openai/e?base=x", r"no option 'base'.*base_url"),
        ("openai/e?api_key=x", "must not hold a key"),
    ],
)
def test_what_is_no_embedder_is_refused_with_the_near_matches(spec: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        open_embedder(spec)
