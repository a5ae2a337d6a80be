"""The embedder of a served run reports an outage once, whatever its cache still answers."""

import pytest

from mage_es.engine.embedders.vectors import PROBES
from mage_es.engine.serving.watched import WatchedEmbedder
from mage_es.events.errors import PrerequisiteError
from tests.engine.embedders.test_served import QUICK, served
from tests.engine.providers.provider import provider

FAILING = range(len(PROBES) + 1, len(PROBES) + 1 + 2 * QUICK.attempts)
"""The calls of two texts that fail."""


def test_an_outage_is_told_once_and_a_cached_text_does_not_end_it() -> None:
    told = list[str]()
    with provider(faults=lambda number: "500" if number in FAILING else "") as server:
        embedder = WatchedEmbedder(served(server), told.append)
        embedder.encode(["known"])
        for text in ("one", "two"):
            with pytest.raises(PrerequisiteError):
                embedder.encode([text])
            embedder.encode(["known"])
        assert len(told) == 1 and "fails" in told[0] and "500" in told[0]
        embedder.encode(["three"])
    assert len(told) == 2 and "It had failed 2 times." in told[1]
    assert not embedder.meter.read(), "what it reports does not pile up"


@pytest.mark.parametrize("status", ["400", "413"])
def test_a_text_that_the_server_refuses_is_no_outage(status: str) -> None:
    told = list[str]()
    with provider(faults=lambda number: status if number == FAILING[0] else "") as server:
        embedder = WatchedEmbedder(served(server), told.append)
        embedder.encode(["known"])
        with pytest.raises(PrerequisiteError):
            embedder.encode(["strange"])
        embedder.encode(["next"])
    assert not told
