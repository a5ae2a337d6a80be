"""The questions of a run and its exams, as tables: each asking with its verdict, and what its prompt showed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from mage_es.engine.run.exams import interval
from mage_es.engine.run.memories import Uses, asking_of
from mage_es.engine.viewing.learned import line
from mage_es.engine.viewing.tables import Rows
from mage_es.events import vocabulary as v
from mage_es.events.vocabulary import Event, QuestionText, Record
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger
from mage_es.projections.questions import EVOLVING

Settled = v.AnswerJudged | v.AnswerUnanswered | v.AnswerUndecided | v.AnswerCarried
WRONG = ("wrong", "unanswered")
NO_ANSWER = ("open", "undecided")
"""Verdicts that are neither right nor wrong."""
SAME = "it would have seen the same"
DECIDED = "the guard had decided"
"""Why an anchor was not asked: a plan without an asking means that the guard no longer needed it."""
_SPLITS = {
    **dict.fromkeys((*EVOLVING, "again", "trial"), "evolution"),
    **dict.fromkeys(("anchor", "bare", "form"), "anchor"),
    "exam": "held-out",
}
"""The committed split of a purpose's questions; clients' questions are in none."""


class Askings:
    """Tables of what was asked. `ended` has the event, in its own log, that settled an asking (0 for none), `uses` the
    prompts that showed a memory; `episodes` counts those that ended."""

    reads = frozenset[type[Event]]({
        *(v.QuestionPlanned, v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided, v.AnswerCarried),
        *(v.EpisodeStepped, v.BundleTrimmed),
        *(v.GuardDecided, v.SlotsRolledBack, v.ExamOpened, v.ExamClosed),
    })  # fmt: skip

    def __init__(self, state: State) -> None:
        self._state = state
        self.rows: dict[str, int] = {}
        self.exam_rows: dict[str, int] = {}
        self.ended = array("q")
        self.uses = Uses()
        self.episodes = 0
        self._asked: dict[tuple[int | None, int, str, str], int] = {}
        self._latest: dict[tuple[int, str], int] = {}
        self._answered: dict[tuple[int, str], int] = {}
        self.questions = Rows("id split task_type title askings asked wrong unanswered undecided changed")
        self.askings = Rows(
            "from judged to question iteration purpose exam task_type skill verdict carried verdict_of score_micro "
            "template search_arm routing_arm memories seq"
        )
        self.exams = Rows(
            "from closed exam marker head_seq control execution correct total unanswered undecided low high "
            "guidance_calls problem"
        )
        self.guard = Rows(
            "from iteration verdict correct total against drop p_value best best_drop best_p_value smallest_drop "
            "rolled_to better worse same same_right unpaired carried"
        )

    def apply(self, seq: int, event: Event) -> None:
        """Take in an event of the run's own log."""
        match event:
            case v.QuestionPlanned():
                self._plan(seq, event)
            case v.AnswerJudged() | v.AnswerUnanswered() | v.AnswerUndecided() | v.AnswerCarried():
                self._settle(seq, event)
            case v.EpisodeStepped():
                self.episodes += event.done
                self._show(event)
            case v.BundleTrimmed():
                self._show(event)
            case v.GuardDecided():
                self._decide(seq, event)
            case v.SlotsRolledBack() if self.guard.columns["iteration"][-1:] == [event.iteration]:
                self.guard.columns["rolled_to"][-1] = event.to_iteration
            case v.ExamOpened():
                told = (event.exam, event.marker, event.head_seq, event.control, event.execution)
                self.exam_rows[event.exam] = self.exams.add(seq, None, *told, 0, 0, 0, 0, None, None, None, "")
            case v.ExamClosed() if event.exam in self.exam_rows:  # a baseline closes an exam without a name: itself
                ends = interval(event.correct, event.total) or (None, None)
                counts = {name: getattr(event, name) for name in ("correct", "total", "unanswered", "undecided")}
                self._tell(self.exam_rows[event.exam], closed=seq, low=ends[0], high=ends[1], **counts)

    def take_exam(self, exam: str, records: Iterable[Record]) -> Ledger:
        """Add the events of an exam's own log at the place of the exam in the run's log.

        Return what the exam cost.
        """
        row = self.exam_rows[exam]
        since = self.exams.columns["from"][row]
        until, ledger = self.exams.columns["closed"][row] or since, Ledger()
        for record in records:
            match record.event:
                case v.QuestionPlanned() as planned:
                    self._plan(record.seq, planned, exam=row, since=since)
                case v.AnswerJudged() | v.AnswerUnanswered() | v.AnswerUndecided() as settled:
                    self._settle(record.seq, settled, exam=row, since=until)
                case v.EpisodeStepped() | v.BundleTrimmed() as shown:
                    self._show(shown, exam=row)
                case event if type(event) in Ledger.reads:
                    ledger.apply(event)
        self._tell(row, guidance_calls=ledger.total("guidance").calls)
        return ledger

    def lose_exam(self, exam: str, problem: str) -> None:
        """Note why an exam's own log cannot be read."""
        self._tell(self.exam_rows[exam], problem=problem)

    def verdicts(self, exam: str) -> dict[str, bool]:
        """Return by id which questions an exam has answers to, and whether these are right."""
        row, columns, names = self.exam_rows[exam], self.askings.columns, self.questions.columns["id"]
        places = [place for place, each in enumerate(columns["exam"]) if each == row]
        found = {names[columns["question"][place]]: columns["verdict"][place] for place in places}
        return {name: verdict == "correct" for name, verdict in found.items() if verdict not in NO_ANSWER}

    def name_questions(self, texts: Iterable[QuestionText]) -> None:
        """Add the beginnings of the texts of the questions that were asked."""
        for text in texts:
            if (row := self.rows.get(text.id)) is not None:
                self.questions.columns["title"][row] = line(text.question)

    def named(self) -> dict[str, list[Any]]:
        """Return the columns of `askings`, with names of exams in place of their rows and the title of each asking."""
        columns, names = self.askings.columns, self.exams.columns["exam"]
        exams = ["" if row is None else names[row] for row in columns["exam"]]
        told = zip(exams, columns["iteration"], columns["purpose"], columns["carried"], strict=True)
        titles = [
            f"exam {exam}" if exam else f"{'start' if k < 0 else f'iter-{k}'} {purpose}{', carried' if why else ''}"
            for exam, k, purpose, why in told
        ]
        return columns | {"exam": exams, "title": titles}

    def use(self, memory: str) -> dict[str, Any]:
        """Return the askings that showed a memory, and their outcomes; those that a coin decided are counted
        separately."""
        shown, *scores = self.uses.of(memory)
        found: dict[str, Any] = {"shown": shown}
        for name, score in zip(("", "coin_", "left_"), scores, strict=True):
            found |= {f"{name}right": score.correct, f"{name}asked": score.total}
        return found

    def _plan(self, seq: int, plan: v.QuestionPlanned, *, exam: int | None = None, since: int | None = None) -> None:
        named = [*(hit.memory_id for hit in plan.memories), *plan.principles, *plan.action_recipes]
        named = list(dict.fromkeys(name for name in (*named, plan.tool_id, plan.recipe_id) if name))
        arms = (plan.template, plan.search_arm, plan.routing_arm)
        row = self._ask(since or seq, seq, plan, plan.purpose, exam, plan.skill, *arms, len(named))
        self.uses.take(row, plan)

    def _ask(
        self,
        since: int,
        seq: int,
        event: v.QuestionPlanned | Settled,
        purpose: str,
        exam: int | None,
        skill: str,
        *planned: Any,
    ) -> int:
        question = self._question(event.question_id)
        when = (
            since,
            None,
            None,
            question,
            event.iteration,
            purpose,
            exam,
            event.task_type,
            skill,
            "open",
            "",
            None,
            None,
        )
        row = self.askings.add(*when, *(planned or ("", "", "", 0)), seq)
        self.ended.append(0)
        self._asked[exam, event.iteration, purpose, event.question_id] = row
        self.questions.columns["askings"][question].append(row)
        self.questions.columns["task_type"][question] = event.task_type
        self.questions.columns["split"][question] = _SPLITS.get(purpose, "")
        return row

    def _settle(self, seq: int, event: Settled, *, exam: int | None = None, since: int | None = None) -> None:
        iteration, purpose, name = asking_of(event)
        row = self._asked.get((exam, iteration, purpose, name))
        planned = row is not None
        if row is None:  # it was carried, or is from a parent whose plans are not here
            row = self._ask(since or seq, seq, event, purpose, exam, getattr(event, "skill", ""))
        asking, counts = self.askings.columns, self.questions.columns
        verdict = _verdict(event)
        asking["judged"][row], asking["verdict"][row], self.ended[row] = since or seq, verdict, seq
        asking["score_micro"][row] = getattr(event, "score_micro", None)
        self.uses.take(row, event)
        question, series = asking["question"][row], self._series(purpose, exam)
        if (before := self._latest.get((question, series))) is not None:
            asking["to"][before] = since or seq
        self._latest[question, series] = row
        if isinstance(event, v.AnswerCarried):
            asking["carried"][row] = DECIDED if planned else SAME
            asking["verdict_of"][row] = self._verdict_of(event, planned=planned)
            return
        if verdict == "undecided":
            counts["undecided"][question] += 1
            return
        counts["asked"][question] += 1
        counts["wrong"][question] += verdict in WRONG
        counts["unanswered"][question] += verdict == "unanswered"
        if (before := self._answered.get((question, series))) is not None:
            counts["changed"][question] += (asking["verdict"][before] == "correct") != (verdict == "correct")
        self._answered[question, series] = row

    def _verdict_of(self, event: v.AnswerCarried, *, planned: bool) -> int | None:
        """Return the asking whose verdict was carried: the last one if the carried one was not even planned, or else
        that of the last accepted snapshot."""
        if planned:
            at = max((k for k in self._state.scores.accepted() if k != event.iteration), default=None)
        else:
            last = self._state.scores.last_asked(event.question_id)
            at = last.iteration if last else None
        row = None if at is None else self._asked.get((None, at, "anchor", event.question_id))
        of = None if row is None else self.askings.columns["verdict_of"][row]
        return row if of is None else of

    def _show(self, event: v.EpisodeStepped | v.BundleTrimmed, *, exam: int | None = None) -> None:
        row = self._asked.get((exam, *asking_of(event)))
        if row is not None:
            self.uses.take(row, event)

    def _decide(self, seq: int, event: v.GuardDecided) -> None:
        now, then = (self._state.scores.anchor_answers(k) for k in (event.iteration, event.against))
        carried = self.askings.columns["carried"]
        rows = {name: self._asked.get((None, event.iteration, "anchor", name)) for name in now}
        unasked = {name for name, row in rows.items() if row is not None and carried[row] == DECIDED}
        now = {name: right for name, right in now.items() if name not in unasked}
        both = sorted(now.keys() & then.keys())
        better = [self._question(name) for name in both if now[name] and not then[name]]
        worse = [self._question(name) for name in both if then[name] and not now[name]]
        told = (event.iteration, event.verdict, event.correct, event.total, event.against, event.drop, event.p_value)
        best = (event.best, event.best_drop, event.best_p_value, event.smallest_drop)
        right = sum(now[name] and then[name] for name in both)
        same, unpaired = len(both) - len(better) - len(worse), len((now.keys() ^ then.keys()) - unasked)
        self.guard.add(seq, *told, *best, None, better, worse, same, right, unpaired, len(unasked))

    def _question(self, name: str) -> int:
        if name not in self.rows:
            self.rows[name] = self.questions.add(name, "", "", "", [], 0, 0, 0, 0, 0)
        return self.rows[name]

    def _series(self, purpose: str, exam: int | None) -> str:
        if exam is None:
            return "evolution" if purpose in EVOLVING else purpose
        return f"{self.exams.columns['control'][exam]}/{self.exams.columns['execution'][exam]}"

    def _tell(self, exam: int, **values: Any) -> None:
        for name, value in values.items():
            self.exams.columns[name][exam] = value


def _verdict(event: Settled) -> str:
    if isinstance(event, v.AnswerUnanswered):
        return "unanswered"
    if isinstance(event, v.AnswerUndecided):
        return "undecided"
    return "correct" if event.correct else "wrong"
