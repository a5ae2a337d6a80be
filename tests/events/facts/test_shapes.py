"""What fields an event can have."""

from typing import Annotated, Any

import msgspec
import pytest

from mage_es.events.facts.shapes import fingerprint, shapes_of
from mage_es.events.vocabulary import EVENT_TYPES, Event, MemoryAppended, QuestionPlanned


def test_every_event_of_the_vocabulary_fits_columns() -> None:
    for cls in EVENT_TYPES.values():
        shapes = shapes_of(cls)
        assert tuple(shapes) == cls.__struct_fields__, cls
        assert any(shape.kind != "vector" for shape in shapes.values()), cls


def test_shapes_name_parts_lists_and_vectors() -> None:
    retrieved = "list<part<memory_id:str,similarity:float,answer_of:str,coin:float>>"
    assert str(shapes_of(QuestionPlanned)["memories"]) == retrieved
    assert str(shapes_of(QuestionPlanned)["purpose"]) == "str"
    assert str(shapes_of(MemoryAppended)["embedding"]) == "vector"


@pytest.mark.parametrize(
    "annotation",
    [str | None, dict[str, int], list[int], tuple[int, str], object, Any, Annotated[dict[str, str], "note"]],
)
def test_a_field_that_no_column_holds_is_refused_with_its_name(annotation: Any) -> None:
    odd = msgspec.defstruct("Odd", [("thing", annotation)], bases=(Event,), tag="odd", frozen=True, kw_only=True)
    with pytest.raises(TypeError, match=r"Odd\.thing"):
        shapes_of(odd)


def test_the_fingerprint_changes_with_names_and_types_only() -> None:
    def made(name: str, *fields: Any) -> type[Event]:
        return msgspec.defstruct(name, fields, bases=(Event,), tag="x", frozen=True, kw_only=True)

    plain = fingerprint(made("A", ("a", int)))
    assert fingerprint(made("B", ("a", int, 3))) == plain
    assert len({plain, fingerprint(made("C", ("a", str))), fingerprint(made("D", ("b", int)))}) == 3
