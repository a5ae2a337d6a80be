"""The verb `runs`: a summary of a run from its log."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import get_args

from mage_es.engine.agents.navigator import briefs_of
from mage_es.engine.commands import shared
from mage_es.engine.config import Config, parse
from mage_es.engine.rules.rotation import SWITCHED_OFF
from mage_es.engine.rules.writings import why_unwritten
from mage_es.engine.run.anchors import Unmeasured, unmeasured
from mage_es.engine.run.anchors import score as anchor_score
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import ExamRecord, exam_records, recalled_in
from mage_es.engine.run.inheriting import first_iteration, inheritance, is_served, last_inherited
from mage_es.engine.run.notices import cutoffs
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import measure_of
from mage_es.engine.run.world import baseline_of, first_event, state_of
from mage_es.engine.verbs.agents import agent_activity, missing_guidance
from mage_es.engine.verbs.decorators import typed
from mage_es.engine.verbs.summary import (
    ActionRow,
    EpisodeRow,
    ExamRow,
    FrontierSkill,
    GuardSensitivity,
    IterationRow,
    LedgerRow,
    ParentRow,
    RunSummary,
)
from mage_es.events import vocabulary as v
from mage_es.events.disk import FileSystem
from mage_es.events.errors import LogError, PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from mage_es.projections.scores import Score


@typed
def summarise(run: Run | Path | str, *, prices: Prices | None = None, fs: FileSystem | None = None) -> RunSummary:
    """Return the run's configuration, its progress, and a row for each iteration; `prices` default to the package's.

    A log that cannot be read has the state `damaged` and the problem; one without an event is `empty`.
    """
    run = as_run(run)
    try:
        if not run.events:
            again = f"run the command that began it again, with --run-id {run.id}"
            way = f"begin it with `mage-es resume {run.id}`" if run.beginning() else again
            message = f"it ended before its first event; {way}"
            return RunSummary(run_id=run.id, path=str(run.path), state="empty", problem=message)
        return _summary(run, prices or Prices(), fs)
    except (LogError, PrerequisiteError, OSError) as error:
        return RunSummary(run_id=run.id, path=str(run.path), state="damaged", problem=str(error))


def _summary(run: Run, prices: Prices, fs: FileSystem | None) -> RunSummary:
    reader = LogReader(run.log_path, fs)
    begun = first_event(reader)
    config = parse(begun.config)
    state, begun_from = state_of(run, reader), inheritance(reader)
    first = first_iteration(reader)
    verdicts, played = state.progress.verdicts("exam"), list(reader.of(v.EpisodeClosed))
    committed = list(reader.of(v.SplitCommitted))
    begun_baseline = baseline_of(reader)
    baseline = begun_baseline.baseline if begun_baseline else ""
    return RunSummary(
        run_id=run.id,
        path=str(run.path),
        benchmark=begun.benchmark,
        seed=begun.seed,
        execution=begun.execution_model,
        guidance=begun.guidance_model,
        teacher_sees=config.teacher_sees,
        state="served" if is_served(reader) else "finished" if state.progress.finished else "unfinished",
        traffic=tuple(_traffic(state, reader)),
        iterations_done=max(0, state.progress.closed + 1 - first),
        iterations=config.iterations,
        events=reader.head.seq,
        head=reader.head.chain,
        parent=_parent(begun_from) if begun_from else None,
        rows=tuple(iteration_rows(state, _summed_scores(played), unmeasured(reader), first=first)),
        noticing=_noticing(reader, config),
        actions=tuple(_actions(reader, config)),
        frontier=tuple(_frontier(reader, state)),
        judge=config.judge,
        judge_calls=state.ledger.total("judge").calls,
        anchor_share=sum(state.ledger.share("execution", purpose) for purpose in ("anchor", "bare", "again", "form")),
        episodes=episode_rows(reader),
        measure=measure_of(are_episodes=bool(played)),
        shortfalls=cutoffs(config, committed, has_guard=not baseline),
        ledger=tuple(_ledger(state, prices)),
        prices=_price_sources(state, prices),
        agents=agent_activity(reader),
        quarantined=_quarantined(reader),
        baseline=baseline,
        asked=(sum(verdict.correct for verdict in verdicts), len(verdicts) + len(state.progress.unanswered("exam"))),
        served=_served(state),
        unguided=missing_guidance(reader),
        exams=exam_rows(run, reader),
        recalled=len(recalled_in(reader, ("anchor",))),
        repeating=tuple(
            plan.iteration
            for plan in reader.of(v.IterationPlanned)
            if plan.iteration >= first and plan.fresh and plan.repeats == plan.fresh
        ),
        benefit=state.benefit.records(),
        stale=state.benefit.stale,
        form=state.benefit.form,
    )


def _ledger(state: State, prices: Prices) -> Iterator[LedgerRow]:
    for account, use in state.ledger.accounts():
        amounts = use._asdict()
        seconds = amounts.pop("latency_us") / 1e6
        yield LedgerRow(**account._asdict(), **amounts, seconds=seconds, usd=prices.paid(account, use))


def _served(state: State) -> dict[str, dict[str, int]]:
    """Return the calls of each model by the names that its provider served, if one differs from the requested name."""
    calls: dict[str, Counter[str]] = {}
    for account, use in state.ledger.accounts():
        if use.calls:
            asked = account.model.partition("?")[0].partition("/")[2]
            calls.setdefault(account.model, Counter())[account.served_by or asked] += use.calls
    moved = {account.model for account, _ in state.ledger.accounts() if account.served_by}
    return {model: dict(sorted(names.items())) for model, names in calls.items() if model in moved}


def _price_sources(state: State, prices: Prices) -> dict[str, str]:
    """Return the source of each model's price, "" if unknown."""
    models = sorted({account.model for account, _ in state.ledger.accounts()})
    return {model: rate.source if (rate := prices.rate(model)) else "" for model in models}


