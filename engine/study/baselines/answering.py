"""Answering without a graph: chain of thought, with or without examples, sampled many times, or revised.

    few_shot_cot       the same with eight worked examples before the question
    self_consistency   ten samples at temperature 0.7; the answer that most of them end with
    reflexion          an answer, then two rounds of critique and revision

Rules
    - Prompt, extraction and scorer are the Learner's, so that only the way of prompting differs.
    - Votes are the answers that the benchmark extracts: numbers compare by value, other answers without regard to case
      and spaces. In a tie the first wins; a sample that was cut or has no answer does not vote; without any vote the
      answer is wrong.
    - The critique sees no gold answer. Only `reflexion_oracle` stops as soon as the answer is right, as the original
      does: the gold answer is its stop signal, so do not compare its scores with those of other methods.
"""

from collections import Counter

from mage_es.engine.benchmarks.numbers import read_number
from mage_es.engine.courses import Course, Finish, call_of
from mage_es.engine.rules.prompt import Quote, Section, worked
from mage_es.engine.seams.benchmark import scored
from mage_es.engine.study.baselines.trial import COT, BaselineTrial

SAMPLES = 10  # votes of self-consistency, as in the paper
SAMPLING_TEMPERATURE = 0.7  # temperature of these samples, from the paper's table of hyperparameters
ROUNDS = 2  # rounds of self-revision in Reflexion, as in the paper
SHOTS = 8  # worked examples of few-shot chain of thought, as in the paper

_CRITIQUE, _REVISION = "reflect_v1", "revise_v1"


def few_shot_cot(trial: BaselineTrial) -> Course:
    form = trial.setting.answer_format
    quotes = [
        Quote(
            f"shot/{shot.question_id}",
            f"Question: {shot.question}\nReply: "
            + (worked(shot.reasoning, shot.answer, form) if shot.answer else shot.reasoning),
        )
        for shot in trial.shots
    ]
    return (yield from trial.ask(COT, [Section("Solved earlier", quotes, is_note=True)]))


def self_consistency(trial: BaselineTrial) -> Course:
    replies: dict[str, Finish] = {}
    votes: Counter[str] = Counter()
    for place in (*range(1, SAMPLES), 0):
        reply = yield from trial.ask(COT, place=place, sampled_at=SAMPLING_TEMPERATURE)
        answer = "" if reply.reason else _ballot(scored(trial.benchmark, trial.question, reply.reply).answer)
        if answer:
            votes[answer] += 1
            replies.setdefault(answer, reply)
    return replies[votes.most_common(1)[0][0]] if votes else reply


def _ballot(answer: str) -> str:
    """Return the number of an answer, or else its words, so that equal answers count as the same vote."""
    number = read_number(answer)
    return " ".join(answer.casefold().split()) if number is None else f"{number.normalize():f}"


def reflexion(trial: BaselineTrial, *, oracle_stop: bool = False) -> Course:
    reply = yield from trial.ask(COT, place=1)
    thoughts: list[str] = []
    for rounds in range(1, ROUNDS + 1):
        if oracle_stop and not reply.reason and scored(trial.benchmark, trial.question, reply.reply).correct:
            break
        earlier = Section("Earlier attempt", [Quote(f"call/{trial.question.id}", reply.reply)])
        thoughts.append((yield from trial.ask(_CRITIQUE, [earlier], place=2 * rounds)).reply)
        quotes = [Quote(f"call/{call_of(trial.question.id, 2 * n)}", f"- {t}") for n, t in enumerate(thoughts, 1)]
        last = 0 if rounds == ROUNDS else 2 * rounds + 1
        reply = yield from trial.ask(_REVISION, [earlier, Section("Thoughts on it", quotes)], place=last)
    return reply
