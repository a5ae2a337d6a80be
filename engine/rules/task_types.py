"""Task types for a benchmark that has none: the guidance tier induces them from texts, and their use revises them.

Rules
    - A type is its name, its description and its examples, which are ids of evolution questions. Guidance sorts a few
      batches of questions, and with each batch sees the types from earlier ones. A question's type follows from these
      and from its text alone (run/task_typing.py), and is recorded with the question's plan.
    - Every `refresh_gap` iterations, types that had no fresh question since the last time go out of use. So does a type
      if most of its questions are just as near to one other type and answers do not tell the two apart; the other
      type's retrieval then finds its memories.
    - A benchmark's own types are never revised.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from mage_es.engine.briefs import KnownType, TaskTypesBrief, TaskTypesReply
from mage_es.engine.rules.briefing import DETAILS, Detail, case_for_teacher, fitted
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.mastery import lower_bound
from mage_es.engine.rules.ontology import is_name
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import ONE_TYPE, Question
from mage_es.events.vocabulary import BriefCut, TaskTypeCreated, TaskTypeRetired
from mage_es.projections.fold import State

MOST_TYPES = 16
BATCHES, BATCH = 3, 64
"""How many briefs sort evolution questions into types, and how many questions each shows."""
_TEXT_LENGTH = 400  # characters of a text in the brief; part of a text is enough to tell its type
_LEAST_EXAMPLES = 2
_LEAST_PLACED = 6  # with fewer questions in an iteration, nothing is concluded about telling a type apart

Induced = Mapping[str, TaskTypeCreated]
"""Induced task types by name, with their examples; empty if the benchmark has its own."""


def task_types_brief(
    setting: Setting, benchmark: str, questions: Sequence[Question], known: Induced, about: str
) -> tuple[TaskTypesBrief, BriefCut | None]:
    """Return the brief about a batch of evolution questions; `known` are the types from earlier batches."""

    def brief_of(detail: Detail) -> TaskTypesBrief:
        few = questions[: BATCH * detail.cases // DETAILS[0].cases]
        detail = detail._replace(text=min(detail.text, _TEXT_LENGTH))
        return TaskTypesBrief(
            benchmark=benchmark,
            questions=tuple(case_for_teacher(setting, question, detail) for question in few),
            known=tuple(KnownType(name=name, description=each.description) for name, each in known.items()),
            limit=MOST_TYPES,
        )

    return fitted(setting, -1, "task_types_v1", about, brief_of)


def with_reply(
    known: Induced, brief: TaskTypesBrief, reply: TaskTypesReply | None, guarded: Guarded
) -> dict[str, TaskTypeCreated]:
    """Return the known types with the examples that a reply adds, and new ones that have a usable name.

    The first type that claims an example has it.
    """
    found = dict(known)
    free = dict.fromkeys(each.question_id for each in brief.questions)
    for each in reply.task_types if reply else ():
        old = found.get(each.name)
        if old is None and (len(found) == brief.limit or not is_name(each.name, guarded)):
            continue
        taken = [name for name in dict.fromkeys(each.examples) if name in free]
        for name in taken:
            del free[name]
        old = old or TaskTypeCreated(task_type=each.name, description=each.description)
        found[each.name] = msgspec.structs.replace(old, examples=(*old.examples, *taken))
    return found


def settle_types(known: Induced) -> list[TaskTypeCreated]:
    """Return the types with two examples or more; or only `task`."""
    found = [each for each in known.values() if len(each.examples) >= _LEAST_EXAMPLES]
    return found or [TaskTypeCreated(task_type=ONE_TYPE, description="")]


def revised_types(
    setting: Setting, state: State, iteration: int, doubtful: Mapping[str, str]
) -> Iterator[TaskTypeRetired]:
    """Yield the induced types that go out of use, always keeping one; called in UPDATE.

    `doubtful` maps ids of this iteration's questions to another type that is about as near as their own.
    """
    gap, types = setting.config.refresh_gap, list(state.graph.induced_types())
    if (iteration + 1) % gap:
        return
    for name in list(types):
        asked = state.scores.between("fresh", name, first=iteration + 1 - gap, last=iteration).total
        if not asked and len(types) > 1:
            types.remove(name)
            yield TaskTypeRetired(task_type=name, into="", reason=f"no question had it in {gap} iterations")
    placed = Counter(verdict.task_type for verdict in state.progress.verdicts("evaluate"))
    between = Counter(
        (verdict.task_type, doubtful[verdict.question_id])
        for verdict in state.progress.verdicts("evaluate")
        if verdict.question_id in doubtful
    )
    for (name, other), close in sorted(between.items(), key=lambda item: (-item[1], item[0])):
        is_told = 2 * close <= placed[name] or placed[name] < _LEAST_PLACED or _differ(state, iteration, name, other)
        # One at a time, because with a type gone others may be told apart.
        if name in types and other in types and not is_told:
            reason = f"{close} of {placed[name]} questions were as near to {other}, and as often right"
            yield TaskTypeRetired(task_type=name, into=other, reason=reason)
            return


def _differ(state: State, iteration: int, one: str, other: str) -> bool:
    """Return whether the shares of right answers of two types differ: bounds at 95 % that do not overlap."""
    bounds = [_bounds(state, iteration, name) for name in (one, other)]
    return max(low for low, _ in bounds) > min(high for _, high in bounds)


def _bounds(state: State, iteration: int, task_type: str) -> tuple[float, float]:
    score = state.scores.between("fresh", task_type, first=0, last=iteration)
    wrong = score.total - score.correct
    return lower_bound(score.correct, wrong), 1 - lower_bound(wrong, score.correct)
