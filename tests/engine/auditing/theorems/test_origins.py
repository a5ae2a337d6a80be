"""Everything learned says what it was made of, and a log in which something does not is found out."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.theorems.origins import check_origins
from mage_es.engine.run.directory import Run
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, ModelCalled, Origin
from tests.engine.forgery import forged, instead


def test_a_memory_names_its_verdict_its_replies_and_what_its_writer_saw(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    facts: dict[str, Any] = {
        record.fact_id.hex(): record.event for record in reader.records({AnswerJudged, ModelCalled})
    }
    for memory in reader.of(MemoryAppended):
        made_of = [facts[name] for name in memory.origin.facts]
        replies = [event for event in made_of if isinstance(event, ModelCalled)]
        assert {reply.model for reply in replies} == {memory.origin.writer}
        about = [event.question_id for event in made_of if isinstance(event, AnswerJudged)]
        assert about == ([] if memory.outcome == "principle" else [memory.question_id])
        own = ({"execution"}, "nothing")
        taught = ({"guidance"}, "solutions")
        told = ({reply.tier for reply in replies}, memory.origin.saw)
        assert told == (own if memory.outcome == "success_memory" else taught)
    assert check_origins(reader).ok


@pytest.mark.parametrize("facts", [(), ("00" * 16,)])
def test_an_origin_that_is_not_in_the_log_is_found_out(facts: tuple[str, ...], small_run: Run, tmp_path: Path) -> None:
    change = instead(MemoryAppended, lambda event: msgspec.structs.replace(event, origin=Origin(facts=facts)))
    forged(small_run.log_path, tmp_path / "log", change)
    check = check_origins(LogReader(tmp_path / "log"))
    assert not check.ok and check.seq
