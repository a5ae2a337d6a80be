"""Write the golden logs of the present release.

`log` has two records of every event type, one sealed and one still unsealed, with a value in every field; `run` is a
small run that makes sense, with the digests of its state recorded at every closed iteration.

    python -m tests.golden.generate v14

Run it once for each release that changes the vocabulary, under a new name, and commit what it writes; a golden log is
never written again. Beside the log it puts `schema.json`, the fields of every type and version as they were released,
and `expected.jsonl`, what a reader must make of the log. When a later release reads an old log differently (upcasting),
run it with `--expect` and look at the difference before committing.
"""

import struct
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from mage_es.events.facts.shapes import fingerprint, shapes_of
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import EVENT_TYPES, Draft, Event, IterationClosed, Part, SegmentSealed, tag_of
from tests.kit.stages import drafts_of
from tests.kit.strategies import history

HERE = Path(__file__).parent


def golden() -> list[Path]:
    """Return the folders of golden logs, the newest last."""
    return sorted((path.parent for path in HERE.glob("v*/schema.json")), key=lambda folder: int(folder.name[1:]))


def value(annotation: Any, name: str, number: int) -> Any:
    """Return a value for a field that shows its name, its number, and what is easily lost on the way."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)[number % len(get_args(annotation))]
    if get_origin(annotation) is tuple:
        return tuple(value(get_args(annotation)[0], name, number + k) for k in range(number % 3))
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return filled(annotation, number)
    plain = {str: f"{name} é {number}", int: -number, float: number / 3, bool: number % 2 == 1}
    return struct.pack("<3f", 0.1, -0.0, number) if annotation is bytes else plain[annotation]


def filled(cls: type[Any], number: int) -> Any:
    """Return a struct with a value in every field."""
    hints = get_type_hints(cls)
    return cls(**{name: value(hints[name], name, number) for name in cls.__struct_fields__})


def drafts(number: int) -> list[Draft]:
    """Return one draft of every type; the mark of a closed iteration comes last, because it moves HEAD."""
    kinds = sorted(EVENT_TYPES.values(), key=lambda cls: (cls is IterationClosed, tag_of(cls)))
    events: list[Event] = [filled(cls, number + k) for k, cls in enumerate(kinds) if cls is not SegmentSealed]
    return [Draft(event=event, iteration=number, phase="evaluate", ordinal=7, correlation="q1") for event in events]


def schema() -> dict[str, dict[str, Any]]:
    """Return version, fingerprint and field shapes of every type in the present vocabulary."""
    return {
        tag: {
            "version": cls.version,
            "fingerprint": fingerprint(cls),
            "fields": {name: str(shape) for name, shape in shapes_of(cls).items()},
        }
        for tag, cls in sorted(EVENT_TYPES.items())
    }


def write(folder: Path) -> None:
    """Write the golden logs into a new folder."""
    Log.create(folder / "log", run="golden", clock=lambda: 1_700_000_000_000_000).close()
    with Log.open(folder / "log", clock=lambda: 1_700_000_000_000_001) as log:
        for draft in drafts(1):
            log.append([draft])
    log = Log.open(folder / "log", clock=lambda: 1_700_000_000_000_002)
    log.append(drafts(40))
    (folder / "log" / "LOCK").unlink()  # left open, as by a writer that was killed
    with Log.create(folder / "run", run="golden", clock=lambda: 1_700_000_000_000_000) as log:
        for batch in drafts_of(history(seed=1, iterations=3, questions=2)):
            log.append(batch)
    (folder / "run" / "LOCK").unlink()
    (folder / "schema.json").write_bytes(msgspec.json.format(msgspec.json.encode(schema()), indent=1) + b"\n")


def lines(folder: Path) -> list[bytes]:
    """Return what a reader makes of a golden log, one line of JSON for each record."""
    return [msgspec.json.encode(record, order="sorted") for record in LogReader(folder / "log").records()]


if __name__ == "__main__":
    target = HERE / sys.argv[1]
    if "--expect" not in sys.argv:
        write(target)
    (target / "expected.jsonl").write_bytes(b"\n".join(lines(target)) + b"\n")
