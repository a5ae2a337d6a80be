"""No leak: nothing that was learned contains an anchor or held-out question, except the cases of anchors
(rules/refit.py), which no anchor is shown (own.py); and the certificate for it.

Every prompt also holds what the run was given: instruction and labels of own tasks, and the templates. None may hold a
guarded question, for an exam would then measure what was written there.

The splits are what the run committed to in its first events, so the log alone is enough. The largest similarity is that
of any passage of any text to any guarded question (rules/leaks.py), and stays below 0.8.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from mage_es.engine.benchmarks.tasks import OWN_TASKS
from mage_es.engine.benchmarks.tasks.spec import parse
from mage_es.engine.rules.leaks import LEARNED, NOTHING_ALIKE, Guarded, Likeness, hashes_of, id_of
from mage_es.engine.rules.near_duplicates import NEAR_DUPLICATE, normalise, question_hash
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import is_erased
from mage_es.events.facts.shapes import fields_with
from mage_es.events.log import LogReader

WRITTEN = frozenset(cls for cls in v.EVENT_TYPES.values() if fields_with(cls, "learned"))
"""The events that bring text into the graph or a prompt."""


def check_splits(reader: LogReader) -> Check:
    seen: dict[str, str] = {}
    for seq, split in reader.numbered(v.SplitCommitted):
        if len(split.question_hashes) != split.size:
            detail = f"{split.split} commits to {split.size} questions, and has hashes of {len(split.question_hashes)}"
            return Check(name="splits", ok=False, detail=detail, bound="0 shared", seq=seq)
        for name in hashes_of(split):
            other = seen.setdefault(name, split.split)
            if other != split.split:
                detail = f"{other} and {split.split} share the question {name}"
                return Check(name="splits", ok=False, detail=detail, bound="0 shared", seq=seq)
    sizes = ", ".join(f"{split} {size}" for split, size in Counter(seen.values()).items())
    return Check(name="splits", ok=True, detail=f"disjoint: {sizes}", measured="0 shared", bound="0 shared")


def check_leaks(reader: LogReader) -> Check:
    """Return the certificate: how much was checked against how many questions, and the largest similarity found.

    [section 4.1, held-out pool] The first events commit to the splits. Exact, normalised and near-duplicate questions
    count as leaks, and every text is checked from the log alone.
    """
    splits = list(reader.of(v.SplitCommitted))
    guarded = Guarded(splits)
    known = {name for split in splits for name in hashes_of(split)}
    counts: Counter[str] = Counter()
    largest, holder, of_anchors = NOTHING_ALIKE, "", 0
    for name, text in _given(next(reader.of(v.RunStarted), None)):
        if (found := guarded.likeness([text])).is_leak:
            return _verdict(found, f"{name} holds the question {found.question_hash} of {found.split}", ok=False, seq=1)
    inherited, proposed = last_inherited(reader), set[str]()
    for seq, event in reader.numbered(*WRITTEN, v.MemoryRefused):
        counts[v.tag_of(event)] += 1
        of_anchors += guarded.is_of_anchor(event)
        if isinstance(event, v.MemoryProposed):
            proposed.add(event.memory_id)
        # The question of a published proposal is a client's, and in no split; the parent's log has its proposal.
        is_published = event.memory_id in proposed or seq <= inherited if isinstance(event, v.MemoryAppended) else False
        if (
            isinstance(event, v.MemoryAppended)
            and event.question
            and not (event.phase == "serve" and is_published)
            and not is_erased(event.question)
            and question_hash(normalise(event.question)) not in known
        ):
            detail = f"memory {event.memory_id} holds a question of no split"
            return _verdict(largest, detail, ok=False, seq=seq)
        found = guarded.likeness_of(event)
        if found.similarity > largest.similarity:
            largest, holder = found, f"{v.tag_of(event)} {id_of(event)}"
        if found.is_leak:
            detail = f"{holder} holds the question {found.question_hash} of {found.split}"
            return _verdict(largest, detail, ok=False, seq=seq)
    refused = counts.pop(v.tag_of(v.MemoryRefused), 0)
    checked = ", ".join(f"{count} {tag}" for tag, count in sorted(counts.items())) or "nothing"
    nearest = f"; nearest: {holder} to {largest.question_hash} of {largest.split}" if holder else ""
    form = f", {guarded.common} shingles of the questions' form aside" if guarded.common else ""
    by = f"({guarded.shingled} by shingles{form})"
    own = f", {of_anchors} of anchors (against the others)" if of_anchors else ""
    detail = f"checked {checked}{own} against {_sizes(splits)} {by}; {refused} refused{nearest}"
    return _verdict(largest, detail, ok=True)


def _given(started: v.RunStarted | None) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of what a run was given to put into its prompts."""
    if started and started.benchmark.startswith(OWN_TASKS):
        spec = parse(started.benchmark)
        yield from (("the instruction", spec.instruction), ("the list of labels", ", ".join(spec.labels)))
    for each in started.templates if started else ():
        yield f"the template {each.name}", each.wording


def _sizes(splits: Sequence[v.SplitCommitted]) -> str:
    return ", ".join(f"{len(split.question_hashes)} {split.split}" for split in splits if split.split != LEARNED)


def _verdict(largest: Likeness, detail: str, *, ok: bool, seq: int = 0) -> Check:
    measured = f"largest similarity {largest.similarity:.3f}"
    return Check(name="leaks", ok=ok, detail=detail, measured=measured, bound=f"below {NEAR_DUPLICATE}", seq=seq)
