"""What calls cost: a dated table with the source of each price, the user's own prices, and models that are free.

Rules
    - An unknown price is never taken as zero.
    - The user's own entry comes first, even before the next rule, because a server on this machine may be a gateway
      that bills. An entry holds for one endpoint: the one with the same `base_url` as in the model's spec, or the
      provider's own if the entry has none.
    - An embedded or recorded model, vLLM in this process, and a server on this machine or its private network are free.
      Any other server has a price only if the user gives one.
    - The user's own entry needs a source and a date that is not in the future, so that a sum can be audited.
"""

import datetime
import ipaddress
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec

from mage_es.engine.benchmarks.files import read_toml
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import ModelSpec, parse_spec
from mage_es.events.errors import UsageError
from mage_es.projections.ledger import Account, Usage

Dollars = Annotated[float, msgspec.Meta(ge=0)]
Factor = Annotated[float, msgspec.Meta(ge=0, le=1)]
Named = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""A non-blank text."""
_MILLION = 1e6
_CACHE_WRITE = 1.25
"""The default price of writing a token into a cache for five minutes, relative to input."""
_DATED = re.compile(r"-\d{8}$")
_ENVELOPE = 256
"""How many tokens a provider may add to a prompt for its own format, generously estimated."""
_OWN_PRICE = """[[price]]
models = ["{model}"]
input = 0.0
output = 0.0
source = "where the price is from"
date = 2026-01-31"""
_FORM = _OWN_PRICE.format(model="openai/gpt-x")


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of a table: dollars per million tokens. `base_url` is set if they are for another endpoint. `batch` is
    the factor for calls in batches; 1 if batches cost the same or the source does not say.
    """

    models: Annotated[tuple[Named, ...], msgspec.Meta(min_length=1)]
    input: Dollars
    output: Dollars
    source: Named
    date: datetime.date
    cached: Dollars | None = None
    cache_write: Dollars | None = None
    batch: Factor = 1.0
    base_url: str = ""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    price: tuple[dict[str, Any], ...]


Used = Completion | Usage
"""Tokens by kind, of one call or of many."""


class Rate(NamedTuple):
    """What a model costs, in dollars per million tokens, and the source. `batch` is the factor for batched calls."""

    input: float
    cached: float
    output: float
    source: str
    cache_write: float = 0.0
    batch: float = 1.0

    def cost(
        self,
        input_tokens: float,
        cached_tokens: float,
        output_tokens: float,
        *,
        cache_write_tokens: float = 0,
        batched: bool = False,
    ) -> float:
        """Return dollars. Input tokens include cached tokens and those written into a cache."""
        fresh = input_tokens - cached_tokens - cache_write_tokens
        given = fresh * self.input + cached_tokens * self.cached + cache_write_tokens * self.cache_write
        return (given + output_tokens * self.output) * (self.batch if batched else 1.0) / _MILLION

    def paid(self, used: Used, *, batched: bool) -> float:
        return self.cost(
            used.input_tokens,
            used.cached_tokens,
            used.output_tokens,
            cache_write_tokens=used.cache_write_tokens,
            batched=batched,
        )

    def is_told(self, used: Used) -> bool:
        """Return whether calls came with token counts or cost nothing: a call with zero tokens gave no counts."""
        return bool(used.input_tokens or used.output_tokens or not (self.input or self.output))

    def most(self, request: Request) -> float:
        """Return the most dollars that a call can cost: a token has at least one byte, and no system message is cached.

        A batch costs less, but a call that fails in its batch is made again directly.
        """
        given = len(request.text.encode()) + len(request.reply_schema.encode()) + _ENVELOPE
        written = len(request.system.encode())
        return self.cost(given, 0, request.max_tokens, cache_write_tokens=written)


