"""The models by name: from a spec such as `openai/qwen3?base_url=...` to an open model of the wanted tier.

Rules
    - Opening a model makes no call, but it fails if a key or a client package is missing, before a run starts.
    - An embedded model serves the tier that it was made for; any other serves every tier.
    - Providers come from installed packages; this package registers its own in the same way (engine/seams/plugins.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mage_es.engine.benchmarks.registry import needs_learner, own_models, with_own_models
from mage_es.engine.config import BENCHMARK, NamedSettings
from mage_es.engine.seams.model import Model
from mage_es.engine.seams.plugins import load, open_plugin, require_has
from mage_es.engine.seams.spec import spec_of
from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.engine.config import Config
    from mage_es.engine.seams.benchmark import Question
    from mage_es.engine.seams.embedder import Embedder
    from mage_es.events.vocabulary import Tier
else:
    Embedder = Any  # the signature of `Models` needs the name, and its module would load numpy


def open_model(spec: str, tier: Tier) -> Model:
    """Return the model that a spec names, ready to be called.

    Raises:
        UsageError: no such provider, option or model, or the model cannot serve this tier.
        PrerequisiteError: The provider's client package or key is missing.
    """
    parsed = spec_of("mage_es.models", spec)._replace(tier=tier)
    model: Model = open_plugin("mage_es.models", parsed.provider, load("mage_es.models", parsed.provider), parsed)
    require_has("mage_es.models", parsed.provider, model, "name", "complete")
    return model


class Models(msgspec.Struct, metaclass=NamedSettings, frozen=True):
    """The models of a run by tier. An exam has no guidance; without a judge, what no rule can decide counts as wrong.

    `embedder` replaces the one that the configuration names.
    """

    execution: Model
    guidance: Model | None
    judge: Model | None = None
    embedder: Embedder | None = None

    def by_tier(self) -> dict[Tier, Model]:
        tiers: dict[Tier, Model | None] = {"execution": self.execution, "guidance": self.guidance, "judge": self.judge}
        return {tier: model for tier, model in tiers.items() if model is not None}

    def names(self) -> dict[str, str]:
        return {tier: model.name for tier, model in self.by_tier().items()}

    def named_in(self, config: Config) -> Config:
        """Return a configuration that names these models by tier, as a run with these models records it."""
        return msgspec.structs.replace(config, **self.names())


def open_models(config: Config, *, has_guidance: bool) -> Models:
    """Return the models that a configuration names, without the guidance model if `has_guidance` is false.

    Raises what `open_model` raises, and `UsageError` if no model is named to do the user's own tasks.
    """
    require_learner(config)
    config = with_own_models(config)
    guidance = open_model(config.guidance, "guidance") if has_guidance else None
    judge = open_model(config.judge, "judge") if config.judge else None
    return Models(open_model(config.execution, "execution"), guidance, judge)


def require_models(models: object, *, has_guidance: bool = False) -> None:
    """Raise `UsageError` for anything but models, or for a missing teacher if a run learns."""
    if not isinstance(models, Models):
        raise UsageError(f"models is {models!r:.80}: give mage_es.Models(execution, guidance).")
    for tier, model in models.by_tier().items():
        require_model(tier, model)
    if has_guidance and models.guidance is None:
        raise UsageError("A run learns from guidance: give mage_es.Models(execution, guidance).")


def require_model(tier: str, model: object) -> None:
    """Raise `UsageError` for anything but a model."""
    if isinstance(model, str):
        raise UsageError(f"The {tier} model is a text: open it with mage_es.open_model({model!r}, {tier!r}).")
    is_class, name = isinstance(model, type), getattr(model, "name", None)
    if is_class or not isinstance(name, str) or not callable(getattr(model, "complete", None)):
        what = "a class, not an object" if is_class else "not a model"
        raise UsageError(
            f"The {tier} model {model!r:.80} is {what}: give an object whose `name` is a string, which is recorded, "
            "with `async def complete(self, request)`."
        )


def require_learner(config: Config) -> None:
    """Raise `UsageError` if no model is named to do the user's own tasks."""
    if config.execution == BENCHMARK and needs_learner(config.benchmark):
        raise UsageError(
            f"No model is named for these tasks. {own_learner(config.benchmark)} Name yours with --execution, such as "
            "--execution 'openai/MODEL?base_url=http://localhost:8000/v1' (in Python, `Config(execution=...)`), or "
            "that one."
        )


def own_learner(benchmark: str) -> str:
    """Return which model does the user's own tasks by default, and what it can do."""
    return (
        f"Without --execution it is {own_models(benchmark).execution}: a solver of arithmetic word problems by rules, "
        "no language model. It learns from worked solutions, and can answer nothing else."
    )


def own_teacher(config: Config, tasks: Sequence[Question]) -> list[str]:
    """Return what to say about the default guide for the user's own tasks, if no other model is named."""
    stand_in = own_models(config.benchmark).guidance
    if not needs_learner(config.benchmark) or with_own_models(config).guidance != stand_in:
        return []
    solved = sum(bool(task.solution) for task in tasks)
    return [
        f"Guidance is {stand_in}: rules, no language model. It writes from worked solutions; tasks with "
        f"one: {solved} of {len(tasks)}. Name another model with --guidance."
    ]


def require_teaching(config: Config, guidance: Model | None) -> None:
    """Raise `UsageError` if a guidance model needs to see more than the configuration shows it."""
    order = ("errors", "answers", "solutions")
    needed = getattr(guidance, "teacher_sees", order[0])
    if order.index(config.teacher_sees) < order.index(needed):
        raise UsageError(
            f"{config.guidance} writes from {needed}, and --teacher-sees {config.teacher_sees} hides them. Leave the "
            "option out, or choose a language model as --guidance."
        )


def check_models(*, execution: str, guidance: str, judge: str = "") -> None:
    """Raise `UsageError` for anything but a model of this tier; packages and keys may still be missing."""
    models: Sequence[tuple[str, Tier]] = ((execution, "execution"), (guidance, "guidance"), (judge, "judge"))
    for spec, tier in models:
        if spec and spec_of("mage_es.models", spec).provider == "builtin":
            open_model(spec, tier)
