"""When two questions count as the same: a normal form, or word shingles with a Jaccard similarity of at least 0.8.

Rules
    - Every passage of a text is compared with the question. A text that quotes a question is longer than the question,
      so the similarity of the whole text would not show it.
    - Every question that can be near is compared, through an inverted index, so none is missed. The cost grows
      quadratically if many questions share their rarest shingles: 40,000 generated word problems take 5 s.
    - If most of each question of a type is the same in all of them, that part is their form, not their content, and is
      not compared. Otherwise all of them would be near-duplicates, and every text that quotes the form would be a leak.
"""

import hashlib
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from typing import Generic, NamedTuple, TypeVar

NEAR_DUPLICATE = 0.8  # least Jaccard similarity of the shingle sets of near-duplicates

SHINGLE = 5
_BARE, _WORD = re.compile(r"[^\W_](?:.*[^\W_])?"), re.compile(r"[^\W_](?:\S*[^\W_])?")
"""What lies between the first and the last letter or digit: of a text on one line, and of each word."""
COMMON_SHARE, FORM_SHARE = 0.5, 0.5
"""A shingle is common to a type if this share of its questions have it; the common ones are their form if they make up
this share of a question, on average: below it, no two questions come near each other by form alone."""
LEAST_QUESTIONS, MOST_QUESTIONS = 20, 200
"""With fewer questions no form can be recognised; with more, only the first are counted."""

Piece = TypeVar("Piece", bound=Hashable)


def normalise(question: str) -> str:
    """Return the question case-folded, with single spaces and without punctuation at either end; each character is
    written in one way (Unicode's NFKC), without those that show nothing."""
    found = _BARE.search(" ".join(_plain(question).split()))
    return found[0] if found else ""


def question_hash(normalised: str) -> str:
    return hashlib.sha256(normalised.encode()).hexdigest()[:16]


def shingle_run(text: str) -> list[str]:
    """Return every run of five words of a text, in order; a shorter text is one shingle.

    Words are those of the normal form, without punctuation at either end.
    """
    # Punctuation by itself is not a word: a space before a question mark must not make a different question.
    words = _WORD.findall(_plain(text))
    if len(words) <= SHINGLE:
        return [" ".join(words)]
    return [*map(" ".join, zip(*(words[at:] for at in range(SHINGLE)), strict=False))]


def _plain(text: str) -> str:
    if text.isascii():  # nearly all are, and all of this takes long
        return text.casefold()
    seen = "".join(each for each in text if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())


def shingle_hash(shingle: str) -> bytes:
    """Return the 8 bytes that represent a shingle in a log."""
    return hashlib.blake2b(shingle.encode(), digest_size=8).digest()


class Nearest(NamedTuple):
    """How much of the nearest question a text holds, and when that question was added, counted from 0 (-1: none)."""

    similarity: float
    place: int


def common_shingles(groups: Iterable[Sequence[str]]) -> frozenset[str]:
    """Return the shingles that are the form of the questions of a group.

    [section 4.1, near-duplicates] Shingles of half of a type's evolution questions are its form where they make up most
    of a question, and are not compared: without that, four types of STBench are one question each. The run commits to
    the form beside the splits.

    `groups` are the texts of each task type, all of which may be learned from: what they share gives no other question
    away.
    """
    common: set[str] = set()
    for texts in groups:
        counted = [frozenset(shingle_run(text)) for text in texts[:MOST_QUESTIONS]]
        if len(counted) < LEAST_QUESTIONS:
            continue  # few questions may share words by chance, and real duplicates would pass for form
        holders = Counter(chain.from_iterable(counted))
        shared = {piece for piece, count in holders.items() if count >= COMMON_SHARE * len(counted)}
        if shared and sum(len(pieces & shared) / len(pieces) for pieces in counted) >= FORM_SHARE * len(counted):
            common |= shared
    return frozenset(common)


def near_groups(texts: Sequence[str], common: Collection[str]) -> list[list[int]]:
    """Return the positions of the texts in groups: texts that are equal or nearly equal in normal form are in one
    group, as are texts that only other texts connect. Groups are in the order of their first texts, each in order.
    """
    index, roots = ExactIndex[str](), [*range(len(texts))]

    def root(place: int) -> int:
        while roots[place] != place:
            roots[place] = place = roots[roots[place]]
        return place

    def is_together(one: int, other: int) -> bool:
        return root(one) == root(other)

    normal, runs = [normalise(text) for text in texts], [compared(text, common) for text in texts]
    first = {text: place for place, text in reversed(list(enumerate(normal)))}
    for run in runs:
        index.add(run)
    for place, (text, run) in enumerate(zip(normal, runs, strict=True)):
        # All are indexed first, since a text that quotes another is near it, but not vice versa.
        roots[root(place)] = root(first[text])
        for other in index.near(run, but=partial(is_together, place)):
            roots[root(place)] = root(other)
    groups = defaultdict[int, list[int]](list)
    for place in range(len(texts)):
        groups[root(place)].append(place)
    return [*groups.values()]


def compared(text: str, common: Collection[str]) -> list[str]:
    """Return a text's shingles that are not common, in order."""
    return [piece for piece in shingle_run(text) if piece not in common]


