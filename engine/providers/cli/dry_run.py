"""What `mage-es evolve --dry-run` prints: the calls, tokens and dollars of a run, from a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import astuple

from mage_es.cli.output import TextTable
from mage_es.cli.settings import Settings
from mage_es.engine.config import Config

if TYPE_CHECKING:
    from mage_es.engine.providers.estimate import Bounds, Estimate


def rehearsed(config: Config, settings: Settings) -> tuple[Estimate, TextTable, str]:
    """Return the estimate, its table (tier by tier, with the dollars of all in the last row), and where its prices are
    from."""
    from mage_es.engine.providers.estimate import estimate

    found = estimate(
        config, data_dir=settings.data_dir, workers=settings.workers, prices=settings.prices(), batches=settings.batches
    )
    rows = []
    for tier in found.tiers:
        amounts = {"calls": tier.calls, "input": tier.input_tokens, "output": tier.output_tokens}
        rows += [(tier.tier, tier.model, name, *_shown(amount, ",.0f")) for name, amount in amounts.items()]
        rows.append((tier.tier, tier.model, "dollars", *_shown(tier.usd, ",.2f")))
    rows.append(("all", "", "dollars", *_shown(found.usd, ",.2f")))
    title = f"{found.iterations} iterations of {found.benchmark}, estimated from {found.rehearsed} rehearsed"
    prices = (f"{tier.tier}: {tier.price or 'no known price for ' + tier.model}" for tier in found.tiers)
    table = TextTable(title, ("tier", "model", "amount", "low", "expected", "high"), rows)
    return found, table, "Prices: " + "; ".join(prices)


def _shown(amount: Bounds | None, form: str) -> tuple[str, ...]:
    return tuple(format(each, form) for each in astuple(amount)) if amount else ("unpriced",) * 3
