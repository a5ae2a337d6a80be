"""A run at a glance, read off its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import get_args

from mage_es.engine.agents.navigator import briefs_of
from mage_es.engine.attendance import attendance, unguided
from mage_es.engine.config import Config, parse
from mage_es.engine.opening import first_event
from mage_es.engine.pricing import Prices
from mage_es.engine.reports import (
    ActionRow,
    EpisodeRow,
    Exploration,
    IterationRow,
    LedgerRow,
    Noticing,
    RunSummary,
    Waiting,
)
from mage_es.engine.rules.coverage import effective_bound, selections
from mage_es.engine.runs import Run
from mage_es.engine.shortfalls import shortfalls
from mage_es.engine.standing import measure_of
from mage_es.events.errors import LogError, PrerequisiteError
from mage_es.events.filesystem import FileSystem
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    MICRO,
    ActionTaken,
    BaselineStarted,
    EpisodeClosed,
    GuardDecided,
    IterationPlanned,
    MemoryQuarantined,
    MemoryReleased,
    Outcome,
    Purpose,
    SplitCommitted,
    TargetsSelected,
    Tier,
)
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshots import latest_snapshot


def summarise(run: Run, *, prices: Prices | None = None, fs: FileSystem | None = None) -> RunSummary:
    """Return the run's configuration, how far it is, and one row for each iteration; `prices` default to the package's.

    A log that cannot be read gives a summary whose state is `damaged`, with the problem.
    """
    try:
        return _summary(run, prices or Prices(), fs)
    except (LogError, PrerequisiteError) as error:
        return RunSummary(
            run_id=run.id,
            path=str(run.path),
            benchmark="",
            seed=0,
            execution="",
            guidance="",
            state="damaged",
            iterations_done=0,
            iterations=0,
            events=0,
            head="",
            rows=(),
            problem=str(error),
        )


def _summary(run: Run, prices: Prices, fs: FileSystem | None) -> RunSummary:
    reader = LogReader(run.log_path, fs)
    begun = first_event(reader)
    config = parse(begun.config)
    state = fold(reader, state=latest_snapshot(run.snapshots_path, reader))
    played = [record.event for record in reader.records({EpisodeClosed}) if isinstance(record.event, EpisodeClosed)]
    splits = (record.event for record in reader.records({SplitCommitted}))
    committed = [event for event in splits if isinstance(event, SplitCommitted)]
    baseline = _baseline(reader)
    return RunSummary(
        run_id=run.id,
        path=str(run.path),
        benchmark=begun.benchmark,
        seed=begun.seed,
        execution=begun.execution_model,
        guidance=begun.guidance_model,
        state="finished" if state.progress.finished else "unfinished",
        iterations_done=state.progress.closed + 1 if state.progress.closed >= 0 else 0,
        iterations=config.iterations,
        events=reader.head.seq,
        head=reader.head.chain,
        rows=tuple(iteration_rows(state, _mean_scores(played))),
        waiting=_waiting(reader, state, config),
        noticing=_noticing(reader, config),
        actions=tuple(_actions(reader)),
        frontier=tuple(_frontier(reader, state)),
        judge=config.judge,
        judge_calls=state.ledger.total("judge").calls,
        episodes=episode_rows(reader),
        measure=measure_of(are_episodes=bool(played)),
        shortfalls=shortfalls(config, committed, has_guard=not baseline),
        ledger=tuple(_ledger(state, prices)),
        prices=_told(state, prices),
        agents=attendance(reader),
        quarantined=_quarantined(reader),
        cache_hits=_cache_hits(state),
        baseline=baseline,
        answered=_answered(state),
        served=_served(state),
        unguided=unguided(reader),
    )


def _baseline(reader: LogReader) -> str:
    """Return the name of the baseline that a run is, "" for an evolution."""
    begun = (record.event for record in reader.records({BaselineStarted}))
    return next((event.baseline for event in begun if isinstance(event, BaselineStarted)), "")


def _answered(state: State) -> tuple[int, int]:
    """Return how many of a baseline's answers are right, and how many there are."""
    verdicts = state.progress.verdicts("exam")
    return sum(verdict.correct for verdict in verdicts), len(verdicts)


def _ledger(state: State, prices: Prices) -> Iterator[LedgerRow]:
    """Yield what was asked and what that cost, account by account."""
    for account, use in state.ledger.accounts():
        rate = prices.rate(account.model)
        yield LedgerRow(
            tier=account.tier,
            agent=account.agent,
            purpose=account.purpose,
            iteration=account.iteration,
            model=account.model,
            calls=use.calls,
            failures=use.failures,
            retries=use.retries,
            input_tokens=use.input_tokens,
            cached_tokens=use.cached_tokens,
            output_tokens=use.output_tokens,
            thinking_tokens=use.thinking_tokens,
            seconds=use.latency_us / 1e6,
            usd=rate.paid(use, batched=account.batched) if rate else None,
            cache_write_tokens=use.cache_write_tokens,
            batched=account.batched,
            served_by=account.served_by,
        )


def _served(state: State) -> dict[str, dict[str, int]]:
    """Return how many calls of a model each of several served, by the provider's names, where any is another one."""
    calls: dict[str, Counter[str]] = {}
    for account, use in state.ledger.accounts():
        if use.calls:
            asked = account.model.partition("?")[0].partition("/")[2]
            calls.setdefault(account.model, Counter())[account.served_by or asked] += use.calls
    moved = {account.model for account, _ in state.ledger.accounts() if account.served_by}
    return {model: dict(sorted(names.items())) for model, names in calls.items() if model in moved}