def _actions(reader: LogReader, config: Config) -> Iterator[ActionRow]:
    taken: dict[str, list[v.ActionTaken]] = {}
    for turn in reader.of(v.ActionTaken, since=last_inherited(reader) + 1):
        taken.setdefault(turn.action, []).append(turn)
    for action, events in taken.items():
        outcomes = Counter(
            why_unwritten(config, action) if event.outcome == SWITCHED_OFF else event.outcome for event in events
        )
        authored = sum(event.authored for event in events)
        yield ActionRow(action=action, taken=len(events), authored=authored, outcomes=dict(sorted(outcomes.items())))


def _quarantined(reader: LogReader) -> int:
    held: set[str] = set()
    for event in reader.of(v.MemoryQuarantined, v.MemoryReleased):
        assert isinstance(event, v.MemoryQuarantined | v.MemoryReleased)
        (held.add if isinstance(event, v.MemoryQuarantined) else held.discard)(event.memory_id)
    return len(held)


def _traffic(state: State, reader: LogReader) -> Iterator[str]:
    traffic = state.traffic
    if traffic.processes:
        late = _late(reader) if traffic.outcomes["bypassed"] else 0  # chosen, but not ready when the request was sent
        treated = traffic.treatments - Counter({"memory": late}) + Counter({"bypassed": late})
        by = ", ".join(f"{treatment} {count}" for treatment, count in sorted(treated.items()))
        times = "once" if traffic.processes == 1 else f"{traffic.processes} times"
        yield f"served {times}; inferences: {traffic.treatments.total()}{f' ({by})' if by else ''}"
        waiting = f"for `publish`: {len(traffic.proposals('', 'approved'))}, for `memory review`: "
        waiting += str(len(traffic.proposals("waiting")))
        yield f"feedback: {traffic.feedbacks.total()}; proposals that wait {waiting}"


def _late(reader: LogReader) -> int:
    """Return how many requests were sent without the memories that were chosen for them."""
    chosen = {
        event.inference
        for _, event in reader.events({v.InferenceOpened: ("inference", "treatment")})
        if isinstance(event, v.InferenceOpened) and event.treatment == "memory"
    }
    ends = (event for _, event in reader.events({v.InferenceClosed: ("inference", "outcome")}))
    return sum(isinstance(e, v.InferenceClosed) and e.outcome == "bypassed" and e.inference in chosen for e in ends)


def _frontier(reader: LogReader, state: State) -> Iterator[FrontierSkill]:
    plans = list(reader.of(v.IterationPlanned))
    for planned in plans[-1:]:
        briefs = briefs_of(planned)
        for skill in planned.frontier:
            yield FrontierSkill(skill=skill, mastery=state.slots.mastery(skill), brief=briefs.get(skill, ""))


