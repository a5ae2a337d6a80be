"""Which models there are: from a spec such as `openai/qwen3?base_url=...` to an open model of the wanted tier.

Rules
    - Opening a model calls nothing, but a key or a client package that is missing shows here, before a run is begun.
    - An embedded model serves the tier that it was made for; any other serves every tier.
    - Another package's provider takes whatever options it likes, but no key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from mage_es.engine.models import anthropic_api, openai_compatible, vllm_engine
from mage_es.engine.models.builtin import Tier, names, open_builtin
from mage_es.engine.models.seam import Model
from mage_es.engine.models.spec import ModelSpec, parse_spec
from mage_es.engine.plugins import load, open_plugin, plugins
from mage_es.events.errors import PrerequisiteError

__all__ = ["OPTIONS", "Tier", "check_models", "names", "open_model"]


def _recorded(spec: ModelSpec) -> Model:
    from mage_es.engine.models.recorded import Recorded  # reads logs, which takes more than a model does

    return Recorded(spec)


_PROVIDERS: Mapping[str, Callable[[ModelSpec], Model]] = {
    "anthropic": anthropic_api.Anthropic,
    "openai": openai_compatible.OpenAICompatible,
    "recorded": _recorded,
    "vllm": vllm_engine.VllmEngine,
}

_PACKAGES: Mapping[str, str] = {"anthropic": "anthropic", "openai": "openai", "vllm": "vllm"}
"""The package that a provider is called with; the extra that installs it has the same name."""

OPTIONS: Mapping[str, Sequence[str]] = {
    "anthropic": anthropic_api.OPTIONS,
    "builtin": (),
    "openai": openai_compatible.OPTIONS,
    "recorded": (),
    "vllm": vllm_engine.OPTIONS,
}
"""The providers, and the options that each of them takes."""


def open_model(spec: str, tier: Tier) -> Model:
    """Return the model that a spec names, ready to be called.

    Raises:
        UsageError: no such provider, option or model, or one that cannot serve this tier.
        PrerequisiteError: The provider's client package or key is missing.
    """
    parsed = parse_spec(spec, known=_known())
    if parsed.provider == "builtin":
        return open_builtin(spec, tier)
    package = _PACKAGES.get(parsed.provider)
    if package and not _is_installed(package):
        raise PrerequisiteError(f"{spec} needs the package {package}: python -m pip install 'mage-es[{package}]'")
    if parsed.provider not in _PROVIDERS:
        plugged: Model = open_plugin("mage_es.models", parsed.provider, load("mage_es.models", parsed.provider), parsed)
        return plugged
    return _PROVIDERS[parsed.provider](parsed)


def check_models(*, execution: str, guidance: str, judge: str = "") -> None:
    """Raise `UsageError` for what is no model or serves another tier; packages and keys may be missing yet."""
    models: Sequence[tuple[str, Tier]] = ((execution, "execution"), (guidance, "guidance"), (judge, "judge"))
    for spec, tier in models:
        if spec and parse_spec(spec, known=_known()).provider == "builtin":
            open_builtin(spec, tier)


def _known() -> Mapping[str, Sequence[str] | None]:
    return {**dict.fromkeys(plugins("mage_es.models")), **OPTIONS}


def _is_installed(package: str) -> bool:
    """Return whether a package can be imported, without the seconds that importing it takes."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # it was taken out of the table of modules
        return False
