"""The index of recorded facts by their coordinates: a fact that is appended again is only looked up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from mage_es.events.disk.documents import Holding
from mage_es.events.disk.layout import Range
from mage_es.events.facts import Coordinates
from mage_es.events.segments.sealed import SealedEvents

_iteration, _tag = itemgetter(0), itemgetter(3)
_NOTHING: dict[Coordinates, int] = {}


class RecordedFacts:
    def __init__(self, sealed: SealedEvents, once: frozenset[str]) -> None:
        """Facts of the types in `once` are not indexed, so they are never found."""
        self._sealed = sealed
        self._once = once
        self._seqs: dict[int, dict[Coordinates, int]] = {}
        self._whole: set[int] = set()  # iterations whose facts are all in `_seqs`
        self._newest = 0
        self._holdings: dict[Range, frozenset[int]] = {}

    @property
    def holdings(self) -> tuple[Holding, ...]:
        known = ((span, self._holdings[span]) for span in self._sealed.spans if span in self._holdings)
        return tuple(Holding(*span, tuple(sorted(iterations))) for span, iterations in known)

    def believe(self, holdings: Iterable[Holding]) -> None:
        # From HEAD, which saves reading every segment once when the log is opened.
        self._holdings.update(
            {Range(holding.first, holding.last): frozenset(holding.iterations) for holding in holdings}
        )

    def find(self, facts: Sequence[Coordinates]) -> dict[Coordinates, int]:
        """Return the facts among these that are recorded, with their sequence numbers. Raises `LogDamaged`."""
        found: dict[Coordinates, int] = {}
        if not self._once.isdisjoint(map(_tag, facts)):
            facts = [fact for fact in facts if fact[3] not in self._once]
        # A fact's iteration is part of its identity, so only segments that hold that iteration need to be read.
        for iteration, own in _by_iteration(facts).items():
            if iteration not in self._whole:
                self._load(iteration)
            known = self._seqs.get(iteration, _NOTHING)
            # New facts, the common case, cost one set operation.
            if not known.keys().isdisjoint(own):
                found.update((fact, known[fact]) for fact in own if fact in known)
        return found

    def add(self, facts: Sequence[Coordinates], first: int) -> None:
        if not facts:
            return
        iterations = set(map(_iteration, facts))
        # The latest iteration, not that of the last fact: feedback on an inference has none, and would evict it.
        self._newest = max(self._newest, *iterations)
        # Nearly every commit belongs to one iteration and needs no filtering.
        if len(iterations) == 1 and self._once.isdisjoint(map(_tag, facts)):
            self._seqs.setdefault(facts[0][0], {}).update(zip(facts, range(first, first + len(facts)), strict=True))
            return
        for seq, fact in enumerate(facts, first):
            if fact[3] not in self._once:
                self._seqs.setdefault(fact[0], {})[fact] = seq

    def seal(self, span: Range) -> None:
        """Note that everything in a range, all of it already noted, is now sealed."""
        seqs = self._seqs.items()
        within = (i for i, known in seqs if any(span.first <= seq <= span.last for seq in known.values()))
        self._holdings[span] = frozenset(within)
        # The newest iteration will be asked about again; older ones can be read back from their segments,
        # so memory stays bounded, however long the log becomes.
        self._whole &= {self._newest}
        for iteration in self._seqs.keys() - self._whole:
            rest = {fact: seq for fact, seq in self._seqs.pop(iteration).items() if seq > span.last}
            if rest:
                self._seqs[iteration] = rest

    def _load(self, iteration: int) -> None:
        known = self._seqs.setdefault(iteration, {})
        for span in self._sealed.spans:
            # HEAD was lost or does not say, so read the segment once and note what it holds.
            if span not in self._holdings:
                self._holdings[span] = frozenset(self._sealed.open(span).iterations())
            if iteration in self._holdings[span]:
                known.update(
                    each for each in self._sealed.open(span).coordinates(iteration) if each[0][3] not in self._once
                )
        self._whole.add(iteration)


def _by_iteration(facts: Sequence[Coordinates]) -> Mapping[int, Sequence[Coordinates]]:
    """Return facts by their iteration, in one pass, since the first commit of a run that continues another has them
    all."""
    if len(set(map(_iteration, facts))) == 1:
        return {facts[0][0]: facts}
    found = defaultdict[int, list[Coordinates]](list)
    for fact in facts:
        found[fact[0]].append(fact)
    return found
