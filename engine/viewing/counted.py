"""The figures of a run, as interval tables: scores, posteriors, cost, and the sums that its overview shows."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar

from mage_es.engine.run.anchors import Unmeasured
from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.askings import Askings
from mage_es.engine.viewing.card import Gain
from mage_es.engine.viewing.learned import Learned
from mage_es.engine.viewing.tables import Rows
from mage_es.events import vocabulary as v
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event
from mage_es.projections.fold import State
from mage_es.projections.ledger import Account, Ledger, Usage
from mage_es.projections.scores import Score

_series: attrgetter[tuple[str, int]] = attrgetter("purpose", "iteration")
_caller: attrgetter[tuple[Any, ...]] = attrgetter(*Account._fields[:5])
_embedding: attrgetter[tuple[Any, ...]] = attrgetter("purpose", "iteration", "model")


class Paid:
    """The cost of each account, None if its price is unknown. A run has thousands of accounts and needs their sum at
    each stop, when only the newest have changed."""

    def __init__(self) -> None:
        self._places, self._costs = dict[Account, int](), list[float | None]()
        self._sums: list[float] = [0]  # of the costs before each place
        self._unknown = 0

    def __setitem__(self, account: Account, usd: float | None) -> None:
        place = self._places.setdefault(account, len(self._costs))
        if place == len(self._costs):
            self._costs.append(0.0)
        self._unknown += (usd is None) - (self._costs[place] is None)
        self._costs[place] = usd
        del self._sums[place + 1 :]

    def total(self) -> float | None:
        """Return the sum, None if a price is unknown."""
        for cost in self._costs[len(self._sums) - 1 :]:
            self._sums.append(self._sums[-1] + (cost or 0))
        return None if self._unknown else self._sums[-1]


class Counted:
    """Tables whose rows change with nearly every event: an event only notes the rows, and `settle` reads them."""

    reads: ClassVar[Reads] = {
        v.BanditUpdated: ("bandit", "key", "arm"),
        v.ModelCalled: Account._fields,
        v.CallFailed: Account._fields[:5],
        v.EmbeddingCalled: ("purpose", "iteration", "model"),
        **dict.fromkeys((v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided), ("purpose", "iteration")),
        v.AnswerCarried: ("iteration", "question_id", "correct"),
    }

    def __init__(self, state: State, learned: Learned, prices: Prices, older: Unmeasured) -> None:
        self._state, self._learned, self._prices, self._older = state, learned, prices, older
        # Of the anchors that an iteration did not measure: how many older verdicts call right so far, and of how many.
        self._kept = dict[int, Score]()
        counts = "from to iteration correct total unanswered undecided"
        self.scores = Rows("from to iteration purpose correct total unanswered undecided", numbers=counts)
        self.bandits = Rows(
            "from to bandit key arm alpha_micro beta_micro pulls own",
            numbers="from to alpha_micro beta_micro pulls own",
            codes="bandit key arm",
        )
        self.cost = Rows(
            f"from to {' '.join(Account._fields)} {' '.join(Usage._fields)} usd",
            numbers=f"from to iteration {' '.join(Usage._fields)}",
            codes="tier agent purpose model batched served_by",
        )
        self.exam_cost = Rows(f"from exam {' '.join(Account._fields)} {' '.join(Usage._fields)} usd")
        self.overview = Rows(
            "from to marker closed fresh_correct fresh_total anchor_correct anchor_total guard open_iteration "
            "open_correct open_total memories quarantined stored nodes edges execution_calls guidance_calls usd "
            f"{' '.join(Gain._fields)} guidance_at_inference"
        )
        self._scored, self._called = dict[Any, int](), dict[Any, int]()
        self._pulled, self._pulls = dict[Any, int](), Counter[tuple[str, str, str]]()
        # What each type changes, and the key of its row; no `match`, since most events of a log pass here.
        self._changes: Mapping[type[Event], tuple[dict[Any, int], Callable[[Any], Any]]] = {
            v.BanditUpdated: (self._pulled, attrgetter("bandit", "key", "arm")),
            v.ModelCalled: (self._called, attrgetter(*Account._fields)),
            v.CallFailed: (self._called, lambda call: (*_caller(call), False, "")),
            v.EmbeddingCalled: (self._called, lambda call: ("embedder", "", *_embedding(call), False, "")),
            **dict.fromkeys((v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided), (self._scored, _series)),
            v.AnswerCarried: (self._scored, lambda answer: ("anchor", answer.iteration)),
        }
        self._paid = Paid()

    def apply(self, seq: int, event: Event) -> None:
        """Note which rows an event changes."""
        if isinstance(event, v.AnswerCarried) and event.question_id in self._older.get(event.iteration, ()):
            right, kept = self._kept.get(event.iteration, (0, 0))
            self._kept[event.iteration] = Score(right + event.correct, kept + 1)
        changed, key_of = self._changes[type(event)]
        key = key_of(event)
        changed[key] = changed.get(key, 0) + 1

    def settle(self, seq: int) -> None:
        """Read the changed rows from the state, as of just after event `seq`."""
        scores = self._state.scores
        for purpose, k in self._scored:
            apart = (scores.unanswered(purpose, k), scores.undecided(purpose, k))
            self.scores.put((purpose, k), seq, k, purpose, *self._score(purpose, k), *apart)
        for arm, pulls in self._pulled.items():
            self._pulls[arm] += pulls
            self.bandits.put(arm, seq, *arm, *self._state.bandits.posterior(*arm), self._pulls[arm])
        for called in self._called:
            account = Account(*called)
            use = self._state.ledger.usage(account)
            usd = self._paid[account] = self._prices.paid(account, use)
            self.cost.put(account, seq, *account, *use, usd)
        for changed in (self._scored, self._pulled, self._called):
            changed.clear()

    def _score(self, purpose: v.Purpose, iteration: int) -> Score:
        found, kept = self._state.scores.score(purpose, iteration), Score(0, 0)
        if purpose == "anchor":
            kept = self._kept.get(iteration, kept)
        return Score(found.correct - kept.correct, found.total - kept.total)

    def book(self, asked: Askings, exam: str, ledger: Ledger) -> None:
        """Note what an exam cost, valid from its end on."""
        row = asked.exams.at(asked.exam_rows[exam])
        for account, use in ledger.accounts():
            self.exam_cost.add(row["closed"] or row["from"], exam, *account, *use, self._prices.paid(account, use))

    def stop(self, seq: int, marker: str) -> None:
        """Sum up the run as it is at a stop, event `seq`."""
        state, scores = self._state, self._state.scores
        closed, begun = state.progress.closed, state.progress.closed + 1
        calls = (state.ledger.total("execution").calls, state.ledger.total("guidance").calls)
        series: tuple[tuple[v.Purpose, int], ...] = (("fresh", closed), ("anchor", closed), ("anchor", begun))
        # What an open iteration has asked so far measures nothing yet, so it never replaces a complete one.
        fresh, anchors, partial = (
            (score.correct, score.total + scores.unanswered(purpose, k))
            for purpose, k in series
            for score in (self._score(purpose, k),)
        )
        values = (closed, *fresh, *anchors, scores.verdict(closed), begun if partial[1] else None, *partial)
        sums = (*self._learned.sizes(), *calls, self._paid.total())
        self.overview.put((), seq, marker, *values, *sums, *[None] * len(Gain._fields), 0)

    def examine(self, asked: Askings, exam: str, gain: Gain | None) -> None:
        """Note, at the stops since an exam closed, its guidance calls and the gain measured by then."""
        row = asked.exams.at(asked.exam_rows[exam])
        columns = self.overview.columns
        values = gain._asdict() if gain else {}
        for place in range(bisect_left(columns["from"], row["closed"]), len(self.overview)):
            columns["guidance_at_inference"][place] += row["guidance_calls"] or 0
            for name, value in values.items():
                columns[name][place] = value
