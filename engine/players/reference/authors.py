"""An author for each kind of brief: what the teacher makes of reference solutions.

    task types     one for each sequence of operations that several solutions have
    exploration    what to look for in each skill of the frontier, the skills with most wrong answers first
    failures       the reference solution as corrective reasoning, and a strategy that failures share
    principles     the order of the operations that failed questions need, or what plans, purchases or answers share
    tools          a chain of operations that several solutions have, as Starlark of their numbers in order
    retrieval      the quotas of solved and corrected questions that led to right answers
    refinement     what a skill's failures call for, and the steps that their solutions share
    splitting      a child for each task type that a skill resolves, which takes over that type

If no solution can be read, the right answers alone may show an answer that most questions of a kind share. The answer
of an episode is its outcome, so it is never given as an answer.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from string import ascii_lowercase
from typing import Any, get_type_hints

import msgspec

from mage_es.engine import briefs
from mage_es.engine.players.arithmetic.chains import Operand, execute, operations_of
from mage_es.engine.players.arithmetic.equations import to_number, to_text
from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.ontology import author_ontology
from mage_es.engine.players.reference.plans import plan_principles, read_plan
from mage_es.engine.players.reference.purchases import is_shopping, purchase_correction, purchase_principles
from mage_es.engine.players.reference.solutions import Worked, to_plain, type_strategy, work_out, worked_cases
from mage_es.engine.players.reference.strategies import split_steps

_LEAST_ALIKE, _SHARE_ALIKE = 3, Fraction(3, 4)
"""How many questions, and what share of all, must have the same answer before it is stated for all."""


def is_episode(case: briefs.Case) -> bool:
    return isinstance(case, briefs.FailureCase) and bool(read_plan(case.wrong_reasoning))


def shared_answer(cases: Sequence[briefs.Case]) -> str:
    """Return the answer that most cases have, "" if none is common enough, or for episodes."""
    if any(map(is_episode, cases)):
        return ""
    counts = Counter(case.answer for case in cases)
    answer, count = counts.most_common(1)[0] if counts else ("", 0)
    return answer if count >= _LEAST_ALIKE and count >= _SHARE_ALIKE * len(cases) else ""


def answer_principles(cases: Sequence[briefs.Case], existing: Sequence[str]) -> list[briefs.AuthoredPrinciple]:
    answer = shared_answer(cases)
    sentence = f"Questions of this kind are mostly answered with: {answer}."
    support = tuple(case.question_id for case in cases if case.answer == answer)
    return [briefs.AuthoredPrinciple(do=sentence, cases=support)] if answer and sentence not in existing else []


def answer_correction(case: briefs.FailureCase) -> str:
    return f"Not {case.wrong_answer}: the right answer is {case.answer}." if case.wrong_answer else case.answer


def author_task_types(brief: briefs.TaskTypesBrief) -> briefs.TaskTypesReply:
    groups = defaultdict[str, list[str]](list)
    for each in brief.questions:
        worked = work_out(each.question, each.solution, answer=each.answer)
        if worked is not None:
            steps = ("-".join(operations_of(step)) for step in worked.chain.steps)
            groups["-then-".join(steps) or "no-operation"].append(each.question_id)
    known = {each.name for each in brief.known}
    return briefs.TaskTypesReply(
        task_types=tuple(
            briefs.InducedType(name=name, description=f"Solved so: {name.replace('-', ' ')}.", examples=tuple(examples))
            for name, examples in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
            if name in known or len(examples) > 1
        )
    )


def author_briefs(brief: briefs.NavigatorBrief) -> briefs.NavigatorReply:
    """In order of the share of wrong answers, untried skills first."""
    ordered = sorted(brief.frontier, key=lambda tally: (-_share_wrong(tally), tally.skill))
    return briefs.NavigatorReply(
        briefs=tuple(
            briefs.ExplorationBrief(skill=tally.skill, brief=_brief(tally, brief.mastered)) for tally in ordered
        )
    )


def _share_wrong(tally: briefs.SkillStanding) -> float:
    answered = tally.right + tally.wrong
    return tally.wrong / answered if answered else 1.0


def _brief(tally: briefs.SkillStanding, mastered: tuple[str, ...]) -> str:
    sentences = [tally.description.rstrip(".")] if tally.description else []
    if tally.task_types:
        sentences.append(f"Look for questions of the type {' or '.join(tally.task_types)}")
    answered = tally.right + tally.wrong
    sentences.append(f"{tally.wrong} of {answered} answers were wrong" if answered else "Nothing was tried yet")
    known = [skill for skill in tally.prerequisites if skill in mastered]
    if known:
        sentences.append(f"Build on {', '.join(known)}")
    return ". ".join(sentences) + "."


def author_failures(brief: briefs.FailureBrief) -> briefs.FailureReply:
    strategies = _strategies(brief) if brief.wants_strategy else []
    specific = [
        briefs.AuthoredFailure(
            question_id=case.question_id,
            kind="specific",
            recognise="",
            reasoning=purchase_correction(case) or to_plain(case.solution) or answer_correction(case),
            answer=case.answer,
        )
        for case in brief.cases
        if case.solution.strip() or not is_episode(case)
    ]
    return briefs.FailureReply(memories=(*strategies, *specific[: max(0, brief.limit)]))


def _strategies(brief: briefs.FailureBrief) -> list[briefs.AuthoredFailure]:
    pairs = worked_cases(brief.cases)
    found = share([worked for _, worked in pairs])
    recognise = f"A question of the kind {brief.task_type}."
    return [type_strategy(pairs[found.members[0]][0], recognise, found.strategy)] if found else []


_LEAST_CASES = 2


def author_principles(brief: briefs.PrinciplesBrief) -> briefs.PrinciplesReply:
    if is_shopping(brief.cases):
        found = purchase_principles(brief.cases, brief.existing)
    else:
        found = _worked(brief) or plan_principles([*brief.cases, *brief.solved], brief.existing)
        found = found or answer_principles([*brief.cases, *brief.solved], brief.existing)
    shared = [each for each in found if len(each.cases) >= _LEAST_CASES]
    return briefs.PrinciplesReply(principles=tuple(shared[: max(0, brief.limit)]))


def _worked(brief: briefs.PrinciplesBrief) -> list[briefs.AuthoredPrinciple]:
    shown: dict[tuple[str, ...], list[str]] = {}
    for case, worked in worked_cases([*brief.cases, *brief.solved]):
        shown.setdefault(steps_of(worked), []).append(case.question_id)
    said = {names: f"Carry the operations out in this order: {', then '.join(names)}." for names in shown}
    return [
        briefs.AuthoredPrinciple(do=said[names], cases=tuple(shown[names]))
        for names in sorted(by_operations(brief.cases))
        if said[names] not in brief.existing
    ]


def by_operations(cases: Sequence[briefs.Case]) -> dict[tuple[str, ...], list[Worked]]:
    groups: dict[tuple[str, ...], list[Worked]] = {}
    for _, worked in worked_cases(cases):
        if names := steps_of(worked):
            groups.setdefault(names, []).append(worked)
    return groups


def steps_of(worked: Worked) -> tuple[str, ...]:
    return tuple(name for step in split_steps(worked.chain) for name in operations_of(step))


_LEAST_EXAMPLES, _MOST_EXAMPLES = 2, 4
_FORMS = {"as said": "{}", "hundredths": "({} / 100)"}
"""Each form of a number as Starlark; a form that is missing here gives no tool."""


def author_tools(brief: briefs.ToolsBrief) -> briefs.ToolsReply:
    groups: dict[str, list[tuple[str, Worked]]] = {}
    for case, worked in worked_cases((*brief.cases, *brief.solved)):
        groups.setdefault(print_source(worked), []).append((case.question_id, worked))
    known = {"", *(tool.source for tool in brief.existing)}
    new = [source for source, group in groups.items() if source not in known and len(group) >= _LEAST_EXAMPLES]
    if not new or brief.limit < 1:
        return briefs.ToolsReply(tools=())
    source = max(new, key=lambda each: (len(groups[each]), each))
    names = steps_of(groups[source][0][1])
    letters = ascii_lowercase[: len(groups[source][0][1].chain.needed)]
    tool = briefs.AuthoredTool(
        name="_".join(["work_out", *names])[:80],
        description=f"For questions of the type {brief.task_type}: {', then '.join(names)}.",
        parameters=tuple(
            briefs.AuthoredParameter(name=name, meaning="a number, in the order said") for name in letters
        ),
        source=source,
        examples=tuple(_example(*each) for each in groups[source][:_MOST_EXAMPLES]),
    )
    return briefs.ToolsReply(tools=(tool,))


def print_source(worked: Worked) -> str:
    """Return "" for a chain without operations, or if a number has a form without Starlark."""
    letters = dict(zip(worked.chain.needed, ascii_lowercase, strict=False))
    steps = split_steps(worked.chain)
    lines = [f"def run({', '.join(letters.values())}):"]
    for number, step in enumerate(steps, 1):
        parts = [_operand(item, letters) if isinstance(item, Operand) else item for item in step]
        if "" in parts:
            return ""
        lines.append(f"    step_{number} = {' '.join(parts)}")
    return "\n".join([*lines, f"    return round(step_{len(steps)}, 6)", ""]) if steps and letters else ""


def _operand(item: Operand, letters: dict[int, str]) -> str:
    if item.source == "result":
        return f"step_{item.at + 1}"
    return _FORMS.get(item.form, "").format(letters[item.at]) if item.source == "quantity" else to_text(item.value)


def _example(question_id: str, worked: Worked) -> briefs.AuthoredExample:
    given = dict(enumerate(worked.problem.quantities))
    arguments = {
        name: to_number(given[at].value) for at, name in zip(worked.chain.needed, ascii_lowercase, strict=False)
    }
    done = execute(worked.chain, given) or worked.equations
    return briefs.AuthoredExample(
        question_id=question_id, arguments=json.dumps(arguments), result=to_text(done[-1].value)
    )


_LEAST_OUTCOMES = 3


def author_recipe(brief: briefs.RetrievalBrief) -> briefs.RetrievalReply:
    given = [outcome for outcome in brief.outcomes if outcome.memories]
    if len(given) < _LEAST_OUTCOMES or brief.bundle < 1:
        return briefs.RetrievalReply(recipe=None)

    def rate(quota: int) -> float:
        """Laplace-smoothed."""
        alike = [outcome.correct for outcome in given if min(outcome.count("solved"), brief.bundle) == quota]
        return (sum(alike) + 1) / (len(alike) + 2)

    success = max(range(brief.bundle + 1), key=lambda quota: (rate(quota), quota))
    said = f"Of {len(given)} answers, those whose bundles had {success} solved questions were right most often."
    return briefs.RetrievalReply(
        recipe=briefs.AuthoredRecipe(
            query_template="{question}",
            success_quota=success,
            failure_quota=brief.bundle - success,
            least_similarity=0.0,
            reasoning=said,
        )
    )


INSTRUCTION = "Write every step as an equation, and ask after each whether its result is what the question asks for."


def author_refinement(brief: briefs.RefinementBrief) -> briefs.RefinementReply:
    worked = [worked for _, worked in worked_cases(brief.cases)]
    found = share(worked)
    return briefs.RefinementReply(
        prompt_template=INSTRUCTION if worked and len(INSTRUCTION) <= brief.length else "",
        strategy=found.strategy if found and len(found.strategy) <= brief.length else "",
    )


def author_split(brief: briefs.SplittingBrief) -> briefs.SplittingReply:
    order = sorted(brief.task_types, key=lambda tally: (-tally.wrong, tally.task_type))
    children = [child for child in map(partial(_child, brief.skill), order) if child.name not in brief.skills]
    if len(children) < 2 or brief.limit < 2:
        return briefs.SplittingReply(children=(), reason="The solutions show no two patterns to split it by.")
    return briefs.SplittingReply(
        children=tuple(children[: brief.limit]), reason="Its task types need different operations."
    )


def _child(skill: str, tally: briefs.TypeStanding) -> briefs.AuthoredChild:
    groups = by_operations(tally.samples)
    common = max(groups, key=lambda names: (len(groups[names]), names), default=())
    found = share(groups[common]) if groups else None
    beginning = f"Questions of the type {tally.task_type}"
    return briefs.AuthoredChild(
        name=f"{skill}-{tally.task_type}",
        description=f"{beginning}: {', then '.join(common)}." if common else f"{beginning}.",
        strategy=found.strategy if found else "",
        resolves=(tally.task_type,),
    )


Authors = Mapping[type[briefs.Brief], Callable[[Any], msgspec.Struct]]


def by_brief(*authors: Callable[[Any], msgspec.Struct]) -> Authors:
    """Return authors by the kind of brief that their parameter names."""
    return {get_type_hints(author)["brief"]: author for author in authors}


AUTHORS = by_brief(
    author_task_types,
    author_ontology,
    author_briefs,
    author_failures,
    author_principles,
    author_tools,
    author_recipe,
    author_refinement,
    author_split,
)