def passage_similarity(run: Sequence[Piece], question: frozenset[Piece]) -> float:
    """Return the largest Jaccard similarity between a question's shingles and those of any passage of a text.

    A passage is nearer than c/d if d times its shared shingles less c times its others is more than c times the
    question's. One pass finds the passage with the most of that, counting a shared shingle wherever it occurs and any
    other only at its first place, which never counts too little. So c/d rises until no passage is nearer [Dinkelbach
    1967]. Where shingles repeat the pass may count too much: then passages are compared one by one.
    """
    # Every passage worth a look begins and ends with a shingle of the question: another shingle at either end only adds
    # to the union.
    places = [place for place, piece in enumerate(run) if piece in question]
    if not places:
        return 0.0
    between, others = [0], set[Piece]()
    for before, place in pairwise(places):
        known = len(others)
        others.update(run[before + 1 : place])
        between.append(len(others) - known)
    best, of = 0, 1
    while True:
        most, first, last = _heaviest(between, of, best)
        if most <= best * len(question):
            return best / of
        passage = frozenset(run[places[first] : places[last] + 1])
        common = len(passage & question)
        union = len(question) + len(passage) - common
        if common * of <= best * union:
            return _one_by_one(run, question, places, best / of)
        best, of = common, union


def _heaviest(between: Sequence[int], gain: int, cost: int) -> tuple[int, int, int]:
    """Return the largest sum of `gain` for each place of a row less `cost` times what lies `between` them, and the
    first and last of its places [Kadane's algorithm, Bentley 1984]."""
    best, total, start = (0, 0, 0), 0, 0
    for place, beside in enumerate(between):
        total -= cost * beside
        if total <= 0:
            total, start = 0, place
        total += gain
        if total > best[0]:
            best = total, start, place
    return best


def _one_by_one(run: Sequence[Piece], question: frozenset[Piece], places: Sequence[int], best: float) -> float:
    """Return the largest similarity of any passage between two places, or `best`."""
    left, met = [0] * len(places), set[Piece]()
    for order in reversed(range(len(places))):  # how many of the question's shingles are there from each place on
        met.add(run[places[order]])
        left[order] = len(met)
    for order, first in enumerate(places):
        if left[order] <= best * len(question):
            break
        common, others = set[Piece](), set[Piece]()
        start = first
        for last in islice(places, order, None):
            common.add(run[last])
            others.update(piece for piece in run[start:last] if piece not in question)
            start = last
            best = max(best, len(common) / (len(question) + len(others)))
            if left[order] <= best * (len(question) + len(others)):
                break  # a longer passage has no fewer other shingles
    return best


class ExactIndex(Generic[Piece]):
    """Every question with its shingles, and a set at least one of which every near text must have. A text with four
    fifths of a question's shingles has at least one of any set of a fifth of them and one more: the rarest are kept, so
    that questions of one form are not compared because of the form.
    """

    def __init__(self) -> None:
        self._questions: list[frozenset[Piece]] = []
        self._counts = Counter[Piece]()
        self._listed: tuple[int, Mapping[Piece, Sequence[int]]] = 0, {}
        self._needing: defaultdict[Piece, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._questions)

    def add(self, question: Iterable[Piece]) -> None:
        pieces = frozenset(question)
        self._counts.update(pieces)
        # Any text that holds NEAR_DUPLICATE of the pieces has at least one of these, whatever the others are.
        dispensable = len(pieces) - math.ceil(NEAR_DUPLICATE * len(pieces))
        for piece in sorted(pieces, key=self._counts.__getitem__)[: dispensable + 1]:
            self._needing[piece].append(len(self._questions))
        self._questions.append(pieces)

    def near(self, run: Sequence[Piece], *, but: Callable[[int], bool] = lambda place: False) -> Iterator[int]:
        """Yield the position of every question that some passage of a text nearly duplicates, in no particular order,
        except those for which `but` holds."""
        pieces = frozenset(run)
        for place in {place for piece in self._needing.keys() & pieces for place in self._needing[piece]}:
            question = self._questions[place]
            if not but(place) and _is_near(run, question, len(pieces & question)):
                yield place

    def nearest(self, run: Sequence[Piece], *, above: float = 0.0) -> Nearest:
        best = Nearest(above, -1)
        # Most shared first: a good hit early spares the exact comparison with the many that share little.
        for place, common in self._shared(run).most_common():
            question = self._questions[place]
            if common > best.similarity * len(question):  # no passage has more of it than the whole text
                similarity = passage_similarity(run, question)
                best = max(best, Nearest(similarity, place), key=lambda found: found.similarity)
        return best

    def _shared(self, run: Sequence[Piece]) -> Counter[int]:
        holders = self._holders()
        return Counter(place for piece in set(run) for place in holders.get(piece, ()))

    def _holders(self) -> Mapping[Piece, Sequence[int]]:
        """Return the places of the questions that have each shingle."""
        # For `nearest` alone: a list for each of a million shingles takes longer to make than all that `near` does.
        if self._listed[0] < len(self._questions):
            holders = defaultdict[Piece, list[int]](list)
            for place, question in enumerate(self._questions):
                for piece in question:
                    holders[piece].append(place)
            self._listed = len(self._questions), holders
        return self._listed[1]


def _is_near(run: Sequence[Piece], question: frozenset[Piece], common: int) -> bool:
    return common >= NEAR_DUPLICATE * len(question) and passage_similarity(run, question) >= NEAR_DUPLICATE
