"""One step more than the example had: what to do with a number that the carried-over chain leaves over."""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.models.arithmetic.equations import Equation, Item, evaluate
from mage_es.engine.models.arithmetic.likeness import polarity
from mage_es.engine.models.arithmetic.quantities import Problem, Quantity


def extend(equations: Sequence[Equation], left: Quantity, *, used: Sequence[Quantity], to: Problem) -> Equation | None:
    """Return a further equation of the last result and the number left over; None where no hint says which."""
    result = equations[-1].value
    expression: tuple[Item, ...] | None = None
    is_money = any(quantity.kind == "money" for quantity in used)
    if left.per and left.per in (to.asked | {to.target}) and left.value:
        expression = (result, "/", left.value)
    elif left.kind == "count" and is_money and not left.per:
        expression = (result, "*", left.value)
    elif "asks rest" in to.question or polarity(left) < 0:
        expression = (max(result, left.value), "-", min(result, left.value))
    elif polarity(left) > 0:
        expression = (result, "+", left.value)
    value = evaluate(expression) if expression is not None else None
    if expression is None or value is None or value <= 0 or value.denominator != 1:
        return None
    return Equation(expression, value)
