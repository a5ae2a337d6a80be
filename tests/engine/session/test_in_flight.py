"""Calls in flight: how many a process leaves behind, and where that is not known."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mage_es.engine.models.registry import open_model
from mage_es.engine.seams.model import Request
from mage_es.engine.session.in_flight import CallsInFlight, TrackedModel


def test_calls_that_are_begun_and_not_recorded_are_what_a_process_leaves_behind(tmp_path: Path) -> None:
    in_flight = CallsInFlight(tmp_path / "in-flight")
    for name in ("a", "b", "b", "c"):
        in_flight.add(name)
    for name in ("b", "a", "somebody else's"):
        in_flight.remove(name)
    assert CallsInFlight(tmp_path / "in-flight").left_behind == "2"
    in_flight.remove("b")
    in_flight.remove("b")
    in_flight.remove("c")
    assert CallsInFlight(tmp_path / "in-flight").left_behind == "0"
    in_flight.close()


def test_a_copy_and_a_machine_that_was_started_again_know_of_none(tmp_path: Path) -> None:
    in_flight = CallsInFlight(tmp_path / "in-flight")
    in_flight.add("a")
    in_flight.close()
    assert "not known" in CallsInFlight(tmp_path / "a copy").left_behind
    number, boot = (tmp_path / "in-flight").read_text().split()
    (tmp_path / "in-flight").write_text(f"{number} {boot[::-1]}")
    assert "not known" in CallsInFlight(tmp_path / "in-flight").left_behind
    (tmp_path / "in-flight").write_text("")
    assert "not known" in CallsInFlight(tmp_path / "in-flight").left_behind


def test_a_call_is_in_flight_until_it_is_recorded_even_though_its_reply_came(tmp_path: Path) -> None:
    in_flight, request = CallsInFlight(tmp_path / "in-flight"), Request(prompt="Question: 1 + 1?")
    asyncio.run(TrackedModel(open_model("builtin/analogist", "execution"), in_flight).complete(request))
    assert CallsInFlight(tmp_path / "in-flight").left_behind == "1"
    in_flight.remove(request.sha256)
    assert CallsInFlight(tmp_path / "in-flight").left_behind == "0"
    in_flight.close()
