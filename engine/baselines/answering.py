"""Answering without a graph: chain of thought, with examples or without, many times over, or revised.

    zero_shot_cot      the Learner's own prompt with nothing retrieved
    few_shot_cot       the same with eight worked examples before the question
    self_consistency   ten samples at temperature 0.7; the answer that most of them end with
    reflexion          an answer, then two rounds of critique and revision

Rules
    - Prompt, extraction and scorer are the Learner's, so that what differs is the way of prompting alone.
    - Votes are the answers that the benchmark extracts: numbers by their value, others whatever their case and spaces.
      Of equals the first wins; a sample without an answer has no vote, and without any vote the answer is wrong.
    - The critique sees no gold answer. Only `reflexion_oracle` stops as soon as the answer is right, as the original
      does: the gold answer is its stop signal, and what it comes to is to be read so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.numbers import read_number
from mage_es.engine.benchmarks.protocol import Benchmark, Question
from mage_es.engine.courses import Ask, Course, Finish, Part, call_of, reply_to
from mage_es.engine.models.seam import Request
from mage_es.engine.rules.prompt import Asked, Quote, Section, render_answer
from mage_es.engine.rules.routes import reasoned_about
from mage_es.engine.setting import Setting

SAMPLES = 10
"""Votes of self-consistency; the paper's."""
SAMPLING_TEMPERATURE = 0.7
"""Temperature of those samples; the paper's hyperparameter table."""
ROUNDS = 2
"""Rounds of self-revision of Reflexion; the paper's."""
SHOTS = 8
"""Worked examples of few-shot chain of thought; the paper's."""

_COT, _CRITIQUE, _REVISION = "answer_cot", "reflect_v1", "revise_v1"


class Shot(NamedTuple):
    """A worked example: the id of an evolution question, its text, and how it is solved.

    `answer` is "" where the reasoning ends in the answer, in the form that the benchmark asks for.
    """

    question_id: str
    question: str
    reasoning: str
    answer: str


class Attempt(NamedTuple):
    """What a baseline has to go by: the question, the run's constants, the benchmark's scorer, the examples."""

    setting: Setting
    benchmark: Benchmark
    question: Question
    shots: Sequence[Shot] = ()

    def ask(
        self, template: str, sections: Sequence[Section] = (), *, place: int = 0, sampled_at: float | None = None
    ) -> Part:
        """Ask with a template, at the Learner's temperature; `place` counts the calls before the last (0: the last).

        `sampled_at` is the temperature of a call that is one of several samples, each of which is its own request.
        """
        question, config = self.question, self.setting.config
        asked = Asked(reasoned_about(question), question.context, self.setting.answer_format)
        prompt = render_answer(template, sections, asked)
        sample, temperature = (0, config.answer_temperature) if sampled_at is None else (place, sampled_at)
        request = Request(prompt=prompt.text, temperature=temperature, max_tokens=config.max_tokens, sample=sample)
        return reply_to(Ask(call_of(question.id, place), request, prompt.spans))


def zero_shot_cot(attempt: Attempt) -> Course:
    """Ask once."""
    return Finish((yield from attempt.ask(_COT)))


def few_shot_cot(attempt: Attempt) -> Course:
    """Ask once, after worked examples."""
    quotes = [
        Quote(
            f"shot/{shot.question_id}",
            f"Question: {shot.question}\nReasoning: {shot.reasoning}" + (shot.answer and f"\nAnswer: {shot.answer}"),
        )
        for shot in attempt.shots
    ]
    return Finish((yield from attempt.ask(_COT, [Section("Solved earlier", quotes)])))


def self_consistency(attempt: Attempt) -> Course:
    """Ask ten times, and return the first reply that ends with the answer that most of them end with."""
    replies: dict[str, str] = {}
    votes: Counter[str] = Counter()
    for place in (*range(1, SAMPLES), 0):
        reply = yield from attempt.ask(_COT, place=place, sampled_at=SAMPLING_TEMPERATURE)
        answer = _ballot(attempt.benchmark.score(attempt.question, reply).answer)
        if answer:
            votes[answer] += 1
            replies.setdefault(answer, reply)
    return Finish(replies[votes.most_common(1)[0][0]] if votes else "")


def _ballot(answer: str) -> str:
    """Return what two answers have in common that are votes for the same: their number, else their words."""
    number = read_number(answer)
    return " ".join(answer.casefold().split()) if number is None else f"{number.normalize():f}"


def reflexion(attempt: Attempt, *, oracle_stop: bool = False) -> Course:
    """Ask, then revise twice after a critique of one's own."""
    reply = yield from attempt.ask(_COT, place=1)
    thoughts: list[str] = []
    for rounds in range(1, ROUNDS + 1):
        if oracle_stop and attempt.benchmark.score(attempt.question, reply).correct:
            break
        earlier = Section("Earlier attempt", [Quote(f"call/{attempt.question.id}", reply)])
        thoughts.append((yield from attempt.ask(_CRITIQUE, [earlier], place=2 * rounds)))
        quotes = [Quote(f"call/{call_of(attempt.question.id, 2 * n)}", f"- {t}") for n, t in enumerate(thoughts, 1)]
        last = 0 if rounds == ROUNDS else 2 * rounds + 1
        reply = yield from attempt.ask(_REVISION, [earlier, Section("Thoughts on it", quotes)], place=last)
    return Finish(reply)
