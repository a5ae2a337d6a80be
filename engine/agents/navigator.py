"""Navigator: the learnable frontier with exploration briefs, and which questions an iteration asks.

Stage 1 needs no model: it finds the frontier, fresh questions from the seeded pool, and earlier failures to ask again.
Stage 2 is one call of the guidance tier, which orders the frontier and says what to look for. If the reply is unusable,
the result of stage 1 is kept. The call is made only if an Explorer plays and reads the briefs (rules/writings.py).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from mage_es.engine.briefs import FailureCase, NavigatorBrief, NavigatorReply, SkillStanding
from mage_es.engine.commands import PlanIteration
from mage_es.engine.rules.briefing import Detail, clipped, fitted, teacher_knowledge
from mage_es.engine.rules.curriculum import learnable
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.rules.reproof import recorded_sample
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import BriefCut, Draft, IterationPlanned
from mage_es.projections.fold import State

BRIEF_LENGTH = 400
SHOWN_FAILURES = 3  # open failures of a skill that a brief shows
MOST_FAILURES = 60  # open failures that are looked through for those of the frontier


def plan(setting: Setting, state: State, command: PlanIteration) -> list[Draft]:
    """Return the plan. At most half of the pool goes to open failures, in the order in which they have waited longest;
    the rest is fresh.

    In a later epoch an open failure can be fresh again. It is then not a revisit, and one more fresh question is asked.
    Another learner's questions are asked again in the order of rules/reproof.py. [Algorithm 1, line 3] Earlier failures
    are a separate series in every score.
    """
    config, iteration = setting.config, command.iteration
    if setting.reproves(iteration):
        again = tuple(recorded_sample(setting, state))
        epoch = max(state.questions.times_fresh().values(), default=0)
        planned = IterationPlanned(
            iteration=iteration, frontier=(), brief="", epoch=epoch, fresh=again, revisits=(), repeats=again
        )
        return phase_drafts(iteration, "plan", [planned])
    open_failures = sorted(state.questions.open_failures(), key=lambda name: (_last_asked(state, name), name))
    revisit_count = min(config.revisit_cap, config.pool // 2, len(open_failures))
    asked = state.questions.times_fresh()
    chosen = set(next_fresh(setting, asked=asked, count=config.pool - revisit_count))
    revisits = [question for question in open_failures if question not in chosen][:revisit_count]
    open_skills = learnable(setting, state)
    fresh = next_fresh(setting, asked=asked, count=config.pool - len(revisits), without=revisits)
    ordered, briefs = refined_frontier(open_skills, command.refined)
    planned = IterationPlanned(
        iteration=iteration,
        frontier=tuple(ordered),
        brief="\n".join(f"{skill}: {briefs[skill]}" for skill in ordered if skill in briefs),
        epoch=max((asked[question] for question in fresh), default=0),
        fresh=tuple(fresh),
        revisits=tuple(revisits),
        repeats=tuple(question for question in fresh if asked[question]),
    )
    return phase_drafts(iteration, "plan", [planned])


def navigator_brief(
    setting: Setting, state: State, iteration: int, *, failed: Mapping[str, Sequence[Question]], last: Mapping[str, str]
) -> tuple[NavigatorBrief, BriefCut | None]:
    """Return what to ask the guidance tier about the frontier; `failed` are open failures by task type, `last` the
    briefs of the last plan by skill. A skill without a task type has no questions, and is left out.
    """
    threshold, graph = setting.config.mastery_threshold, state.graph
    frontier = [skill for skill in learnable(setting, state) if graph.task_types_of(skill)]

    def standing(skill: str, detail: Detail) -> SkillStanding:
        right, wrong = state.evidence.counts(skill)
        types = graph.task_types_of(skill)
        questions = [question for name in types for question in failed.get(name, ())]
        return SkillStanding(
            skill=skill,
            description=graph.description(f"skill/{skill}"),
            mastery=round(state.slots.mastery(skill), 3),
            right=right,
            wrong=wrong,
            prerequisites=tuple(graph.prerequisites(skill)),
            needed_by=tuple(name for name in graph.skills() if skill in graph.prerequisites(name)),
            task_types=tuple(types),
            failures=tuple(_failure(setting, state, each, detail) for each in questions[:SHOWN_FAILURES]),
            last_brief=last.get(skill, ""),
        )

    def brief_of(detail: Detail) -> NavigatorBrief:
        return NavigatorBrief(
            iteration=iteration,
            frontier=tuple(standing(skill, detail) for skill in frontier),
            mastered=tuple(skill for skill in graph.skills() if state.slots.mastery(skill) >= threshold),
        )

    return fitted(setting, iteration, "navigator_v1", "frontier", brief_of)


def latest_failures(state: State) -> list[str]:
    """Return the questions whose last answer was wrong, the latest first."""
    failures = state.questions.open_failures()
    return sorted(failures, key=lambda name: (-_last_asked(state, name), name))[:MOST_FAILURES]


def refined_frontier(frontier: Sequence[str], reply: NavigatorReply | None) -> tuple[list[str], dict[str, str]]:
    """Return the frontier in the reply's order and the brief of each skill; skills that the reply omits come last.

    [agents, Navigator] Stage 1, the frontier, needs no model; an unreadable reply does not change it. Stage 2 is
    skipped if nothing is explored: its briefs are used only in the Explorer's prompts, and the order of the frontier
    nowhere.
    """
    briefs: dict[str, str] = {}
    for each in reply.briefs if reply else ():
        text = " ".join(each.brief.split())[:BRIEF_LENGTH]
        if each.skill in frontier and text:
            briefs.setdefault(each.skill, text)
    return [*briefs, *(skill for skill in frontier if skill not in briefs)], briefs


def briefs_of(planned: IterationPlanned) -> dict[str, str]:
    lines = planned.brief.splitlines()
    return {
        skill: line.removeprefix(f"{skill}: ")
        for skill, line in zip(planned.frontier, lines, strict=False)
        if line.startswith(f"{skill}: ")
    }


def next_fresh(setting: Setting, *, asked: Mapping[str, int], count: int, without: Collection[str] = ()) -> list[str]:
    """Return the next `count` questions of the pool, or as many as there are, each once. `asked` says how often each
    question was fresh, and so in which epoch it is due. Questions of an earlier epoch come first. The first epoch is
    the committed order; each later one reshuffles it.

    [Algorithm 1, line 3] Questions of a later epoch are marked as repeats.
    """
    left = set(setting.evolution).difference(without)
    due = (
        question
        for epoch in sorted({asked.get(question, 0) for question in left})
        for question in _order(setting.evolution, setting.config.seed, epoch)
        if question in left and asked.get(question, 0) == epoch
    )
    return list(islice(due, count))


def _failure(setting: Setting, state: State, question: Question, detail: Detail) -> FailureCase:
    return FailureCase(
        question_id=question.id,
        question=clipped(question.question, detail.text // 2),
        answer=clipped(teacher_knowledge(setting, question).answer, detail.text // 2),
        wrong_answer=clipped(state.questions.wrong_answer(question.id), detail.text // 2),
    )


@lru_cache(maxsize=4)
def _order(evolution: tuple[str, ...], seed: int, epoch: int) -> tuple[str, ...]:
    if epoch == 0:
        return evolution
    return tuple(shuffled(evolution, seed, purpose="epoch", iteration=epoch))


def _last_asked(state: State, question_id: str) -> int:
    history = state.questions.history(question_id)
    return history.iteration if history else -1
