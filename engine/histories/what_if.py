"""The verb `what-if`: what a run's answers would have been without some memories, with one arm always, or with what
another guard or gate decides, as far as its record says (rules/what_if.py).

Rules
    - One step, not another run: each question as it was asked, on what the run had learned at that moment. What other
      answers would have taught is not counted.
    - The answers are those of EVALUATE, each time a question was asked: which time is the last depends on whether an
      earlier answer was right. Undecided and missing answers are not counted.
    - `without`: a prompt that did not show the memories keeps its answer, exactly. The others count as they were
      answered when asked again, if all of them were. Otherwise, if a coin was tossed, they are estimated from the
      prompts for which it left all of the memories out. Anything else is open: then there are bounds, but no number.
    - `arm`: prompts for which the arm was not an alternative (not offered, or the same as another) keep their answers.
      For the others, the arms on offer and their chances are computed again on the state of that moment, since the
      record has only the chance of the arm that was drawn; a plan that does not come out as recorded is open. If each
      arm was certain, nothing can be weighted.
    - `guard`: snapshots are judged again until the first after which the run would have continued with other slots, or
      asked other anchors. `gate` decides only what is served, so it is decided again at each snapshot.
    - Only asking again costs calls: they are made, recorded and paid for by `effect`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isclose
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.commands import PlanAnswers
from mage_es.engine.config import Config, checked, difference, parse
from mage_es.engine.embedders.registry import metered
from mage_es.engine.histories.effect import ask_again, of_prompts, price_of
from mage_es.engine.histories.rules.what_if import (
    Judged,
    Ruling,
    Toss,
    WhatIfEstimate,
    anchors_asked,
    estimated,
    gated,
    right_as_served,
    rulings,
    tossed,
)
from mage_es.engine.rules.bandits import posterior_of
from mage_es.engine.rules.choice import Choosing, Chosen
from mage_es.engine.rules.forms import ENOUGH, USUAL
from mage_es.engine.rules.retrieval import SEARCH_ARMS
from mage_es.engine.rules.routes import RECALL, ROUTING_ARMS
from mage_es.engine.run.asking_price import AskingPrice
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exam_plan import asked_of
from mage_es.engine.run.exams import by_question
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, first_event, reopen_world, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.model import Model
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.worth.effect import LEAST_PAIRS, Without, to_ask_all
from mage_es.engine.worth.memories import bare_setting, full_id
from mage_es.engine.worth.worth import OnRecord
from mage_es.events import vocabulary as v
from mage_es.events.errors import UsageError, nearest
from mage_es.events.facts.private import ERASED
from mage_es.events.log import LogReader
from mage_es.events.log.markers import mark_of
from mage_es.projections.fold import State, fold, fold_into
from mage_es.projections.ledger import CUT
from mage_es.projections.scores import START, Scores

GUARD = ("guard", "guard_drop", "guard_p", "catastrophic_drop", "catastrophic_p")
GATE = ("gate", "gate_p")
SETTINGS = (*GUARD, *GATE)
"""Settings that act on recorded results alone."""


class WhatIfAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """All `answers`, `right` as recorded. Of those that would have been asked differently, `again` were asked again
    (`again_right` of them right), `estimated` are estimated and `open` are unknown; the rest is exactly as recorded.

    `share` is the share of right answers there would have been, in percent, and `points` the difference to the recorded
    one with its interval (95 %): the estimate's, or, if nothing is estimated and `LEAST_PAIRS` were asked again, that
    for other questions like these.
    If any are open there is neither, and `least_share` and `most_share` are the share if all of those are wrong, or
    right.
    """

    answers: int
    right: int
    exact: int
    exact_right: int
    again: int
    again_right: int
    estimated: int
    open: int
    share: float | None
    points: float | None
    low: float | None
    high: float | None
    least_share: float
    most_share: float
    estimate: WhatIfEstimate | None


class WhatIfVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A guard's verdict on an iteration, as recorded and as it would have been; `restored` and `restores` are the
    iterations that come back (-1: the start; None: none), `drop` is against iteration `against`, a fraction."""

    iteration: int
    recorded: str
    restored: int | None
    verdict: str
    restores: int | None
    drop: float
    against: int
    p_value: float


