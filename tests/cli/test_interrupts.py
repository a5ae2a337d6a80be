"""Ctrl-C: the first asks, the second stops."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest

from mage_es.cli.interrupts import Interrupts


@pytest.fixture(autouse=True)
def asyncio_as_it_was() -> Iterator[None]:
    """Let asyncio speak again afterwards."""
    level = logging.getLogger("asyncio").level
    yield
    logging.getLogger("asyncio").setLevel(level)


def test_the_first_ctrl_c_asks_for_a_stop_and_the_second_one_stops(capfd: pytest.CaptureFixture[str]) -> None:
    with Interrupts() as interrupts:
        assert not interrupts.asked()
        signal.raise_signal(signal.SIGINT)
        assert interrupts.asked()
        assert "Ctrl-C again stops now" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_afterwards_ctrl_c_means_what_it_meant_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
