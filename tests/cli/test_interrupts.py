"""Ctrl-C: the first asks, the second stops."""

import asyncio
import logging
import signal
import sys
import time
import weakref
from collections.abc import Iterator

import pytest

from mage_es.cli.interrupts import Interrupts, SecondTermination
from mage_es.events.errors import BudgetReached, Interrupted, Terminated

pytestmark = pytest.mark.slow


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


def test_the_second_ctrl_c_breaks_off_no_callback_of_the_loop_or_a_group_would_wait_forever_for_its_task() -> None:
    whole = list[bool]()

    def ended() -> None:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        whole.append(True)

    async def work() -> None:
        asyncio.get_running_loop().call_soon(ended)
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt), Interrupts():
        asyncio.run(work())
    assert whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_afterwards_a_signal_means_what_it_meant_before(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interrupts():
        assert signal.getsignal(number) != before
    assert signal.getsignal(number) == before


def test_sigterm_asks_like_ctrl_c_and_what_it_interrupts_is_called_terminated(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Terminated, match="Stopped between"), Interrupts() as interrupts:
        signal.raise_signal(signal.SIGTERM)
        assert interrupts.asked() and "A second SIGTERM stops now" in capfd.readouterr().err
        raise Interrupted("Stopped between two calls.")
    with pytest.raises(SecondTermination), Interrupts():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


def test_a_budget_that_is_reached_after_sigterm_is_still_a_budget() -> None:
    with pytest.raises(BudgetReached), Interrupts():
        signal.raise_signal(signal.SIGTERM)
        raise BudgetReached("It is spent.")


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SecondTermination)])
def test_work_that_does_not_look_is_cut_off_after_one_signal(
    number: signal.Signals, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.cli.interrupts._TURN", 0.01)

    async def divide() -> None:
        signal.raise_signal(number)
        while True:
            pass

    with pytest.raises(kind), Interrupts():
        asyncio.run(divide())


def test_work_that_waits_for_a_call_or_has_looked_may_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.cli.interrupts._TURN", 0.01)

    async def answer(interrupts: Interrupts) -> str:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0.2)
        assert interrupts.asked()
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            pass  # what is left to do before it stops
        return "answered"

    with Interrupts() as interrupts:
        assert asyncio.run(answer(interrupts)) == "answered"
