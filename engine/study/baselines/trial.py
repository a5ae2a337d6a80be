"""A question on trial: asked without a graph, with the Learner's own prompt, extraction and scorer.

What a baseline or a method prepares for it is put around that prompt, so that only the way of prompting differs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.courses import Ask, Course, Finish, call_of, finish_of, reply_to
from mage_es.engine.rules.prompt import NOTES, Demonstration, PromptQuestion, Quote, Section, render_answer
from mage_es.engine.rules.prompt import template as template_of
from mage_es.engine.rules.routes import DIRECT, REASONED, reasoned_about
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.engine.seams.model import RAISE, Request
from mage_es.engine.study.baselines.method import PreparedTask
from mage_es.events.vocabulary import ModelCalled, Span

COT = "answer_cot"
METHOD_NOTES = "method_notes"


class Shot(NamedTuple):
    """A worked example from an evolution question.

    `answer` is "" if the reasoning already ends in the answer, in the form that the benchmark asks for.
    """

    question_id: str
    question: str
    reasoning: str
    answer: str


class BaselineTrial(NamedTuple):
    setting: Setting
    benchmark: Benchmark
    question: Question
    shots: Sequence[Shot] = ()

    def ask(
        self,
        template: str,
        sections: Sequence[Section] = (),
        *,
        place: int = 0,
        sampled_at: float | None = None,
        shown: Sequence[Demonstration] = (),
        are_turns: bool = True,
        before: str = "",
        task: str | None = None,
    ) -> Course:
        """Ask with a template; `place` numbers the calls before the last one, whose place is 0. `sampled_at` is the
        temperature of one of several samples, each a separate request; without it, the call has the Learner's
        temperature. `shown` are cases, turns of the chat or else text, of which the first are dropped if the prompt
        does not fit; `before` precedes the question, and `task` replaces the benchmark's own.
        """
        question, config = self.question, self.setting.config
        setting = self.setting
        asked = PromptQuestion(
            before + (question.question if template == DIRECT else reasoned_about(question)),
            question.context,
            setting.answer_format,
            setting.traits.instruction,
            shared=setting.traits.task if task is None else task,
        )
        # A method's notes are meant to be followed: none of them yields to a skill, principle or case.
        templates = {**setting.templates, NOTES: template_of(METHOD_NOTES, setting.templates)}
        sample, temperature = (0, config.answer_temperature) if sampled_at is None else (place, sampled_at)
        while True:
            prompt = render_answer(template, sections, asked, shown, templates=templates)
            request = Request(
                system=prompt.system,
                prompt=prompt.text,
                temperature=temperature,
                max_tokens=config.max_tokens,
                sample=sample,
                turns=prompt.turns if are_turns else (),
            )
            droppable = tuple(case.source for case in shown)
            ask = Ask(call_of(question.id, place), request, prompt.spans, droppable=droppable)
            called = yield from reply_to(ask, most=RAISE * config.max_tokens)
            if isinstance(called, ModelCalled):
                return finish_of(called)
            shown = [case for case in shown if case.source != called.memory_id]


def zero_shot_cot(trial: BaselineTrial) -> Course:
    return (yield from trial.ask(COT))


def asked_by(trial: BaselineTrial, prepared: PreparedTask, *, is_reasoned: bool) -> Course:
    """Return the course of a question with what a method prepared for it."""
    if prepared.reply is not None:
        return Finish(prepared.reply)
    notes = prepared.notes
    if prepared.first is not None:
        # Its quotations come from the JSON as a whole, not from a place in it.
        spans = tuple(Span(offset=0, length=0, source=f"case/{name}") for name in prepared.drawn_from)
        ask = Ask(call_of(trial.question.id, 1), prepared.first, spans)
        called = yield from reply_to(ask, most=prepared.first.max_tokens)
        assert isinstance(called, ModelCalled)
        notes = called.text
    # Plain lines are the same texts, not divided into messages.
    before = ("", "") if prepared.are_turns else ("Q: ", "A: ")
    shown = [
        Demonstration(f"case/{case.question.id}", before[0] + _question_text(case.question), before[1] + case.reply)
        for case in prepared.cases
    ]
    return (
        yield from trial.ask(
            REASONED if is_reasoned else DIRECT,
            [Section("Notes", [Quote("notes", notes)], is_note=True)] if notes.strip() else (),
            shown=shown,
            are_turns=prepared.are_turns,
            before=before[0] if shown else "",
            task=prepared.task,
        )
    )


def played_earlier(prepared: PreparedTask) -> list[Quote]:
    """Return the cases of an episode as its prompts quote them."""
    return [
        Quote(f"case/{case.question.id}", f"Task: {_question_text(case.question)}\n{case.reply}")
        for case in prepared.cases
    ]


def _question_text(question: Question) -> str:
    return f"{question.context}\n\n{question.question}" if question.context else question.question
