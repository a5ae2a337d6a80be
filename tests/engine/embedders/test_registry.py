"""Embedders are opened by name."""

from __future__ import annotations

import pytest

from mage_es.engine.embedders.registry import names, open_embedder
from mage_es.events.errors import UsageError


def test_every_name_opens_an_embedder_of_that_name() -> None:
    assert [open_embedder(name).name for name in names()] == names()


def test_an_unknown_embedder_is_refused_with_the_near_matches() -> None:
    with pytest.raises(UsageError, match=r"no embedder 'hsh'\. Did you mean hash\?"):
        open_embedder("hsh")
