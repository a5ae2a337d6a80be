"""Answering without a graph: chain of thought, with or without examples, sampled many times, or revised.

    zero_shot_cot      the Learner's own prompt with nothing retrieved
    few_shot_cot       the same with eight worked examples before the question
    self_consistency   ten samples at temperature 0.7; the answer that most of them end with
    reflexion          an answer, then two rounds of critique and revision

Rules
    - Prompt, extraction and scorer are the Learner's, so that only the way of prompting differs.
    - Votes are the answers that the benchmark extracts: numbers compare by value, other answers without regard to case
      and spaces. In a tie the first wins; a sample that was cut or has no answer does not vote; without any vote the
      answer is wrong.
    - The critique sees no gold answer. Only `reflexion_oracle` stops as soon as the answer is right, as the original
      does: the gold answer is its stop signal, so do not compare its scores with those of other methods.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.numbers import read_number
from mage_es.engine.courses import Ask, Course, Finish, call_of, finish_of, reply_to
from mage_es.engine.rules.prompt import Demonstration, PromptQuestion, Quote, Section, render_answer, worked
from mage_es.engine.rules.routes import DIRECT, reasoned_about
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Benchmark, Question, scored
from mage_es.engine.seams.model import RAISE, Request
from mage_es.events.vocabulary import ModelCalled

SAMPLES = 10  # votes of self-consistency; the paper's
SAMPLING_TEMPERATURE = 0.7  # temperature of those samples; the paper's hyperparameter table
ROUNDS = 2  # rounds of self-revision of Reflexion; the paper's
SHOTS = 8  # worked examples of few-shot chain of thought; the paper's

_COT, _CRITIQUE, _REVISION = "answer_cot", "reflect_v1", "revise_v1"


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
        sample, temperature = (0, config.answer_temperature) if sampled_at is None else (place, sampled_at)
        while True:
            prompt = render_answer(template, sections, asked, shown, templates=setting.templates)
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
    return (yield from trial.ask(_COT))


def few_shot_cot(trial: BaselineTrial) -> Course:
    form = trial.setting.answer_format
    quotes = [
        Quote(
            f"shot/{shot.question_id}",
            f"Question: {shot.question}\nReply: "
            + (worked(shot.reasoning, shot.answer, form) if shot.answer else shot.reasoning),
        )
        for shot in trial.shots
    ]
    return (yield from trial.ask(_COT, [Section("Solved earlier", quotes, is_note=True)]))


def self_consistency(trial: BaselineTrial) -> Course:
    replies: dict[str, Finish] = {}
    votes: Counter[str] = Counter()
    for place in (*range(1, SAMPLES), 0):
        reply = yield from trial.ask(_COT, place=place, sampled_at=SAMPLING_TEMPERATURE)
        answer = "" if reply.reason else _ballot(scored(trial.benchmark, trial.question, reply.reply).answer)
        if answer:
            votes[answer] += 1
            replies.setdefault(answer, reply)
    return replies[votes.most_common(1)[0][0]] if votes else reply


def _ballot(answer: str) -> str:
    """Return the number of an answer, or else its words, so that equal answers count as the same vote."""
    number = read_number(answer)
    return " ".join(answer.casefold().split()) if number is None else f"{number.normalize():f}"


def reflexion(trial: BaselineTrial, *, oracle_stop: bool = False) -> Course:
    reply = yield from trial.ask(_COT, place=1)
    thoughts: list[str] = []
    for rounds in range(1, ROUNDS + 1):
        if oracle_stop and not reply.reason and scored(trial.benchmark, trial.question, reply.reply).correct:
            break
        earlier = Section("Earlier attempt", [Quote(f"call/{trial.question.id}", reply.reply)])
        thoughts.append((yield from trial.ask(_CRITIQUE, [earlier], place=2 * rounds)).reply)
        quotes = [Quote(f"call/{call_of(trial.question.id, 2 * n)}", f"- {t}") for n, t in enumerate(thoughts, 1)]
        last = 0 if rounds == ROUNDS else 2 * rounds + 1
        reply = yield from trial.ask(_REVISION, [earlier, Section("Thoughts on it", quotes)], place=last)
    return reply
