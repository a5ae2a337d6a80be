"""What is stored as it is, what a reader would take otherwise, and what no column could hold."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.events import vocabulary as v
from mage_es.events.errors import UsageError
from mage_es.events.wal.bodies import FrameReader, body_of
from mage_es.events.wal.frames import Frame, decode, encode
from mage_es.events.wal.storable import Checks, coordinates_of, require_storable
from tests.events.samples import FACTS, bits, drafts, events, judged, remembered
from tests.golden.generate import filled

CHECKS = Checks(v.MAGE_ES)


class Text(str):
    """A text that is not exactly one."""


ODD: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 65), 1 << 65)
    | st.floats()
    | st.sampled_from(["", "evaluate", "fresh", "\ud800", Text("fresh"), object(), 1j, b"", b"12345", bytearray(4)])
    | st.sampled_from([(1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1, (1 << 31) - 1, 1 << 31, -1, -2]),
    lambda inner: st.lists(inner, max_size=2) | st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)
"""Values of which few are right anywhere."""


@st.composite
def one_odd(draw: st.DrawFn) -> v.Draft:
    """Return a draft of which one value, at any depth, is replaced by whatever it may be."""
    [draft] = draw(drafts(most=1))
    name = draw(st.sampled_from([*draft.__struct_fields__, *["event"] * 9]))
    value = _with_one_odd(draw, draft.event) if name == "event" else draw(ODD)
    return msgspec.structs.replace(draft, **{name: value})


def _with_one_odd(draw: st.DrawFn, struct: Any) -> Any:
    name = draw(st.sampled_from(struct.__struct_fields__))
    value = getattr(struct, name)
    parts = [item for item in value if isinstance(item, v.Part)] if isinstance(value, tuple) else []
    changed = (*parts[1:], _with_one_odd(draw, parts[0])) if parts and draw(st.booleans()) else draw(ODD)
    return msgspec.structs.replace(struct, **{name: changed})


def stored(draft: v.Draft) -> v.Draft:
    """Return a draft as it is read from the frame that it was written in."""
    frame = decode(encode(body_of([draft], 5, v.MAGE_ES), first=1, count=1, previous=bytes(32))[0])
    assert isinstance(frame, Frame)
    _, [read] = FrameReader(v.MAGE_ES).commit(frame)
    return read


@pytest.mark.slow
@given(one_odd())
@settings(max_examples=200)
def test_whatever_is_called_exact_comes_back_as_it_is_or_is_refused_by_the_encoder(draft: v.Draft) -> None:
    if coordinates_of([draft], CHECKS) is None:
        return
    try:
        read = stored(draft)
    except UsageError as error:
        assert "surrogates" in str(error) or "serialize ints" in str(error)
        return
    assert bits([read]) == bits([draft])
    assert repr(read.event) == repr(draft.event), "the same bytes, but other types"
    require_storable(read.event)


def test_no_field_of_any_type_may_be_nothing() -> None:
    for cls in FACTS:
        event = filled(cls, 1)
        assert coordinates_of([v.Draft(event=event, iteration=0, phase="open")], CHECKS), cls
        for name in cls.__struct_fields__:
            odd = msgspec.structs.replace(event, **{name: None})
            assert coordinates_of([v.Draft(event=odd, iteration=0, phase="open")], CHECKS) is None, (cls, name)


def test_an_event_of_no_type_of_the_vocabulary_is_not_exact() -> None:
    stranger = msgspec.defstruct("Stranger", [("x", int)], bases=(v.Event,), tag="stranger", frozen=True, kw_only=True)
    twin = msgspec.defstruct(
        "Twin", [("iteration", int)], bases=(v.Event,), tag="phase.completed", frozen=True, kw_only=True
    )
    sealed = v.SegmentSealed(first=1, last=2, rows=2, sha256="", vectors_sha256="", chain="")
    for event in (stranger(x=1), twin(iteration=1), sealed, 7, None):
        assert coordinates_of([v.Draft(event=event, iteration=0, phase="open")], CHECKS) is None  # type: ignore[arg-type]
    right = v.PhaseCompleted(iteration=1, phase="open")
    assert coordinates_of([v.Draft(event=right, iteration=0, phase="open")], CHECKS) is not None


@given(st.sampled_from(FACTS).flatmap(events))
def test_what_its_types_allow_is_taken(event: v.Event) -> None:
    require_storable(event)


def test_integers_beyond_64_bits_are_refused_at_any_depth() -> None:
    target = v.Target(task_type="ages", failures=1 << 63, attempts=0, last_selected=0)
    for event, where in (
        (msgspec.structs.replace(judged(1).event, score_micro=1 << 63), "AnswerJudged.score_micro"),
        (v.TargetsSelected(iteration=0, targets=(target,), newly_observed=()), "TargetsSelected.targets.failures"),
    ):
        with pytest.raises(OverflowError, match=rf"{where} is above 9223372036854775807"):
            require_storable(event)


def test_integers_in_lists_are_looked_at_too() -> None:
    odd = msgspec.defstruct(
        "Odd", [("counts", tuple[int, ...])], bases=(v.Event,), tag="odd", frozen=True, kw_only=True
    )
    require_storable(odd(counts=(1, (1 << 63) - 1)))
    with pytest.raises(OverflowError):
        require_storable(odd(counts=(1, 1 << 63)))


def test_bytes_that_are_no_float32_vector_are_refused() -> None:
    with pytest.raises(TypeError, match="has 5 bytes"):
        require_storable(remembered(1, vector=b"12345").event)


def test_every_type_of_the_vocabulary_can_be_checked() -> None:
    assert len(v.EVENT_TYPES) > len(FACTS) > 0
