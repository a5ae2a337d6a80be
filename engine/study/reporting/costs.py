"""Tables of what runs cost: calls, tokens and dollars by tier, all calls by agent and purpose, and latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mage_es.engine.run.pricing import Prices
from mage_es.engine.study.reporting.accuracy import EXAM
from mage_es.engine.study.reporting.cells import Cell, Entry, TableRow, Unit, cell_of, columns
from mage_es.engine.study.reporting.places import FULL, Placement
from mage_es.engine.study.reporting.study import Study, TableBody, table
from mage_es.engine.verbs.agents import TIERS
from mage_es.events.vocabulary import Tier
from mage_es.projections.ledger import Ledger

TIER_NAMES: tuple[Tier, ...] = ("execution", "guidance", "judge")
_THOUSAND = 1000.0


@table(
    "cost",
    "Calls, tokens and dollars by tier",
    "tab:cost",
    "means over runs (sums in the first two rows); guidance share: guidance calls among those of guidance and "
    "execution, least to most of a run; the judge is a tier of its own",
)
def cost(study: Study) -> TableBody:
    """Return calls, tokens and dollars by tier for each benchmark, for all runs together, and for all exams.

    [tables, cost] The share is guidance's among guidance and execution; the judge is a separate tier, and a failed
    attempt is not a call.
    """
    runs = study.learning
    evolved, exams = [run.ledger for run in runs], [exam.ledger for run in runs for exam in run.exams]
    both = [*evolved, *exams]
    # Most embedders are not a server's, and have no calls.
    is_served = any(ledger.total("embedder").calls for ledger in both)
    tiers: Sequence[Tier] = (*TIER_NAMES, "embedder") if is_served else TIER_NAMES
    body = [
        _cost(name, ledgers, tiers, study.prices, total=True)
        for name, ledgers in (("All runs", evolved), ("All exams", exams))
        if ledgers
    ]
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        ledgers = [run.ledger for run in runs if run.begun.benchmark == benchmark]
        body.append(_cost(benchmark, ledgers, tiers, study.prices))
    used = {account.model for ledger in both for account, use in ledger.accounts() if use.calls}
    unpriced = ", ".join(sorted(model for model in used if study.prices.rate(model) is None))
    broken = ", ".join(run.run.id for run in runs if not run.finished)
    notes = (
        "Attempts that brought no reply are no calls here. Tokens are those of prompts and replies together.",
        *([f"No price is known for {unpriced}: give one with --prices FILE."] if unpriced else []),
        *([f"Not finished, and counted as far as they are: {broken}."] if broken else []),
    )
    groups = (columns(*tiers, group=group) for group in ("calls", "thousand tokens", "dollars"))
    heads = (*columns("Runs", "n", "Guidance share", "range"), *(column for group in groups for column in group))
    return TableBody(heads, body, notes)


def _cost(
    name: str, ledgers: Sequence[Ledger], tiers: Sequence[Tier], prices: Prices, *, total: bool = False
) -> TableRow:
    used = {tier: [ledger.total(tier) for ledger in ledgers] for tier in tiers}
    calls = {tier: [use.calls for use in uses] for tier, uses in used.items()}
    tokens = [[(use.input_tokens + use.output_tokens) / _THOUSAND for use in uses] for uses in used.values()]
    shares = list(map(_share, calls["guidance"], calls["execution"]))
    return (
        name,
        str(len(ledgers)),
        Cell(mean=_share(sum(calls["guidance"]), sum(calls["execution"])), sd=None, n=len(ledgers)),
        f"{min(shares):.1f} to {max(shares):.1f}",
        *(_amount(values, "count", total=total) for values in calls.values()),
        *(_amount(values, "count", total=total) for values in tokens),
        *(dollars(ledgers, tier, prices, total=total) for tier in tiers),
    )


def _amount(values: Sequence[float], unit: Unit, *, total: bool) -> Cell | None:
    return Cell(mean=float(sum(values)), sd=None, n=len(values), unit=unit) if total else cell_of(values, unit)


def dollars(ledgers: Sequence[Ledger], tier: Tier, prices: Prices, *, total: bool) -> Cell | None:
    """Return the dollars of a tier, None if a price is unknown."""
    spent = [
        prices.total(each for each in ledger.accounts() if each[0].tier == tier and each[1].calls) for ledger in ledgers
    ]
    known = [usd for usd in spent if usd is not None]
    return _amount(known, "dollars", total=total) if len(known) == len(spent) else None


def _share(guidance: int, execution: int) -> float:
    return 100 * guidance / (guidance + execution) if guidance + execution else 0.0


@table("calls", "Every model call by agent, tier and purpose", "tab:llm-uses, tab:agents", "calls of all runs together")
def calls(study: Study) -> TableBody:
    evolved = _by_purpose(run.ledger for run in study.learning)
    examined = _by_purpose(exam.ledger for run in study.learning for exam in run.exams)
    agents = list(TIERS)
    keys = sorted(
        evolved.keys() | examined.keys(),
        key=lambda key: (agents.index(key[0]) if key[0] in agents else len(agents), key),
    )
    body: list[TableRow] = [
        (key[0] or "-", *key[1:], *(cell_of([found[key]], "count") for found in (evolved, examined))) for key in keys
    ]
    silent = ", ".join(agent for agent in TIERS if agent not in {key[0] for key in keys})
    notes = [f"No model calls: {silent}."] if silent else []
    return TableBody(columns("Agent", "Tier", "Purpose", "evolution", "exams"), body, notes)


def _by_purpose(ledgers: Iterable[Ledger]) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    for account, use in (each for ledger in ledgers for each in ledger.accounts()):
        found[account.agent, account.tier, account.purpose] += use.calls
    return found


@table(
    "latency",
    "Latency with accuracy",
    "tab:latency",
    "seconds that the model took for a question of the exam, all calls of its course added up, as recorded while "
    f"others were in flight; retrieval is not in it; beside it the {EXAM}",
)
def latency(study: Study) -> TableBody:
    """Return seconds of model calls for a question of the exam, with the accuracy of the same answers.

    [tables, latency] The recorded latencies of all calls of a question's course, added up.
    """
    full = study.compared()
    names = study.baselines(full)

    def rows(place: Placement) -> Iterator[TableRow]:
        cells: list[Entry] = []
        for each in (*(study.baseline(place, name) for name in names), place):
            seconds = cell_of((exam.seconds for exam in study.exams(each).values()), "seconds")
            cells += [seconds, study.reached(each) if seconds else None]
        yield tuple(cells)

    groups = [*(study.called(name, full) for name in names), FULL]
    pairs = (column for group in groups for column in columns("s", "accuracy", group=group))
    return study.by_place(full, tuple(pairs), rows, study.shots(full))
