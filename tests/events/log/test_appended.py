"""What an append returns is the records that readers see."""

from __future__ import annotations

from pathlib import Path

from mage_es.events.log import Log, LogReader
from tests.events.samples import bits, clock, facts, judged


def test_it_is_the_sequence_of_the_records_that_readers_see(tmp_path: Path) -> None:
    with Log.create(tmp_path, run="r1", clock=clock()) as log:
        log.append([judged(1)])
        appended = log.append([judged(3), judged(2), judged(1), judged(4)])
    records = list(appended)
    assert bits(sorted(records, key=lambda record: record.seq)) == bits(facts(LogReader(tmp_path).records()))
    assert [record.seq for record in records] == list(appended.seqs) == [2, 3, 1, 4]
    assert [record.event for record in records] == appended.events
    assert (appended[-1], appended[2]) == (records[-1], records[2])


def test_an_event_that_was_recorded_otherwise_is_given_as_it_was_recorded(tmp_path: Path) -> None:
    with Log.create(tmp_path, run="r1", clock=clock()) as log:
        log.append([judged(1, correct=True)])
        again = log.append([judged(1, correct=False), judged(2)])
    assert again.events == [judged(1, correct=True).event, judged(2).event]
