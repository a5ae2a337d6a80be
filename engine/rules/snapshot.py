"""SNAPSHOT: the guard's verdict, and what follows from it for the mutable slots.

Rules
    - The first snapshot has nothing to compare with and is accepted. With the guard off, every snapshot is accepted.
    - Anchors whose prompts are unchanged keep their verdicts (agents/learner.py). The others are asked a quarter at a
      time, in random order, until the drop among those asked is within the guard's limit. So a rollback is only ever
      decided on all of them, and looking early causes no wrong rollback.
    - An anchor that was not asked keeps its verdict from the last accepted snapshot.
    - At the end of a run anchors may become cases themselves (rules/refit.py).
    - Each snapshot compares the anchors' answers with those to the bare prompt, to decide what they show about what was
      learned (rules/benefit.py). For this, a run's last snapshot asks all anchors, and so at once.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.config import Config
from mage_es.engine.rules.benefit import benefit_of
from mage_es.engine.rules.forms import ENOUGH, decide_form, rival_of
from mage_es.engine.rules.guard import (
    Accepted,
    Accuracy,
    Comparison,
    Decision,
    decide_guard,
    decide_raw,
    is_no_drop,
    parts,
    smallest_drop,
    smallest_raw_drop,
)
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.rules.refit import refitted
from mage_es.engine.rules.setting import Setting
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from mage_es.projections.scores import Score, Scores

FEWEST_TO_MASTER = 20
"""With fewer anchors, a full score says too little."""


def take_snapshot(setting: Setting, state: State, command: TakeSnapshot) -> list[v.Draft]:
    iteration, config = command.iteration, setting.judging
    decision = decision_on(config, state.scores, iteration, accepted=_accepted_before(state, iteration))
    carried = _carried(state, iteration) if config.guard == "paired" else []
    measured = state.scores.score("fresh" if config.guard == "paper" else "anchor", iteration)
    measured = Score(measured.correct + sum(each.correct for each in carried), measured.total + len(carried))
    verdict = v.GuardDecided(
        iteration=iteration,
        verdict="off" if config.guard == "off" else decision.verdict,
        correct=measured.correct,
        total=measured.total,
        against=decision.previous.iteration,
        drop=decision.previous.drop,
        p_value=decision.previous.p_value,
        best=decision.best.iteration,
        best_drop=decision.best.drop,
        best_p_value=decision.best.p_value,
        smallest_drop=_noticeable(config, measured, anchors=len(setting.anchors)),
    )
    # A rollback takes no snapshot, so a later state can never be rolled back to one that was found worse.
    consequence: v.Event = (
        v.SnapshotTaken(iteration=iteration)
        if decision.restore is None
        else v.SlotsRolledBack(iteration=iteration, to_iteration=decision.restore)
    )
    learned = (*benefit_of(setting, state, iteration), *decide_form(state, iteration))
    cases = refitted(setting, state, command)
    drafts = phase_drafts(iteration, "snapshot", (*carried, verdict, *learned, consequence, *cases))
    known = state.benefit.last
    if known is None or known.iteration != iteration:
        return drafts
    # A run that continues another's iteration already has the other's decision on it: its own is another fact.
    return [replace(each, ordinal=1) if isinstance(each.event, v.BenefitDecided) else each for each in drafts]


def decision_on(config: Config, scores: Scores, iteration: int, *, accepted: Sequence[int]) -> Decision:
    """Return the guard's decision on an iteration; `accepted` are the iterations whose snapshots were, oldest first."""
    return {"paired": _paired, "paper": _raw, "off": _nothing}[config.guard](config, scores, iteration, accepted)


def looks(setting: Setting, state: State, iteration: int) -> list[Sequence[str]]:
    """Return the planned anchors in the batches in which they are asked.

    They are asked all at once for the first snapshot, since there is nothing to compare with; in a publish, where
    an anchor that sees something new is one of the few that can judge it; and in the last iteration if what is served
    depends on them.
    """
    planned = [plan.question_id for plan in state.progress.plans("snapshot")]
    is_all_needed = setting.is_last(iteration) and setting.config.gate == "paired"
    if setting.is_served or is_all_needed or not _accepted_before(state, iteration):
        return [planned]
    return parts(shuffled(planned, setting.config.seed, purpose="anchors", iteration=iteration))


