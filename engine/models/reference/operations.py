"""Which operations a chain uses, in the order in which it uses them."""

from __future__ import annotations

from mage_es.engine.models.arithmetic.chains import Chain, Step

NAMES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


def of_step(step: Step) -> tuple[str, ...]:
    """Return the names of a step's operations from left to right."""
    return tuple(NAMES[item] for item in step if isinstance(item, str) and item in NAMES)


def in_order(chain: Chain) -> tuple[str, ...]:
    """Return a chain's operations, repeats in a row once."""
    names: list[str] = []
    for step in chain.steps:
        for name in of_step(step):
            if not names or names[-1] != name:
                names.append(name)
    return tuple(names)
