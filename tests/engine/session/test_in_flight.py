"""Calls in flight: how many a process leaves behind, and where that is not known."""

import asyncio
import re
from pathlib import Path

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.session.in_flight import BusySlots, CallsInFlight, TrackedModel
from mage_es.engine.study.baseline import baseline


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


def test_a_run_that_was_stopped_before_its_first_call_has_none_to_make_again(tmp_path: Path) -> None:
    assert CallsInFlight(tmp_path / "in-flight", is_first=True).left_behind == "0"
    in_flight = CallsInFlight(tmp_path / "in-flight", is_first=True)
    in_flight.add("a")
    in_flight.close()
    assert CallsInFlight(tmp_path / "in-flight", is_first=True).left_behind == "1"


def test_a_call_is_in_flight_until_it_is_recorded_even_though_its_reply_came(tmp_path: Path) -> None:
    in_flight, request = CallsInFlight(tmp_path / "in-flight"), Request(prompt="Question: 1 + 1?")
    asyncio.run(TrackedModel(open_model("builtin/analogist", "execution"), in_flight, BusySlots(1)).complete(request))
    assert CallsInFlight(tmp_path / "in-flight").left_behind == "1"
    in_flight.remove(request.sha256)
    assert CallsInFlight(tmp_path / "in-flight").left_behind == "0"
    in_flight.close()


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def test_slots_are_busy_while_all_have_a_call_and_only_the_answering_counts() -> None:
    clock = Hand()
    slots = BusySlots(2, clock)
    with slots.call(), slots.call():
        clock.seconds += 100
    with slots.answering():
        clock.seconds += 1
        with slots.call():
            clock.seconds += 2
            with slots.call():
                clock.seconds += 4
            clock.seconds += 1
    clock.seconds += 100
    assert (slots.busy_s, slots.answering_s) == (4, 8)


class Cached:
    """A model of which a provider says that half of each prompt was read from its cache."""

    name = "test/cached"

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.005)
        return Completion(text="Answer: 1", input_tokens=10, cached_tokens=5, output_tokens=2)


def test_a_run_ends_with_how_busy_the_slots_were_and_how_much_came_from_a_cache(tmp_path: Path) -> None:
    told: list[str] = []
    baseline(
        "zero_shot_cot",
        Config(benchmark="wordmath", seed=7, held_out=12, anchors=0),
        runs_dir=tmp_path,
        runtime=Runtime(workers=3, observer=lambda note: told.append(note.message)),
        models=Models(Cached(), None),
    )
    said = re.fullmatch(
        r"All 3 workers waited for the model (\d+) % of the time: more --workers (may|would hardly) be faster.*; 50 % "
        r"of the prompt tokens came from a cache\.",
        told[-1],
    )
    assert said and 0 < int(said[1]) <= 100 and (said[2] == "may") == (int(said[1]) >= 75)
