"""Once anchors have judged a run for the last time, they become cases, just as a model is refitted to all data after
validation.

Rules
    - An anchor's case is its right answer alone. So this is done only where answers are labels or short, and as far as
      a teacher may see them. Where answers need reasoning, bare ones teach nothing.
    - It happens in a run's last snapshot, after the guard, the gate and the trial of a form have their answers. A type
      whose anchors are out of date (rules/benefit.py) adds no cases.
    - No anchor is ever shown an anchor's case, and the metric that chooses its cases is learned without them
      (rules/retrieval.py). So in a run that continues this one, anchors still judge what the other questions taught.
    - It follows that the anchors judged fewer cases than are served. Held-out questions never take part.
"""

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.rules.benefit import outdated
from mage_es.engine.rules.briefing import teacher_knowledge
from mage_es.engine.rules.new_memories import CASE, Met, new_memory
from mage_es.engine.rules.own import OF_ANCHORS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import giver_of
from mage_es.engine.seams.embedder import to_bytes
from mage_es.events.facts.envelope import fact_id
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, MemoryReinforced, Origin, tag_of
from mage_es.projections.fold import State


def anchors_to_refit(setting: Setting, state: State, iteration: int) -> list[str]:
    """Return the anchors that become cases in the snapshot of an iteration."""
    config = setting.config
    is_terse = (setting.is_labelled or setting.is_short) and not setting.has_episodes
    if not (config.cases and is_terse and setting.is_last(iteration)) or setting.is_served or setting.reproof:
        return []
    old, scores = outdated(setting, state, iteration), state.scores
    asked = (name for name in setting.anchors if scores.last_asked(name) is not None)
    return sorted(
        name for name in asked if scores.anchor_type(name) not in old and not state.memory.latest_failure(name)
    )


def refitted(setting: Setting, state: State, command: TakeSnapshot) -> list[MemoryAppended | MemoryReinforced]:
    """Return the cases of the anchors of a command, in id order; two with the same text are one case, seen twice."""
    met = Met(state.memory)
    cases = (_case(setting, state, command, place, name) for place, name in enumerate(sorted(command.anchors)))
    return [met.again(case) for case in cases if case.answer]


def _case(setting: Setting, state: State, command: TakeSnapshot, place: int, name: str) -> MemoryAppended:
    question, task_type = command.anchors[name], state.scores.anchor_type(name)
    last = state.scores.last_asked(name)
    assert last is not None
    verdict = fact_id(last.iteration, "snapshot", f"question/{name}", tag_of(AnswerJudged), 0).hex()
    return new_memory(
        salt=setting.salt,
        outcome="failure_memory",
        kind=CASE,
        task_type=task_type,
        skill=state.graph.skill_for_task(task_type),
        question_id=name,
        question=question.question,
        reasoning="",
        answer=teacher_knowledge(setting, question).answer,
        steps=(),
        origin=Origin(facts=(verdict,), saw=setting.config.teacher_sees, by=giver_of(question)),
        iteration=command.iteration,
        phase=OF_ANCHORS,
        ordinal=place,
        embedding=to_bytes(command.vectors[name]),
    )
