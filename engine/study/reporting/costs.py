"""Tables of what runs cost: calls, tokens and dollars by tier, all calls by agent and purpose, and latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mage_es.engine.run.pricing import Prices
from mage_es.engine.study.reporting.accuracy import EXAM
from mage_es.engine.study.reporting.cells import Cell, Entry, StudyTable, columns
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import Study
from mage_es.engine.study.reporting.systems import FULL
from mage_es.engine.verbs.agents import TIERS
from mage_es.events.vocabulary import Tier
from mage_es.projections.ledger import Ledger

TIER_NAMES: tuple[Tier, ...] = ("execution", "guidance", "judge")
_THOUSAND = 1000.0


def cost(study: Study) -> StudyTable:
    """Return calls, tokens and dollars by tier for each benchmark, for all runs together, and for all exams.

    [tables, cost] The share is guidance's among guidance and execution; the judge is a separate tier, and a failed
    attempt is not a call.
    """
    runs = [run for run in study.counted if not run.baseline]
    evolved, exams = [run.ledger for run in runs], [exam.ledger for run in runs for exam in run.exams]
    tiers = _tiers([*evolved, *exams])
    body = [_cost("All runs", evolved, tiers, study.prices, total=True)] if runs else []
    broken = [run.run.id for run in runs if not run.finished]
    used = {account.model for ledger in (*evolved, *exams) for account, use in ledger.accounts() if use.calls}
    unpriced = sorted(model for model in used if study.prices.rate(model) is None)
    if exams:
        body.append(_cost("All exams", exams, tiers, study.prices, total=True))
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        ledgers = [run.ledger for run in runs if run.begun.benchmark == benchmark]
        body.append(_cost(benchmark, ledgers, tiers, study.prices))
    return StudyTable(
        name="cost",
        title="Calls, tokens and dollars by tier",
        place="tab:cost",
        measure="means over runs (sums in the first two rows); guidance share: guidance calls among those of guidance "
        "and execution, least to most of a run; the judge is a tier of its own",
        columns=(
            *columns("Runs", "n", "Guidance share", "range"),
            *columns(*tiers, group="calls"),
            *columns(*tiers, group="thousand tokens"),
            *columns(*tiers, group="dollars"),
        ),
        rows=tuple(body),
        notes=(
            "Attempts that brought no reply are no calls here. Tokens are those of prompts and replies together.",
            *([f"No price is known for {', '.join(unpriced)}: give one with --prices FILE."] if unpriced else []),
            *([f"Not finished, and counted as far as they are: {', '.join(broken)}."] if broken else []),
        ),
    )


def _tiers(ledgers: Sequence[Ledger]) -> Sequence[Tier]:
    """Return the tiers of the models, and the embedder's if it is a server's, which most are not."""
    is_served = any(ledger.total("embedder").calls for ledger in ledgers)
    return (*TIER_NAMES, "embedder") if is_served else TIER_NAMES


def _cost(
    name: str, ledgers: Sequence[Ledger], tiers: Sequence[Tier], prices: Prices, *, total: bool = False
) -> tuple[Entry, ...]:
    calls = {tier: [ledger.total(tier).calls for ledger in ledgers] for tier in tiers}
    tokens = {
        tier: [
            (used.input_tokens + used.output_tokens) / _THOUSAND for used in (ledger.total(tier) for ledger in ledgers)
        ]
        for tier in tiers
    }
    shares = [
        _share(guidance, execution) for guidance, execution in zip(calls["guidance"], calls["execution"], strict=True)
    ]
    whole = _share(sum(calls["guidance"]), sum(calls["execution"]))
    return (
        name,
        str(len(ledgers)),
        Cell(mean=whole, sd=None, n=len(ledgers)),
        f"{min(shares):.1f} to {max(shares):.1f}",
        *(_amount(calls[tier], total=total) for tier in tiers),
        *(_amount(tokens[tier], total=total) for tier in tiers),
        *(dollars(ledgers, tier, prices, total=total) for tier in tiers),
    )


def _amount(values: Sequence[float], *, total: bool) -> Entry:
    if total:
        return Cell(mean=float(sum(values)), sd=None, n=len(values), unit="count")
    return cell_of(values, "count")


def dollars(ledgers: Sequence[Ledger], tier: Tier, prices: Prices, *, total: bool) -> Entry:
    spent = []
    for ledger in ledgers:
        usd = 0.0
        for account, use in ledger.accounts():
            if account.tier == tier and use.calls:
                rate = prices.rate(account.model)
                if rate is None:
                    return None
                usd += rate.paid(use, batched=account.batched)
        spent.append(usd)
    if total:
        return Cell(mean=sum(spent), sd=None, n=len(spent), unit="dollars")
    return cell_of(spent, "dollars")


def _share(guidance: int, execution: int) -> float:
    return 100 * guidance / (guidance + execution) if guidance + execution else 0.0


def calls(study: Study) -> StudyTable:
    evolved = _by_purpose(run.ledger for run in study.counted if not run.baseline)
    examined = _by_purpose(exam.ledger for run in study.counted if not run.baseline for exam in run.exams)
    order = {agent: number for number, agent in enumerate(TIERS)}
    keys = sorted(evolved.keys() | examined.keys(), key=lambda key: (order.get(key[0], len(order)), key))
    body = [
        (agent or "-", tier, purpose, _count(evolved[agent, tier, purpose]), _count(examined[agent, tier, purpose]))
        for agent, tier, purpose in keys
    ]
    silent = [agent for agent in TIERS if agent not in {key[0] for key in keys}]
    return StudyTable(
        name="calls",
        title="Every model call by agent, tier and purpose",
        place="tab:llm-uses, tab:agents",
        measure="calls of all runs together",
        columns=columns("Agent", "Tier", "Purpose", "evolution", "exams"),
        rows=tuple(body),
        notes=(f"No model calls: {', '.join(silent)}.",) if silent else (),
    )


def _count(calls: int) -> Cell:
    return Cell(mean=float(calls), sd=None, n=1, unit="count")


def _by_purpose(ledgers: Iterable[Ledger]) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for account, use in (each for ledger in ledgers for each in ledger.accounts()):
        found[account.agent, account.tier, account.purpose] += use.calls
    return found


def latency(study: Study) -> StudyTable:
    """Return seconds of model calls for a question of the exam, with the accuracy of the same answers.

    [tables, latency] The recorded latencies of all calls of a question's course, added up.
    """
    full = study.compared()
    head = study.head(full, "learner", "teacher", "setting")
    names = study.baselines(full)
    body = []
    for place in full:
        rivals = [study.baseline(place, name) for name in names]
        cells: list[Entry] = [*head.cells(place)]
        for each in (*rivals, place):
            exams = study.exams(each)
            seconds = cell_of((exam.seconds for exam in exams.values()), "seconds")
            cells += [seconds, study.reached(each) if seconds else None]
        body.append(tuple(cells))
    return StudyTable(
        name="latency",
        title="Latency with accuracy",
        place="tab:latency",
        measure="seconds that the model took for a question of the exam, all calls of its course added up, as recorded "
        f"while others were in flight; retrieval is not in it; beside it the {EXAM}",
        columns=(
            *head.columns,
            *(each for name in names for each in columns("s", "accuracy", group=study.called(name, full))),
            *columns("s", "accuracy", group=FULL),
        ),
        rows=tuple(body),
        notes=(*head.notes, *study.shots(full)),
    )
