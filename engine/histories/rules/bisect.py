"""Where a sequence of moments flips: a metric from the record, a question by asking it as rarely as possible.

Rules
    - A metric is known at every moment, so every flip is found: where it passes its first level, towards its last one,
      and where it comes back.
    - For a question the sequence consists of prompts, by the hash of what is asked: equal prompts have one verdict.
      Both ends come first. If they differ, the prompt in the middle of the open range is next, until two neighbours
      differ.
    - That takes ceil(log2(n)) prompts besides the ends, for n steps between prompts that differ. No search needs fewer,
      since an answer at best halves the range.
    - If the verdict flips more than once, one of the flips is found: of those between known verdicts the one with the
      fewest prompts in between; otherwise an answer that two moments share could undo a halving, and a finished search
      could go on to an earlier flip. To find the earlier flip, end the search at its marker.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from mage_es.events.vocabulary import QuestionPlanned


def crossings(levels: Sequence[float | None]) -> list[int]:
    """Return the positions at which a sequence of levels flips: the first, third and fifth leave the first level in the
    direction of the last, those between return to it. A level may be None where there is none, except at the ends. If
    the ends are equal there are no flips."""
    first, last = levels[0], levels[-1]
    assert first is not None and last is not None
    sides = [
        (place, level < first if last < first else level > first)
        for place, level in enumerate(levels)
        if level is not None
    ]
    return [place for (_, was), (place, now) in pairwise(sides) if was != now] if first != last else []


def bracket(row: Sequence[str], known: Mapping[str, bool]) -> tuple[int, int] | None:
    """Return the two positions between which the verdict flips, as far as verdicts are known; None if both ends agree.
    The verdicts at both ends must be known."""
    near, far = known[row[0]], known[row[-1]]
    if near == far:
        return None
    places = (place for place, name in enumerate(row) if name in known)
    flips = [(low, high) for low, high in pairwise(places) if (known[row[low]], known[row[high]]) == (near, far)]
    return min(flips, key=lambda flip: len(_open(row, *flip)))


def next_asked(row: Sequence[str], known: Mapping[str, bool]) -> int | None:
    """Return the position of the prompt to ask next; None once the flip is found, or if both ends agree."""
    if row[0] not in known or row[-1] not in known:
        return 0 if row[0] not in known else len(row) - 1
    found = bracket(row, known)
    open_places = _open(row, *found) if found else []
    return open_places[len(open_places) // 2] if open_places else None


def most_asked(row: Sequence[str], known: Mapping[str, bool]) -> int:
    """Return how many prompts at most have to be asked, besides the known ones."""
    ends = {row[0], row[-1]} - known.keys()
    if ends:
        return len(ends) + _halvings(len(_open(row, 0, len(row) - 1)))
    found = bracket(row, known)
    return _halvings(len(_open(row, *found))) if found else 0


def _open(row: Sequence[str], low: int, high: int) -> list[int]:
    """Return the positions between two others at which the prompt changes."""
    return [place for place in range(low + 1, high) if row[place] not in (row[place - 1], row[high])]


def _halvings(prompts: int) -> int:
    """Return how many verdicts it takes to find the step that flips, with this many prompts between the two ends."""
    return prompts.bit_length()


def shown_in_order(planned: QuestionPlanned) -> list[str]:
    """Return the memories and principles of a prompt, the best first."""
    return list(dict.fromkeys((*(hit.memory_id for hit in planned.memories), *planned.principles)))


def one_by_one(good: QuestionPlanned, bad: QuestionPlanned) -> tuple[list[str], list[str]]:
    """Return what only the good prompt shows, and what only the bad one shows, each the best first.

    Removing the former from the good prompt one by one, and then adding the latter, leads from one prompt to the other;
    the step in between is whatever else differs.
    """
    before, after = shown_in_order(good), shown_in_order(bad)
    return [name for name in before if name not in after], [name for name in after if name not in before]