class Prices:
    """The rates of models; `own` are entries that override the package's."""

    def __init__(self, own: Iterable[Price] = ()) -> None:
        self._own, self._shipped = _rates(own), _rates(_read(Path(__file__).with_name("prices.toml")))
        self._looked_up: dict[str, Rate | None] = {}

    def rate(self, model: str) -> Rate | None:
        """Return what a model costs, by its spec; None if it is unknown."""
        # A long run has thousands of accounts, of a few models.
        if model not in self._looked_up:
            self._looked_up[model] = self._rate(model)
        return self._looked_up[model]

    def _rate(self, model: str) -> Rate | None:
        try:
            spec = parse_spec(model)
        except UsageError:  # a model passed as an object
            return None
        name, url = f"{spec.provider}/{spec.model}", spec.options.get("base_url", "").rstrip("/")
        keys = ((name, url), (_DATED.sub("", name), url))
        free = _free(spec)
        known = (
            *(self._own.get(key) for key in keys),
            Rate(0.0, 0.0, 0.0, free) if free else None,
            *(self._shipped.get(key) for key in keys),
        )
        return next((rate for rate in known if rate is not None), None)

    def paid(self, account: Account, use: Usage) -> float | None:
        """Return the dollars of an account of a ledger; None if its model's price is unknown."""
        rate = self.rate(account.model)
        return rate.paid(use, batched=account.batched) if rate else None

    def total(self, accounts: Iterable[tuple[Account, Usage]]) -> float | None:
        """Return the dollars of accounts; None if a price is unknown."""
        paid = [self.paid(account, use) for account, use in accounts]
        known = [usd for usd in paid if usd is not None]
        return sum(known, 0.0) if len(known) == len(paid) else None


def read_prices(path: Path | str | None) -> Prices:
    """Return the package's prices, overridden by those in a user's file. Raises `UsageError` for an invalid file."""
    if path is None:
        return Prices()
    try:
        own = _read(Path(path))
    except OSError as error:
        raise UsageError(f"The prices in {path} cannot be read: {error.strerror}.") from error
    for number, price in enumerate(own, 1):
        if price.date > datetime.datetime.now(datetime.UTC).astimezone().date():
            raise UsageError(
                f"{_entry(path, number, price.models)}: its date, {price.date}, is in the future. Correct it."
            )
    return Prices(own)


def require_rates(prices: Prices, models: Mapping[str, str]) -> None:
    """Raise `UsageError`, which says how to give a price, if one of the models (tier -> spec) has none."""
    for tier, model in models.items():
        if prices.rate(model) is None:
            name, _, query = model.partition("?")
            entry = _OWN_PRICE.format(model=name)
            if url := dict(parse_qsl(query)).get("base_url"):
                entry += f'\nbase_url = "{url}"'
            raise UsageError(
                f"The price of the {tier} model {model} is unknown, so a limit in dollars cannot be kept. Limit "
                "the calls instead (--max-calls), or put its price (dollars per million tokens) into a file and name "
                f"that file with --prices:\n{entry}"
            )


def _rates(prices: Iterable[Price]) -> dict[tuple[str, str], Rate]:
    """Return rates by model and endpoint; later entries win."""
    rates: dict[tuple[str, str], Rate] = {}
    for price in prices:
        cached = price.input if price.cached is None else price.cached
        written = _CACHE_WRITE * price.input if price.cache_write is None else price.cache_write
        rate = Rate(price.input, cached, price.output, f"{price.source}, {price.date}", written, price.batch)
        rates.update(dict.fromkeys(((model, price.base_url.rstrip("/")) for model in price.models), rate))
    return rates


def _read(place: Path) -> tuple[Price, ...]:
    try:
        entries = msgspec.convert(read_toml(place), _Table).price
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{place} is not a table of prices: {error}. It holds entries of this form:\n{_FORM}"
        ) from error
    prices = []
    for number, entry in enumerate(entries, 1):
        try:
            prices.append(msgspec.convert(entry, Price))
        except msgspec.ValidationError as error:
            where = _entry(place, number, entry.get("models", "of no model"))
            raise UsageError(f"{where}: {error}. Write it in this form:\n{_FORM}") from error
    return tuple(prices)


def _entry(place: str | Path, number: int, models: object) -> str:
    named = ", ".join(map(str, models)) if isinstance(models, list | tuple) else models
    return f"{place} is not a table of prices: entry {number} ({named})"


def _free(spec: ModelSpec) -> str:
    """Return why a model is free, or "" if it may cost something."""
    if spec.provider in ("builtin", "llamacpp", "recorded", "vllm"):
        return "costs nothing, since it runs in this process"
    host = urlsplit(spec.options.get("base_url", "")).hostname or ""
    return f"costs nothing, since {host} is this machine or its own network" if _is_near(host) else ""


def _is_near(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
