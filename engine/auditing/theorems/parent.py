"""What a run inherited, compared with its parent if that is available: by the head of its log, which vouches for every
event, or after a merge memory by memory. Without its parents a merged run shows less: a `run.merged` names each memory,
which is therefore on probation, and cases are about the run's questions, with their right answers and their vectors.
Anything else in a memory must be believed, or compared."""

from collections.abc import Iterator, Mapping

import msgspec

from mage_es.engine.auditing.theorems.learned import as_recorded, is_planned_anywhere
from mage_es.engine.auditing.theorems.log import problems_of
from mage_es.engine.auditing.theorems.recount import CheckBasis
from mage_es.engine.rules.new_memories import CASE
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import inheritance, is_merged, last_inherited, not_inherited, taken_types
from mage_es.engine.run.world import World, first_event, templates_of
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.embedder import to_bytes
from mage_es.events.care import verify_log
from mage_es.events.disk.documents import Head, Past
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, RunInherited, RunMerged
from mage_es.projections.fold import fold
from mage_es.projections.memory import MemoryRow

NAME, PAST, MERGED = "parent", "past", "merged"
BOUND = "all equal"


def check_parent(reader: LogReader, parent: Run) -> Check:
    """Return whether a run began with what its parent had learned. Raises `UsageError` for a run that has none."""
    begun = inheritance(reader)
    if begun is None:
        raise UsageError(f"{reader.run} does not continue another run: omit --parent.")
    if is_merged(begun):
        return _check_merged(reader, begun, parent)
    verdict = verify_log(parent.log_path, head=begun.head_chain)
    if problems := problems_of(verdict):
        return Check(name=NAME, ok=False, detail=f"{parent.id}: {problems}", bound=BOUND, damaged=True)
    if verdict.search is None or verdict.search.found is None:
        detail = (
            f"the log of {parent.id} never had the head {begun.head_chain[:16]}, with which {begun.parent} was read"
        )
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=2)
    if wrong := fold(LogReader(parent.log_path), until=begun.seq).differing(begun.digests):
        detail = f"{', '.join(wrong)} of {parent.id} differs from what the run says of it"
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=2)
    if begun.is_served and templates_of(first_event(reader)) != templates_of(first_event(LogReader(parent.log_path))):
        detail = f"the templates of its prompts are not those of {parent.id}"
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=1)
    detail = f"its past is the log of {parent.id} up to event {begun.head_seq}, of which {begun.seq} count"
    return Check(name=NAME, ok=True, detail=detail, measured=f"{begun.head_seq} equal", bound=BOUND)


def check_past(run: Run, reader: LogReader) -> Iterator[Check]:
    """Yield, for each log that a run's own log continues, whether it is unchanged."""
    part = run
    while (about := reader.goes_on_from) and (begun := inheritance(reader)):
        part = part.past
        verdict = verify_log(part.log_path)
        claimed = Past(
            seq=begun.seq, head=Head(begun.head_seq, begun.head_chain), takes=taken_types(not_inherited(begun))
        )
        problem = problems_of(verdict)
        if not problem and verdict.head != claimed.head:
            problem = f"{part.log_path} ends with another event than {begun.parent} did"
        if not problem and about != claimed:
            problem = f"what it takes from {begun.parent} is not what {reader.run} says of it"
        if problem:
            yield Check(name=PAST, ok=False, detail=problem, bound=BOUND, damaged=True)
            return
        detail = f"{claimed.head.seq} events of {begun.parent}, of which those up to {claimed.seq} count"
        yield Check(name=PAST, ok=True, detail=detail, measured=f"{claimed.head.seq} equal", bound=BOUND)
        reader = LogReader(part.log_path)


