"""No type changes under the feet of a log that a release has written."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mage_es.events.facts.shapes import fingerprint
from mage_es.events.facts.vocabulary import Upcaster, Vocabulary
from mage_es.events.vocabulary import EVENT_TYPES, MAGE_ES, Event, tag_of
from tests.golden.generate import golden, schema
from tests.golden.released import Schema, broken_promises

GOLDEN = golden()


def released(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((folder / "schema.json").read_bytes())
    return found


@pytest.mark.parametrize("folder", GOLDEN, ids=lambda folder: folder.name)
def test_every_type_and_version_ever_released_is_still_read(folder: Path) -> None:
    assert list(broken_promises(released(folder), MAGE_ES)) == []


def test_the_newest_golden_log_was_written_with_the_present_vocabulary() -> None:
    """If this fails, the vocabulary changed: run `python -m tests.golden.generate` for a new golden log."""
    assert released(GOLDEN[-1]) == schema()
    assert {tag: told["fingerprint"] for tag, told in released(GOLDEN[-1]).items()} == {
        tag: fingerprint(cls) for tag, cls in EVENT_TYPES.items()
    }


class Released(Event, frozen=True, kw_only=True, tag="thing.happened"):
    name: str
    size: int


class Renamed(Event, frozen=True, kw_only=True, tag="thing.happened"):
    title: str
    size: int


class Retyped(Event, frozen=True, kw_only=True, tag="thing.happened"):
    name: str
    size: float


class Shortened(Event, frozen=True, kw_only=True, tag="thing.happened"):
    name: str


class Lengthened(Event, frozen=True, kw_only=True, tag="thing.happened"):
    name: str
    size: int
    colour: str


class Widened(Event, frozen=True, kw_only=True, tag="thing.happened"):
    name: str
    size: int
    colour: str = "none"


class Second(Event, frozen=True, kw_only=True, tag="thing.happened"):
    version: ClassVar[int] = 2
    title: str


OLD: Schema = {"thing.happened": {"version": 1, "fields": {"name": "str", "size": "int"}}}


def promises(cls: type[Event] | None, upcaster: Upcaster | None = None) -> list[str]:
    types = {tag_of(cls): cls} if cls else {}
    return list(
        broken_promises(
            OLD, Vocabulary(types.values(), upcasters={("thing.happened", 1): upcaster} if upcaster else {})
        )
    )


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (Renamed, "name was removed or renamed"),
        (Retyped, "size was int and is float"),
        (Shortened, "size was removed"),
        (Lengthened, "colour was added without a default"),
        (Second, "nothing leads from version 1"),
        (None, "does not know"),
    ],
)
def test_a_change_that_old_logs_do_not_survive_is_named(cls: type[Event] | None, says: str) -> None:
    assert says in "; ".join(promises(cls))


def test_a_field_with_a_default_and_a_version_with_an_upcaster_are_no_broken_promise() -> None:
    assert promises(Released) == promises(Widened) == []
    assert promises(Second, lambda payload: {"title": payload["name"]}) == []
