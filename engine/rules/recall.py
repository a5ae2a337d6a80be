"""Answering from the nearest cases alone, without a call, if that has proved to be right as often as the model.

Rules
    - Only answers that questions share can be recalled (`Setting.is_labelled`), and only where nothing is learned from
      them: in exams, for anchors, and in `ask`. A question to learn from is always asked, so that both answers to it
      are known: that of its nearest cases, none of which is its own, and the model's.
    - The record is kept by task type and by agreement, how many of the nearest cases have the answer of the very
      nearest: the answer is less reliable if they disagree. A question is recalled if the nearest case was right more
      often than the model on at least LEAST questions of the same agreement; if there are fewer, those of lesser
      agreement join them.
    - If the two are level, the nearest case answers, as the cheaper one, but only if that is more than luck: the
      nearest case was right more often than the commonest answer of all cases would be. If each has two of thirty
      right, that says nothing about either.
    - So a recalled question costs nothing, and the record that allows it compares both on the same questions.
    - That record is of the model with cases. Where the bare prompt did better than these (rules/benefit.py), a question
      is recalled only if recalled anchors did better than the bare prompt.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import AnswerJudged, Purpose, QuestionPlanned, Recall, RecallCompared, Retrieved
from mage_es.projections.fold import State
from mage_es.projections.memory import Index, plain
from mage_es.projections.slices import computed_of

LEAST = 10
"""How many questions must have been answered both ways."""
_ASKED: frozenset[Purpose] = frozenset({"anchor", "exam", "ask"})


class NearestAnswer(NamedTuple):
    """The right answer of the nearest case, and how many of the nearest have the same."""

    answer: str
    agreement: int


def nearest_answer(state: State, memories: Sequence[Retrieved]) -> NearestAnswer | None:
    """Return what the cases among these memories say, or None."""
    rows = [(hit, state.memory.row(hit.memory_id)) for hit in sorted(memories, key=lambda hit: -hit.similarity)]
    answers = [
        state.memory.row(hit.answer_of).answer if hit.answer_of else row.answer
        for hit, row in rows
        if row.kind != "type_strategy"
    ]
    return NearestAnswer(answers[0], sum(plain(answer) == plain(answers[0]) for answer in answers)) if answers else None


def may_be_recalled(setting: Setting, state: State, purpose: Purpose, task_type: str) -> bool:
    """Return whether the nearest cases answer a question of this purpose and type if their record allows it."""
    # A client's question always goes to the client's model, so exams of a served run measure that model.
    if not (setting.config.recall and setting.is_labelled and purpose in _ASKED) or setting.is_served:
        return False
    return purpose == "anchor" or state.benefit.may_recall(task_type)


def is_recalled(setting: Setting, state: State, planned: QuestionPlanned) -> bool:
    """Return whether a question with this plan is answered by its nearest cases."""
    if not may_be_recalled(setting, state, planned.purpose, planned.task_type):
        return False
    nearest = nearest_answer(state, planned.memories)
    if nearest is None:
        return False
    # Cases that agree more are right more often, so those that agree less cannot flatter the record that they join.
    questions = recalled = answered = 0
    for agreement in range(nearest.agreement, 0, -1):
        record = state.recall.record(planned.task_type, agreement)
        questions, recalled = questions + record.questions, recalled + record.recalled
        answered += record.answered
        if questions >= LEAST:
            break
    if questions < LEAST or recalled < answered:
        return False
    return recalled > answered or recalled > questions * commonest_share(state, planned.task_type)


def commonest_share(state: State, task_type: str) -> float:
    """Return the share of the commonest answer among the cases of a task type, from 0 to 1; 0 without cases."""
    slices = [rows for index in get_args(Index) if (rows := state.memory.slice(index, task_type)).ids]

    def counted() -> float:
        cases = (state.memory.row(name) for rows in slices for name in rows.ids)
        answers = Counter(plain(row.answer) for row in cases if row.kind != "type_strategy")
        return max(answers.values(), default=0) / max(answers.total(), 1)

    return computed_of(slices, "commonest", counted) if slices else 0.0


def compare(
    setting: Setting, state: State, iteration: int, verdicts: Sequence[AnswerJudged], questions: Mapping[str, Question]
) -> list[RecallCompared]:
    """Return the record with an iteration's questions in it; nothing if none of them had a near case."""
    if not (setting.config.recall and setting.is_labelled):
        return []
    counts = Counter[tuple[str, int]]()
    recalled, answered = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for verdict in verdicts:
        plan = state.progress.plan("evaluate", verdict.question_id)
        # What the coin left out of the prompt is no less near: only the prompt lacked it.
        if nearest := nearest_answer(state, (*plan.memories, *plan.left_out)):
            key = verdict.task_type, nearest.agreement
            counts[key] += 1
            recalled[key] += plain(nearest.answer) == plain(questions[verdict.question_id].gold)
            answered[key] += verdict.correct
    if not counts:
        return []
    before = {key: state.recall.record(*key) for key in counts}
    records = (
        Recall(
            task_type=key[0],
            agreement=key[1],
            questions=before[key].questions + counts[key],
            recalled=before[key].recalled + recalled[key],
            answered=before[key].answered + answered[key],
        )
        for key in sorted(counts)
    )
    return [RecallCompared(iteration=iteration, records=tuple(records))]
