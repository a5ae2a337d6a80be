"""The three disjoint splits of a run: what it learns from, what its guard asks, what only the exam sees.

Rules
    - No question text is in two splits, neither word for word (after normalising) nor nearly: apart from the form of a
      type's questions, no passage of it has the five-word shingles of a question in another split (Jaccard at least
      0.8).
    - If the data has its own test questions, they stay test questions. A question that would be in two splits is left
      out of evolution first, then of the anchors, and the run reports it.
    - If the data has none, the test split is made here. Near-duplicates go into one split together, and none is left
      out.
    - The form is found in the questions that are not the data's own test questions. The run commits to the form
      together with them.
    - A run that continues another keeps every question on the side where the other had it: a question that may have
      been learned from is never examined, and a held-out question or an anchor is never learned from (but see
      rules/refit.py). A new near-duplicate follows the question that it resembles; if it resembles questions on both
      sides, it is left out.
    - The splits depend only on (questions, seed, sizes, the parent's splits).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache, partial
from itertools import islice, product
from typing import NamedTuple

from mage_es.engine.rules.leaks import LEARNED, hashes_of, packed, packed_shingles
from mage_es.engine.rules.near_duplicates import (
    NEAR_DUPLICATE,
    ExactIndex,
    common_shingles,
    compared,
    near_groups,
    normalise,
    question_hash,
)
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.seams.benchmark import TEST_SHARE, Question, Repeat, hash_share, is_test
from mage_es.events.digests import sha256_text
from mage_es.events.facts.private import Private
from mage_es.events.vocabulary import SplitCommitted

_MOST_TRIED = 256
"""How many ways to try to tell questions with the same text apart."""
ANCHOR_SHARE = 0.15  # the anchor set is at most this share of the evolution questions


class Splits(NamedTuple):
    """Question ids of each split in seeded order, what was left out, and the events that commit to it all."""

    evolution: tuple[str, ...]
    anchors: tuple[str, ...]
    held_out: tuple[str, ...]
    repeats: tuple[Repeat, ...]
    """Questions left out because another split (or the same exam) already holds nearly or exactly their text."""
    groups: tuple[tuple[str, ...], ...]
    """Near-duplicates that went into one split together."""
    events: tuple[SplitCommitted, ...]


class Sides(NamedTuple):
    """For each question id, the split in which the run that this one continues had it. `resembling` are in no split
    now, because they resemble something that the parent wrote.
    """

    evolution: frozenset[str] = frozenset()
    anchors: frozenset[str] = frozenset()
    held_out: frozenset[str] = frozenset()
    resembling: frozenset[str] = frozenset()

    def side(self, name: str) -> str:
        """Return the split in which a question was, "" for a new question."""
        return next((split for split in (LEARNED, "anchors", "held_out") if name in getattr(self, split)), "")

    @property
    def kept(self) -> frozenset[str]:
        """The ids of the questions that must not be learned from."""
        return self.anchors | self.held_out


NO_SIDES = Sides()


class _Asked(NamedTuple):
    """What of a question the splits depend on."""

    id: str
    task_type: str
    question: str
    subject: str


class _Parts(NamedTuple):
    evolution: Sequence[_Asked]
    anchors: Sequence[_Asked]
    held_out: Sequence[_Asked]
    common: frozenset[str]
    repeats: Sequence[Repeat] = ()
    groups: Sequence[Sequence[_Asked]] = ()


def make_splits(
    evolution: Sequence[Question],
    test: Sequence[Question],
    *,
    seed: int,
    anchors: int,
    held_out: int,
    past: Sides = NO_SIDES,
) -> Splits:
    """Divide a benchmark's questions among evolution, anchors and held-out. [section 4.1, held-out pool]

    `anchors` and `held_out` are the sizes wanted: anchors are at most 15 % of the evolution questions, and the exam
    cannot be larger than the test split: the data's own `test`, or about three tenths of the questions if it has none.
    """
    asked, tested = (
        tuple(_Asked(q.id, q.task_type, q.question, q.subject) for q in each if q.id not in past.resembling)
        for each in (evolution, test)
    )
    return _made(asked, tested, seed=seed, anchors=anchors, held_out=held_out, past=past)


# A run, its exams and its audit divide the same questions, one after the other.
@lru_cache(maxsize=4)
def _made(
    evolution: tuple[_Asked, ...],
    test: tuple[_Asked, ...],
    *,
    seed: int,
    anchors: int,
    held_out: int,
    past: Sides,
) -> Splits:
    parts = (_apart if test else _together)(evolution, test, seed=seed, anchors=anchors, held_out=held_out, past=past)
    named = {LEARNED: parts.evolution, "anchors": parts.anchors, "held_out": parts.held_out}
    return Splits(
        evolution=tuple(q.id for q in parts.evolution),
        anchors=tuple(q.id for q in parts.anchors),
        held_out=tuple(q.id for q in parts.held_out),
        repeats=tuple(parts.repeats),
        groups=tuple(tuple(q.id for q in group) for group in parts.groups if len(group) > 1),
        events=tuple(_committed(name, questions, parts.common) for name, questions in named.items()),
    )


def recorded_splits(events: Sequence[SplitCommitted], questions: Sequence[Question]) -> Splits:
    """Return the splits that a run has committed to, each in id order, without dividing its questions again."""
    ids = defaultdict[str, list[str]](list)
    for question in questions:
        ids[question_hash(normalise(question.question))].append(question.id)
    named = {event.split: _ids_of(event, [ids[each] for each in hashes_of(event) if each in ids]) for event in events}
    return Splits(named[LEARNED], named["anchors"], named["held_out"], repeats=(), groups=(), events=tuple(events))


def _ids_of(split: SplitCommitted, known: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the ids of a split's questions, including those with the same text as others: what it commits to."""
    for ids in islice(product(*known), _MOST_TRIED):
        if sha256_text("\n".join(ids)) == split.ids_sha256:
            return ids
    return tuple(same[0] for same in known)


