"""LaTeX read as expressions: what is understood, what is refused, and that no text is ever run."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.realmath.answers import read_answer
from mage_es.engine.bench.realmath.expressions import Unreadable, symbols_of
from mage_es.engine.bench.realmath.reading import read_expression
from mage_es.engine.bench.realmath.tokens import plain, squeezed, tokens_of
from mage_es.engine.bench.realmath.values import Evaluation, NoValue

POINT = {"n": Fraction(5), "k": Fraction(2), "x": Fraction(1, 2), "m": Fraction(3), "alpha": Fraction(7)}


def value_of(text: str) -> object:
    return Evaluation(POINT).value(read_expression(tokens_of(plain(text))))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-3.5", "-7/2"),
        ("- -3", 3),
        ("2n+1", 11),
        ("2 n k", 20),
        ("n(k+1)", 15),
        ("(n-1)(n+1)", 24),
        ("n \\cdot k * 2 \\times 3", 60),
        ("n/2", "5/2"),
        ("nk/4", "5/2"),
        ("n/2 \\cdot k", 5),
        ("\\frac{n}{k}", "5/2"),
        ("\\dfrac n k", "5/2"),
        ("\\frac12", "1/2"),
        ("\\frac{1}{2}n", "5/2"),
        ("2^{n}", 32),
        ("2^n k", 64),
        ("2^10", 1024),
        ("2^{-1}", "1/2"),
        ("2^-1", "1/2"),
        ("-2^2", -4),
        ("(-1)^{n}", -1),
        ("n^{k^2}", 625),
        ("\\sqrt{49}", 7),
        ("\\sqrt[3]{27}", 3),
        ("\\sqrt k \\sqrt k", 2),
        ("n!", 120),
        ("(n-k)!", 6),
        ("2n!", 240),
        ("\\binom{n}{k}", 10),
        ("\\binom n k", 10),
        ("{n \\choose k}", 10),
        ("\\binom{-2}{3}", -4),
        ("\\binom{n}{-1}", 0),
        ("\\left\\lfloor \\frac{n}{2} \\right\\rfloor", 2),
        ("\\lceil n/2 \\rceil", 3),
        ("|k-n|", 3),
        ("2|k-n|k", 12),
        ("\\lvert -3 \\rvert", 3),
        ("\\sum_{i=1}^{n} i^2", 55),
        ("\\sum_{i=1}^n i + 1", 16),
        ("2\\sum_{j=0}^{k} \\binom{k}{j}", 8),
        ("\\prod_{e=1}^{3} e", 6),
        ("\\sum_{i=0}^{2}\\sum_{j=0}^{i} j", 4),
        ("\\sum_{i=3}^{1} i", 0),
        ("\\min(n, k)", 2),
        ("\\max\\{n, k\\}", 5),
        ("\\alpha + \\mathrm{k}", 9),
        ("\\text{ } 3 \\,", 3),
        ("12{,}345", 12345),
        ("12,345", 12345),
        ("0.5n", "5/2"),
        ("0^0", 1),
        ("\\displaystyle n\\quad", 5),
        ("\\boxed{n}", 5),
        ("n−k", 3),
    ],
)
def test_exact_expressions_have_exact_values(text: str, value: int | str) -> None:
    found = value_of(text)
    assert Evaluation(POINT).is_equal(found, Fraction(value)), found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\\pi", "3.14159265358979"),
        ("e", "2.71828182845905"),
        ("e^{x}", "1.64872127070013"),
        ("\\exp(x)", "1.64872127070013"),
        ("\\log n", "1.6094379124341"),
        ("\\ln(n)", "1.6094379124341"),
        ("\\log_2 n", "2.32192809488736"),
        ("\\log_{10}(n)", "0.698970004336019"),
        ("\\sin x", "0.479425538604203"),
        ("\\sin 2x", "0.841470984807897"),
        ("\\sin^2 x + \\cos^2 x", "1"),
        ("\\sin x \\cos x", "0.420735492403948"),
        ("\\arcsin x", "0.523598775598299"),
        ("\\tanh{x}", "0.46211715726001"),
        ("2^x", "1.4142135623731"),
        ("x!", "0.886226925452758"),
        ("\\Gamma(x)", "1.77245385090552"),
        ("\\zeta(2)", "1.64493406684823"),
        ("\\frac{4}{3\\pi}", "0.424413181578388"),
    ],
)
def test_other_expressions_have_values_to_nine_digits(text: str, value: str) -> None:
    found = value_of(text)
    assert abs(found - float(value)) < 1e-9  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a_1 + a_{1} b", {"a_1", "b"}),
        ("x' + x''", {"x'", "x''"}),
        ("q^* + q^{2}", {"q^*", "q"}),
        ("\\mathbb{R} + \\mathcal R", {"mathbb R", "mathcal R"}),
        ("\\overline{\\ell}", {"overline ell"}),
        ("M_{n+1}", {"M_n+1"}),
        ("\\sum_{i=0}^{n} a i", {"n", "a"}),
        ("f(x) + \\mu(a, b) + \\operatorname{rank}(c)", {"x", "a", "b", "c"}),
        ("g(2) h", {"h"}),
        ("n(m)", {"n", "m"}),
        ("k(2) h", {"h"}),
    ],
)
def test_names_carry_their_subscripts_and_functions_are_no_symbols(text: str, names: set[str]) -> None:
    assert symbols_of(read_expression(tokens_of(plain(text)))) == names


@pytest.mark.parametrize(
    "text",
    ["", "+", "n+", "1/2n", "a/b/c", "n!!", "2 3", "1, 2, \\ldots", "\\cdots", "x^a^b", "(n", "n)", "[0,1)", "{n",
     "\\lfloor n", "|n", "\\frac{1}", "\\binom{n}", "\\sum_{i} i", "\\sum_{i=0} i", "\\sum^{3} i", "\\sum_{i<3}^{3} i",
     "\\sum_{2=0}^{3} i", "\\begin{cases} 1 \\end{cases}", "x \\in \\mathbb{R}", "0 \\pmod{6}", "\\int x", "\\lim x",
     "\\foo", "\\input{secret}", "n \\equiv 1", "f(", "\\sin", "\\sin_2 x", "\\sin^{-1} x", "\\operatorname{rank} A",
     "n & m", "#", "__import__('os')", "\\sqrt", "a=b", "9" * 300, "x" * 700, "(" * 60 + "1" + ")" * 60,
     "\\sin" * 100 + "x", "|" * 50, "²", "{a \\choose b \\choose c}", "\\max n", "1..2"],
)  # fmt: skip
def test_what_is_unknown_or_could_mean_two_things_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_expression(tokens_of(plain(text)))


@pytest.mark.parametrize(
    "text",
    ["\\frac{1}{0}", "9^{9^{9^{9}}}", "(10^{9})!", "\\sum_{i=1}^{10^6} i", "0^{-1}", "\\log 0", "\\binom{10^8}{5^8}",
     "\\sum_{i=1}^{400}\\sum_{j=1}^{400} ij", "\\sum_{i=0}^{x} i", "\\lfloor \\sqrt{-2} \\rfloor", "\\zeta(1)",
     "e^{e^{e^{9}}}", "(-3)!", "\\tan(10^9)"],
)  # fmt: skip
def test_what_has_no_value_or_none_worth_the_work_says_so(text: str) -> None:
    with pytest.raises(NoValue):
        value_of(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$\\left( n \\right)$", "(n)"),
        ("\\(\\dfrac{1}{2}\\)", "\\frac{1}{2}"),
        ("\\[ n\\,+\\;1. \\]", "n+1"),
        ("\\boxed{n}", "n"),
        ("$\\displaystyle n$.", "$n$"),
        ("\\text{for } n", "for n"),
    ],
)
def test_layout_makes_no_difference_to_a_text(one: str, other: str) -> None:
    assert squeezed(one) == squeezed(other)


_PIECES = [
    "\\frac", "{", "}", "(", ")", "\\sum_", "^", "_", "|", "\\pm", "=", ",", "1", "n", "\\sqrt", "[", "]", "!", "/",
    "\\{", "\\}", "\\binom", "\\sin", "$", "\\lfloor", "\\rfloor", "'", "-", "\\choose", "i", "<", " ",
]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)))
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_reader_raise_anything_but_unreadable(text: str) -> None:
    for is_gold in (True, False):
        try:
            read_answer(text, is_gold=is_gold)
        except Unreadable:
            continue
