"""The embedded models by name: each serves one tier, needs nothing, and answers by rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mage_es.engine.models.seam import Model
from mage_es.events.errors import UsageError, nearest

Tier = Literal["execution", "guidance", "judge"]


def _analogist() -> Model:
    from mage_es.engine.models.analogist.model import Analogist

    return Analogist()


def _reader() -> Model:
    from mage_es.engine.models.reader.model import Reader

    return Reader()


def _reference() -> Model:
    from mage_es.engine.models.reference.model import Reference

    return Reference()


def _apprentice() -> Model:
    from mage_es.engine.models.apprentice.model import Apprentice

    return Apprentice()


def _survivor() -> Model:
    from mage_es.engine.models.survivor.model import Survivor

    return Survivor()


def _shopper() -> Model:
    from mage_es.engine.models.shopper.model import Shopper

    return Shopper()


def _truth_learner() -> Model:
    from mage_es.engine.models.truthworld.learner import TruthLearner

    return TruthLearner()


def _truth_guide() -> Model:
    from mage_es.engine.models.truthworld.guide import TruthGuide

    return TruthGuide()


def _truth_judge() -> Model:
    from mage_es.engine.models.truthworld.judge import TruthJudge

    return TruthJudge()


_MODELS: dict[str, tuple[Tier, Callable[[], Model]]] = {
    "builtin/analogist": ("execution", _analogist),
    "builtin/reader": ("execution", _reader),
    "builtin/reference": ("guidance", _reference),
    "builtin/apprentice": ("execution", _apprentice),
    "builtin/survivor": ("execution", _survivor),
    "builtin/shopper": ("execution", _shopper),
    "builtin/truthworld": ("execution", _truth_learner),
    "builtin/truthguide": ("guidance", _truth_guide),
    "builtin/truthjudge": ("judge", _truth_judge),
}


def names(tier: Tier) -> list[str]:
    """Return the specs of the embedded models that can serve a tier."""
    return [name for name, (serves, _) in _MODELS.items() if serves == tier]


def open_builtin(spec: str, tier: Tier) -> Model:
    """Return the embedded model that a spec names.

    Raises:
        UsageError: no such model, or it cannot serve this tier.
    """
    if spec not in _MODELS:
        raise UsageError(f"There is no model {spec!r}.{nearest(spec, list(_MODELS))}")
    serves, construct = _MODELS[spec]
    if serves != tier:
        raise UsageError(
            f"The model {spec!r} is for the {serves} tier and cannot serve the {tier} tier;"
            f" choose from: {', '.join(names(tier))}."
        )
    return construct()