def _apart(
    evolution: Sequence[_Asked], test: Sequence[_Asked], *, seed: int, anchors: int, held_out: int, past: Sides
) -> _Parts:
    # A small benchmark must not spend its questions on the guard: they could never be learned from.
    anchor_count = min(anchors, int(ANCHOR_SHARE * len(evolution)))
    order = shuffled(evolution, seed, purpose="split.evolution")
    common, seen = _common(order), past.evolution | past.held_out
    # Most texts are compared more than once, and to find their shingles takes longest.
    shingles = cache(partial(compared, common=common))
    # What may have been learned from goes first. The exam chooses next, then the guard; evolution gets the rest: where
    # texts are alike, the one to learn from is dropped.
    before, taken = _Taken(shingles), _Taken(shingles)
    if past.evolution:
        asked = [*test, *(q for q in order if q.id not in past.evolution)]
        among = {piece for question in asked for piece in shingles(question.question)}
        before.take((q for q in order if q.id in past.evolution), among)
    examinable = [*shuffled(test, seed, purpose="split.held_out"), *(q for q in order if q.id in past.held_out)]
    unlearned = before.first(examinable, len(examinable), reserve=False)
    exam = taken.first(_led_by(past.held_out, unlearned), held_out, reserve=True)
    guarding = [q for q in order if q.id not in seen and not before.repeat(q)]
    guard = taken.first(_led_by(past.anchors, guarding), anchor_count, reserve=True)
    kept = past.kept
    away = kept.union(question.id for question in guard)
    # What was held back stays held back, even if this exam and this guard are smaller.
    taken.take(q for q in (*examinable, *order) if q.id in kept)
    # `reserve=False`: two evolution questions may be alike, since both may be learned from.
    rest = [q for q in order if q.id not in away]
    learned = taken.first(rest, len(order), reserve=False)
    return _Parts(learned, guard, exam, common, (*before.repeats.values(), *taken.repeats.values()))


def _together(
    questions: Sequence[_Asked], _: Sequence[_Asked], *, seed: int, anchors: int, held_out: int, past: Sides
) -> _Parts:
    # By hash, as the test split is: the form must not depend on how a file is sorted, nor on the seed.
    common = _common(sorted(questions, key=lambda question: hash_share(question.id)))
    found = near_groups([question.question for question in questions], common)
    groups, repeats = _one_sided([[questions[place] for place in places] for places in found], past)
    sides = {group[0].id: {name for q in group if (name := past.side(q.id))} for group in groups}
    free = [group for group in groups if not sides[group[0].id]]
    examined = [*(group for group in groups if "held_out" in sides[group[0].id]), *_examined(free)]
    order = shuffled([question for group in examined for question in group], seed, purpose="split.held_out")
    exam = _led_by(past.held_out, order)[:held_out]
    kept_out = {group[0].id for group in examined}
    learned = [group for group in groups if group[0].id not in kept_out]
    anchor_count = min(anchors, int(ANCHOR_SHARE * sum(map(len, learned))))
    guard: list[_Asked] = []
    rest: list[_Asked] = []
    order_of_groups = shuffled(learned, seed, purpose="split.anchors")
    for group in sorted(order_of_groups, key=lambda group: "anchors" not in sides[group[0].id]):
        known = sides[group[0].id]
        if LEARNED not in known and len(guard) + len(group) <= anchor_count:
            guard.extend(group)
        elif "anchors" not in known:
            rest.extend(group)
    return _Parts(shuffled(rest, seed, purpose="split.evolution"), guard, exam, common, repeats, groups)


