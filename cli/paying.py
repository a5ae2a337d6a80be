"""How a verb that asks models again announces its price, and how the user agrees to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.output import Output, agreed, counted
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.run.asking_price import AskingPrice

ASKING = ("workers", "max_connections", "runs_dir", "data_dir", "max_usd", "max_calls", "prices")
"""The settings of a verb that asks models again: where and how fast it works, and what it may cost."""
AGAIN = (
    "A reply that is cut off at its limit is asked for again, which costs more; --max-usd and --max-calls set a limit."
)
"""What no price can foresee."""
YesOption = Annotated[bool, typer.Option("--yes", help="Proceed at the printed price without asking.")]


def priced(price: AskingPrice, how: str, basis: str) -> str:
    """Return one sentence on the cost of asking some prompts; `basis` says what the estimate is based on."""
    if not price.questions:
        return "Every answer that is needed is on record: no model is called."
    models = " and ".join(filter(None, (price.execution, price.judge)))
    return f"Asking {counted(price.questions, 'prompt')} {how} takes about {_taken(price, models, basis)}"


def going_on(price: AskingPrice | None, run_id: str, iterations: int) -> str:
    """Return one sentence on the cost of continuing a run, None if its record does not tell."""
    if price is None:
        return f"What this takes is not known, as {run_id} has closed no iteration of its own: --dry-run estimates it."
    taken = _taken(price, price.execution, "as iterations on record did")
    return f"Going on with {counted(iterations, 'iteration')} of {price.questions} questions in all takes about {taken}"


def judging(price: AskingPrice) -> str:
    """Return one sentence on the cost of judging recorded answers."""
    if not price.questions:
        return "Every opinion that is needed is on record: no model is called."
    basis = "by the length of the prompts" if price.minutes is None else "as those judged so far did"
    taken = _taken(price, price.execution, basis)
    return f"Judging {counted(price.questions, 'answer')} takes about {taken} {AGAIN}"


def _taken(price: AskingPrice, models: str, basis: str) -> str:
    calls = f"{counted(price.calls, 'call')} of {models}"
    return f"{calls}, {tokens(price, ', '.join((*_lasting(price.minutes), basis)))}; {dollars(price)}."


def tokens(price: AskingPrice, basis: str) -> str:
    """Return how many tokens that takes, and what it is based on."""
    if not price.input_tokens:
        return "tokens unknown, as no call like these is on record"
    return f"{price.input_tokens} tokens in and {price.output_tokens} out, {basis}"


def dollars(price: AskingPrice) -> str:
    if price.usd is not None:
        return f"${price.usd:.2f}"
    why = ", as a price is missing (--prices FILE gives it)" if price.input_tokens else " as well"
    return f"dollars unknown{why}"


def _lasting(minutes: float | None) -> Iterator[str]:
    if minutes is not None:
        yield "under a minute" if minutes < 1 else f"{minutes:.0f} min one after another"


def calls_made(made: int) -> str:
    """Return the words on the calls that a verb made."""
    return f"{counted(made, 'call')} {'was' if made == 1 else 'were'} made; what was said is on record"


def agrees(settings: Settings, *, yes: bool) -> bool:
    """Return whether the user agrees to pay: by --yes, by a limit, or at the terminal."""
    return yes or bool(settings.limits.max_usd or settings.limits.max_calls) or agreed("Go on? [y/N] ")


def pay(
    price: AskingPrice, summary: str, out: Output, settings: Settings, *, yes: bool, tier: str = "execution"
) -> None:
    """Print the `summary` of a price. Raises what `require_price` raises, and `require_agreement` if anything is to be
    asked."""
    require_price(settings, price, tier)
    out.say(summary)
    if price.questions:
        require_agreement(settings, price, yes=yes)


def require_price(settings: Settings, price: AskingPrice, tier: str = "execution") -> None:
    """Raises `UsageError` if dollars are limited and the price of what is to be called is unknown."""
    from mage_es.engine.run.budget import require_prices

    if price.calls:
        judge = {"judge": price.judge} if price.judge else {}
        require_prices(settings.limits, settings.prices(), {tier: price.execution, **judge})


def agrees_to(price: AskingPrice, out: Output, settings: Settings, *, yes: bool) -> bool:
    """Print the price of asking prompts again, and return whether there is something to ask and the user agrees to pay.
    Raises what `require_price` raises."""
    require_price(settings, price)
    out.say(priced(price, "again", "judging by the first time"))
    return bool(price.calls) and agrees(settings, yes=yes)


def require_agreement(settings: Settings, price: AskingPrice | None, *, yes: bool) -> None:
    """Raises `UsageError` if the user does not agree to pay. A price of None, or without dollars, is not known."""
    if agrees(settings, yes=yes):
        return
    if price is None or price.usd is None:
        raise UsageError("Nothing was asked. Proceed without a known price with --yes, or within a limit: --max-calls.")
    raise UsageError("Nothing was asked. Proceed at this price with --yes, or within a limit: --max-usd, --max-calls.")