class WhatIfGuard(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts that the record answers, out of `snapshots`; `differs` is the first iteration after which the run
    would have continued differently, and `ends` says why the record answers no further, "" if it answers to the end.
    The guard that would have been compares right answers to these questions (`of`): anchors or fresh questions."""

    of: str
    verdicts: tuple[WhatIfVerdict, ...]
    snapshots: int
    differs: int | None
    ends: str


class WhatIfServed(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot: of `pairs` anchors in `types` task types, how many are right with what is served, as recorded and as
    it would have been, each by its last recorded answer; and for which types something else would have been served
    (`learned` or `bare` instead)."""

    iteration: int
    types: int
    pairs: int
    recorded: int
    right: int
    learned: tuple[str, ...]
    bare: tuple[str, ...]


class WhatIfGate(msgspec.Struct, frozen=True, kw_only=True):
    """What is served after each snapshot; `ends` says why the last ones are left out, "" if none are."""

    snapshots: tuple[WhatIfServed, ...]
    ends: str


class WhatIfReport(msgspec.Struct, frozen=True, kw_only=True):
    """What would have been. Of `answers`, `guard` and `gate` only the requested one is set; `left` is the price of what
    could be asked again, and `made` how many calls were made now."""

    run_id: str
    without: tuple[str, ...]
    arm: str
    settings: Mapping[str, object]
    answers: WhatIfAnswers | None = None
    guard: WhatIfGuard | None = None
    gate: WhatIfGate | None = None
    left: AskingPrice | None = None
    temperature: float
    made: int = 0


@typed
async def awhat_if(
    run: Run | Path | str,
    *,
    without: Sequence[str] = (),
    arm: str = "",
    reask: bool = False,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | None = None,
    judge: Model | None = None,
    **settings: object,
) -> WhatIfReport:
    """Return what a run's record says about one thing that was not done: without some memories (their ids, or the first
    digits), with an arm of a bandit always, or with other settings of the guard, or of the gate.

    Only with `reask`, and for memories, are questions asked again; without it `left` is what that would cost.

    Raises:
        UsageError: None or more than one of them is given, it does not exist, or the record cannot say anything about
            it. With `reask`: `execution` is not the run's own model, or dollars are limited and it has no price.
        PrerequisiteError: The world of the run is missing, or the model cannot be reached.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call continues.
    """
    run, runtime = as_run(run), runtime or Runtime()
    kinds = [bool(without), bool(arm), bool(settings.keys() & {*GUARD}), bool(settings.keys() & {*GATE})]
    if unknown := sorted(settings.keys() - {*SETTINGS}):
        raise UsageError(
            f"{unknown[0]} changes what is asked, so the record cannot say what would have been: a run with "
            f"`mage-es evolve --from` can. What-if takes {', '.join(SETTINGS)}."
        )
    if sum(kinds) != 1:
        raise UsageError(
            f"Ask for one thing: --without a memory, one --arm always, other settings of the guard ({_flags(GUARD)}), "
            f"or of the gate ({_flags(GATE)})."
        )
    reader = LogReader(run.log_path)
    begun = parse(first_event(reader).config)
    report = WhatIfReport(
        run_id=run.id, without=tuple(without), arm=arm, settings=settings, temperature=begun.answer_temperature
    )
    if without:
        learned, made = of_prompts(run), 0
        names = _names(learned, without)
        if reask and (wanted := _wanted(learned, names)):
            learned, made = await ask_again(
                *(run, learned, wanted),
                verb="what-if",
                groups=[names],
                data_dir=data_dir,
                benchmark=benchmark,
                runtime=runtime,
                execution=execution,
                judge=judge,
            )
        left = price_of(learned, _wanted(learned, names), runtime.prices)
        replaced = {"without": tuple(sorted(names)), "answers": _without(learned, names), "left": left, "made": made}
        return msgspec.structs.replace(report, **replaced)
    if arm:
        found = _with_arm(run, reader, arm, data_dir=data_dir, benchmark=benchmark)
        return msgspec.structs.replace(report, answers=found)
    other = checked(msgspec.structs.replace(begun, **settings))
    if not difference(begun, other):
        same = " and ".join(f"{name} {value}" for name, value in settings.items())
        raise UsageError(f"The run had {same}: nothing would have been different.")
    if settings.keys() & {*GUARD}:
        return msgspec.structs.replace(report, guard=_guard(reader, begun, other))
    return msgspec.structs.replace(report, gate=_gate(reader, begun, other))


what_if = blocking(awhat_if)


def _flags(names: Sequence[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


# ------------------------------------------------------------ answers


class _Asked(NamedTuple):
    """A question asked in EVALUATE, planned at event `seq`, and whether the answer was right; None if undecided or
    missing."""

    seq: int
    planned: v.QuestionPlanned
    right: bool | None


def _evaluated(reader: LogReader) -> list[_Asked]:
    """Return every question asked in EVALUATE, in the order of the log. Raises `UsageError` if none was answered."""
    plans, verdicts = list[tuple[int, v.QuestionPlanned]](), dict[tuple[int, str], bool]()
    for record in reader.records({v.QuestionPlanned, v.AnswerJudged}, since=last_inherited(reader) + 1):
        if record.phase == "evaluate":
            match record.event:
                case v.QuestionPlanned() as planned:
                    plans.append((record.seq, planned))
                case v.AnswerJudged() as judged:
                    verdicts[judged.iteration, judged.question_id] = judged.correct
    if not verdicts:
        raise UsageError(f"{reader.run} has no answer to a question that it learned from: nothing can be compared.")
    return [_Asked(seq, each, verdicts.get((each.iteration, each.question_id))) for seq, each in plans]


def _summed(
    answers: int,
    right: int,
    *,
    exact: Sequence[bool],
    again: Sequence[tuple[bool, bool]] = (),
    estimate: WhatIfEstimate | None = None,
    unknown: int = 0,
) -> WhatIfAnswers:
    """Return the total of what is exact, asked again (right as recorded, and again), estimated, and unknown."""
    weighed = estimate.of if estimate and estimate.share is not None else 0
    unknown += estimate.of - weighed if estimate else 0
    certain, recorded = sum(exact) + sum(anew for _, anew in again), 100 * right / answers

    def whole(part: float | None) -> float:
        return (100 * certain + weighed * (part or 0.0)) / answers

    share, low, high = whole(estimate.share if estimate else 0.0), None, None
    if weighed and estimate and not unknown:
        low, high = whole(estimate.low) - recorded, whole(estimate.high) - recorded
    elif len(again) >= LEAST_PAIRS and not unknown:
        found = by_question([*(float(anew) - float(was) for was, anew in again), *[0.0] * len(exact)])
        low, high = found.low, found.high
    return WhatIfAnswers(
        answers=answers,
        right=right,
        exact=len(exact),
        exact_right=sum(exact),
        again=len(again),
        again_right=sum(anew for _, anew in again),
        estimated=weighed,
        open=unknown,
        share=None if unknown else share,
        points=None if unknown else share - recorded,
        low=low,
        high=high,
        least_share=share,
        most_share=share + 100 * unknown / answers,
        estimate=estimate,
    )


# ------------------------------------------------------------ without memories


def _names(learned: OnRecord, without: Sequence[str]) -> frozenset[str]:
    if isinstance(without, str):
        raise UsageError(f"without is {without!r}: give a list of ids.")
    return frozenset(full_id(name, learned.items) for name in without)


def _wanted(learned: OnRecord, names: frozenset[str]) -> list[Without]:
    return [each for each in to_ask_all(learned.askings, names) if each.name not in learned.reasked]


def _without(learned: OnRecord, names: frozenset[str]) -> WhatIfAnswers:
    found = [each for each in _evaluated(learned.reader) if each.right is not None]
    asked = {asking.key: asking for asking in learned.askings if asking.phase == "evaluate"}
    showing = {each.asking.key: each for each in to_ask_all(learned.askings, names)}
    exact, blind = list[bool](), 0
    for _, planned, right in found:
        key = (planned.iteration, planned.purpose, planned.question_id)
        if key in showing:
            continue
        # A recalled answer has no prompt that could be asked again.
        shown = {*planned.principles, *(hit.memory_id for hit in planned.memories)}
        if key not in asked and not names.isdisjoint(shown):
            blind += 1
        else:
            exact.append(bool(right))
    again = {
        key: (each.asking.right, anew)
        for key, each in showing.items()
        if (anew := learned.reasked.get(each.name)) is not None
    }
    estimate = None
    if again.keys() < showing.keys():
        tosses = {key: toss for key, asking in asked.items() if (toss := tossed(asking, names))}
        # Which prompts had been asked again when the budget ended is not random: the estimate is of all that were
        # tossed.
        let_in = tosses.keys() & showing.keys()
        if let_in:
            estimate = estimated(tosses.values(), apart=len(let_in))
            estimate = msgspec.structs.replace(estimate, of=len(let_in))
            if estimate.share is not None or not again:
                again = {key: pair for key, pair in again.items() if key not in let_in}
            else:
                estimate = msgspec.structs.replace(estimate, of=len(let_in - again.keys()))
    return _summed(
        len(found),
        sum(bool(each.right) for each in found),
        exact=exact,
        again=list(again.values()),
        estimate=estimate,
        unknown=blind + len(showing) - len(again) - (estimate.of if estimate else 0),
    )


# ------------------------------------------------------------ with an arm


def _with_arm(
    run: Run, reader: LogReader, arm: str, *, data_dir: Path | str | None, benchmark: Benchmark | None
) -> WhatIfAnswers:
    bandit: Literal["search", "routing"]
    if arm in SEARCH_ARMS:
        bandit, what = "search", "search arm"
    elif arm in ROUTING_ARMS:
        bandit, what = "routing", "route"
    else:
        known = [*SEARCH_ARMS, *ROUTING_ARMS]
        raise UsageError(f"There is no arm {arm!r}.{nearest(arm, known)}")
    found = _evaluated(reader)
    if all(getattr(each.planned, f"{bandit}_probability") == 1 for each in found):
        always = sorted({getattr(each.planned, f"{bandit}_arm") for each in found})
        raise UsageError(
            f"No {what} was drawn at random: each of the {len(found)} questions had {' or '.join(always)} for certain, "
            "so the record cannot say what another would have done. A run with --bandits draws them, and records how "
            "likely each was."
        )
    exact, tosses, unknown = list[bool](), list[Toss](), 0
    for asked, offer in _offers(run, reader, found, bandit, arm, data_dir=data_dir, benchmark=benchmark):
        if asked.right is None:
            continue
        if offer is None:
            unknown += 1
        elif offer.chance is None:
            exact.append(asked.right)
        else:
            is_taken = getattr(asked.planned, f"{bandit}_arm") == arm
            tosses.append(Toss(offer.chance, is_taken, asked.right, 1 / offer.chance, offer.expected))
    if not tosses and not unknown:
        raise UsageError(f"The {what} {arm} was never on offer beside another: no answer would have been different.")
    right = [each.right for each in found if each.right is not None]
    estimate = estimated(tosses) if tosses else None
    return _summed(len(right), sum(right), exact=exact, estimate=estimate, unknown=unknown)


class _Offer(NamedTuple):
    """The chance of an arm, None if it was not an alternative, and how often its posterior expects it to be right."""

    chance: float | None
    expected: float


def _offers(
    run: Run,
    reader: LogReader,
    found: Sequence[_Asked],
    bandit: Literal["search", "routing"],
    arm: str,
    *,
    data_dir: Path | str | None,
    benchmark: Benchmark | None,
) -> Iterator[tuple[_Asked, _Offer | None]]:
    """Yield each question asked with the arms on offer; None if the chances cannot be computed again."""
    if metered(embedder := first_event(reader).embedder):
        raise UsageError(
            f"Which arms were on offer depends on vectors of {embedder}, whose calls may cost something: what-if --arm "
            "needs a run with an embedder that works in this process."
        )
    world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, frozen=True)
    state: State | None = None
    for _, together in groupby(found, key=lambda each: each.planned.iteration):
        group = list(together)
        until = group[0].seq - 1
        state = fold(reader, until=until, state=state) if state else state_of(run, reader, until=until)
        for asked, chosen in _chosen(world, state, group):
            choice = getattr(chosen, bandit) if chosen else None
            if choice is None or not choice.among.get(arm, 1.0):
                yield asked, None
                continue
            key = asked.planned.task_type if bandit == "search" else asked.planned.skill
            alpha, beta, _ = posterior_of(world.setting.config, state, bandit, key, arm)
            # A recalled answer has no route, whatever was drawn.
            is_idle = bandit == "routing" and asked.planned.routing_arm == RECALL
            yield asked, _Offer(None if is_idle else choice.among.get(arm), alpha / (alpha + beta))


def _chosen(world: World, state: State, group: Sequence[_Asked]) -> Iterator[tuple[_Asked, Chosen | None]]:
    """Yield the questions asked in an iteration with the choice for each; None for one that was planned differently."""
    found = {each.planned.question_id: each for each in group}
    if any(world.questions[name].subject.startswith(ERASED) for name in found):
        # Their pulls decide how far the warm-up of others had come.
        yield from ((each, None) for each in group)
        return
    asked = asked_of(world, state, {name: each.planned.purpose for name, each in found.items()})
    command = PlanAnswers(group[0].planned.iteration, "evaluate", asked, frozen=False)
    choosing = Choosing(world.setting, state, command)
    for one in asked:
        planned = found[one.question.id].planned
        chosen = choosing.choose(one, state.graph.skill_for_task(one.task_type))
        yield found[one.question.id], chosen if _is_as_planned(chosen, planned) else None


def _is_as_planned(chosen: Chosen, planned: v.QuestionPlanned) -> bool:
    drawn = [(chosen.search, planned.search_arm, planned.search_probability)]
    if planned.routing_arm != RECALL:
        drawn.append((chosen.routing, planned.routing_arm, planned.routing_probability))
    return all(choice.arm == arm and isclose(choice.probability, chance) for choice, arm, chance in drawn)


# ------------------------------------------------------------ guard and gate


def _guard(reader: LogReader, begun: Config, other: Config) -> WhatIfGuard:
    parent = inheritance(reader)
    if parent and parent.is_served:
        raise UsageError(f"{reader.run} is a served run: it has a guard of its own, which no setting changes.")
    if other.guard == "paired" and begun.guard != "paired":
        raise UsageError(
            f"guard paired compares answers to anchors, and with guard {begun.guard} no anchor was asked. To start a "
            f"run that asks them: `mage-es evolve --from {reader.run} --at start --guard paired`."
        )
    accepted, snapshots = _snapshots(reader, begun)
    if not snapshots:
        raise UsageError(f"{reader.run} has closed no iteration of its own yet, which a guard could judge.")
    scores = Scores()
    fold_into((scores,), reader, until=reader.head.seq)
    recorded = list(_alike(rulings(begun, scores, snapshots, accepted)))
    if len(recorded) < len(snapshots):
        raise UsageError(
            f"{reader.run} was written by a release with a different guard: its record cannot be judged again."
        )
    last, ends = _limit(reader, begun, other)
    if begun.guard == "paired":
        snapshots = [_with_least(begun, scores, ruling) for ruling in recorded]
    verdicts, of = list[WhatIfVerdict](), "fresh questions" if other.guard == "paper" else "anchors"
    for ruling in rulings(other, scores, snapshots, accepted):
        k = ruling.judged.decided.iteration
        if last is not None and k > last:
            break
        if other.guard == "paired" and (asked := anchors_asked(other, scores, ruling)) != len(ruling.judged.asked):
            many = "fewer" if asked < len(ruling.judged.asked) else "more"
            ends = (
                f"at {mark_of(k)} {many} anchors would have been asked, and the record has no other answers of theirs"
            )
            break
        verdicts.append(_verdict(ruling, other))
        if not ruling.is_same:
            ends = f"after {mark_of(k)} the run would have continued with other slots, and asked something else"
            return WhatIfGuard(of=of, verdicts=tuple(verdicts), snapshots=len(snapshots), differs=k, ends=ends)
    return WhatIfGuard(of=of, verdicts=tuple(verdicts), snapshots=len(snapshots), differs=None, ends=ends)


def _with_least(begun: Config, scores: Scores, ruling: Ruling) -> Judged:
    """Return a snapshot with how many anchors were asked regardless of the answers, as far as the run's own guard
    shows."""
    judged, asked = ruling.judged, len(ruling.judged.asked)
    # One that had a form to try asks more than the guard needs, even if they turn out too few to try it on.
    return judged._replace(least=asked) if anchors_asked(begun, scores, ruling) < asked else judged


def _alike(found: Iterable[Ruling]) -> Iterator[Ruling]:
    for ruling in found:
        verdict = ruling.judged.decided.verdict
        if ruling.is_same and verdict in ("off", ruling.decision.verdict):
            yield ruling


def _verdict(ruling: Ruling, config: Config) -> WhatIfVerdict:
    decided, decision = ruling.judged.decided, ruling.decision
    worst = decision.best if decision.verdict == "hard_rollback" else decision.previous
    return WhatIfVerdict(
        iteration=decided.iteration,
        recorded=decided.verdict,
        restored=ruling.judged.restored,
        verdict="off" if config.guard == "off" else decision.verdict,
        restores=decision.restore,
        drop=worst.drop,
        against=worst.iteration,
        p_value=worst.p_value,
    )


def _snapshots(reader: LogReader, begun: Config) -> tuple[list[int], list[Judged]]:
    """Return the iterations that were accepted before the run's own, and its snapshots in the order of the log."""
    own, setting = last_inherited(reader), bare_setting(first_event(reader))
    parent = inheritance(reader)
    setting = setting._replace(first=parent.iteration + 1 if parent else 0)
    planned, asked = dict[int, list[str]](), dict[int, set[str]]()
    types = (v.QuestionPlanned, v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided)
    for _, event in reader.events({each: ("purpose", "iteration", "question_id") for each in types}, since=own + 1):
        assert isinstance(event, v.QuestionPlanned | v.AnswerJudged | v.AnswerUnanswered | v.AnswerUndecided)
        if event.purpose == "anchor" and isinstance(event, v.QuestionPlanned):
            planned.setdefault(event.iteration, []).append(event.question_id)
        elif event.purpose == "anchor":
            asked.setdefault(event.iteration, set()).add(event.question_id)
    tried = {event.iteration for seq, event in reader.numbered(v.FormDecided) if seq > own}
    restored = {event.iteration: event.to_iteration for event in reader.of(v.SlotsRolledBack)}
    accepted, found = list[int](), list[Judged]()
    for seq, decided in reader.numbered(v.GuardDecided):
        k = decided.iteration
        if seq <= own:
            accepted += [k] if decided.verdict == "accepted" else []
            continue
        there = sorted(planned.get(k, ()))
        # In the last iteration the gate has all anchors asked, and a trial of forms needs some.
        is_decisive = setting.is_last(k) and begun.gate == "paired"
        least = len(there) if is_decisive else ENOUGH if k in tried else 0
        found.append(Judged(decided, restored.get(k), tuple(there), frozenset(asked.get(k, ())), least))
    return accepted, found


def _limit(reader: LogReader, begun: Config, other: Config) -> tuple[int | None, str]:
    """Return the last iteration that a guard without anchors would not have changed (None if it is the run's last), and
    why the record ends there ("" if it does not)."""
    if begun.guard != "paired" or other.guard == "paired":
        return None, ""
    for form in reader.of(v.FormDecided):
        if form.form != USUAL:
            return form.iteration, f"after {mark_of(form.iteration)} prompts had {form.form}, which anchors had decided"
    fields = ("tier", "purpose", "stop_reason", "iteration")
    for _, call in reader.events({v.ModelCalled: fields}):
        assert isinstance(call, v.ModelCalled)
        if call.tier == "execution" and call.stop_reason == CUT:
            if call.purpose in ("fresh", "revisit"):
                break
            why = f"after {mark_of(call.iteration)} replies could be longer, as one to an anchor was cut"
            return call.iteration, why
    finished = next(reader.of(v.RunFinished), None)
    if finished and finished.iterations < begun.iterations:
        return None, "the run ended early, as all anchors were right; without anchors it would have continued"
    return None, ""


def _gate(reader: LogReader, begun: Config, other: Config) -> WhatIfGate:
    own, parent = last_inherited(reader), inheritance(reader)
    # Nothing had been learned at a start of its own.
    decided = [event for seq, event in reader.numbered(v.BenefitDecided) if seq > own and event.iteration != START]
    if not decided:
        raise UsageError(
            f"{reader.run} never asked a question both with what was learned and with the bare prompt, so its record "
            "cannot say what a gate would have served."
        )
    ends, end = "", (parent.iteration + 1 if parent else 0) + begun.iterations
    found = list[WhatIfServed]()
    for event in decided:
        if other.gate == "paired" and begun.gate == "off" and event.iteration == end - 1:
            ends = f"at {mark_of(event.iteration)}, the last, a gate would have had more questions asked both ways"
            break
        found.append(_served(event, gated(event, other)))
    return WhatIfGate(snapshots=tuple(found), ends=ends)


def _served(decided: v.BenefitDecided, records: Sequence[v.Paired]) -> WhatIfServed:
    other = [each for each, was in zip(records, decided.records, strict=True) if each.served != was.served]
    return WhatIfServed(
        iteration=decided.iteration,
        types=len(records),
        pairs=decided.pooled.pairs,
        recorded=right_as_served(decided.records),
        right=right_as_served(records),
        learned=tuple(each.task_type for each in other if each.served == "learned"),
        bare=tuple(each.task_type for each in other if each.served == "bare"),
    )
