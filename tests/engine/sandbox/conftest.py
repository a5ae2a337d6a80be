"""One sandbox for the tests that do not end it."""

from collections.abc import Iterator

import pytest

from mage_es.engine.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Return a sandbox with the ordinary limits."""
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()
