"""Task types by what is done to numbers: one for each sequence of operations that several solutions have."""

from __future__ import annotations

from collections import defaultdict

from mage_es.engine.briefs import InducedType, TaskTypesBrief, TaskTypesReply
from mage_es.engine.players.arithmetic.chains import operations_of
from mage_es.engine.players.reference.solutions import work_out


def author_task_types(brief: TaskTypesBrief) -> TaskTypesReply:
    groups = defaultdict[str, list[str]](list)
    for each in brief.questions:
        worked = work_out(each.question, each.solution, answer=each.answer)
        if worked is not None:
            steps = ("-".join(operations_of(step)) for step in worked.chain.steps)
            groups["-then-".join(steps) or "no-operation"].append(each.question_id)
    known = {each.name for each in brief.known}
    return TaskTypesReply(
        task_types=tuple(
            InducedType(name=name, description=f"Solved so: {name.replace('-', ' ')}.", examples=tuple(examples))
            for name, examples in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
            if name in known or len(examples) > 1
        )
    )
