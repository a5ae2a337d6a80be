"""Recorded answers as a judge is asked about them: for `rejudge`, and for the check of what it recorded."""

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.askings.agreement import JudgeCase, Opinion, opinion_so_far
from mage_es.engine.askings.reasking import Replies
from mage_es.engine.courses import Ask
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import ExamRecord
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.session.judge import template_of
from mage_es.events import vocabulary as v
from mage_es.events.facts.private import ERASED
from mage_es.events.log import LogReader


class RecordedAnswer(NamedTuple):
    """A recorded answer, the `reply` that it was read from (or ""), and whether it is right, None if undecided."""

    question: Question
    event: v.AnswerJudged | v.AnswerUndecided
    reply: str
    right: bool | None

    @property
    def case(self) -> JudgeCase:
        """The answer as a judge sees it; empty if the reply was truncated, refused or empty."""
        event = self.event
        is_void = isinstance(event, v.AnswerJudged) and event.reason != ""
        verdict = Verdict(answer=event.answer, score=float(bool(self.right)), strict=False)
        return JudgeCase(self.question, "" if is_void else event.answer or self.reply, verdict, verdict.correct)


class RecordedAnswers(NamedTuple):
    """The answers of an exam (or ""); `lost` questions have none, `erased` ones cannot be read."""

    run: Run
    reader: LogReader
    world: World
    exam: str
    found: Sequence[RecordedAnswer]
    lost: int
    erased: int

    def led(self, answer: RecordedAnswer, replies: Replies) -> Opinion | Ask:
        """Return the opinion on an answer from the recorded replies, or else the first move that has no reply."""

        def recorded(ask: Ask) -> v.ModelCalled | None:
            return replies.get((ask.tier, ask.request.sha256))

        return opinion_so_far(answer.case, template_of(self.world.benchmark), recorded, self.world.setting.templates)

    def opinions(self, replies: Replies) -> list[Opinion]:
        """Return the opinion on each answer from the recorded replies; `unanswered` if one is missing."""
        ends = [self.led(each, replies) for each in self.found]
        return [Opinion(problem="unanswered") if isinstance(end, Ask) else end for end in ends]

    def result(self, judge: str, opinions: Sequence[Opinion]) -> v.AnswersRejudged:
        """Return what is recorded of a judge's opinions."""
        return v.AnswersRejudged(
            judge=judge,
            exam=self.exam,
            total=len(self.found) + self.lost,
            right=sum(bool(each.right) for each in self.found),
            now=sum(said.is_right for said in opinions),
        )


def recorded_answers(
    run: Run, reader: LogReader, world: World, taken: ExamRecord | None, *, until: int | None = None
) -> RecordedAnswers:
    """Return the answers of an exam, or if None, those to the questions that the run learned from up to an event, or a
    baseline's. Raises `LogDamaged` if the exam's log is missing."""
    log, since = (taken.log(run), 1) if taken else (reader, last_inherited(reader) + 1)
    purposes = {"exam"} if taken or reader.last(v.BaselineStarted) else {"fresh", "revisit"}
    anew = {each.question_id: each.correct for each in taken.rejudged.verdicts} if taken and taken.rejudged else {}
    replies, found, lost, erased = dict[tuple[int, str], str](), list[RecordedAnswer](), 0, 0
    kinds = v.ModelCalled, v.AnswerJudged, v.AnswerUndecided, v.AnswerUnanswered
    for event in log.of(*kinds, since=since, until=None if taken else until):
        assert isinstance(event, kinds)
        if event.purpose not in purposes:
            continue
        if isinstance(event, v.ModelCalled):
            replies[event.iteration, event.about] = event.text
        elif isinstance(event, v.AnswerUnanswered):
            lost += 1
        elif (question := world.questions[event.question_id]).subject.startswith(ERASED):
            erased += 1
        else:
            right = anew.get(question.id, event.correct) if isinstance(event, v.AnswerJudged) else None
            found.append(RecordedAnswer(question, event, replies.get((event.iteration, question.id), ""), right))
    return RecordedAnswers(run, reader, world, taken.opened.exam if taken else "", found, lost, erased)