def _noticing(reader: LogReader, config: Config) -> GuardSensitivity | None:
    """Return what the guard can notice; None if it is off or has compared nothing yet."""
    decided = list(reader.of(v.GuardDecided))
    if not decided or config.guard == "off" or not (last := decided[-1]).total:
        return None
    return GuardSensitivity(guard=config.guard, questions=last.total, smallest_drop=last.smallest_drop)


def _summed_scores(episodes: Iterable[v.EpisodeClosed]) -> Counter[tuple[str, int]]:
    """Return the sum of the scores of episodes, in millionths, by (purpose, iteration)."""
    scores: Counter[tuple[str, int]] = Counter()
    for episode in episodes:
        scores[episode.purpose, episode.iteration] += episode.score_micro
    return scores


def _parent(begun: v.RunInherited) -> ParentRow:
    usd = None if begun.usd_micro < 0 else begun.usd_micro / v.MICRO
    return ParentRow(**shared(begun, ParentRow), run_id=begun.parent, head=begun.head_chain, usd=usd)


def iteration_rows(
    state: State, scores: Mapping[tuple[str, int], int], older: Unmeasured, *, first: int
) -> list[IterationRow]:
    """Return one row for the start (before `first`) and for each closed iteration; memory sizes are cumulative.

    `scores` are the sums of the scores of episodes, in millionths, by (purpose, iteration); `older` are the anchors
    that an iteration did not measure.
    """

    def mean(purpose: v.Purpose, k: int, total: int) -> float | None:
        return scores[purpose, k] / v.MICRO / total if (purpose, k) in scores else None

    born: Counter[tuple[int, v.Outcome]] = Counter((row.iteration, row.outcome) for row in state.memory.rows())
    sizes: Counter[v.Outcome] = Counter()
    rows = []
    for k in range(first - 1, state.progress.closed + 1):
        for (iteration, outcome), count in born.items():
            if iteration == k or iteration < k == first - 1:
                sizes[outcome] += count
        fresh, revisit = (state.scores.score(purpose, k) for purpose in ("fresh", "revisit"))
        anchor = anchor_score(state, older, k)
        if k < first:  # a parent's answers are not results of this run
            fresh = revisit = Score(0, 0)
        rows.append(
            IterationRow(
                iteration=k,
                fresh_correct=fresh.correct,
                fresh_total=fresh.total + state.scores.unanswered("fresh", k),
                revisit_correct=revisit.correct,
                revisit_total=revisit.total + state.scores.unanswered("revisit", k),
                anchor_correct=anchor.correct,
                anchor_total=anchor.total,
                anchors_unmeasured=len(older.get(k, {})),
                guard=state.scores.verdict(k),
                success_memories=sizes["success_memory"],
                failure_memories=sizes["failure_memory"],
                principles=sizes["principle"],
                execution_calls=state.ledger.total("execution", iteration=k).calls,
                guidance_calls=state.ledger.total("guidance", iteration=k).calls,
                fresh_score=mean("fresh", k, state.scores.asked("fresh", k)),
                anchor_score=mean("anchor", k, anchor.total),
                unanswered=sum(state.scores.unanswered(purpose, k) for purpose in get_args(v.Purpose)),
                undecided=sum(state.scores.undecided(purpose, k) for purpose in get_args(v.Purpose)),
            )
        )
    return rows


def exam_rows(run: Run, reader: LogReader) -> tuple[ExamRow, ...]:
    return tuple(
        ExamRow(
            **shared(record.opened, ExamRow),
            correct=result.correct if (result := record.rejudged or record.closed) else 0,
            total=result.total if result else 0,
            unanswered=record.closed.unanswered if record.closed else 0,
            undecided=record.closed.undecided if record.closed else 0,
            head=record.closed.head_chain if record.closed else "",
            recalled=_recalled(run, record),
        )
        for record in exam_records(reader)
    )


def _recalled(run: Run, record: ExamRecord) -> int | None:
    with suppress(LogError):
        return len(recalled_in(record.log(run)))
    return None


def episode_rows(reader: LogReader) -> tuple[EpisodeRow, ...]:
    played = defaultdict[str, list[v.EpisodeClosed]](list)
    for episode in reader.of(v.EpisodeClosed):
        played[episode.purpose].append(episode)
    return tuple(
        EpisodeRow(
            purpose=purpose,
            episodes=len(found),
            steps=sum(episode.steps for episode in found),
            mean_score=sum(episode.score_micro for episode in found) / v.MICRO / len(found),
            unparsed=sum(episode.unparsed for episode in found),
        )
        for purpose, found in sorted(played.items())
    )
