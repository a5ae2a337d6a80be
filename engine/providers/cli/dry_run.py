"""What `mage-es evolve --dry-run` prints: the calls, tokens and dollars of a run, from a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import astuple

from mage_es.cli.output import TextTable
from mage_es.cli.settings import Settings
from mage_es.engine.config import Config

if TYPE_CHECKING:
    from mage_es.engine.providers.estimate import Estimate, TierEstimate


def rehearsed(config: Config, settings: Settings) -> tuple[Estimate, TextTable, str]:
    """Return the estimate, its table, and where its prices are from."""
    from mage_es.engine.providers.estimate import estimate

    found = estimate(
        config, data_dir=settings.data_dir, workers=settings.workers, prices=settings.prices(), batches=settings.batches
    )
    prices = (f"{tier.tier}: {tier.price or 'no known price for ' + tier.model}" for tier in found.tiers)
    return found, _estimates(found), "Prices: " + "; ".join(prices)


def _estimates(estimate: Estimate) -> TextTable:
    """Return what a run will take, tier by tier, as low, expected and high; the last row is the total in dollars."""
    rows = []
    for tier in estimate.tiers:
        amounts = (("calls", tier.calls), ("input", tier.input_tokens), ("output", tier.output_tokens))
        rows += [(tier.tier, tier.model, name, *(f"{each:,.0f}" for each in astuple(of))) for name, of in amounts]
        rows.append((tier.tier, tier.model, "dollars", *_dollars([tier])))
    rows.append(("all", "", "dollars", *_dollars(list(estimate.tiers))))
    title = f"{estimate.iterations} iterations of {estimate.benchmark}, estimated from {estimate.rehearsed} rehearsed"
    return TextTable(title, ("tier", "model", "amount", "low", "expected", "high"), rows)


def _dollars(tiers: list[TierEstimate]) -> tuple[str, ...]:
    known = [astuple(tier.usd) for tier in tiers if tier.usd is not None]
    if len(known) < len(tiers):
        return ("unpriced",) * 3
    return tuple(f"{sum(each):,.2f}" for each in zip(*known, strict=True))
