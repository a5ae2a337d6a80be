"""Replies of the guidance tier by script: of the form that a brief asks for, with given words where words may be."""

from mage_es.engine.briefs import (
    AuthoredChild,
    AuthoredExample,
    AuthoredFailure,
    AuthoredParameter,
    AuthoredPrinciple,
    AuthoredRecipe,
    AuthoredTool,
    Brief,
    FailureBrief,
    FailureReply,
    PrinciplesBrief,
    PrinciplesReply,
    RefinementBrief,
    RefinementReply,
    RetrievalBrief,
    RetrievalReply,
    SplittingBrief,
    SplittingReply,
    ToolsBrief,
)
from mage_es.engine.commands import CheckedTool, CheckedTools, EvolveReply


def scripted(brief: Brief, words: str) -> EvolveReply:
    """Return a reply of the form that a brief asks for, which says `words` wherever it can."""
    match brief:
        case FailureBrief(cases=cases, wants_strategy=wants_strategy):
            kinds = ["type_strategy" if wants_strategy and not place else "specific" for place in range(len(cases))]
            return FailureReply(
                memories=tuple(
                    AuthoredFailure(
                        question_id=c.question_id, kind=kind, recognise=words, reasoning=words, answer=c.answer
                    )
                    for c, kind in zip(cases, kinds, strict=True)
                )
            )
        case PrinciplesBrief(skill=skill, cases=cases, solved=solved):
            shown = tuple(case.question_id for case in (*cases, *solved))
            said = (words, f"{words}: {skill}")
            return PrinciplesReply(principles=tuple(AuthoredPrinciple(do=each, cases=shown) for each in said))
        case ToolsBrief(task_type=task_type, cases=cases):
            known = cases[0].question_id if cases else ""
            tool = AuthoredTool(
                name="add",
                description=words,
                parameters=(AuthoredParameter(name="a", meaning=task_type),),
                source=f"def run(a):\n    return a + {len(words)}",
                examples=(AuthoredExample(question_id=known, arguments='{"a": 1}', result="2"),),
            )
            return CheckedTools([CheckedTool(tool, "" if len(words) % 3 else "it gave 3")])
        case RetrievalBrief():
            template = f"{{question}} {words[:40]}"
            recipe = AuthoredRecipe(
                query_template=template, success_quota=2, failure_quota=1, least_similarity=0.1, reasoning=words
            )
            return RetrievalReply(recipe=recipe)
        case RefinementBrief(length=length):
            return RefinementReply(prompt_template=words[:length], strategy=f"How: {words}"[:length])
        case SplittingBrief(skill=skill, task_types=types):
            children = tuple(
                AuthoredChild(
                    name=f"{skill} {place}", description=words, strategy=words, resolves=(types[place].task_type,)
                )
                for place in range(min(2, len(types)))
            )
            return SplittingReply(children=children, reason=words)
        case _:
            raise AssertionError(f"nothing is scripted for {type(brief).__name__}")
