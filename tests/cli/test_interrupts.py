"""Ctrl-C: the first asks, the second stops."""

from __future__ import annotations

import logging
import signal
import sys
import weakref
from collections.abc import Iterator

import pytest

from mage_es.cli.interrupts import Interrupts


@pytest.fixture(autouse=True)
def as_loud_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let asyncio and Python speak again afterwards."""
    level = logging.getLogger("asyncio").level
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
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


def test_the_second_ctrl_c_is_no_traceback_where_it_cuts_off_a_callback(capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(reference: object) -> None:
        signal.raise_signal(signal.SIGINT)

    sys.unraisablehook = sys.__unraisablehook__
    with Interrupts():
        signal.raise_signal(signal.SIGINT)
        watched = Interrupts()
        reference = weakref.ref(watched, interrupted)
        del watched
    assert reference() is None
    assert "Traceback" not in capfd.readouterr().err


def test_afterwards_ctrl_c_means_what_it_meant_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
