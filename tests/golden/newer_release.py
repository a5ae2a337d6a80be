"""A writer as a later release may be: it knows one event more than this one, or one differently. Run as a process.

python -m tests.golden.newer_release LOG WHAT [sealed]

unknown    a type that this release does not have
unread     a second version of a type that no projection reads
read       a second version of a type that projections read
wider      a read type with one more field, which has a default
"""

import sys
from copy import copy
from pathlib import Path
from typing import ClassVar

from mage_es.events.log import Log
from mage_es.events.vocabulary import MAGE_ES, Draft, Event, TaskTypeCreated, tag_of


class CacheWarmed(Event, frozen=True, kw_only=True, tag="cache.warmed"):
    """An unknown type."""

    entries: int


class RunResumed(Event, frozen=True, kw_only=True, tag="run.resumed"):
    """The second version of an unread type."""

    version: ClassVar[int] = 2
    host: str


class TaskTypeFound(Event, frozen=True, kw_only=True, tag="task_type.created"):
    """The second version of a type that projections read."""

    version: ClassVar[int] = 2
    name: str


class TaskTypeWidened(TaskTypeCreated, frozen=True, kw_only=True, tag="task_type.created"):
    """The first version, with one more field."""

    origin: str = "nowhere"


EVENTS: dict[str, Event] = {
    "unknown": CacheWarmed(entries=3),
    "unread": RunResumed(host="h"),
    "read": TaskTypeFound(name="age"),
    "wider": TaskTypeWidened(task_type="later", description="", origin="here"),
}


def main(path: Path, what: str, *, sealed: bool) -> None:
    """Append one event of the later release to a log, and leave it sealed or as a killed writer does."""
    event, later = EVENTS[what], copy(MAGE_ES)
    later.types = {**MAGE_ES.types, tag_of(event): type(event)}
    later.versions = {tag: cls.version for tag, cls in later.types.items() if cls.version != 1}
    log = Log.open(path, clock=lambda: 1_700_000_000_000_000, vocabulary=later)
    log.append([Draft(event=event, iteration=99, phase="open", ordinal=99)])
    if sealed:
        log.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sealed="sealed" in sys.argv[3:])
