"""What names a model: `provider/model?option=value&option=value`, such as `openai/qwen3?base_url=http://localhost:8000/v1`.

Rules
    - A spec is recorded with the run and with every call, so it never holds a key: keys come from the environment.
    - An option that the provider does not know is an error, not ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mage_es.events.errors import UsageError, nearest

_SECRETS = ("key", "token", "secret", "password")


class ModelSpec(NamedTuple):
    """A spec in parts. `text` is the whole of it as it was given."""

    provider: str
    model: str
    options: Mapping[str, str]
    text: str

    def number(self, option: str, default: float) -> float:
        """Return an option as a number. Raises `UsageError` where it is none."""
        value = self.options.get(option)
        try:
            return default if value is None else float(value)
        except ValueError:
            raise UsageError(f"{self.text}: {option} must be a number, not {value!r}.") from None

    def is_on(self, option: str) -> bool:
        """Return whether an option is switched on, which none is by itself. Raises `UsageError` for other words."""
        value = self.options.get(option, "off")
        if value not in ("on", "off"):
            raise UsageError(f"{self.text}: {option} is on or off, not {value!r}.")
        return value == "on"


def parse_spec(text: str, *, known: Mapping[str, Sequence[str] | None]) -> ModelSpec:
    """Return a spec in parts; `known` are the providers and the options that each takes (None: its own affair).

    Raises:
        UsageError: Not of this form, an unknown provider or option, or an option that would put a key on record.
    """
    named, _, query = text.partition("?")
    provider, slash, model = named.partition("/")
    if not slash or not model:
        raise UsageError(f"{named!r} is not of the form provider/model. Providers: {', '.join(sorted(known))}.")
    if provider not in known:
        raise UsageError(f"There is no provider {provider!r} (in {named!r}).{nearest(provider, list(known))}")
    options = _options(named, query)
    taken = known[provider]
    for option in options:
        if option not in (taken or ()):
            if any(word in option.lower() for word in _SECRETS):
                raise UsageError(
                    f"{provider}/{model}: a spec is recorded with every call and must not hold a key "
                    f"(option {option!r}). "
                    "Put the key into the environment; key_env=NAME names the variable."
                )
            if taken is not None:
                raise UsageError(f"{provider}/ has no option {option!r}.{nearest(option, list(taken))}")
    address = urlsplit(options.get("base_url", ""))
    if address.username or address.password or address.query:
        raise UsageError(
            f"{named}: a base_url is recorded with every call and must hold no name, password or query. "
            "Put the key into the environment; key_env=NAME names the variable."
        )
    return ModelSpec(provider, model, options, text)


def _options(named: str, query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(f"{named!r}: what follows the ? must be option=value, joined by &.") from None