def _check_merged(reader: LogReader, begun: RunInherited, parent: Run) -> Check:
    """Return whether a merge took or left out every memory that this parent had, and attributes no others to it."""
    until = last_inherited(reader)
    for mark in reader.of(RunMerged, until=until):
        verdict = verify_log(parent.log_path, head=mark.head_chain)
        if problems := problems_of(verdict):
            return Check(name=NAME, ok=False, detail=f"{parent.id}: {problems}", bound=BOUND, damaged=True)
        if verdict.search and verdict.search.found:
            break
    else:
        detail = f"the log of {parent.id} never had a head with which {begun.parent} were read"
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=2)
    theirs = {row.memory_id: row for row in fold(LogReader(parent.log_path), until=mark.seq).memory.rows()}
    left = {each.memory_id for each in mark.left_out if each.reason != "kind"}
    wrong = sorted(theirs.keys() ^ {*mark.memory_ids, *left})
    if wrong:
        detail = f"{wrong[0]} was learned by {parent.id} and is not on record, or on record and not learned"
        return Check(name=NAME, ok=False, detail=detail, measured=f"{len(wrong)} differ", bound=BOUND, seq=2)
    # What both parents had may be the other's account of it.
    others = {name for other in reader.of(RunMerged, until=until) if other != mark for name in other.memory_ids}
    own = {row.memory_id: row for row in fold(reader, until=until).memory.rows()}
    names = sorted({*mark.memory_ids} - others)
    if gone := [name for name in names if name not in own or _account(own[name]) != _account(theirs[name])]:
        detail = f"{gone[0]} of {parent.id} is not there as it was, though it was taken"
        return Check(name=NAME, ok=False, detail=detail, measured=f"{len(gone)} differ", bound=BOUND, seq=2)
    detail = (
        f"{len(mark.memory_ids)} memories are those of {parent.id} up to event {mark.seq}, {len(left)} were left out"
    )
    return Check(name=NAME, ok=True, detail=detail, measured=f"{len(mark.memory_ids)} equal", bound=BOUND)


def _account(row: MemoryRow) -> MemoryRow:
    """Return what a memory says, without what a merge decides anew."""
    return msgspec.structs.replace(row, question_id="", status="active", superseded_by="", met=1)


def check_taken(reader: LogReader, given: CheckBasis) -> Iterator[Check]:
    """Yield, for a merged run, whether its memories are those that it says it took."""
    begun, until = inheritance(reader), last_inherited(reader)
    if begun is None or not is_merged(begun):
        return
    marks = list(reader.of(RunMerged, until=until))
    named = {name for mark in marks for name in mark.memory_ids}
    memories = dict(reader.numbered(MemoryAppended, since=1, until=until))
    seq, problem = 2, ""
    if {mark.parent for mark in marks} != {*begun.parent.split(" + ")}:
        problem = f"it says that it merges {begun.parent}, and not from each of these what it took"
    elif missing := sorted(named - {event.memory_id for event in memories.values()}):
        problem = f"{missing[0]} was taken, and is not there"
    for place, event in memories.items():
        if not problem and event.memory_id not in named:
            seq, problem = place, f"{event.memory_id} is of none of the runs, so it is on no probation"
    if not problem and given.world and given.world.has_gold:
        seq, problem = next(_astray(given.world, memories), (0, ""))
    detail = problem or f"{len(memories)} memories are named by {len(marks)} runs; --parent compares them word for word"
    yield Check(
        name=MERGED, ok=not problem, detail=detail, measured="1 astray" if problem else BOUND, bound=BOUND, seq=seq
    )


def _astray(world: World, memories: Mapping[int, MemoryAppended]) -> Iterator[tuple[int, str]]:
    """Yield the first case that is not about a question of the run, with its right answer and its vector."""
    cases = {seq: event for seq, event in memories.items() if _is_case(event)}
    for seq, event in cases.items():
        question = world.questions.get(event.question_id)
        if question is None or (
            event.kind == CASE and (event.question, event.answer) != (question.question, question.gold)
        ):
            yield seq, f"{event.memory_id} is not about {event.question_id} as the run has it, with its right answer"
    if is_planned_anywhere(world) and cases:
        vectors = world.embedder.encode([event.question for event in cases.values()])
        for (seq, event), vector in zip(cases.items(), vectors, strict=True):
            made = msgspec.structs.replace(event, embedding=to_bytes(vector))
            if as_recorded(made, event) != event:
                yield seq, f"{event.memory_id} has not the vector of its question"


def _is_case(memory: MemoryAppended) -> bool:
    return memory.phase != "serve" and (memory.outcome == "success_memory" or memory.kind == CASE)
