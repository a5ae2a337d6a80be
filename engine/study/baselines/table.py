"""Baselines and methods that learn, by name, and the plan of a question by one of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.courses import Ask, Course, begin
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.plugins import load, open_plugin, plugins, require_has
from mage_es.engine.session.course_choice import bare_plan
from mage_es.engine.study.baselines.method import Method, RunView, Searching
from mage_es.engine.study.baselines.trial import BaselineTrial, Shot, zero_shot_cot
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import Draft, Phase, Purpose, QuestionPlanned

Choose = Callable[[str, Mapping[str, Question], Sequence[str]], tuple[Shot, ...]]
"""(benchmark, questions by id, evolution ids) -> worked examples."""


class Baseline(NamedTuple):
    """A baseline: its course, its examples, its sizes, and whether it searches or plays episodes."""

    course: Callable[[BaselineTrial], Course]
    shots: Choose = lambda name, questions, ids: ()
    samples: int = 1
    rounds: int = 0
    needs_search: bool = False
    plays_as: str | None = None
    """The mode in which it plays episodes: "" for the usual one, None if it plays none."""


PLAIN: Mapping[str, Baseline] = {"zero_shot_cot": Baseline(zero_shot_cot, plays_as="")}
"""What needs no more than the Learner's prompt; every other baseline or method is found by its entry point."""
LEARNING_AT = 0
"""The iteration in which a method learns; the exam's is -1."""
ACT = "act_cot"  # the template of a step in an episode


def find_baseline(name: str) -> Baseline | None:
    if name in PLAIN or name not in plugins("mage_es.baselines"):
        return PLAIN.get(name)
    found: Baseline = load("mage_es.baselines", name)
    require_has("mage_es.baselines", name, found, *Baseline._fields)
    return found


def is_method(name: str) -> bool:
    return name in plugins("mage_es.methods")


def open_method(name: str, view: RunView) -> Method | Searching:
    """Return a method that has observed nothing. Raises `PrerequisiteError` for a plug-in that cannot be opened."""
    made: Method | Searching = open_plugin("mage_es.methods", name, load("mage_es.methods", name), view)
    require_has("mage_es.methods", name, made, "prepare", "search" if hasattr(made, "search") else "observe")
    return made


def planned(
    name: str,
    question: Question,
    task_type: str,
    make: Callable[[QuestionPlanned], Course],
    *,
    purpose: Purpose = "exam",
    iteration: int = -1,
) -> Draft:
    """Return the plan of a held-out question, or of one to learn from, with nothing drawn at random; `make` gives its
    course."""
    plan = bare_plan(question.id, arm=name, template=ACT, task_type=task_type, purpose=purpose, iteration=iteration)
    first = begin(make(plan))
    if isinstance(first, Ask):
        digest = sha256_text(first.request.text)
        plan = msgspec.structs.replace(plan, prompt_sha256=digest, spans=first.spans)
    phase: Phase = "exam" if purpose == "exam" else "evaluate"
    return Draft(event=plan, iteration=plan.iteration, phase=phase, correlation=question.id)
