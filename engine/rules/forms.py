"""The form in which prompts show cases, if the run chooses it: by a trial on anchors, once there are cases.

Rules
    - The usual form is turns of the nearest cases, whatever they show: a plain nearest-neighbour prompt. Its rival is
      `worked`: turns of only those cases that show how their answer was reached. The trial takes place at the first
      snapshot at which questions are reasoned about and at least FEWEST anchors have cases of both kinds among the
      nearest. Either form can be better: the bare result of a calculation teaches nothing, but if an answer is known
      and not worked out, nearer cases help more.
    - With `auto`, plain `lines` are the rival at the first snapshot of a run's own iterations, unless `worked` is.
    - Anchors for which the two forms differ, at most MOST of them, are asked again in the other form. The snapshot has
      already asked them with turns, so each pair costs one call. To have enough pairs, the snapshot asks at least
      ENOUGH anchors, if there are that many. With fewer than FEWEST pairs there is no trial, because no answers could
      favour the other form.
    - A run has one trial, in one of its own iterations. A run that continues another keeps the form that was better
      there; if there was no such trial, it has its own. The last snapshot holds a trial only if it is also the first,
      because what is served depends on its anchors, which were asked with turns.
    - The usual form stays unless the other is better: more pairs won than lost, one-sided exact sign test at P.
    - So if both forms are equally good, the usual one stays in at least 93 of 100 trials. With 25 pairs, a form that
      gets 82 of 100 answers right instead of 46 is chosen in 87 of 100 trials, and one that gets 70 right instead of 50
      in 45 (tests/bench/forms.py): the trial finds a much better form, not a slightly better one.
    - Quoted sections are not tried: a second rival would halve the pairs, and no measured model did best with them.
    - If there are too few anchors for a trial, what guidance wrote decides: once one of its corrections shows how to
      reach an answer, the form is `worked`, because a small model copies bare results that are shown beside worked
      ones. The learner's own replies do not count: they may have been right by chance.
    - There is no trial where the form cannot matter: for episodes, for anchors that have no case or were recalled, in a
      served run (its layout is fixed when it begins), and in a run without anchors.
"""

from collections.abc import Mapping, Sequence

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.rules.retrieval import shows_how
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.writings import CORRECTIONS
from mage_es.events.vocabulary import FormDecided, QuestionPlanned
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

USUAL, WORKED, LINES = "turns", "worked", "lines"
CHOOSING = ("usual", "auto")
"""The settings that leave the choice to the run."""
MOST, ENOUGH, FEWEST = 30, 20, 4
P = 0.1


def form_of(setting: Setting, state: State, phase: str = "") -> str:
    """Return how prompts of questions show cases; those of the phase `form` try the other one."""
    if phase == "form":
        return rival_of(setting, state)
    if setting.config.form not in CHOOSING:
        return setting.config.form
    if state.benefit.form:
        return state.benefit.form.form
    is_untried = setting.route == "cot" and not setting.has_episodes and len(setting.anchors) < FEWEST
    return WORKED if is_untried and _is_corrected(state) else USUAL


def rival_of(setting: Setting, state: State) -> str:
    """Return the form that the current snapshot should try, or ""."""
    iteration = state.progress.closed + 1
    is_first = iteration == setting.first
    if setting.config.form not in CHOOSING or setting.is_served or setting.has_episodes:
        return ""
    # With the form that an earlier run found better, the snapshot's own answers would not be answers with turns.
    if iteration < setting.first or form_of(setting, state) != USUAL or _is_tried(setting, state):
        return ""
    if setting.is_last(iteration) and not is_first:
        return ""
    shown = (_cases(state, planned) for planned in state.progress.plans("snapshot"))
    mixed = sum({*map(shows_how, cases)} == {True, False} for cases in shown)
    if setting.route == "cot" and mixed >= FEWEST:
        return WORKED
    return LINES if setting.config.form == "auto" and is_first else ""


def anchors_to_try(state: State, asked: Sequence[str], rival: str) -> list[str]:
    """Return the anchors to ask again in the other form, in order, from those that a snapshot asked; none if they are
    too few for any answers to favour it."""
    progress = state.progress
    # By plan, not by what was asked since, so that a resumed snapshot arrives at the same questions.
    plans = (progress.plan("snapshot", name) for name in asked if progress.is_judged("snapshot", name))
    found = [planned.question_id for planned in plans if _differs(_cases(state, planned), rival)][:MOST]
    return found if len(found) >= FEWEST else []


def decide_form(state: State, iteration: int) -> list[FormDecided]:
    """Return what the trial of an iteration shows; nothing if nothing was tried."""
    progress = state.progress
    if not (plans := progress.plans("form")):
        return []
    usual = {each.question_id: each.correct for each in progress.verdicts("snapshot")}
    tried = {each.question_id: each.correct for each in progress.verdicts("form")}
    return [favoured_form(iteration, usual, tried, rival=plans[0].form)]


def favoured_form(iteration: int, usual: Mapping[str, bool], tried: Mapping[str, bool], *, rival: str) -> FormDecided:
    """Return the form that did better, by the answers to questions that were asked in both forms."""
    # A question that lacks one of the answers, because its call failed permanently, is not a pair.
    names = usual.keys() & tried.keys()
    won = sum(tried[name] and not usual[name] for name in names)
    lost = sum(usual[name] and not tried[name] for name in names)
    p = sign_test(won, won + lost) if won + lost else 1.0
    return FormDecided(
        iteration=iteration,
        form=rival if won > lost and p <= P else USUAL,
        rival=rival,
        pairs=len(names),
        turns=sum(usual[name] for name in names),
        tried=sum(tried[name] for name in names),
        won=won,
        lost=lost,
        p_value=p,
    )


def _is_tried(setting: Setting, state: State) -> bool:
    return state.benefit.form is not None and state.benefit.form.iteration >= setting.first


def _is_corrected(state: State) -> bool:
    """Return whether a correction that guidance wrote, and that is in use, shows how its answer was reached."""
    slices = (state.memory.slice("failure", task_type) for task_type in state.memory.task_types())
    names = (name for rows in slices for name, kind in zip(rows.ids, rows.kinds, strict=True) if kind == CORRECTIONS)
    # What a client taught is of the same kind, but is not written in EVOLVE.
    return any(row.reasoning and row.phase == "evolve" for row in map(state.memory.row, names))


def _cases(state: State, planned: QuestionPlanned) -> list[MemoryRow]:
    """Return the cases that a prompt shows, or none without a prompt. A strategy is quoted in any form."""
    rows = [state.memory.row(hit.memory_id) for hit in planned.memories if planned.routing_arm != RECALL]
    return [row for row in rows if row.kind != "type_strategy"]


def _differs(cases: Sequence[MemoryRow], rival: str) -> bool:
    return not all(map(shows_how, cases)) if rival == WORKED else bool(cases)
