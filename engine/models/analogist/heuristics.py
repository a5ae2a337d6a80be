"""What the analogist does without a fitting example: shallow hints of single words, number after number."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mage_es.engine.models.arithmetic.equations import Equation, evaluate
from mage_es.engine.models.arithmetic.quantities import Problem, Quantity


def guess(problem: Problem) -> list[Equation]:
    """Combine the quantities from left to right, each by the hints around it; empty where there is none."""
    quantities = [quantity for quantity in problem.quantities if quantity.kind != "one"] or problem.quantities
    if not quantities:
        return []
    equations: list[Equation] = []
    value = quantities[0].value
    for at, quantity in enumerate(quantities[1:]):
        operator, operand = _operation(quantity, before=quantities[: at + 1], problem=problem)
        expression = (value, operator, operand)
        result = evaluate(expression)
        if result is None:
            continue
        equations.append(Equation(expression, result))
        value = result
    return equations or [Equation((value,), value)]


def _operation(quantity: Quantity, *, before: Sequence[Quantity], problem: Problem) -> tuple[str, Fraction]:
    if quantity.kind == "percent":
        return "*", quantity.value / 100
    if quantity.kind in ("fraction", "factor"):
        return "*", quantity.value
    if quantity.per or before[-1].per:
        shares = "asks share" in problem.question or "asks each" in problem.question
        return ("/" if shares else "*"), quantity.value or Fraction(1)
    if quantity.has("around share") or ("asks each" in problem.question and quantity is problem.quantities[-1]):
        return "/", quantity.value
    if any(quantity.has(f"around {hint}") for hint in ("loss", "less", "rest")):
        return "-", quantity.value
    if "asks rest" in problem.question and not quantity.has("around gain"):
        return "-", quantity.value
    return "+", quantity.value
