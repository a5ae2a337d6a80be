"""The columns that outsiders see."""

from typing import ClassVar

import pyarrow as pa
import pytest

from mage_es.events.segments.schema import HEADER, column_of, schema_of, struct_of
from mage_es.events.vocabulary import EVENT_TYPES, AnswerJudged, EmbeddingBytes, Event, MemoryAppended


def test_the_header_is_what_segments_have_always_had() -> None:
    assert HEADER.names == [
        "seq", "event_id", "type", "sv", "run", "iteration", "phase", "ordinal", "stream", "causation_seq",
        "correlation", "ts", "commit",
    ]  # fmt: skip


def test_every_type_has_a_column_of_its_own_in_each_version() -> None:
    names = [column_of(tag, version) for tag in EVENT_TYPES for version in (1, 2)]
    assert len(set(names) | set(HEADER.names)) == len(names) + len(HEADER)
    assert column_of("answer.judged", 1) == "answer_judged" and column_of("answer.judged", 2) == "answer_judged_v2"


def test_payloads_are_nullable_structs_without_vectors() -> None:
    schema = schema_of([AnswerJudged, MemoryAppended])
    assert schema.field("answer_judged").nullable
    assert struct_of(AnswerJudged).field("correct").type == pa.bool_()
    assert struct_of(MemoryAppended).get_field_index("embedding") == -1
    assert struct_of(MemoryAppended).field("steps").type.value_type.field("skill").type == pa.string()


def test_an_event_of_vectors_only_is_refused() -> None:
    class Bare(Event, frozen=True, kw_only=True, tag="bare"):
        version: ClassVar[int] = 1
        embedding: EmbeddingBytes

    with pytest.raises(TypeError, match="no field but vectors"):
        struct_of(Bare)
