"""What the analogist does without a fitting example: it follows hints from single words.

It is right for some simple questions, and wrong for most.
"""

from collections.abc import Sequence
from fractions import Fraction

from mage_es.engine.players.arithmetic.equations import Equation, evaluate
from mage_es.engine.players.arithmetic.quantities import Problem, Quantity, polarity

_PARTS = ("percent", "fraction", "factor")
_Term = tuple[Quantity, Fraction]
"""A quantity, whose words give the hints, with the number that now replaces it."""


def guess(problem: Problem) -> list[Equation]:
    quantities = problem.relevant or problem.quantities
    if not quantities:
        return []
    sheet = _Sheet(problem, quantities)
    sheet.take_parts()
    sheet.multiply_rates()
    sheet.divide_or_add()
    return sheet.equations or [Equation((quantities[0].value,), quantities[0].value)]


class _Sheet:
    def __init__(self, problem: Problem, quantities: Sequence[Quantity]) -> None:
        self.problem = problem
        self.asks = problem.question
        self.terms = [(quantity, quantity.value) for quantity in quantities]
        self.equations: list[Equation] = []

    def take_parts(self) -> None:
        """Apply percentages, fractions and factors to the number before them, or else to the one after."""
        for part, value in [term for term in self.terms if term[0].kind in _PARTS]:
            others = [term for term in self.terms if term[0].kind not in _PARTS]
            if not others:
                return
            self.terms = [term for term in self.terms if term[0] is not part]
            wanted = "money" if part.kind == "percent" else ""
            owner, whole = min(others, key=lambda term: (term[0].kind != wanted, abs(term[0].start - part.start)))
            taken = self._work((whole, "*", value))
            if part.kind == "percent":
                taken = self._work((taken, "/", Fraction(100)))
            if part.kind != "factor" and polarity(part) <= 0:
                taken = self._work((whole, "-", taken))
            self._replace(owner, taken)

    def multiply_rates(self) -> None:
        """Multiply a rate by the number that counts its unit, or else by its neighbour."""
        self._join_rates()
        for rate, value in [term for term in self.terms if term[0].per and not self._divides(term[0])]:
            others = [term for term in self.terms if term[0] is not rate and not term[0].per]
            if not others:
                continue
            partner, count = min(others, key=lambda term: _distance(rate, term[0]))
            self.terms = [term for term in self.terms if term[0] is not rate]
            self._replace(partner, self._work((value, "*", count)))

    def divide_or_add(self) -> None:
        divisors = [term for term in self.terms if term[1] and self._divides(term[0])][: len(self.terms) - 1]
        terms = [term for term in self.terms if all(term[0] is not divisor[0] for divisor in divisors[:1])]
        is_rest = "asks rest" in self.asks or "asks need" in self.asks or any(term[0].per for term in divisors)
        if is_rest:
            terms.sort(key=lambda term: -term[1])
        total = terms[0][1]
        for term in terms[1:]:
            total = self._combine(total, term, first=terms[0][0], is_rest=is_rest)
        if divisors:
            self._work((total, "/", divisors[0][1]))
        elif "asks mean" in self.asks and len(terms) > 1:
            self._work((total, "/", Fraction(len(terms))))

    def _combine(self, total: Fraction, term: _Term, *, first: Quantity, is_rest: bool) -> Fraction:
        quantity, value = term
        if (quantity.kind == "money") != (first.kind == "money") and not self.equations:
            return self._work((total, "*", value))
        result = self._work((total, "-" if is_rest or polarity(quantity) < 0 else "+", value))
        is_compared = any(quantity.has(f"clause {hint}") or quantity.has(f"around {hint}") for hint in ("than", "as"))
        return self._work((total, "+", result)) if is_compared and "asks total" in self.asks else result

    def _join_rates(self) -> None:
        rates = [term for term in self.terms if term[0].per]
        plain = [term for term in self.terms if not term[0].per]
        if len(rates) == 2 and len(plain) == 1 and rates[0][0].per == rates[1][0].per:
            (first, one), (second, other) = rates
            self.terms = [term for term in self.terms if term[0] is not second]
            self._replace(first, self._work((one, "-" if polarity(second) < 0 else "+", other)))

    def _divides(self, quantity: Quantity) -> bool:
        if quantity.per:
            is_counted = any(term[0].noun == quantity.per for term in self.terms)
            return quantity.per == self.problem.target or (quantity.per in self.problem.asked and not is_counted)
        shares = "asks each" in self.asks or "asks share" in self.asks
        return shares and (quantity.has("around share") or quantity.has("around each") or quantity.has("noun asked"))

    def _replace(self, owner: Quantity, value: Fraction) -> None:
        self.terms = [(quantity, value if quantity is owner else old) for quantity, old in self.terms]

    def _work(self, expression: tuple[Fraction, str, Fraction]) -> Fraction:
        value = evaluate(expression)
        if value is None:
            return expression[0]
        self.equations.append(Equation(expression, value))
        return value


def _distance(rate: Quantity, other: Quantity) -> tuple[bool, bool, int]:
    return (other.noun != rate.per, other.sentence != rate.sentence, abs(other.start - rate.start))
