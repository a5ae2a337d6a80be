r"""Reading LaTeX as expressions: a small grammar of known commands; everything else is refused.

Nothing is evaluated, and no text ever reaches an interpreter. Ambiguous text (`1/2n`, `n!!`, an ellipsis, a word) is
refused too: a wrong reading could make a wrong answer right, while an unreadable one goes to a judge.
"""

from collections.abc import Mapping, Sequence

from mage_es.engine.bench.realmath.expressions import (
    EULER,
    IMAGINARY,
    MAYBE_APPLIED,
    PI,
    Application,
    Expression,
    Unreadable,
    Variable,
    number,
)
from mage_es.engine.bench.realmath.tokens import CLOSED_BY, matching, split_at

_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega "
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar infty"
)
_STYLES = (
    "mathrm mathbb mathcal mathsf mathbf mathfrak mathscr mathit boldsymbol bm operatorname overline underline bar hat "
    "tilde widetilde widehat vec"
)
_COMPUTED = "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh exp log"
_OFTEN_APPLIED = "f g h F G H phi psi Phi Psi Gamma zeta"
_UPRIGHT = frozenset(["mathrm", "mathsf", "mathbf", "mathit", "boldsymbol", "bm"])
"""Styles that do not change a name; other styles distinguish names of one letter."""
GREEK = frozenset(_LETTERS.split())
_FONTS = frozenset(_STYLES.split())
_FUNCTIONS = frozenset(_COMPUTED.split())
_FUNCTION_LETTERS = frozenset(_OFTEN_APPLIED.split())
"""Names whose following bracket is an argument; after other names it is a factor, unless it contains a comma."""
_CONSTANTS: Mapping[str, Expression] = {"e": EULER, "i": IMAGINARY}
_MARKS = frozenset(["*", "\\prime", "\\star", "'", "\\dagger"])
"""Superscripts that belong to a name."""
_TIMES = frozenset(["*", "\\cdot", "\\times"])
_DEEPEST = 40
_ONE = number(1)
_ENDS = frozenset(["+", "-", "/", ",", ";", ")", "]", "}", "\\}", "\\rfloor", "\\rceil", "=", "<", ">", "\\choose"])


def read_expression(tokens: Sequence[str]) -> Expression:
    return _Reader(tokens, depth=0, bound=frozenset()).whole()


