"""What the record says about the worth of memories, without a call: pairs, the coin, an association (worth/effect.py).

Rules
    - Questions asked again have a separate log within the run (`Run.reasked`): a pair is read from both logs.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import by_question
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.worth.effect import (
    LEAST_PAIRS,
    Prompted,
    Reasked,
    Without,
    askings,
    association_of,
    chance_of,
    coin_of,
    pairs_of,
    reasked,
    to_ask,
    too_few,
)
from mage_es.engine.worth.live_gain import Difference
from mage_es.engine.worth.memories import MemoryItem, item_in
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, AnswerUndecided, BundleTrimmed, QuestionPlanned


class PairedNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Of `questions` that saw a memory, `pairs` are on record with and without it. `points` is the mean of all pairs,
    in points, with an interval (95 %) from `LEAST_PAIRS` on."""

    questions: int
    pairs: int
    points: float | None
    low: float | None
    high: float | None
    p: float | None

    def interval_in_words(self) -> str:
        if self.low is None or self.high is None:
            return too_few(self.pairs)
        return f"{self.low:+.1f} to {self.high:+.1f}"


class PairedEffect(PairedNumbers, frozen=True, kw_only=True):
    """Questions asked again without the memories: `won` if only the answer with them was right, `lost` if only the one
    without."""

    won: int
    lost: int


class SplitEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups of questions, and the difference of their shares of right answers, in points (95 %). Below `least` on
    either side there is neither a difference nor an interval. `p` is of Fisher's exact test, for the coin alone."""

    with_it: int
    without: int
    points: float | None
    low: float | None
    high: float | None
    p: float | None = None
    least: int = LEAST


Grounds = Literal["re-ask", "coin", "association"]
GROUNDS: tuple[Grounds, ...] = get_args(Grounds)
"""What a number may rest on, the strongest first."""


class Worth(msgspec.Struct, frozen=True):
    """The best number about a memory, in points (95 %), on `n` pairs, or `n` questions on either side, and its p (not
    for an association)."""

    by: Grounds
    points: float
    low: float
    high: float
    n: tuple[int, ...]
    p: float | None


class EffectRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory, a kind or a type is worth, as `of` says. `paired` is None for groups that are pooled and never
    asked again."""

    name: str
    of: str
    kind: str
    task_type: str
    status: str
    text: str
    paired: PairedEffect | None
    coin: SplitEffect
    association: SplitEffect

    @property
    def best(self) -> Worth | None:
        """The best number, by its kind of evidence and not by its size; None if all have too few."""
        paired = self.paired
        if paired and paired.points is not None and paired.low is not None and paired.high is not None:
            return Worth("re-ask", paired.points, paired.low, paired.high, (paired.pairs,), paired.p)
        numbers: tuple[tuple[Grounds, SplitEffect], ...]
        numbers = (("coin", self.coin), ("association", self.association))
        for name, found in numbers:
            if found.points is not None and found.low is not None and found.high is not None:
                return Worth(name, found.points, found.low, found.high, (found.with_it, found.without), found.p)
        return None


class MemoryGroup(NamedTuple):
    """Memories that are measured together."""

    name: str
    of: str
    names: frozenset[str]


class OnRecord(NamedTuple):
    """The learned items that a prompt can do without, and every prompt that was answered."""

    reader: LogReader
    items: Mapping[str, MemoryItem]
    askings: Sequence[Prompted]
    reasked: Reasked

    def shown(self) -> dict[str, int]:
        """Return how many questions saw each item, most-shown first."""
        seen = dict[str, set[str]]()
        for asking in self.askings:
            for name in asking.shown & self.items.keys():
                seen.setdefault(name, set()).add(asking.planned.question_id)
        return dict(sorted(((name, len(seen[name])) for name in seen), key=lambda each: (-each[1], each[0])))

    def rows(self) -> list[EffectRow]:
        """Return what is on record about each item that a prompt showed, the most shown first."""
        return [self.row(MemoryGroup(name, "memory", frozenset((name,)))) for name in self.shown()]

    def row(self, measured: MemoryGroup, *, is_paired: bool = True) -> EffectRow:
        item = self.items.get(measured.name) if measured.of == "memory" else None
        return EffectRow(
            name=measured.name,
            of=measured.of,
            kind=item.kind if item else measured.name if measured.of == "kind" else "",
            task_type=item.task_type if item else measured.name if measured.of == "type" else "",
            status=item.status if item else "",
            text=item.text if item else f"{len(measured.names)} memories",
            paired=_paired(to_ask(self.askings, measured.names), self.reasked) if is_paired else None,
            coin=_split(coin := coin_of(self.askings, measured.names), p=chance_of(coin)),
            association=_split(association_of(self.askings, measured.names)),
        )


def effects(run: Run) -> Mapping[str, EffectRow]:
    """Return what is on record about each memory that a prompt showed, by its id. No model is called."""
    return {row.name: row for row in on_record(run).rows()}


def on_record(run: Run) -> OnRecord:
    """Return what a run's logs say about the worth of its memories. Raises `UsageError` for a run without events."""
    reader = LogReader(run.log_path)
    first_event(reader)
    state = state_of(run, reader)
    items = {row.memory_id: item_in(state, row.memory_id, row) for row in state.memory.rows()}
    found = askings(reader.records({QuestionPlanned, BundleTrimmed, AnswerJudged}))
    return OnRecord(reader, items, found, reasked_in(run, found))


def reasked_in(run: Run, found: Sequence[Prompted]) -> Reasked:
    if not run.reasked.events:
        return {}
    records = LogReader(run.reasked.log_path).records({QuestionPlanned, AnswerJudged, AnswerUndecided})
    return reasked(records, found)


def _paired(wanted: Sequence[Without], reasked: Reasked) -> PairedEffect:
    pairs = pairs_of(wanted, reasked)
    numbers = paired_numbers(len(wanted), [float(learned) - float(bare) for learned, bare in pairs])
    won, lost = pairs.count((True, False)), pairs.count((False, True))
    return PairedEffect(won=won, lost=lost, **msgspec.structs.asdict(numbers))


def paired_numbers(questions: int, changes: Sequence[float]) -> PairedNumbers:
    found = by_question(changes) if changes else None
    is_enough = len(changes) >= LEAST_PAIRS
    return PairedNumbers(
        questions=questions,
        pairs=len(changes),
        points=100 * sum(changes) / len(changes) if changes else None,
        low=found.low if found and is_enough else None,
        high=found.high if found and is_enough else None,
        p=found.p if found else None,
    )


def _split(found: Difference, *, p: float | None = None) -> SplitEffect:
    points, low, high = (
        None if value is None or found.missing else 100 * value for value in (found.difference, found.low, found.high)
    )
    return SplitEffect(with_it=found.with_memory, without=found.held_back, points=points, low=low, high=high, p=p)