def _one_sided(groups: Sequence[Sequence[_Asked]], past: Sides) -> tuple[list[Sequence[_Asked]], Sequence[Repeat]]:
    """Return the groups, and what was removed: if a group is on both sides, only questions that may have been learned
    from are kept.
    """
    kept, repeats = list[Sequence[_Asked]](), list[Repeat]()
    for group in groups:
        known = [question for question in group if question.id in past.evolution]
        if known and any(question.id in past.kept for question in group):
            repeats += [Repeat(question.id, known[0].id, nearly=True) for question in group if question not in known]
            group = known
        kept.append(group)
    return kept, repeats


def _led_by(first: Collection[str], questions: Sequence[_Asked]) -> list[_Asked]:
    """Return the questions in order, except that those named `first` come first."""
    return sorted(questions, key=lambda question: question.id not in first)


def _examined(groups: Sequence[Sequence[_Asked]]) -> list[Sequence[_Asked]]:
    """Return the groups to examine: by the hash of their first question, but none larger than the test share."""
    most = TEST_SHARE * sum(map(len, groups))
    found = [group for group in groups if len(group) <= most and is_test(group[0].id)]
    # With a few large groups, or a few questions, the smallest is better than no exam.
    return found or sorted(groups, key=lambda group: (len(group), hash_share(group[0].id)))[:1]


class _Taken:
    """The texts that earlier splits hold, by normal form and by their `shingles`, those that are not common."""

    def __init__(self, shingles: Callable[[str], Sequence[str]]) -> None:
        self._shingles = shingles
        self.repeats: dict[str, Repeat] = {}
        self._names: list[str] = []
        self._texts: dict[str, str] = {}
        self._index: ExactIndex[str] = ExactIndex()

    def first(self, questions: Sequence[_Asked], count: int, *, reserve: bool) -> list[_Asked]:
        """Return the first `count` questions whose text is free; with `reserve`, their texts are taken from then on."""
        chosen: list[_Asked] = []
        for question in questions:
            if len(chosen) == count:
                break
            if repeat := self.repeat(question):
                self.repeats[question.id] = repeat
            else:
                chosen.append(question)
                if reserve:
                    self.take([question])
        return chosen

    def take(self, questions: Iterable[_Asked], among: Collection[str] | None = None) -> None:
        """Take the texts of questions; `among` are the shingles of all that will be compared with them, if known."""
        for question in questions:
            self._texts[normalise(question.question)] = question.id
            pieces = frozenset(self._shingles(question.question))
            # Nothing is near a question that has too few of its shingles in any of these.
            if among is None or len(pieces.intersection(among)) >= NEAR_DUPLICATE * len(pieces):
                self._names.append(question.id)
                self._index.add(pieces)

    def repeat(self, question: _Asked) -> Repeat | None:
        # In a new run nothing is taken at first, and most of the work is reading texts.
        if not self._texts:
            return None
        # Equal texts are reported separately from near ones, and are much cheaper to find.
        if other := self._texts.get(normalise(question.question)):
            return Repeat(question.id, other, nearly=False)
        near = sorted(self._index.near(self._shingles(question.question)))
        return Repeat(question.id, self._names[near[0]], nearly=True) if near else None


def _common(questions: Sequence[_Asked]) -> frozenset[str]:
    types: defaultdict[str, list[str]] = defaultdict(list)
    for question in questions:
        types[question.task_type].append(question.question)
    return common_shingles(types.values())


def _committed(split: str, questions: Sequence[_Asked], common: frozenset[str]) -> SplitCommitted:
    # By id, so that the commitment does not reveal the order in which questions are asked.
    ordered = sorted(questions, key=lambda question: question.id)
    texts = [normalise(question.question) for question in ordered]
    shingles = [b"" if split == LEARNED else packed_shingles(text, common=common) for text in texts]
    both = list(zip(ordered, texts, shingles, strict=True))
    return SplitCommitted(
        split=split,
        size=len(ordered),
        ids_sha256=sha256_text("\n".join(question.id for question in ordered)),
        # Hashes give a short text away: a subject's is left out of this one, and its own are sealed, shingles and all.
        questions_sha256=sha256_text("\n".join(q.id if q.subject else text for q, text, _ in both)),
        question_hashes=tuple(
            Private(f"{question_hash(text)}:{run.hex()}", frozenset({q.subject})) if q.subject else question_hash(text)
            for q, text, run in both
        ),
        shingles=() if split == LEARNED else tuple(b"" if q.subject else run for q, _, run in both),
        common_shingles=packed(common) if split == LEARNED else b"",
    )
