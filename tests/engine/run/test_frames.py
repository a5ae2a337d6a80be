"""Events of a log as polars frames."""

import polars as pl

from mage_es.engine.run.directory import Run
from mage_es.engine.run.frames import frames
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, BaselineStarted, EpisodeClosed


def test_a_frame_has_a_row_for_each_event_sealed_or_not_in_the_order_of_the_log(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    found = frames(reader, {AnswerJudged: ("question_id", "correct")})[AnswerJudged]
    assert found.rows() == [(seq, e.question_id, e.correct) for seq, e in reader.numbered(AnswerJudged)] != []


def test_an_event_that_never_occurred_has_an_empty_frame_with_the_types_of_its_fields(small_run: Run) -> None:
    reads = {BaselineStarted: ("baseline", "shots"), EpisodeClosed: ("steps",)}
    found = frames(LogReader(small_run.log_path), reads)
    assert found[BaselineStarted].is_empty() and found[EpisodeClosed]["steps"].sum() == 0
    assert found[BaselineStarted].schema == {"seq": pl.Int64, "baseline": pl.String, "shots": pl.List(pl.String)}