def is_decided(setting: Setting, state: State, iteration: int, asked: Sequence[str]) -> bool:
    """Return whether the answers to some anchors show no drop against either snapshot that they are compared with."""
    if rival_of(setting, state) and len(asked) < ENOUGH:  # a trial needs their answers
        return False
    answers = state.scores.anchor_answers(iteration)
    accepted = _with_answers(state.scores, _accepted_before(state, iteration))
    now = {name: answers[name] for name in asked if name in answers}
    drop = setting.judging.guard_drop
    return bool(accepted) and is_no_drop(now, previous=accepted[-1], best=best_of(accepted), drop=drop)


def is_mastered(setting: Setting, state: State) -> bool:
    """Return whether all anchors were right at the last two closed iterations, including the start."""
    last = state.progress.closed
    answers = [state.scores.anchor_answers(k) for k in (last - 1, last)]
    are_enough = len(setting.anchors) >= FEWEST_TO_MASTER
    return are_enough and all(len(each) == len(setting.anchors) and all(each.values()) for each in answers)


def measured_so_far(state: State, iteration: int) -> Mapping[str, bool]:
    """Return, for each anchor that this iteration asked (or skipped because its prompt would be the same), whether it
    was right. An anchor whose answer is undecided is left out.
    """
    unanswered = {answer.question_id: False for answer in state.progress.unanswered("snapshot")}
    known = {**state.scores.anchor_answers(iteration), **unanswered}
    # What was planned and not asked keeps an older verdict (run/anchors.py).
    planned = (plan.question_id for plan in state.progress.plans("snapshot"))
    older = {name for name in planned if not state.progress.is_settled("snapshot", name)}
    return {name: is_right for name, is_right in known.items() if name not in older}


def _carried(state: State, iteration: int) -> list[v.AnswerCarried]:
    """Return the verdicts of the anchors that did not need to be asked."""
    answers = state.scores.anchor_answers(max(_accepted_before(state, iteration), default=iteration))
    return [
        v.AnswerCarried(iteration=iteration, question_id=name, task_type=plan.task_type, correct=answers[name])
        for plan in state.progress.plans("snapshot")
        if (name := plan.question_id) in answers and not state.progress.is_settled("snapshot", name)
    ]


def _with_answers(scores: Scores, accepted: Sequence[int]) -> list[Accepted]:
    return [Accepted(k, scores.anchor_answers(k)) for k in accepted]


def best_of(accepted: Sequence[Accepted]) -> Accepted:
    # Among equals, the later one: it has learned more.
    return max(accepted, key=lambda a: (sum(a.answers.values()), a.iteration))


def _paired(config: Config, scores: Scores, iteration: int, accepted: Sequence[int]) -> Decision:
    if not accepted:
        return _nothing(config, scores, iteration, accepted)
    snapshots = _with_answers(scores, accepted)
    return decide_guard(
        scores.anchor_answers(iteration),
        previous=snapshots[-1],
        best=best_of(snapshots),
        drop=config.guard_drop,
        p=config.guard_p,
        hard_drop=config.catastrophic_drop,
        hard_p=config.catastrophic_p,
    )


def _raw(config: Config, scores: Scores, iteration: int, accepted: Sequence[int]) -> Decision:
    now, previous = (Accuracy(k, *scores.score("fresh", k)) for k in (iteration, iteration - 1))
    measured = [Accuracy(k, *scores.score("fresh", k)) for k in accepted]
    # The start (-1) is accepted but has no fresh answers.
    measured = [accuracy for accuracy in measured if accuracy.total]
    if not (now.total and previous.total and measured):
        return _nothing(config, scores, iteration, accepted)
    return decide_raw(
        now,
        previous=previous,
        best=max(measured, key=lambda a: (a.correct / a.total, a.iteration)),
        restore=accepted[-1],
        drop=config.guard_drop,
        hard_drop=config.catastrophic_drop,
    )


def _nothing(config: Config, scores: Scores, iteration: int, accepted: Sequence[int]) -> Decision:
    # Compared with itself: no drop, p = 1, and a log that has the same fields in every iteration.
    itself = Comparison(iteration, 0.0, 1.0)
    return Decision("accepted", itself, itself, None)


def _accepted_before(state: State, iteration: int) -> list[int]:
    # Never with itself: the drop would be zero.
    return [k for k in state.scores.accepted() if k != iteration]


def _noticeable(config: Config, measured: Score, *, anchors: int) -> float:
    if config.guard == "paper":
        return smallest_raw_drop(measured.total, drop=config.guard_drop)
    return smallest_drop(anchors, drop=config.guard_drop, p=config.guard_p)
