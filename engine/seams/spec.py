"""The name of a model: `provider/model?option=value&option=value`, such as
`openai/qwen3?base_url=http://localhost:8000/v1`.

Rules
    - A spec is recorded with the run and with every call, so it never holds a key: keys come from the environment.
    - An unknown option, a repeated one and an impossible value are errors. They are never ignored.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mage_es.engine.seams.plugins import Group, load, plugins
from mage_es.events.errors import UsageError, nearest
from mage_es.events.vocabulary import Tier

_SECRETS = ("key", "token", "secret", "password")
_MOST = 2**32
"""The largest number of an option: seeds have 32 bits, and a longer time overflows the clocks of some systems."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_embedded(spec: str) -> bool:
    """Return whether a spec names one of our players, which answer by rule."""
    return spec.startswith("builtin/")


class ModelSpec(NamedTuple):
    """A spec in parts. `text` is the whole spec as it was given; `tier` is what it is opened for, if known."""

    provider: str
    model: str
    options: Mapping[str, str]
    text: str
    tier: Tier | None = None

    def number(self, option: str, default: float) -> float:
        """Return an option as a number from 0 to `_MOST`. Raises `UsageError` for anything else."""
        value = self.options.get(option)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number <= _MOST:
            raise UsageError(
                f"{self.text}: {option} must be a number of at least 0, not {value!r}; the largest is {_MOST}."
            )
        return number

    def seconds(self, option: str, default: float) -> float:
        """Return an option as seconds, more than 0. Raises `UsageError` for anything else."""
        if not (seconds := self.number(option, default)):
            raise UsageError(f"{self.text}: {option} must be more than 0 seconds.")
        return seconds

    def whole(self, option: str, default: int) -> int:
        """Return an option as a whole number of at least 0. Raises `UsageError` for anything else."""
        number = self.number(option, default)
        if number != int(number):
            raise UsageError(f"{self.text}: {option} must be a whole number, not {self.options[option]!r}.")
        return int(number)

    def chosen(self, option: str, known: Sequence[str]) -> str:
        """Return one of the words that an option accepts, by default the first. Raises `UsageError`."""
        value = self.options.get(option, known[0])
        if value not in known:
            raise UsageError(f"{self.text}: {option}={value!r}.{nearest(value, list(known))}")
        return value

    def thinking(self) -> Literal["auto", "on", "off"] | int:
        """Return whether a model should think before it answers, or in how many tokens; `auto`: the model's default.

        Raises `UsageError`.
        """
        match self.options.get("thinking", "auto"):
            case "auto" | "on" | "off" as word:
                return word
            case number if number.isascii() and number.isdigit() and int(number):
                return int(number)
            case other:
                raise UsageError(f"{self.text}: thinking is auto, on, off or a number of tokens, not {other!r}.")

    def is_on(self, option: str) -> bool:
        """Return whether an option is switched on; the default is off. Raises `UsageError` for other words."""
        value = self.options.get(option, "off")
        if value not in ("on", "off"):
            raise UsageError(f"{self.text}: {option} is on or off, not {value!r}.")
        return value == "on"


def spec_of(group: Group, text: str) -> ModelSpec:
    """Return a spec of a group's provider in parts. Only that provider is imported, for the options that it takes: the
    attribute `OPTIONS` of what it offers. Raises what `parse_spec` raises."""
    known: dict[str, Sequence[str] | None] = dict.fromkeys(plugins(group))
    if isinstance(text, str) and (named := text.partition("/")[0]) in known:
        known[named] = getattr(load(group, named), "OPTIONS", None)
    return parse_spec(text, known=known)


def parse_spec(text: str, *, known: Mapping[str, Sequence[str] | None] | None = None) -> ModelSpec:
    """Return a spec in parts; `known` maps providers to the options that each takes (None: it checks its own), by
    default any.

    Raises:
        UsageError: The spec is not of this form, has an unknown provider or option, or would put a key on record.
    """
    if not isinstance(text, str):  # from Python
        raise UsageError(f"The model is {text!r:.80}: name one as provider/model.")
    named, _, query = text.partition("?")
    provider, slash, model = named.partition("/")
    if not slash or not model:
        raise UsageError(f"{named!r} is not of the form provider/model. Providers: {', '.join(sorted(known or ()))}.")
    if known is None:
        known = {provider: None}
    if provider not in known:
        raise UsageError(
            f"There is no provider {provider!r} (in {named!r}).{nearest(provider, list(known))} "
            "Pass your own model object from Python, each time: models=... or execution=..."
        )
    options = _options(named, query)
    taken = known[provider]
    for option in options:
        if option not in (("key_env",) if taken is None else taken):
            if any(word in option.lower() for word in _SECRETS):
                raise UsageError(
                    f"{provider}/{model}: a spec is recorded with every call and must not hold a key "
                    f"(option {option!r}). "
                    "Put the key into the environment; key_env=NAME names the variable."
                )
            if taken is not None:
                raise UsageError(f"{provider}/ has no option {option!r}.{nearest(option, list(taken))}")
    if "base_url" in options:
        _require_address(named, options["base_url"])
    if not _VARIABLE.fullmatch(options.get("key_env", "_")):
        raise UsageError(
            f"{named}: key_env must be the name of the environment variable that holds the key, such as MY_KEY."
        )
    return ModelSpec(provider, model, options, text)


def _require_address(named: str, url: str) -> None:
    """Refuse a base_url that contains a secret, or that requests cannot be sent to."""
    try:
        address = urlsplit(url)
        is_reachable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
        holds_secret = bool(address.username or address.password or address.query)
    except ValueError:  # not a valid port or IPv6 address
        is_reachable, holds_secret = False, "@" in url or "?" in url
    if holds_secret:
        raise UsageError(
            f"{named}: a base_url is recorded with every call and must hold no name, password or query. "
            "Put the key into the environment; key_env=NAME names the variable."
        )
    if not is_reachable or "#" in url or not url.isprintable() or " " in url:
        raise UsageError(f"{named}: base_url={url!r} is not an address. Give one such as http://localhost:8000/v1.")


def _options(named: str, query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise UsageError(f"{named!r}: what follows the ? must be option=value, joined by &.") from None
    options = dict(pairs)
    for option in options:
        if [name for name, _ in pairs].count(option) > 1:
            raise UsageError(f"{named}: {option} is given twice. Keep one of them.")
    return options
