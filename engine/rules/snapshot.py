"""SNAPSHOT: the guard's verdict over the anchor answers, and what follows from it for the mutable slots."""

from __future__ import annotations

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.rules.guard import Accepted, Comparison, Decision, decide_guard, smallest_drop
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import Event, GuardDecided, PhaseCompleted, SlotsRolledBack, SnapshotTaken
from mage_es.projections.fold import State


def take_snapshot(setting: Setting, state: State, command: TakeSnapshot) -> list[Draft]:
    """Return the verdict, then either the snapshot or the rollback, then the phase mark.

    The first snapshot has nothing to be compared with and is accepted. With the guard off every snapshot is.
    """
    iteration, config = command.iteration, setting.config
    answers = state.scores.anchor_answers(iteration)
    accepted = [Accepted(k, state.scores.anchor_answers(k)) for k in state.scores.accepted() if k != iteration]
    if config.guard == "off" or not accepted:
        nothing = Comparison(iteration, 0.0, 1.0)
        decision = Decision("accepted", nothing, nothing, None)
    else:
        decision = decide_guard(
            answers,
            previous=accepted[-1],
            best=max(accepted, key=lambda a: (sum(a.answers.values()), a.iteration)),
            drop=config.guard_drop,
            p=config.guard_p,
            hard_drop=config.catastrophic_drop,
            hard_p=config.catastrophic_p,
        )
    verdict = GuardDecided(
        iteration=iteration,
        verdict="off" if config.guard == "off" else decision.verdict,
        correct=sum(answers.values()),
        total=len(answers),
        against=decision.previous.iteration,
        drop=decision.previous.drop,
        p_value=decision.previous.p_value,
        best=decision.best.iteration,
        best_drop=decision.best.drop,
        best_p_value=decision.best.p_value,
        smallest_drop=smallest_drop(len(answers), drop=config.guard_drop, p=config.guard_p),
    )
    consequence: Event = (
        SnapshotTaken(iteration=iteration)
        if decision.restore is None
        else SlotsRolledBack(iteration=iteration, to_iteration=decision.restore)
    )
    mark = PhaseCompleted(iteration=iteration, phase="snapshot")
    return [Draft(event=event, iteration=iteration, phase="snapshot") for event in (verdict, consequence, mark)]
