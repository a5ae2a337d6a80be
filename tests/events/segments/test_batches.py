"""A batch is the same events as columns and as structs."""

from mage_es.events.segments import Batch
from mage_es.events.vocabulary import AnswerJudged
from tests.events.samples import judged


def test_a_batch_holds_the_wanted_fields_as_columns_and_none_else_in_its_events() -> None:
    events = [judged(1).event, judged(2, correct=False).event]
    batch = Batch.of(AnswerJudged, [4, 9], events, ("correct", "question_id"))

    assert batch.columns == {"correct": [True, False], "question_id": ["q1", "q2"]}
    assert [(event.question_id, event.correct, event.skill) for event in batch.events] == [
        ("q1", True, None),
        ("q2", False, None),
    ]


def test_a_batch_of_events_of_which_nothing_is_wanted_still_counts_them() -> None:
    batch = Batch.of(AnswerJudged, [4, 9], [judged(1).event, judged(2).event], ())

    assert (batch.seqs, batch.columns, len(batch.events)) == ([4, 9], {}, 2)
