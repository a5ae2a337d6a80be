"""`builtin/truthguide`: writes what the guidance tier is asked for about truthworld, from reference solutions alone.

It believes the solutions, and states as a rule what most of them agree on, so a poisoned solution becomes a poisoned
memory of its question, and rarely more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mage_es.engine.briefs import (
    AuthoredChild,
    AuthoredFailure,
    AuthoredPrinciple,
    AuthoredRecipe,
    AuthoredSkill,
    AuthoredTaskType,
    BundleOutcome,
    ExplorationBrief,
    FailureBrief,
    FailureReply,
    NavigatorBrief,
    NavigatorReply,
    OntologyBrief,
    OntologyReply,
    PrinciplesBrief,
    PrinciplesReply,
    RefinementBrief,
    RefinementReply,
    RetrievalBrief,
    RetrievalReply,
    SplittingBrief,
    SplittingReply,
    TaskTypesBrief,
    TaskTypesReply,
    TypeStanding,
)
from mage_es.engine.players.reference.model import by_brief, teacher_reply
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.players.truthworld.solutions import agreed, read_solution, sentences
from mage_es.engine.players.truthworld.tools import author_tools
from mage_es.engine.players.worlds.truthworld.claims import Claim, claims_in

GENERAL, READ, JOIN, JUDGE = "general", "read-ledgers", "join-ledgers", "judge-standings"
_DESCRIPTIONS = {
    GENERAL: "Read the question and apply what it names, from left to right.",
    READ: "Apply the rules of a land's marks to a number, from left to right.",
    JOIN: "Apply the rules of marks that come from several lands.",
    JUDGE: "Reckon where an estate ends, and tell how that stands to a line.",
}
_PREREQUISITES: dict[str, tuple[str, ...]] = {GENERAL: (), READ: (), JOIN: (READ,), JUDGE: (READ,)}
_ORDER = "Apply the marks from left to right, each to the result of the one before."
_STRATEGY_LENGTH = 600
_LEAST_SUPPORT = 2


def author_ontology(brief: OntologyBrief) -> OntologyReply:
    marks: dict[str, set[str]] = {}
    standings = set()
    for sample in brief.task_types:
        read = [found for solved in sample.samples if (found := read_solution(solved))]
        marks[sample.task_type] = {mark for reckoning in read for mark in reckoning.marks}
        if any(reckoning.is_standing for reckoning in read):
            standings.add(sample.task_type)
    numeric = [name for name in marks if name not in standings]
    shared = {name: [other for other in numeric if other != name and marks[name] & marks[other]] for name in marks}
    joined = {name for name in numeric if len(shared[name]) > 1}
    resolves = {
        GENERAL: [name for name in numeric if not marks[name]],
        READ: [name for name in numeric if marks[name] and name not in joined],
        JOIN: sorted(joined),
        JUDGE: sorted(standings),
    }
    skills = [
        AuthoredSkill(
            name=name,
            description=_DESCRIPTIONS[name],
            prerequisites=_PREREQUISITES[name],
            resolves=tuple(sorted(types)),
            composes_into=(JOIN,) if name == READ else (),
        )
        for name, types in resolves.items()
    ]
    return OntologyReply(
        skills=tuple(skills[: max(1, brief.skill_cap)]),
        task_types=tuple(_type(name, sorted(marks[name])) for name in sorted(marks)),
    )


def _type(name: str, marks: Sequence[str]) -> AuthoredTaskType:
    said = f"Questions with marks such as {', '.join(marks[:4])}." if marks else ""
    return AuthoredTaskType(task_type=name, description=said)


def author_navigation(brief: NavigatorBrief) -> NavigatorReply:
    order = sorted(brief.frontier, key=lambda tally: (-tally.wrong, tally.skill))
    return NavigatorReply(
        briefs=tuple(
            ExplorationBrief(skill=one.skill, brief=f"Find out which marks of {', '.join(one.task_types)} are misread.")
            for one in order
        )
    )


def author_failures(brief: FailureBrief) -> FailureReply:
    read = [case for case in brief.cases if read_solution(case) is not None]
    memories = [
        AuthoredFailure(
            question_id=case.question_id,
            kind="specific",
            recognise="",
            reasoning=case.solution,
            answer=case.answer,
        )
        for case in read
    ]
    strategies = []
    if brief.wants_strategy and len(read) > 1:
        rules = agreed(case.solution for case in read)
        strategies = [
            AuthoredFailure(
                question_id=read[0].question_id,
                kind="type_strategy",
                recognise=f"The question has marks such as {', '.join(rules)}.",
                reasoning=f"{_ORDER} {sentences(rules)}",
                answer=read[0].answer,
            )
        ]
    return FailureReply(memories=(*strategies, *memories[: max(0, brief.limit)]))


def author_principles(brief: PrinciplesBrief) -> PrinciplesReply:
    known = {text.partition(" ")[0] for text in brief.existing}
    cases, failed = [*brief.cases, *brief.solved], agreed(case.solution for case in brief.cases)
    rules = agreed(case.solution for case in cases)
    claims = [Claim(mark, rules[mark]) for mark in failed if mark not in known]
    shown = {claim: tuple(case.question_id for case in cases if claim in claims_in(case.solution)) for claim in claims}
    new = [
        AuthoredPrinciple(do=f"{claim}, wherever it stands.", cases=shown[claim])
        for claim in claims
        if len(shown[claim]) >= _LEAST_SUPPORT
    ]
    return PrinciplesReply(principles=tuple(new[: max(0, brief.limit)]))


def author_recipe(brief: RetrievalBrief) -> RetrievalReply:
    leaning = {True: _rate(brief.outcomes, success=True), False: _rate(brief.outcomes, success=False)}
    major = brief.bundle - brief.bundle // 3
    is_success = leaning[True] >= leaning[False]
    recipe = AuthoredRecipe(
        query_template="{question}",
        success_quota=major if is_success else brief.bundle - major,
        failure_quota=brief.bundle - major if is_success else major,
        least_similarity=0.1,
        reasoning=f"Bundles that lean on {'right' if is_success else 'corrected'} answers were right more often.",
    )
    return RetrievalReply(recipe=recipe)


def _rate(outcomes: Sequence[BundleOutcome], *, success: bool) -> float:
    leaning = [
        outcome.correct
        for outcome in outcomes
        if outcome.count("solved") != outcome.count("corrected", "strategy")
        and (outcome.count("solved") > outcome.count("corrected", "strategy")) == success
    ]
    return (sum(leaning) + 1) / (len(leaning) + 2)


def author_refinement(brief: RefinementBrief) -> RefinementReply:
    solutions = [*(case.solution for case in brief.cases), *(case.solution for case in brief.solved)]
    return RefinementReply(
        prompt_template=_ORDER if len(_ORDER) <= brief.length else "",
        strategy=sentences(agreed(solutions), length=brief.length),
    )


def author_splitting(brief: SplittingBrief) -> SplittingReply:
    fresh = [one for one in brief.task_types if _child_name(brief.skill, one) not in brief.skills]
    if len(brief.task_types) < 2 or len(fresh) < 2:
        return SplittingReply(children=(), reason="The skill resolves no two task types of its own.")
    worst = sorted(fresh, key=lambda one: (one.right / max(1, one.right + one.wrong), one.task_type))
    children = tuple(
        AuthoredChild(
            name=_child_name(brief.skill, one),
            description=f"{brief.description} Only for {one.task_type}.".strip(),
            strategy=sentences(agreed(case.solution for case in one.samples), length=_STRATEGY_LENGTH),
            resolves=(one.task_type,),
        )
        for one in worst[: max(0, brief.limit)]
    )
    return SplittingReply(children=children, reason="Each land has marks of its own.")


def _child_name(skill: str, standing: TypeStanding) -> str:
    return f"{skill}-{standing.task_type.rpartition('_')[2]}"


def author_task_types(brief: TaskTypesBrief) -> TaskTypesReply:
    # The world's questions have types; about another benchmark's questions it has nothing to say.
    return TaskTypesReply(task_types=())


AUTHORS = by_brief(
    author_task_types,
    author_ontology,
    author_navigation,
    author_failures,
    author_principles,
    author_tools,
    author_recipe,
    author_refinement,
    author_splitting,
)
reply = teacher_reply(AUTHORS)
TruthGuide = partial(StandIn, "builtin/truthguide", reply, teacher_sees="solutions")
