"""Reading what other releases wrote."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from mage_es.events import vocabulary as v
from mage_es.events.errors import LogDamaged, UnknownEvent
from mage_es.events.facts.vocabulary import Upcaster, Vocabulary
from mage_es.events.log import Log, LogReader
from tests.events.samples import abandon, clock, judged, remembered


class Renamed(v.Event, frozen=True, kw_only=True, tag="task_type.created"):
    """A second version: `description` is called `about`."""

    version: ClassVar[int] = 2
    task_type: str
    about: str


class Widened(v.Event, frozen=True, kw_only=True, tag="task_type.created"):
    """The first version with a new field that has a default."""

    task_type: str
    description: str
    source: str = "nobody"


class Retyped(v.Event, frozen=True, kw_only=True, tag="task_type.created"):
    """A change that nobody gave a version."""

    task_type: str
    description: int


class Shortened(v.Event, frozen=True, kw_only=True, tag="memory.appended"):
    """A second version of an event with a vector."""

    version: ClassVar[int] = 2
    memory_id: str
    embedding: v.EmbeddingBytes


class Older(v.Event, frozen=True, kw_only=True, tag="task_type.created"):
    """What a release before this one knows."""

    version: ClassVar[int] = 0
    task_type: str


def rename(payload: dict[str, Any]) -> dict[str, Any]:
    return {"task_type": payload["task_type"], "about": payload["description"]}


def shorten(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: payload[name] for name in ("memory_id", "embedding")}


def knowing(cls: type[v.Event], upcaster: Upcaster | None = None) -> Vocabulary:
    tag = v.tag_of(cls)
    return Vocabulary({**v.EVENT_TYPES, tag: cls}.values(), upcasters={(tag, 1): upcaster} if upcaster else {})


@pytest.fixture(params=["sealed", "tail"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A log of the present release, sealed or not."""
    log = Log.create(tmp_path, run="r1", clock=clock())
    created = v.TaskTypeCreated(task_type="ages", description="How old?")
    log.append([v.Draft(event=created, iteration=-1, phase="open"), judged(2), remembered(3)])
    if request.param == "sealed":
        log.close()
    else:
        abandon(log)
    return tmp_path


def events(path: Path, cls: type[v.Event], vocabulary: Vocabulary) -> list[v.Event]:
    return [event for _, event in LogReader(path, vocabulary=vocabulary).events({cls: cls.__struct_fields__})]


def test_an_older_version_becomes_the_present_one(path: Path) -> None:
    vocabulary = knowing(Renamed, rename)
    assert events(path, Renamed, vocabulary) == [Renamed(task_type="ages", about="How old?")]
    assert type(next(LogReader(path, vocabulary=vocabulary).records()).event) is Renamed


def test_an_older_version_keeps_its_vectors(path: Path) -> None:
    vocabulary = knowing(Shortened, shorten)
    original = remembered(3).event
    assert isinstance(original, v.MemoryAppended)
    assert events(path, Shortened, vocabulary) == [Shortened(memory_id="m3", embedding=original.embedding)]


def test_a_field_that_was_added_has_its_default_in_what_was_written_before(path: Path) -> None:
    expected = Widened(task_type="ages", description="How old?", source="nobody")
    assert events(path, Widened, knowing(Widened)) == [expected]
    first = next(LogReader(path, vocabulary=knowing(Widened)).records({Widened}))
    assert (first.seq, first.event) == (1, expected)
    [(_, pruned)] = LogReader(path, vocabulary=knowing(Widened)).events({Widened: ("source",)})
    assert isinstance(pruned, Widened) and pruned.source == "nobody"


def test_a_version_that_nothing_leads_from_stops_the_reader(path: Path) -> None:
    with pytest.raises(UnknownEvent, match=r"nothing leads from version 1 of task_type\.created"):
        events(path, Renamed, knowing(Renamed))


def test_a_field_retyped_without_a_new_version_stops_the_reader(path: Path) -> None:
    with pytest.raises((UnknownEvent, LogDamaged), match=r"task_type\.created"):
        events(path, Retyped, knowing(Retyped))


def test_a_newer_version_stops_only_who_asks_for_it(path: Path) -> None:
    vocabulary = knowing(Older)
    with pytest.raises(UnknownEvent, match="in version 1, this release knows 0"):
        events(path, Older, vocabulary)
    with pytest.raises(UnknownEvent):
        list(LogReader(path, vocabulary=vocabulary).records())
    assert len(events(path, type(judged(2).event), vocabulary)) == 1


def test_an_unknown_type_stops_only_who_asks_for_it(path: Path) -> None:
    vocabulary = Vocabulary(cls for tag, cls in v.EVENT_TYPES.items() if tag != "task_type.created")
    with pytest.raises(UnknownEvent, match=r"'task_type\.created', which this release does not know"):
        list(LogReader(path, vocabulary=vocabulary).records())
    assert len(events(path, type(judged(2).event), vocabulary)) == 1
    assert [record.seq for record in LogReader(path, vocabulary=vocabulary).records({v.MemoryAppended})] == [3]


def test_an_upcaster_that_makes_nonsense_is_reported(path: Path) -> None:
    vocabulary = knowing(Renamed, dict)
    with pytest.raises(LogDamaged, match="does not become version 2"):
        events(path, Renamed, vocabulary)


def stumble(payload: dict[str, Any]) -> dict[str, Any]:
    return {"task_type": payload["no such field"]}


def test_an_upcaster_that_does_not_find_what_it_needs_is_reported(path: Path) -> None:
    with pytest.raises(LogDamaged, match="does not become version 2: 'no such field'"):
        events(path, Renamed, knowing(Renamed, stumble))


def test_the_present_release_reads_every_type_of_its_vocabulary() -> None:
    for tag, cls in v.EVENT_TYPES.items():
        assert v.MAGE_ES.require(tag, cls.version) is cls
