"""Events to record: hypothesis strategies for every type, a few plain ones, and a log directory to put them into."""

import itertools
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from mage_es.events import vocabulary as v
from mage_es.events.log import Log
from mage_es.events.segments.schema import Files
from mage_es.events.segments.writer import Commit, write

FACTS = [cls for cls in v.EVENT_TYPES.values() if cls is not v.SegmentSealed]


def bits(values: Iterable[object]) -> bytes:
    """Return bytes that are equal exactly if the values are, floats compared bit for bit."""
    return msgspec.msgpack.encode(list(values))


def clock() -> Callable[[], int]:
    """Return a clock that advances by one second whenever it is asked."""
    return itertools.count(1_700_000_000_000_000, 1_000_000).__next__


def judged(number: int, *, correct: bool = True) -> v.Draft:
    """Return a small fact, a different one for each number."""
    event = v.AnswerJudged(
        iteration=0,
        purpose="fresh",
        question_id=f"q{number}",
        task_type="ages",
        skill="algebra",
        answer=str(number),
        score_micro=1_000_000 if correct else 0,
        correct=correct,
        strict=False,
        judge="number",
    )
    return v.Draft(event=event, iteration=0, phase="evaluate", correlation=f"q{number}")


def remembered(number: int, *, vector: bytes = b"\0\0\x80?" * 4) -> v.Draft:
    """Return a fact with a vector, a different one for each number."""
    event = v.MemoryAppended(
        memory_id=f"m{number}",
        outcome="success_memory",
        kind="",
        task_type="ages",
        skill="algebra",
        question_id=f"q{number}",
        question="How old?",
        recognise="",
        reasoning="3 + 4 = 7",
        answer="7",
        wrong_answer="",
        steps=(),
        origin=v.Origin(),
        iteration=0,
        phase="update",
        ordinal=number,
        embedding=vector,
    )
    return v.Draft(event=event, iteration=0, phase="update", ordinal=number)


def completed(iteration: int, phase: v.Phase) -> v.Draft:
    """Return the mark of a completed phase."""
    return v.Draft(event=v.PhaseCompleted(iteration=iteration, phase=phase), iteration=iteration, phase=phase)


def closed(iteration: int) -> v.Draft:
    """Return the mark of a closed iteration."""
    event = v.IterationClosed(iteration=iteration, digests=(v.Digest(projection="graph", value="0" * 64),))
    return v.Draft(event=event, iteration=iteration, phase="close")


def write_log(path: Path, *commits: list[v.Draft]) -> None:
    """Write a log of these commits and close it."""
    with Log.create(path, run="r1", clock=clock()) as log:
        for commit in commits:
            log.append(commit)


def abandon(log: Log) -> None:
    """Leave a log as a killed process does: nothing is closed, and the kernel gives up its lock."""
    log._lock.release()


def sealed_files(records: Sequence[v.Record], *, log_id: str, previous: str, chain: str) -> Files:
    """Return the files of a segment that holds these records; those of a commit have one time."""
    commits = [list(commit) for _, commit in itertools.groupby(records, key=lambda record: record.commit)]
    names = ("event", "iteration", "phase", "ordinal", "causation", "correlation")
    return write(
        [
            Commit(batch[0].seq, batch[0].ts_us, [v.Draft(**{n: getattr(r, n) for n in names}) for r in batch])
            for batch in commits
        ],
        run=records[0].run,
        log_id=log_id,
        previous=previous,
        chain=chain,
    )


def facts(records: Iterable[v.Record]) -> list[v.Record]:
    """Return the records that are not the log's own."""
    return [record for record in records if record.phase != "log"]


def _values(annotation: Any) -> st.SearchStrategy[Any]:
    if get_origin(annotation) is Annotated and get_args(annotation)[0] is str:
        return _values(str)
    if get_origin(annotation) is Annotated:
        return st.lists(st.floats(width=32), max_size=4).map(lambda numbers: b"".join(map(_float32, numbers)))
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if get_origin(annotation) is tuple:
        return st.lists(_values(get_args(annotation)[0]), max_size=3).map(tuple)
    if isinstance(annotation, type) and issubclass(annotation, v.Part):
        return _structs(annotation)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(max_size=12),
        int: st.integers(-(1 << 63), (1 << 63) - 1),
        float: st.floats(),
        bool: st.booleans(),
        bytes: st.binary(max_size=12),
    }
    return plain[annotation]


def _structs(cls: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls, include_extras=True)
    return st.builds(cls, **{name: _values(hints[name]) for name in cls.__struct_fields__})


def _float32(number: float) -> bytes:
    return struct.pack("<f", number)


def events(cls: type[v.Event]) -> st.SearchStrategy[v.Event]:
    """Return a strategy for events of a type, every field taking any value that it may have."""
    return _structs(cls)


@st.composite
def drafts(draw: st.DrawFn, *, most: int = 12) -> list[v.Draft]:
    """Return drafts of several types, no two of them the same fact."""
    kinds = draw(st.lists(st.sampled_from(FACTS), min_size=1, max_size=most))
    return [
        v.Draft(
            event=draw(events(cls)),
            iteration=draw(st.integers(-1, 1000)),
            phase=draw(st.sampled_from([phase for phase in get_args(v.Phase) if phase != "log"])),
            ordinal=number,
            causation=draw(st.integers(0, (1 << 63) - 1)),
            correlation=draw(st.text(max_size=4)),
        )
        for number, cls in enumerate(kinds)
    ]
