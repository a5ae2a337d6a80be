"""The form in which prompts show cases, if the run is to choose it by itself: by a trial on anchors, once there are
cases.

Rules
    - At the first snapshot of a run's own iterations, anchors that it asked with cases, at most MOST of them, are asked
      again with the same cases in the other form. Their answers with turns are the snapshot's own, so each pair costs
      one call. For that the snapshot asks at least ENOUGH anchors, if there are that many.
    - The usual form stays unless the other is better: more pairs won than lost, one-sided exact sign test at P.
    - So if both are equally good, the usual one stays in at least 93 of 100 trials. With 25 pairs, a form that gets 82
      instead of 46 right of 100 is chosen in 87 of 100 trials, one that gets 70 instead of 50 in 45
      (tests/bench/forms.py): the trial finds a form that is far better, not one that is slightly better.
    - Quoted sections are not tried: a second rival would halve the pairs, and no model that was measured did best with
      them.
    - Where form cannot matter, nothing is tried: episodes, anchors that have no case or were recalled, a served run,
      whose layout is settled when it begins, and a run without anchors.
"""

from collections.abc import Mapping, Sequence

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.rules.setting import Setting
from mage_es.events.vocabulary import FormDecided, QuestionPlanned
from mage_es.projections.fold import State

USUAL, RIVAL = "turns", "lines"
MOST, ENOUGH = 30, 20
P = 0.1


def form_of(setting: Setting, state: State) -> str:
    """Return how prompts of questions show cases."""
    if setting.config.form != "auto":
        return setting.config.form
    return state.benefit.form.form if state.benefit.form else USUAL


def is_due(setting: Setting, iteration: int) -> bool:
    """Return whether a snapshot is to try the other form."""
    return setting.config.form == "auto" and iteration == setting.first and not setting.is_served


def to_try(state: State, asked: Sequence[str]) -> list[str]:
    """Return the anchors to ask again in the other form, in order, from those that a snapshot asked."""
    progress = state.progress
    # By plan, not by what was asked since, so that a resumed snapshot arrives at the same questions.
    plans = (progress.plan("snapshot", name) for name in asked if progress.is_judged("snapshot", name))
    return [planned.question_id for planned in plans if _has_cases(state, planned)][:MOST]


def decided(setting: Setting, state: State, iteration: int) -> list[FormDecided]:
    """Return what the trial of an iteration shows; nothing if none was due, or nothing could be tried."""
    progress = state.progress
    if not is_due(setting, iteration) or not progress.plans("form"):
        return []
    usual = {each.question_id: each.correct for each in progress.verdicts("snapshot")}
    tried = {each.question_id: each.correct for each in progress.verdicts("form")}
    return [decide_form(iteration, usual, tried)]


def decide_form(iteration: int, usual: Mapping[str, bool], tried: Mapping[str, bool]) -> FormDecided:
    """Return the form that the answers to the same questions in both forms favour."""
    # A question that lacks one of the answers, because its call failed for good, is not a pair.
    names = usual.keys() & tried.keys()
    won = sum(tried[name] and not usual[name] for name in names)
    lost = sum(usual[name] and not tried[name] for name in names)
    p = sign_test(won, won + lost) if won + lost else 1.0
    return FormDecided(
        iteration=iteration,
        form=RIVAL if won > lost and p <= P else USUAL,
        rival=RIVAL,
        pairs=len(names),
        turns=sum(usual[name] for name in names),
        tried=sum(tried[name] for name in names),
        won=won,
        lost=lost,
        p_value=p,
    )


def _has_cases(state: State, planned: QuestionPlanned) -> bool:
    # A strategy is quoted in either form.
    kinds = (state.memory.row(hit.memory_id).kind for hit in planned.memories)
    return planned.routing_arm != RECALL and any(kind != "type_strategy" for kind in kinds)
