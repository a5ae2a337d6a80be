"""A served run puts the same bytes before the same turns, on record, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.verbs.verify import verify
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceOpened, IterationClosed, ModelCalled
from tests.engine.serving.talking import said

QUESTION = (
    "A baker brings six boxes of rolls to the market, with 12 rolls in every box. By noon 35 rolls have been sold. "
    "How many rolls are still unsold?"
)
Serve = Callable[..., LiveRun]


def test_a_question_gets_a_note_that_is_on_record_when_the_request_goes_on(serve: Serve) -> None:
    live = serve(holdback=0)
    prepared = live.prepare(said(QUESTION), "chat")
    asyncio.run(live.record(prepared))
    [recorded] = LogReader(live.run.log_path).of(InferenceOpened)
    assert recorded == prepared.opened and recorded.treatment == "memory" and recorded.memories
    assert sha256_text(prepared.notes[0]) == recorded.note_sha256 and prepared.notes[0].startswith("\n\n")


def test_a_served_run_begins_without_a_call_and_passes_every_check(serve: Serve, parent: Run) -> None:
    live = serve()
    reader = LogReader(live.run.log_path)
    assert not list(reader.of(ModelCalled)) and live.run.id == f"{parent.id}-served"
    [closed] = reader.of(IterationClosed)
    assert closed.iteration == live.marker == 1
    live.close()
    report = verify(live.run)
    assert report.ok, [check for check in report.checks if not check.ok]


def test_what_a_client_sends_fills_no_memory_and_the_end_of_a_long_turn_is_looked_up_as_well(serve: Serve) -> None:
    live = serve(holdback=0)
    with pytest.raises(UsageError, match="X-Session-Id has 129 characters"):
        live.prepare(said(QUESTION), "chat", session="x" * 129)
    short = live.prepare(said(QUESTION), "chat").opened
    long = live.prepare(said("." * 100_000 + QUESTION)._replace(model="m" * 10_000), "chat").opened
    assert long.memories == short.memories != () and len(long.model) == 128
    assert (live.question("", long.inference), live.question("", short.inference)) == ("", QUESTION)
