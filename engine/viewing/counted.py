"""What a run counts, as interval tables: scores, posteriors, cost, and the sums that its overview shows."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from mage_es.engine.run.exams import by_question
from mage_es.engine.run.pricing import Prices
from mage_es.engine.viewing.askings import Askings
from mage_es.engine.viewing.learned import Learned
from mage_es.engine.viewing.tables import Rows
from mage_es.events import vocabulary as v
from mage_es.events.vocabulary import Event
from mage_es.projections.fold import State
from mage_es.projections.ledger import Account, Ledger, Usage


class Counted:
    """Tables whose rows change with nearly every event: an event only notes which, and `settle` reads them."""

    reads = frozenset[type[Event]]({
        *(v.BanditUpdated, v.ModelCalled, v.CallFailed, v.EmbeddingCalled),
        *(v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided, v.AnswerCarried),
    })  # fmt: skip

    def __init__(self, state: State, learned: Learned, prices: Prices) -> None:
        self._state, self._learned, self._prices = state, learned, prices
        self.scores = Rows("from to iteration purpose correct total unanswered undecided")
        self.bandits = Rows("from to bandit key arm alpha_micro beta_micro pulls")
        self.cost = Rows(f"from to {' '.join(Account._fields)} {' '.join(Usage._fields)} usd")
        self.exam_cost = Rows(f"from exam {' '.join(Account._fields)} {' '.join(Usage._fields)} usd")
        self.overview = Rows(
            "from to marker closed iteration fresh_correct fresh_total anchor_iteration anchor_correct anchor_total "
            "guard memories quarantined nodes edges execution_calls guidance_calls usd gain low high p exam "
            "exam_before guidance_at_inference"
        )
        self._scored: dict[tuple[Any, int], None] = {}
        self._pulled: dict[tuple[str, str, str], None] = {}
        self._called: dict[Account, None] = {}
        self._usd: dict[Account, float | None] = {}

    def apply(self, seq: int, event: Event) -> None:
        """Note which rows an event changes."""
        match event:
            case v.BanditUpdated():
                self._pulled[event.bandit, event.key, event.arm] = None
            case v.ModelCalled() | v.CallFailed():
                who = (event.tier, event.agent, event.purpose, event.iteration, event.model)
                how = (event.batched, event.served_by) if isinstance(event, v.ModelCalled) else ()
                self._called[Account(*who, *how)] = None
            case v.EmbeddingCalled():
                self._called[Account("embedder", "", event.purpose, event.iteration, event.model)] = None
            case v.AnswerUnanswered() | v.AnswerUndecided():
                self._scored[event.purpose, event.iteration] = None
            case v.AnswerJudged() | v.AnswerCarried():
                purpose = event.purpose if isinstance(event, v.AnswerJudged) else "anchor"
                self._scored[purpose, event.iteration] = None

    def settle(self, seq: int) -> None:
        """Read the rows that have changed off the state, as they are just after event `seq`."""
        scores = self._state.scores
        for purpose, k in self._scored:
            apart = (scores.unanswered(purpose, k), scores.undecided(purpose, k))
            self.scores.put((purpose, k), seq, k, purpose, *scores.score(purpose, k), *apart)
        for arm in self._pulled:
            self.bandits.put(arm, seq, *arm, *self._state.bandits.posterior(*arm))
        for account in self._called:
            use = self._state.ledger.usage(account)
            self._usd[account] = self._paid(account, use)
            self.cost.put(account, seq, *account, *use, self._usd[account])
        for changed in (self._scored, self._pulled, self._called):
            changed.clear()

    def book(self, asked: Askings, exam: str, ledger: Ledger) -> None:
        """Note what an exam cost, from its end on."""
        row = asked.exams.at(asked.exam_rows[exam])
        for account, use in ledger.accounts():
            self.exam_cost.add(row["closed"] or row["from"], exam, *account, *use, self._paid(account, use))

    def _paid(self, account: Account, use: Usage) -> float | None:
        rate = self._prices.rate(account.model)
        return rate.paid(use, batched=account.batched) if rate else None

    def stop(self, seq: int, marker: str) -> None:
        """Sum up the run as it is at a stop, event `seq`."""
        state, scores = self._state, self._state.scores
        closed = state.progress.closed
        # The open iteration's, if it has any: a page of a run in mid-iteration shows how it goes.
        fresh, anchored = (
            max((k for k in (closed, closed + 1) if scores.asked(purpose, k)), default=closed)
            for purpose in ("fresh", "anchor")
        )
        calls = (state.ledger.total("execution").calls, state.ledger.total("guidance").calls)
        costs = list(self._usd.values())
        usd = None if None in costs else sum(filter(None, costs))
        answers = (fresh, scores.score("fresh", fresh).correct, scores.asked("fresh", fresh))
        anchors = (anchored, scores.score("anchor", anchored).correct, scores.asked("anchor", anchored))
        sums = (*self._learned.sizes(), *calls, usd)
        told = (closed, *answers, *anchors, scores.verdict(anchored))
        self.overview.put((), seq, marker, *told, *sums, None, None, None, None, "", "", 0)

    def examine(self, asked: Askings, exam: str, before: str | None) -> None:
        """Note at the stops since an exam closed its guidance calls, and its gain over that of the start, `before`."""
        row = asked.exams.at(asked.exam_rows[exam])
        columns = self.overview.columns
        since = bisect_left(columns["from"], row["closed"])
        told: dict[str, Any] = {}
        if before is not None:
            now, was = asked.verdicts(exam), asked.verdicts(before)
            both = sorted(now.keys() & was.keys())
            differences = [float(now[name]) - float(was[name]) for name in both]
            if differences:
                found, points = by_question(differences), 100 * sum(differences) / len(both)
                told = {"gain": points, "low": found.low, "high": found.high, "p": found.p}
                told |= {"exam": exam, "exam_before": before}
        for place in range(since, len(self.overview)):
            columns["guidance_at_inference"][place] += row["guidance_calls"] or 0
            for name, value in told.items():
                columns[name][place] = value
