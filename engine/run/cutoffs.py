"""Where a benchmark has fewer questions than a run asks for: what was cut, in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from mage_es.engine.config import Config
from mage_es.engine.rules.splits import ANCHOR_SHARE, Splits
from mage_es.events.vocabulary import SplitCommitted

SHOWN = 5


def cutoffs(config: Config, splits: Iterable[SplitCommitted], *, has_guard: bool = True) -> tuple[str, ...]:
    """Return a sentence for each split that is smaller than was asked for.

    Anchors are missed by the guard that compares them only; a baseline has none.
    """
    sizes, found = {split.split: split.size for split in splits}, []
    if (held_out := sizes["held_out"]) < config.held_out:
        found.append(f"{held_out} questions are held out, not the {config.held_out} of --held-out: there are no more.")
    if has_guard and config.guard == "paired" and (anchors := sizes["anchors"]) < config.anchors:
        most = f"at most {ANCHOR_SHARE:.0%} of the evolution questions are taken"
        found.append(f"The guard compares {anchors} anchors, not the {config.anchors} of --anchors: {most}.")
    return tuple(found)


def left_out(config: Config, splits: Splits) -> tuple[str, ...]:
    """Return a sentence that names the questions that are in no split because others repeat them; () without any.

    The log holds what was taken, not what there was, so only who divides the questions can tell.
    """
    if not (repeats := splits.repeats):
        return ()
    subject = "1 question is left out" if len(repeats) == 1 else f"{len(repeats)} questions are left out"
    named = "; ".join(map(str, repeats[:SHOWN]))
    more = f"; `mage-es data check {shlex.quote(config.benchmark)}` lists all" if len(repeats) > SHOWN else ""
    return (f"{subject}: {named}{more}.",)
