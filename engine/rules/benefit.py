"""Never worse than no memory: the anchors show, type by type, where the bare prompt beats what was learned.

The bare prompt is that of the start: question and answer form, without memory, principle, skill text, plan or tool.
Each anchor is answered with it once; with what was learned at every snapshot that would show it something new. The two
answers of an anchor are a pair: won if only the one with what was learned is right, lost if only the bare one is.

Rules
    - A type's own record decides if it can. With more pairs lost than won it is served bare; with significantly more
      won than lost (one-sided exact sign test, p at most `gate_p`), it is served what was learned.
    - Any other type follows the pairs of all types together, and so does one without a pair: what was learned is served
      unless more of them are lost than won.
    - So the nearest cases are the default, and the bare prompt must beat them. Requiring proof that they help was
      tried: with 60 pairs that gave up a gain of ten points in a quarter of all draws, to avoid a harm of ten in three
      of a hundred. A type that is harmed is stopped by its own losses, not carried by types that are helped. How often
      what was learned is served at which effect, with how many anchors and types: tests/bench/benefit.py.
    - An anchor that the guard did not need to ask again keeps its last answer, given with what had been learned at that
      point: it counts, and `stale` says how many there are. At the last snapshot of a run all are asked.
    - If there are too few anchors to decide at the last snapshot (SURE), at most MORE questions that were learned from
      make further pairs, at the price of a call each: those of the last iteration are asked bare as well, and those of
      the first, which were asked when nothing had been learned, are asked again, without their own cases. Otherwise the
      few anchors would decide by chance; a run of ten questions has two. If a rule drifts, the last questions count.
      They are asked a few at a time (LOOK), until the pairs of each type settle the matter.
    - In a run that continues another, anchors may be older than the rule that holds now. Those of a task type are out
      of date if its cases before some iteration are (rules/drift.py), or if its last questions, asked on what had been
      learned so far, were right significantly more or less often than these anchors were on the same (`differ`). Then
      at the last snapshot these questions are asked bare as well, and they alone count; the second sign alone misses
      anchors half of which follow the new rule. If the rule changed in this very iteration, its questions were asked
      with nothing but outdated cases: then no pair of the type counts.
    - Questions that a new learner is asked again are pairs too (rules/reproof.py).
    - An answer that was recalled (rules/recall.py) says nothing about a prompt, so it forms no pair, and does not show
      that anchors are out of date. Where the bare prompt is served, questions are still recalled if more recalled
      anchors were won than lost.
    - A rollback takes back no memory, so it does not change the record.
    - Without anchors, questions asked once more are the only pairs. Without any pair nothing is tested: what was
      learned is served, and every page says that it was not tested.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from mage_es.engine.rules.distributions import fisher_exact, sign_test
from mage_es.engine.rules.drift import since
from mage_es.engine.rules.setting import Setting
from mage_es.events.vocabulary import BenefitDecided, Paired, Purpose
from mage_es.projections.fold import State
from mage_es.projections.memory import Memory

MORE = 60
"""Most questions to ask once more; this many anchors alone show any gain that matters."""
LOOK, SETTLED = 15, 0.01
"""After every LOOK of these, no more are asked if the one-sided p of each task type is at most SETTLED."""
SURE = 0.05
"""The anchors settle the matter, for or against what was learned, if the one-sided p is at most this."""

OUTDATED = 0.01
"""Anchors are out of date if they differ from the last questions with a p value this small."""


class Pair(NamedTuple):
    """Whether an anchor was right with what was learned, and with the bare prompt."""

    learned: bool
    bare: bool


_Pairs = Mapping[str, Sequence[Pair]]
"""By task type."""


def decide_benefit(
    pairs: Mapping[str, Sequence[Pair]], *, p: float, is_gated: bool = True, is_start: bool = False
) -> tuple[tuple[Paired, ...], Paired]:
    """Return the record of each task type, sorted, and that of all together, each with what is served.

    If nothing `is_gated`, the records say so: what was learned is served, whatever they show. At the start of a run
    nothing was learned yet.
    """
    records = [_counted(name, found) for name, found in sorted(pairs.items())]
    pooled = _counted("", [pair for found in pairs.values() for pair in found])
    return served(records, pooled, p=p, is_gated=is_gated, is_start=is_start)


def served(
    records: Sequence[Paired], pooled: Paired, *, p: float, is_gated: bool, is_start: bool
) -> tuple[tuple[Paired, ...], Paired]:
    """Return the records of the types, and that of all together, with what is served by their counts."""
    is_bare = is_gated and (is_start or pooled.lost > pooled.won)
    pooled = msgspec.structs.replace(pooled, served="bare" if is_bare else "learned")

    def decided(record: Paired) -> Paired:
        if not is_gated:
            return msgspec.structs.replace(record, served="learned", is_own=False)
        # A type stopped by chance alone is not stopped for good, since the next snapshot asks again.
        if record.lost > record.won:
            return msgspec.structs.replace(record, served="bare", is_own=True)
        is_own = _is_shown(record, p)
        return msgspec.structs.replace(record, served="learned" if is_own else pooled.served, is_own=is_own)

    return tuple(map(decided, records)), pooled


def questions_to_ask_more(setting: Setting, state: State, iteration: int) -> dict[str, Purpose]:
    """Return the questions (id -> purpose) to ask once more, if the anchors leave open whether learning helps.

    Only the last iteration asks them: what is served depends on its record.
    """
    if setting.config.gate != "paired" or setting.is_served or not setting.is_last(iteration):
        return {}
    bare = state.scores.bare_answers()
    # By the anchors alone, so that a resumed snapshot arrives at the same questions.
    plan = state.progress.iteration_plan
    repeats = plan.repeats if plan else ()
    fresh = [verdict for verdict in state.progress.verdicts("evaluate") if verdict.purpose == "fresh"]
    if old := outdated(setting, state, iteration):
        # An answer given with cases that are all out of date by now says nothing about what is served next.
        counted = {name for name in old if since(state.memory, name).all_answers < iteration}
        # And one that was asked before may be as old as the anchors.
        asked = (each.question_id for each in fresh if each.task_type in counted and each.question_id not in repeats)
        return dict.fromkeys(islice(asked, MORE), "bare")
    last = {name: state.scores.last_asked(name) for name in setting.anchors if name in bare}
    asked_of = [Pair(asked.correct, bare[name]) for name, asked in last.items() if asked and not asked.recalled]
    record = _counted("", asked_of)
    if _doubt(record) <= SURE or record.pairs >= MORE:
        return {}
    first = [name for name in setting.evolution if _was_bare(setting, state, name)]
    asked_last = (verdict.question_id for verdict in fresh)
    found: dict[str, Purpose] = {**dict.fromkeys(asked_last, "bare"), **dict.fromkeys(first, "again")}
    return dict(islice(found.items(), MORE))


def is_settled(setting: Setting, state: State, iteration: int, asked: Container[str]) -> bool:
    """Return whether the pairs of each task type settle the matter, with those of the questions asked once more so
    far."""
    pairs, _ = _pairs_of(setting, state, iteration, among=asked)
    return bool(pairs) and all(_doubt(_counted(name, found)) <= SETTLED for name, found in pairs.items())


def _was_bare(setting: Setting, state: State, name: str) -> bool:
    """Return whether a question was asked once, in the first iteration of a run that began with nothing."""
    history = state.questions.history(name)
    return setting.first == 0 and history is not None and (history.attempts, history.iteration) == (1, 0)


def outdated(setting: Setting, state: State, iteration: int) -> frozenset[str]:
    """Return the task types whose anchors are out of date."""
    if not setting.first or setting.is_served:
        return frozenset()
    types: dict[str, tuple[list[bool], list[bool]]] = {}
    for verdict in state.progress.verdicts("evaluate"):
        if verdict.purpose == "fresh":
            types.setdefault(verdict.task_type, ([], []))[0].append(verdict.correct)
    for name, is_right in state.scores.anchor_answers(iteration - 1).items():
        if (last := state.scores.last_asked(name)) and last.recalled:  # the model, which answered the others, did not
            continue
        types.setdefault(state.scores.anchor_type(name), ([], []))[1].append(is_right)
    return frozenset(
        name for name, (fresh, anchors) in types.items() if is_outdated(state.memory, name, fresh, anchors)
    )


def is_outdated(memory: Memory, task_type: str, fresh: Sequence[bool], anchors: Sequence[bool]) -> bool:
    """Return whether a task type's anchors are out of date, judged by its cases, and by whether its last questions and
    the anchors were right. Without last questions nothing could replace the anchors."""
    return bool(fresh) and (since(memory, task_type).all_answers > 0 or differ(fresh, anchors))


def differ(ones: Sequence[bool], others: Sequence[bool]) -> bool:
    """Return whether two shares of right answers differ, by Fisher's exact test at OUTDATED."""
    right, other = sum(ones), sum(others)
    return fisher_exact(right, len(ones) - right, other, len(others) - other) <= OUTDATED


