"""Navigator: the learnable frontier, and which questions an iteration asks.

Stage 1 (this file) needs no model: frontier, fresh questions from the seeded pool, and earlier failures again.
"""

from __future__ import annotations

from functools import lru_cache

from mage_es.engine.commands import PlanIteration
from mage_es.engine.rules.frontier import learnable
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import IterationPlanned
from mage_es.projections.fold import State


def plan(setting: Setting, state: State, command: PlanIteration) -> list[Draft]:
    """Return the plan: at most half of the pool goes to open failures, longest unasked first, the rest is fresh."""
    config, iteration = setting.config, command.iteration
    open_failures = sorted(state.questions.open_failures(), key=lambda name: (_last_asked(state, name), name))
    revisit_count = min(config.revisit_cap, config.pool // 2, len(open_failures))
    fresh, repeats, epoch = next_fresh(setting, asked=state.questions.fresh_asked, count=config.pool - revisit_count)
    chosen = set(fresh)
    revisits = [question for question in open_failures if question not in chosen][:revisit_count]
    planned = IterationPlanned(
        iteration=iteration,
        frontier=tuple(learnable(setting, state)),
        brief="",
        epoch=epoch,
        fresh=tuple(fresh),
        revisits=tuple(revisits),
        repeats=tuple(repeats),
    )
    return [Draft(event=planned, iteration=iteration, phase="plan")]


def next_fresh(setting: Setting, *, asked: int, count: int) -> tuple[list[str], list[str], int]:
    """Return the next `count` questions of the pool, those of them seen in an earlier epoch, and the epoch.

    `asked` is how many fresh questions the run has asked. The first epoch is the committed order; each later
    one shuffles it anew.
    """
    size = len(setting.evolution)
    fresh: list[str] = []
    repeats: list[str] = []
    for position in range(asked, asked + min(count, size)):
        epoch, place = divmod(position, size)
        question = _order(setting.evolution, setting.config.seed, epoch)[place]
        if question not in fresh:
            fresh.append(question)
            if epoch:
                repeats.append(question)
    return fresh, repeats, (asked + max(count, 1) - 1) // size


@lru_cache(maxsize=4)
def _order(evolution: tuple[str, ...], seed: int, epoch: int) -> tuple[str, ...]:
    if epoch == 0:
        return evolution
    return tuple(shuffled(evolution, seed, purpose="epoch", iteration=epoch))


def _last_asked(state: State, question_id: str) -> int:
    history = state.questions.history(question_id)
    return history.iteration if history else -1
