"""Calls in flight: how many a process leaves behind, and where that is not known."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mage_es.engine.flight import Flight, Watched
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.seam import Request


def test_calls_that_are_begun_and_not_recorded_are_what_a_process_leaves_behind(tmp_path: Path) -> None:
    flight = Flight(tmp_path / "in-flight")
    for name in ("a", "b", "b", "c"):
        flight.begin(name)
    for name in ("b", "a", "somebody else's"):
        flight.land(name)
    assert Flight(tmp_path / "in-flight").left_behind == "2"
    flight.land("b")
    flight.land("b")
    flight.land("c")
    assert Flight(tmp_path / "in-flight").left_behind == "0"
    flight.close()


def test_a_copy_and_a_machine_that_was_started_again_know_of_none(tmp_path: Path) -> None:
    flight = Flight(tmp_path / "in-flight")
    flight.begin("a")
    flight.close()
    assert "not known" in Flight(tmp_path / "a copy").left_behind
    number, boot = (tmp_path / "in-flight").read_text().split()
    (tmp_path / "in-flight").write_text(f"{number} {boot[::-1]}")
    assert "not known" in Flight(tmp_path / "in-flight").left_behind
    (tmp_path / "in-flight").write_text("")
    assert "not known" in Flight(tmp_path / "in-flight").left_behind


def test_a_call_is_in_flight_until_it_is_recorded_even_though_its_reply_came(tmp_path: Path) -> None:
    flight, request = Flight(tmp_path / "in-flight"), Request(prompt="Question: 1 + 1?")
    asyncio.run(Watched(open_model("builtin/analogist", "execution"), flight).complete(request))
    assert Flight(tmp_path / "in-flight").left_behind == "1"
    flight.land(request.sha256)
    assert Flight(tmp_path / "in-flight").left_behind == "0"
    flight.close()