def benefit_of(setting: Setting, state: State, iteration: int) -> list[BenefitDecided]:
    """Return what a snapshot shows about what was learned; nothing if no anchor was answered both ways."""
    scores, config = state.scores, setting.config
    pairs, recalled = _pairs_of(setting, state, iteration)
    if not (pairs or recalled):
        return []
    is_gated = config.gate == "paired"
    records, pooled = decide_benefit(pairs, p=config.gate_p, is_gated=is_gated, is_start=iteration < 0)
    # Only anchors that would see something new are planned; with the same prompt the earlier answer is as good.
    planned = (plan.question_id for plan in state.progress.plans("snapshot"))
    unasked = (scores.last_asked(name) for name in planned if not state.progress.is_judged("snapshot", name))
    stale = sum(last is None or not last.recalled for last in unasked)
    return [
        BenefitDecided(
            iteration=iteration, records=records, pooled=pooled, recalled=decide_recall(recalled), stale=stale
        )
    ]


def _pairs_of(
    setting: Setting, state: State, iteration: int, among: Container[str] | None = None
) -> tuple[_Pairs, _Pairs]:
    """Return the pairs of each task type, and those of recalled anchors; of the questions asked once more only those
    `among` some, if that is given."""
    pairs, recalled, scores = defaultdict[str, list[Pair]](list), defaultdict[str, list[Pair]](list), state.scores
    old = outdated(setting, state, iteration) if setting.is_last(iteration) else frozenset()
    # An anchor that lacks one of the answers, because its call failed permanently, is neither a pair nor evidence.
    for name, bare in scores.bare_answers().items():
        if (last := scores.last_asked(name)) is not None:
            if (task_type := scores.anchor_type(name)) not in old:
                (recalled if last.recalled else pairs)[task_type].append(Pair(last.correct, bare))
        elif state.progress.is_judged("evaluate", name) and (among is None or name in among):
            verdict = state.progress.verdict("evaluate", name)
            pairs[verdict.task_type].append(Pair(verdict.correct, bare))
    for verdict in state.progress.verdicts("open"):
        history = state.questions.history(verdict.question_id)
        if verdict.purpose == "again" and history is not None and (among is None or verdict.question_id in among):
            pairs[verdict.task_type].append(Pair(verdict.correct, history.correct))
    return pairs, recalled


def decide_recall(pairs: Mapping[str, Sequence[Pair]]) -> tuple[Paired, ...]:
    """Return the record of each task type's recalled anchors, sorted, with what is served if the type is served bare:
    `learned` if recall won more of them than it lost."""
    records = (_counted(name, found) for name, found in sorted(pairs.items()))
    return tuple(
        msgspec.structs.replace(record, served="learned" if record.won > record.lost else "bare", is_own=True)
        for record in records
    )


def _counted(task_type: str, pairs: Iterable[Pair]) -> Paired:
    found = list(pairs)
    return Paired(
        task_type=task_type,
        pairs=len(found),
        learned=sum(pair.learned for pair in found),
        bare=sum(pair.bare for pair in found),
        won=sum(pair.learned and not pair.bare for pair in found),
        lost=sum(pair.bare and not pair.learned for pair in found),
    )


def _doubt(record: Paired) -> float:
    """Return the one-sided p of a record, for or against what was learned."""
    return sign_test(max(record.won, record.lost), record.won + record.lost)


def _is_shown(record: Paired, p: float) -> bool:
    return record.won > record.lost and sign_test(record.won, record.won + record.lost) <= p
