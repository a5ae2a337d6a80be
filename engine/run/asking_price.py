"""What it takes to ask: calls, tokens, minutes and dollars, by what a run has on record."""

from __future__ import annotations

import msgspec

from mage_es.engine.config import Config, parse
from mage_es.engine.run.exams import ledger_of
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import first_event
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed


class AskingPrice(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to ask `questions` prompts again, besides those on record: calls of learner and judge, tokens, and
    minutes one after another. `minutes` is None if no such call is on record, `usd` if a price is unknown."""

    execution: str
    questions: int
    calls: int
    input_tokens: int
    output_tokens: int
    minutes: float | None
    usd: float | None


def price_on(reader: LogReader, config: Config, prices: Prices) -> AskingPrice | None:
    """Return an estimate of what continuing a run costs: the opening and each question of an iteration at the other
    run's mean; None if that has not closed an iteration of its own."""
    opening, *closed = [each.iteration for each in reader.of(IterationClosed, since=last_inherited(reader) + 1)] or [-1]
    if not closed:
        return None
    share = config.iterations * config.pool / (len(closed) * parse(first_event(reader).config).pool)
    calls, tokens_in, tokens_out, minutes, dollars = 0.0, 0.0, 0.0, 0.0, list[float | None]()
    accounts = ledger_of(reader).accounts()
    for account, use in accounts:
        # At its own start a run asks its anchors in one way, as nothing was learned; one that continues another asks
        # both ways.
        first = 2.0 if opening < 0 else 1.0
        times = share if account.iteration > opening else first
        calls += times * use.calls
        tokens_in += times * use.input_tokens
        tokens_out += times * use.output_tokens
        minutes += times * use.latency_us / 60e6
        rate = prices.rate(account.model)
        dollars.append(times * rate.paid(use, batched=account.batched) if rate else None)
    return AskingPrice(
        execution=" and ".join(sorted({account.model for account, _ in accounts})),
        questions=config.iterations * config.pool,
        calls=round(calls),
        input_tokens=round(tokens_in),
        output_tokens=round(tokens_out),
        minutes=minutes,
        usd=None if None in dollars else sum(filter(None, dollars)),
    )