def _cache_hits(state: State) -> dict[str, float]:
    """Return the share of each tier's input tokens that the provider had cached, where it told of any."""
    totals = {tier: state.ledger.total(tier) for tier in get_args(Tier)}
    return {tier: use.cached_tokens / use.input_tokens for tier, use in totals.items() if use.cached_tokens}


def _told(state: State, prices: Prices) -> dict[str, str]:
    """Return what the price of each model that was called is from."""
    models = sorted({account.model for account, _ in state.ledger.accounts()})
    rates = {model: prices.rate(model) for model in models}
    return {model: rate.told if rate else "" for model, rate in rates.items()}


def _actions(reader: LogReader) -> Iterator[ActionRow]:
    """Yield what each action of EVOLVE came to, in the order of their first turn."""
    taken: dict[str, list[ActionTaken]] = {}
    for record in reader.records({ActionTaken}):
        if isinstance(record.event, ActionTaken):
            taken.setdefault(record.event.action, []).append(record.event)
    for action, events in taken.items():
        outcomes = Counter(event.outcome for event in events)
        authored = sum(event.authored for event in events)
        yield ActionRow(action=action, taken=len(events), authored=authored, outcomes=dict(sorted(outcomes.items())))


def _quarantined(reader: LogReader) -> int:
    """Return how many memories, recipes, patterns and tools stand in quarantine."""
    names: set[str] = set()
    for record in reader.records({MemoryQuarantined, MemoryReleased}):
        match record.event:
            case MemoryQuarantined(memory_id=name):
                names.add(name)
            case MemoryReleased(memory_id=name):
                names.discard(name)
    return len(names)


def _frontier(reader: LogReader, state: State) -> Iterator[Exploration]:
    """Yield the frontier of the latest plan with the Navigator's briefs."""
    plans = [record.event for record in reader.records({IterationPlanned})]
    for planned in plans[-1:]:
        assert isinstance(planned, IterationPlanned)
        briefs = briefs_of(planned)
        for skill in planned.frontier:
            yield Exploration(skill=skill, mastery=state.slots.mastery(skill), brief=briefs.get(skill, ""))


def _noticing(reader: LogReader, config: Config) -> Noticing | None:
    """Return what the guard can notice, None with the guard off or before it compared anything."""
    decided = [record.event for record in reader.records({GuardDecided})]
    last = decided[-1] if decided else None
    if not isinstance(last, GuardDecided) or config.guard == "off" or not last.total:
        return None
    return Noticing(guard=config.guard, questions=last.total, smallest_drop=last.smallest_drop)


def _waiting(reader: LogReader, state: State, config: Config) -> Waiting | None:
    """Return the effective coverage bound, None before the first selection."""
    events = [record.event for record in reader.records({TargetsSelected})]
    signal = config.failure_signal
    history = selections([e for e in events if isinstance(e, TargetsSelected)], state.scores, signal)
    if not history:
        return None
    found = effective_bound(
        history, signal=signal, recency_weight=Fraction(config.recency_weight), targets=config.targets
    )
    return Waiting(
        bound=found.iterations,
        largest=str(found.largest),
        task_types=found.types,
        targets=config.targets,
        longest=found.longest,
    )


def _mean_scores(episodes: Iterable[EpisodeClosed]) -> dict[tuple[str, int], float]:
    """Return the mean score of the episodes of each purpose and iteration."""
    scores: dict[tuple[str, int], list[int]] = {}
    for episode in episodes:
        scores.setdefault((episode.purpose, episode.iteration), []).append(episode.score_micro)
    return {key: sum(found) / MICRO / len(found) for key, found in scores.items()}


def iteration_rows(state: State, mean_scores: Mapping[tuple[str, int], float]) -> list[IterationRow]:
    """Return one row for the start (-1) and for each closed iteration; memory sizes are cumulative."""
    born: Counter[tuple[int, Outcome]] = Counter((row.iteration, row.outcome) for row in state.memory.rows())
    sizes: Counter[Outcome] = Counter()
    rows = []
    for k in range(-1, state.progress.closed + 1):
        for (iteration, outcome), count in born.items():
            if iteration == k:
                sizes[outcome] += count
        fresh, revisit, anchor = (state.scores.score(purpose, k) for purpose in ("fresh", "revisit", "anchor"))
        rows.append(
            IterationRow(
                iteration=k,
                fresh_correct=fresh.correct,
                fresh_total=fresh.total,
                revisit_correct=revisit.correct,
                revisit_total=revisit.total,
                anchor_correct=anchor.correct,
                anchor_total=anchor.total,
                guard=state.scores.verdict(k),
                success_memories=sizes["success_memory"],
                failure_memories=sizes["failure_memory"],
                principles=sizes["principle"],
                execution_calls=state.ledger.total("execution", iteration=k).calls,
                guidance_calls=state.ledger.total("guidance", iteration=k).calls,
                fresh_score=mean_scores.get(("fresh", k)),
                anchor_score=mean_scores.get(("anchor", k)),
                unanswered=sum(state.scores.unanswered(purpose, k) for purpose in get_args(Purpose)),
            )
        )
    return rows


def episode_rows(reader: LogReader) -> tuple[EpisodeRow, ...]:
    """Return one row for each purpose that episodes were played for; none where no question is an episode."""
    by_purpose: dict[str, list[EpisodeClosed]] = {}
    for record in reader.records({EpisodeClosed}):
        if isinstance(record.event, EpisodeClosed):
            by_purpose.setdefault(record.event.purpose, []).append(record.event)
    return tuple(
        EpisodeRow(
            purpose=purpose,
            episodes=len(closed),
            steps=sum(episode.steps for episode in closed),
            mean_score=sum(episode.score_micro for episode in closed) / MICRO / len(closed),
            unparsed=sum(episode.unparsed for episode in closed),
        )
        for purpose, closed in sorted(by_purpose.items())
    )