class _Reader:
    """Reads one expression from left to right; a bracket's content is read by a new reader."""

    def __init__(self, tokens: Sequence[str], *, depth: int, bound: frozenset[str]) -> None:
        self._tokens, self._at = list(tokens), 0
        self._depth, self._bound, self._bars = depth, bound, 0

    def whole(self) -> Expression:
        expression = self._sum()
        if self._at < len(self._tokens):
            raise Unreadable(f"{self._next()} is not expected here")
        return expression

    def _sum(self) -> Expression:
        terms = [self._signed()]
        while self._next() in ("+", "-"):
            terms.append(self._signed())
        return terms[0] if len(terms) == 1 else Application("add", tuple(terms))

    def _signed(self) -> Expression:
        is_negative = False
        while self._next() in ("+", "-"):
            is_negative ^= self._take() == "-"
        term = self._term()
        return Application("negative", (term,)) if is_negative else term

    def _term(self) -> Expression:
        """Read factors, side by side or with signs; after a slash, two factors side by side are ambiguous."""
        factors, slashes = [self._factor()], 0
        while self._is_factor_next() or self._next() == "/":
            token = self._next()
            if token == "/" or token in _TIMES:
                self._take()
            elif slashes or token[0].isdigit():
                raise Unreadable("factors side by side that could be read in two ways")
            slashes += token == "/"
            if slashes > 1:
                raise Unreadable("two slashes")
            factor = self._factor()
            factors = [Application("divide", (_product(factors), factor))] if token == "/" else [*factors, factor]
        return _product(factors)

    def _is_factor_next(self) -> bool:
        token = self._next()
        return bool(token) and token not in _ENDS and not (token == "|" and self._bars)

    def _factor(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        base = self._atom()
        if self._next() == "!":
            self._take()
            base = Application("factorial", (base,))
        if self._next() == "^":
            self._take()
            base = Application("power", (base, self._argument(whole=True)))
        if self._next() in ("^", "!"):
            raise Unreadable(f"a second {self._next()}")
        self._depth -= 1
        return base

    def _atom(self) -> Expression:
        token = self._take()
        if token[:1].isdigit() or (token[:1] == "." and len(token) > 1):
            return number(token)
        if token in ("(", "[", "{"):
            return self._grouped(token)
        if token == "|":
            return self._absolute()
        if token in ("\\lfloor", "\\lceil"):
            return Application("floor" if token == "\\lfloor" else "ceiling", (self._inner(self._inside()),))
        if token.startswith("\\"):
            return self._command(token[1:])
        if token.isascii() and token.isalpha():
            return self._named(token)
        raise Unreadable(f"{token} is not understood" if token else "something is missing at the end")

    def _grouped(self, opening: str) -> Expression:
        inside = self._inside()
        upper, *lower = split_at(inside, frozenset(["\\choose"])) if opening == "{" else [inside]
        if len(lower) > 1:
            raise Unreadable("\\choose occurs twice")
        return Application("binomial", (self._inner(upper), self._inner(lower[0]))) if lower else self._inner(inside)

    def _absolute(self) -> Expression:
        self._bars += 1
        value = self._sum()
        self._bars -= 1
        if self._take() != "|":
            raise Unreadable("a bar is not closed")
        return Application("absolute", (value,))

    def _command(self, name: str) -> Expression:
        if name == "frac":
            above, below = self._raw_argument(), self._raw_argument()
            if _is_differential(above) and _is_differential(below):
                raise Unreadable("a derivative")
            return Application("divide", (self._inner(above), self._inner(below)))
        if name == "binom":
            return Application("binomial", (self._argument(), self._argument()))
        if name == "sqrt":
            return self._root()
        if name in ("sum", "prod"):
            return self._repeated("sum" if name == "sum" else "product")
        if name == "pi":
            return PI
        if name in _FUNCTIONS:
            return self._function(name)
        if name in ("min", "max"):
            return Application(name, self._arguments())
        if name in GREEK:
            return self._named(name)
        if name in _FONTS:
            style = "" if name in _UPRIGHT else f"{name} "
            return self._named(style + _name_of(self._raw_argument()), is_operator=name == "operatorname")
        raise Unreadable(f"\\{name} is not understood")

    def _root(self) -> Expression:
        index: Expression = number(2)
        if self._next() == "[":
            self._take()
            index = self._inner(self._inside())
        return Application("power", (self._argument(), Application("divide", (_ONE, index))))

    def _function(self, name: str) -> Expression:
        exponent = base = None
        while self._next() in ("^", "_"):
            if self._take() == "^":
                exponent = self._argument(whole=True)
            elif name == "log":
                base = self._argument(whole=True)
            else:
                raise Unreadable(f"\\{name} has a subscript")
        if exponent == Application("negative", (_ONE,)):
            raise Unreadable(f"\\{name} to the power of -1 may be the inverse")
        args = (self._applied_to(),) if base is None else (self._applied_to(), base)
        value: Expression = Application(name, args)
        return value if exponent is None else Application("power", (value, exponent))

    def _applied_to(self) -> Expression:
        """Read a function's argument: the bracket after it, or the factors up to a sign or a function."""
        if self._next() in ("(", "[", "{"):
            self._take()
            return self._inner(self._inside())
        factors = [self._factor()]
        while self._is_factor_next() and self._next() not in _TIMES | {"(", "[", "|"}:
            if self._next()[1:] in _FUNCTIONS:
                break
            factors.append(self._factor())
        return _product(factors)

    def _repeated(self, head: str) -> Expression:
        limits: dict[str, list[str]] = {}
        while self._next() in ("^", "_"):
            script = self._take()
            limits[script] = self._raw_argument(whole=True)
        index, *low = split_at(limits.get("_", []), frozenset("="))
        if len(low) != 1 or "^" not in limits or len(index) != 1 or not index[0][-1].isalpha():
            raise Unreadable(f"a {head} that does not go from one limit to another")
        name = index[0].removeprefix("\\")
        outer, self._bound = self._bound, self._bound | {name}
        body = self._term()
        self._bound = outer
        return Application(head, (Variable(name), self._inner(low[0]), self._inner(limits["^"]), body))

    def _named(self, name: str, *, is_operator: bool = False) -> Expression:
        """Read what may follow a name: a subscript, primes, a superscript that is not a power, arguments."""
        base = name
        while (token := self._next()) in ("_", "'", "^"):
            if token == "^" and self._peek(1) not in _MARKS:
                break
            self._take()
            name += token if token == "'" else f"{token}{_name_of(self._raw_argument(whole=True))}"
        if self._next() == "(":
            end = matching(self._tokens, self._at)
            parts = split_at(self._tokens[self._at + 1 : end], frozenset([",", ";"]))
            is_numeral = len(parts) == 1 and len(parts[0]) == 1 and parts[0][0][0].isdigit()
            if is_operator or base in _FUNCTION_LETTERS or len(parts) > 1 or is_numeral:
                self._at = end + 1
                return _applied(name, tuple(self._inner(part) for part in parts))
            if name not in self._bound and (base[:1].isupper() or len(parts[0]) == 1):
                return Application(MAYBE_APPLIED, (_CONSTANTS.get(name, Variable(name)),))
        if is_operator:
            raise Unreadable(f"{name} is applied to nothing in brackets")
        return Variable(name) if name in self._bound else _CONSTANTS.get(name, Variable(name))

    def _arguments(self) -> tuple[Expression, ...]:
        if self._take() not in ("(", "\\{", "["):
            raise Unreadable("arguments are not in brackets")
        return tuple(self._inner(part) for part in split_at(self._inside(), frozenset([","])))

    def _argument(self, *, whole: bool = False) -> Expression:
        return self._inner(self._raw_argument(whole=whole))

    def _raw_argument(self, *, whole: bool = False) -> list[str]:
        """Take a command's argument: a group or one character; with `whole`, also a numeral without braces."""
        token = self._take()
        if token == "{":
            return self._inside()
        if token == "" or token in CLOSED_BY or token in _ENDS - {"-"}:
            raise Unreadable("an argument is missing")
        if token == "-":
            return [token, *self._raw_argument(whole=whole)] if self._next()[:1].isdigit() else [token]
        if token.isdigit() and len(token) > 1 and not whole:
            self._at -= 1
            self._tokens[self._at] = token[1:]
            return [token[0]]
        return [token]

    def _inner(self, tokens: Sequence[str]) -> Expression:
        return _Reader(tokens, depth=self._depth, bound=self._bound).whole()

    def _inside(self) -> list[str]:
        end = matching(self._tokens, self._at - 1)
        inside = self._tokens[self._at : end]
        self._at = end + 1
        return inside

    def _next(self) -> str:
        return self._peek(0)

    def _peek(self, ahead: int) -> str:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self._at += 1
        return token


def _is_differential(tokens: Sequence[str]) -> bool:
    shown = [token for token in tokens if token not in ("{", "}", "\\mathrm")]
    return shown[:1] == ["d"] and (len(shown) == 1 or shown[1] == "^" or shown[1].lstrip("\\")[:1].isalpha())


def _product(factors: Sequence[Expression]) -> Expression:
    return factors[0] if len(factors) == 1 else Application("multiply", tuple(factors))


def _applied(name: str, args: tuple[Expression, ...]) -> Expression:
    return (
        Application(name.lower(), args)
        if name in ("Gamma", "zeta") and len(args) == 1
        else Application(f"of {name}", args)
    )


def _name_of(tokens: Sequence[str]) -> str:
    return "".join(token.removeprefix("\\") for token in tokens if token not in "{}")
