"""Theorem 1, monotonicity: what is protected at k is protected, word for word, at k + 1.

The paper's form holds only while nothing is pruned. Here there is no such condition: no event can remove or edit a
principle, a failure memory or a success memory, so K_k is the fold of a prefix of the log of K_{k+1}, and protected ids
and contents only grow, through pruning, rollback and quarantine. On a log that means: every id is the hash of its
content and is assigned once; every event about a memory refers to an existing one; only abstracted patterns are pruned.
"""

import msgspec

from mage_es.engine.rules.new_memories import memory_id
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import is_erased, is_sealed
from mage_es.events.log import LogReader
from mage_es.projections.fold import fold_into
from mage_es.projections.memory import Memory, MemoryRow

NAME = "growth"
BOUND = "0 gone, 0 changed"
PROTECTED = frozenset({"principle", "failure_memory", "success_memory"})

_HASHED = ("outcome", "kind", "task_type", "question", "answer", "reasoning")
_LEARNED: tuple[type[v.Event], ...] = (v.MemoryAppended, v.ToolAuthored, v.ActionRecipeHarvested)
_TYPES = {*_LEARNED, *(cls for cls in v.EVENT_TYPES.values() if issubclass(cls, v.AboutMemory))}


def check_growth(reader: LogReader) -> Check:
    """Return whether protected ids and contents only grow, event by event and from one closed iteration to the next.

    [Theorem 1] It holds unconditionally here: the vocabulary has no event that could take a protected memory away.
    """
    kinds: dict[str, str] = {}
    # With subjects ids are keyed: by the run's secret, which a copy may lack.
    salt: str | None = reader.keys.salt if reader.keys else ""
    if not salt and any(is_sealed(text) for split in reader.of(v.SplitCommitted) for text in split.question_hashes):
        salt = None
    for seq, event in reader.numbered(*_TYPES):
        if problem := _problem(event, kinds, salt):
            return Check(name=NAME, ok=False, detail=problem, bound=BOUND, seq=seq)
    markers = [seq for seq, _ in reader.numbered(v.IterationClosed)]
    since: int | None = None
    memory, before, sizes = Memory(), dict[str, MemoryRow](), list[str]()
    for seq in markers:
        fold_into((memory,), reader, since=since, until=seq)
        after = {row.memory_id: _content(row) for row in memory.rows() if row.outcome in PROTECTED}
        gone = len(before.keys() - after.keys())
        changed = sum(after[name] != content for name, content in before.items() if name in after)
        if gone or changed:
            measured = f"{gone} gone, {changed} changed"
            detail = f"the iteration closed by event {seq} lost or changed what was protected before it"
            return Check(name=NAME, ok=False, detail=detail, measured=measured, bound=BOUND, seq=seq)
        before, since = after, seq + 1
        sizes.append(str(len(after)))
    ends = ", ".join((*sizes[:1], *sizes[-1:]))
    detail = f"protected memories at the first and last of {len(markers)} closed iterations: {ends}"
    return Check(name=NAME, ok=True, detail=detail, measured="0 gone, 0 changed", bound=BOUND)


def _problem(event: v.Event, kinds: dict[str, str], salt: str | None) -> str:
    match event:
        case v.MemoryAppended():
            if event.memory_id in kinds:
                return f"memory {event.memory_id} is appended a second time"
            kinds[event.memory_id] = event.outcome
            content = {name: getattr(event, name) for name in _HASHED}
            can_tell = salt is not None and not any(map(is_erased, content.values()))
            if can_tell and memory_id(**content, salt=salt or "") != event.memory_id:
                return f"the id of memory {event.memory_id} is not the hash of its content"
        case v.RetrievalRecipeAuthored():
            kinds[event.memory_id] = "retrieval_recipe"
        case v.PatternAbstracted():
            kinds[event.memory_id] = "abstracted_pattern"
        case v.ToolAuthored():
            kinds[event.tool_id] = "tool"
        case v.ActionRecipeHarvested():
            kinds[event.recipe_id] = "action_recipe"
        case v.PatternPruned() | v.PatternSupported():
            kind = kinds.get(event.memory_id, "thing that does not exist")
            return "" if kind == "abstracted_pattern" else f"{event.memory_id} is a {kind}, not a pattern"
        case v.MemorySuperseded():
            missing = [name for name in (event.memory_id, event.by) if kinds.get(name) not in PROTECTED]
            return f"there is no memory {missing[0]}" if missing else ""
        case v.MemoryReinforced():
            return "" if kinds.get(event.memory_id) in PROTECTED else f"there is no memory {event.memory_id}"
        case v.MemoryQuarantined() | v.MemoryReleased():
            return "" if event.memory_id in kinds else f"nothing has the id {event.memory_id}"
    return ""


def _content(row: MemoryRow) -> MemoryRow:
    if (row.status, row.superseded_by, row.met) == ("active", "", 1):
        return row
    return msgspec.structs.replace(row, status="active", superseded_by="", met=1)
