"""The verb `prune`: take memories out of use that a run's own record proves harmful, and say what this gains.

Rules
    - No model is called: it uses only the pairs that `effect` recorded, and the tosses of the coin (pruning.py says
      what they prove).
    - Harmful memories are quarantined by one commit of events that give the reasons. Nothing is deleted.
    - A memory that a person released stays in use: otherwise the same pairs would take it out again.
    - The gain compares the same questions, paired: as they were answered, and without any of the removed memories. A
      question that saw several of these counts only if it was asked again without all of them.
    - The same pairs decided what to remove, so the gain describes the past and does not predict the future; only an
      exam can.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.upkeep.memory import curate_all
from mage_es.engine.upkeep.pruning import proved_harmful
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.worth.effect import LEAST_PAIRS, pairs_of, to_ask
from mage_es.engine.worth.worth import OnRecord, PairedNumbers, on_record, paired_numbers
from mage_es.events.vocabulary import MemoryReleased

BY = "prune"
"""Who decides, in the events."""


class PrunedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that is proved harmful: what it is worth by pairs or by the coin, in points (95 %), on how many answers
    (pairs, or either side of the coin), p, and p after the correction for all that were tested."""

    memory_id: str
    kind: str
    text: str
    by: Literal["re-ask", "coin"]
    points: float
    low: float
    high: float
    n: tuple[int, ...]
    p: float
    corrected: float


class PruneGain(PairedNumbers, frozen=True, kw_only=True):
    """Questions that saw a removed memory and were asked again without all that they saw: how many were right `before`
    and `after`."""

    before: int
    after: int

    def in_words(self) -> str:
        if self.points is None:
            return (
                f"What that gains is not on record: none of the {self.questions} questions that saw one was asked "
                "again without."
            )
        counted = (
            f"{self.before} of {self.pairs} right as they were asked, {self.after} without: {self.points:+.1f} points"
        )
        rest = self.questions - self.pairs
        missing = f" {rest} more questions were not asked again without all of them." if rest else ""
        level = "" if self.low is None else "95 % "
        counted = f"{counted} ({level}{self.interval_in_words()})"
        return f"The same questions: {counted}.{missing} They chose what goes: an exam asks others."


class PruneReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken out of use, the most certain first; with `only_look`, what would be. Of the memories in use that a
    prompt showed, `looked_at` had enough results on record, `too_few` did not, and `released` were brought back by a
    person."""

    run_id: str
    only_look: bool
    looked_at: int
    too_few: int
    released: int
    pruned: tuple[PrunedMemory, ...]
    gain: PruneGain

    def in_words(self) -> str:
        """Return all but the table of what was taken out."""
        if not (self.looked_at or self.too_few or self.released):
            return f"Nothing is proved harmful in {self.run_id}: no prompt showed a memory that is in use."
        more = " more" if self.looked_at else ""
        were = "was" if self.too_few == 1 else "were"
        left = f"{self.too_few}{more} {were} left alone: too few answers on record"
        if self.too_few and not self.pruned:
            left += (
                f" (a proof takes {LEAST_PAIRS} questions asked again without it, by `mage-es effect {self.run_id}`, "
                f"or {LEAST} answers on either side of --coin)"
            )
        left += f"; and {self.released} that a person released." if self.released else "."
        looked_at = "1 memory" if self.looked_at == 1 else f"{self.looked_at} memories"
        if not self.pruned:
            return f"Nothing is proved harmful in {self.run_id}: {looked_at} looked at. {left}"
        done = "would go" if self.only_look else "went"
        counted = f"Of {looked_at} looked at in {self.run_id}, {len(self.pruned)} {done} out of use. {left}"
        return f"{counted} {self.gain.in_words()}"


@typed
def prune(run: Run | Path | str, *, only_look: bool = False) -> PruneReport:
    """Quarantine every memory that the record of a run proves harmful; with `only_look`, change nothing.

    Raises:
        UsageError: There is no such run, or its episodes are in progress.
        RunLocked: Another process is writing the run.
    """
    run = as_run(run)
    learned = on_record(run)
    released = {event.memory_id for event in learned.reader.of(MemoryReleased)}
    shown = [row for row in learned.rows() if row.status == "active"]
    rows = {row.name: row for row in shown if row.name not in released}
    best = {name: found for name, row in rows.items() if (found := row.best)}
    tested = {name: (found.points, found.p) for name, found in best.items() if found.p is not None}
    pruned = tuple(
        PrunedMemory(
            memory_id=name,
            kind=rows[name].kind,
            text=rows[name].text,
            corrected=p,
            **msgspec.structs.asdict(best[name]),
        )
        for name, p in proved_harmful(tested).items()
    )
    if pruned and not only_look:
        reasons = [(each.memory_id, _reason(each, len(tested))) for each in pruned]
        curate_all(run, reasons, action="quarantine", by=BY)
    return PruneReport(
        run_id=run.id,
        only_look=only_look,
        looked_at=len(tested),
        too_few=len(rows) - len(tested),
        released=len(shown) - len(rows),
        pruned=pruned,
        gain=_gain(learned, frozenset(each.memory_id for each in pruned)),
    )


aprune = in_thread(prune)


def _reason(found: PrunedMemory, looked_at: int) -> str:
    counted = " and ".join(map(str, found.n))
    number = f"{counted} questions asked again without it" if found.by == "re-ask" else f"the coin ({counted})"
    return (
        f"harmful: {found.points:+.1f} points by {number}, 95 % {found.low:+.1f} to {found.high:+.1f}, "
        f"p {found.corrected:.2g} by Holm's correction for {looked_at} memories"
    )


def _gain(learned: OnRecord, names: frozenset[str]) -> PruneGain:
    wanted = to_ask(learned.askings, names)
    pairs: Sequence[tuple[bool, bool]] = pairs_of(wanted, learned.reasked)
    numbers = paired_numbers(len(wanted), [float(bare) - float(shown) for shown, bare in pairs])
    before, after = sum(shown for shown, _ in pairs), sum(bare for _, bare in pairs)
    return PruneGain(before=before, after=after, **msgspec.structs.asdict(numbers))
