"""Checks for every projection: one for each rule, and `check_projection` for all that need only the projection.

`make` returns a new, empty projection at each call, as the projection's class does.
"""

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import TypeVar

import msgspec

from mage_es.events.segments import Batch
from mage_es.events.vocabulary import Event, RunResumed
from mage_es.projections.fold import fold_into
from mage_es.projections.protocol import Columnar, Projection
from tests.kit.sources import ListSource, only
from tests.kit.stages import Stage, flat, round_trip, shuffled

P = TypeVar("P", bound=Projection)
Make = Callable[[], P]


def check_projection(make: Make[P], stages: Sequence[Stage], random: Random) -> None:
    """Check every rule except growth, which needs to know what is protected."""
    events = flat(stages)
    check_any_order(make, stages, random)
    check_declared_fields(make, events)
    check_folds(make, events, random)
    check_columns(make, events, random)
    check_dump_and_load(make, events, cut=random.randint(0, len(events)))
    check_refusal(make)


def check_any_order(make: Make[P], stages: Sequence[Stage], random: Random) -> None:
    """Check that the order of a phase's answers does not change the digest, because they run concurrently."""
    live, other = _applied(make(), flat(stages)), _applied(make(), shuffled(stages, random))
    assert other.digest() == live.digest(), f"{live.name}: answers in another order give another digest"


def check_declared_fields(make: Make[P], events: Sequence[Event]) -> None:
    """Check that it uses only the fields that it declares: a fold over sealed columns reads no others."""
    bare = make()
    for event in events:
        if type(event) in bare.reads:
            bare.apply(only(event, bare.reads[type(event)]))
    _require_same(bare, _applied(make(), events), "with its declared fields alone")


def check_folds(make: Make[P], events: Sequence[Event], random: Random) -> None:
    """Check that a fold of the log equals the live state, in stretches of any size and with any sequence numbers.

    Unread events in between shift those numbers, and the fold stops at some point and continues.
    """
    live, folded = _applied(make(), events), make()
    numbered = [each for event in events for each in (*_between(folded, random), event)]
    source = ListSource(numbered, stretch=random.randint(1, 60))
    middle = random.randint(0, len(numbered))
    fold_into((folded,), source, until=middle)
    fold_into((folded,), source, since=middle + 1, until=len(numbered))
    assert folded.digest() == live.digest(), (
        f"{live.name}: folded in stretches of {source.stretch}, with a stop after event {middle}, its digest differs"
    )


def check_columns(make: Make[P], events: Sequence[Event], random: Random) -> None:
    """Check that a type's events as columns, cut anywhere, have the same effect as the same events one by one."""
    view, one_by_one = make(), make()
    if not isinstance(view, Columnar):
        return
    for cls in view.reads:
        found = [event for event in events if type(event) is cls]
        _applied(one_by_one, found)
        while found:
            size = random.randint(1, len(found))
            batch = Batch.of(cls, list(range(size)), found[:size], view.reads[cls])
            if cls in view.columnar:
                view.apply_columns(cls, batch.columns)
            else:
                _applied(view, batch.events)
            found = found[size:]
    _require_same(view, one_by_one, "taken in as columns")


def check_dump_and_load(make: Make[P], events: Sequence[Event], *, cut: int) -> None:
    """Check that a state dumped after `cut` events and loaded elsewhere continues in the same way: snapshot + tail =
    fold."""
    before, restored = _applied(make(), events[:cut]), make()
    _applied(restored, events[: cut // 2])  # loading must replace an earlier state
    restored.load(round_trip(before.dump()))
    _require_same(restored, before, f"dumped and loaded after {cut} events")
    _require_same(_applied(restored, events[cut:]), _applied(make(), events), f"loaded after {cut} events, gone on")


def check_refusal(make: Make[P]) -> None:
    view, strange = make(), RunResumed(package_version="", attempt=1)
    if RunResumed in view.reads:
        return
    try:
        view.apply(strange)
    except TypeError:
        return
    raise AssertionError(f"{view.name} accepts a RunResumed, which it does not read")


def check_growth(make: Make[P], events: Sequence[Event], ids: Callable[[P], Collection[object]]) -> None:
    """`ids` are those that the view must protect."""
    view, known = make(), set[object]()
    for event in events:
        if type(event) in view.reads:
            view.apply(event)
            present = set(ids(view))
            assert known <= present, f"{view.name}: {type(event).__name__} removes {sorted(map(repr, known - present))}"
            known = present


def sorted_dump(dumped: object) -> object:
    if isinstance(dumped, dict):
        return sorted(((repr(key), sorted_dump(value)) for key, value in dumped.items()), key=repr)
    if isinstance(dumped, list):
        return sorted((sorted_dump(value) for value in dumped), key=repr)
    return dumped


def _applied(view: P, events: Sequence[Event]) -> P:
    for event in events:
        if type(event) in view.reads:
            view.apply(event)
    return view


def _between(view: Projection, random: Random) -> list[Event]:
    if RunResumed in view.reads:
        return []
    return [RunResumed(package_version="", attempt=number) for number in range(random.choice((0, 0, 0, 1, 3)))]


def _require_same(view: Projection, live: Projection, how: str) -> None:
    assert view.digest() == live.digest(), f"{view.name}: {how}, its digest differs"
    dumps = [msgspec.msgpack.encode(sorted_dump(round_trip(each.dump()))) for each in (view, live)]
    assert dumps[0] == dumps[1], f"{view.name}: {how}, its dump differs (with the same digest)"
