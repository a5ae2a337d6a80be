"""Which baselines there are, what each needs, and the plan and the course of a question by one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from mage_es.engine.baselines.answering import (
    ROUNDS,
    SAMPLES,
    Attempt,
    Shot,
    few_shot_cot,
    reflexion,
    self_consistency,
    zero_shot_cot,
)
from mage_es.engine.baselines.react import react
from mage_es.engine.baselines.shots import looked_up, worked
from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.courses import Ask, Course, begin
from mage_es.events.digests import sha256_text
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import BaselineStarted, QuestionPlanned

Choose = Callable[[str, Mapping[str, Question], Sequence[str]], tuple[Shot, ...]]
"""(benchmark, questions by id, ids that may be learned from) -> worked examples."""


def _none(benchmark: str, questions: Mapping[str, Question], evolution: Sequence[str]) -> tuple[Shot, ...]:
    return ()


class Baseline(NamedTuple):
    """A baseline: its course, what it shows as examples, its sizes, whether it looks things up or plays episodes."""

    course: Callable[[Attempt], Course]
    shots: Choose = _none
    samples: int = 1
    rounds: int = 0
    needs_search: bool = False
    plays_as: str | None = None
    """The mode in which it plays episodes: "" for the usual one, None where it plays none."""


BASELINES: Mapping[str, Baseline] = {
    "zero_shot_cot": Baseline(zero_shot_cot, plays_as=""),
    "few_shot_cot": Baseline(few_shot_cot, shots=worked),
    "self_consistency": Baseline(self_consistency, samples=SAMPLES),
    "react": Baseline(
        react, shots=lambda name, questions, ids: looked_up(questions, ids), needs_search=True, plays_as="react"
    ),
    "reflexion": Baseline(reflexion, rounds=ROUNDS),
    "reflexion_oracle": Baseline(partial(reflexion, oracle_stop=True), rounds=ROUNDS),
}
"""The baselines by name, which stands in their plans as the routing arm."""

ACT = "act_cot"
"""The template of a step, where a baseline plays episodes."""


def started(name: str, shots: Sequence[Shot]) -> BaselineStarted:
    """Return the fact that a baseline begins."""
    baseline = BASELINES[name]
    return BaselineStarted(
        baseline=name,
        samples=baseline.samples,
        rounds=baseline.rounds,
        shots=tuple(shot.question_id for shot in shots),
        oracle_stop=name == "reflexion_oracle",
    )


def planned(name: str, question: Question, task_type: str, make: Callable[[QuestionPlanned], Course]) -> Draft:
    """Return the plan of a held-out question: nothing is drawn, nothing retrieved; `make` gives its course."""
    plan = QuestionPlanned(
        iteration=-1,
        purpose="exam",
        question_id=question.id,
        task_type=task_type,
        skill="",
        search_arm="none",
        search_probability=1.0,
        routing_arm=name,
        routing_probability=1.0,
        memories=(),
        principles=(),
        template=ACT,
        prompt_sha256="",
        spans=(),
    )
    first = begin(make(plan))
    if isinstance(first, Ask):
        digest = sha256_text(first.request.prompt)
        plan = msgspec.structs.replace(plan, prompt_sha256=digest, spans=first.spans)
    return Draft(event=plan, iteration=-1, phase="exam", correlation=question.id)
