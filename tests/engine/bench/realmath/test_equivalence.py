"""When two answers are the same, when they differ, and when only a judge can tell."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.realmath.equivalence import Equivalence, decide, readings
from mage_es.engine.bench.realmath.machine import MachineAnswer
from mage_es.engine.bench.realmath.values import MOST_WORK
from tests.counting import calls_of

_DOUBLE = "\\sum_{i=1}^{99}\\sum_{j=1}^{99} \\frac{1}{i+j}"


@pytest.mark.paper("section 4, RealMath, the metric")
@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("$n+2$", "$n+2$"),
        ("$n+2$", "2+n"),
        ("$$rn+m-1$$", "m + nr - 1"),
        ("$s+s^2$", "s(s+1)"),
        ("\\(\\frac{1}{2}\\binom{2j}{j}\\cdot(1+u)\\)", "\\frac{(1+u)(2j)!}{2 (j!)^2}"),
        ("$$\\frac{m(m-1)}{2}$$", "\\binom{m}{2}"),
        ("$\\tan x$", "\\frac{\\sin x}{\\cos x}"),
        ("$\\sum_{i=1}^{n} i$", "\\frac{n(n+1)}{2}"),
        ("$\\sum_{i=0}^{n} \\binom{n}{i}$", "2^n"),
        ("$2^{\\lfloor n/2 \\rfloor}$", "2^{\\left\\lfloor \\frac{n}{2}\\right\\rfloor}"),
        ("$k_c = 3r + 1$", "$1+3r$"),
        ("$$b(S) = \\binom{r}{2}$$", "$S = \\frac{r^2-r}{2}$"),
        ("\\(\\operatorname{rank} E = km + d\\)", "d+mk"),
        ("$|\\mathcal{H}| = n$", "n"),
        ("$$(t_2, t_3) = (4, 6)$$", "(4, 6)"),
        ("$$(t_2, t_3) = (4, 6)$$", "4, 6"),
        ("$x=3$, $m=2$", "$m=2$ and $x=3$"),
        ("$\\{1, 2\\}$", "\\{2, 1\\}"),
        ("$\\alpha = \\pm i$", "\\{-i, i\\}"),
        ("$(\\pm 3, 5)$", "$(3,5)$ and $(-3,5)$"),
        ("$R < 1$", "$1 > R$"),
        ("$0 \\le x < 2/4$", "1/2 > x \\ge 0"),
        ("The limit is given by $$\\frac{1}{n}.$$", "The limit is $n^{-1}$"),
        ("$1$", "The final answer is $\\boxed{1}$."),
        ("$16$", "16.0"),
        ("$12345$", "12{,}345"),
        ("$\\begin{cases} 1, & n = 2 \\end{cases}$", "\\begin{cases} 1, & n=2 \\end{cases}"),
        ("The natural map is the zero map.", "the natural map is the zero map".capitalize()),
        ("$F_{n+1}$", "F_{n+1}"),
        ("$f(0) e_1$", "e_1 f(0)"),
        ("$\\sqrt{8}$", "2\\sqrt{2}"),
        ("$10^{20}+1$", "100000000000000000001"),
        ("$\\sqrt{2}+\\sqrt{3}$", "\\sqrt{5+2\\sqrt{6}}"),
        ("$\\sin^2 x + \\cos^2 x$", "1"),
        ("$501! \\cdot 502$", "502!"),
        ("$f(n) + 1$", "1 + f(n)"),
        ("$N(N+1)$", "N^2 + N"),
        ("$1, 2$", "\\{2, 1\\}"),
    ],
)
def test_answers_are_the_same(gold: str, answer: str) -> None:
    assert decide(gold, answer).equivalence is Equivalence.SAME


@pytest.mark.paper("section 4, RealMath, the metric")
@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("$n+2$", "n+1"),
        ("$n+2$", ""),
        ("$2^n$", "n^2"),
        ("$1$", "2"),
        ("$10^{20}+1$", "10^{20}"),
        ("$(4, 6)$", "(6, 4)"),
        ("$(4, 6)$", "(4, 7)"),
        ("$\\{1\\}$", "(1, 2)"),
        ("$\\{1, 2\\}$", "\\{1, 3\\}"),
        ("$\\{1, 2\\}$", "\\{1, 2, 3\\}"),
        ("$\\pi$", "3.14159"),
        ("$\\sqrt{n^2+1}$", "n+1"),
        ("$\\sum_{i=1}^{n} i$", "n^2"),
        ("$x=3$, $m=2$", "$x=2$ and $m=3$"),
        ("$e^{30}$", "e^{30}+1000"),
        ("$e^{100}$", "e^{100}+1"),
        ("$501!$", "501!+1"),
        ("$\\pi$", "\\frac{103993}{33102}"),
        ("$10^{50}\\pi$", "10^{50}\\pi+1"),
        ("$1$", "1+e^{-100}"),
        ("$((1, 2), 3)$", "((2, 1), 3)"),
        ("$(1, 2)$", "\\{1, 3\\}"),
    ],
)
def test_answers_differ(gold: str, answer: str) -> None:
    assert decide(gold, answer).equivalence is Equivalence.DIFFERENT


@pytest.mark.paper("section 4, RealMath, the metric")
@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("$n+2$", "m+2"),
        ("$n+2$", "the answer is not $n+2$"),
        ("$n+2$", "It is $n+2$ unless $n = 1$"),
        ("$n+2$", "about n"),
        ("$n+2$", "n+2, n+3"),
        ("$(-1)^n$", "\\cos(\\pi n)"),
        ("$0$", "\\sin(\\pi n)"),
        ("$\\lfloor n \\rfloor$", "n"),
        ("$R < 1$", "R < 2"),
        ("$R < 1$", "1"),
        ("$n = \\begin{cases} 3 \\\\ 4 \\end{cases}$", "3"),
        ("There are no solutions.", "0"),
        ("$1$", "\\frac{1}{0}"),
        ("$1$", "9^{9^{9^9}}"),
        ("$x^2 = 5$", "5"),
        ("$1$", "1" + " \\pm 1" * 5),
        ("$\\binom{n}{k}$", "C(n, k)"),
        ("$\\log(x+\\sqrt{x^2+1})$", "\\operatorname{arcsinh}(x)"),
        ("$\\operatorname{lcm}(a, b)$", "\\operatorname{lcm}(2a, b)"),
        ("$\\operatorname{Li}_2(x)$", "Li_2(x)"),
        ("$\\Theta(n^2)$", "\\Theta(2n^2)"),
        ("$O(n)$", "O(n+1)"),
        ("$x(t)$", "x(s)"),
        ("$\\frac{y}{x}$", "\\frac{dy}{dx}"),
        ("$\\frac{\\mathrm{d}^2 y}{\\mathrm{d}x^2}$", "\\frac{d y}{x^2}"),
        ("$(4, 6)$", "\\{6, 4\\}"),
        ("$(1, 1, 2)$", "\\{1, 2\\}"),
        ("$1, 1, 2$", "\\{1, 2\\}"),
        ("$((1, 2), 3)$", "(\\{2, 1\\}, 3)"),
        ("$1$", "\\zeta(\\frac12+100000 i)"),
        ("$1000!$", "1000! + 1"),
        ("$3$", "\\lfloor \\log_2 8 \\rfloor"),
    ],
)
def test_what_only_a_judge_can_tell_is_undecided(gold: str, answer: str) -> None:
    assert decide(gold, answer).equivalence is Equivalence.UNDECIDED


def machine(*texts: str) -> MachineAnswer:
    return MachineAnswer("multi", list(texts)) if len(texts) > 1 else MachineAnswer("single", texts[0])


@pytest.mark.parametrize(
    ("text", "answer", "decision"),
    [
        (["1"], "1", Equivalence.SAME),
        (["1"], "There is exactly $1$ solution", Equivalence.SAME),
        (["1"], "2", Equivalence.DIFFERENT),
        (["n + 1"], "1+n", Equivalence.SAME),
        (["n + 1"], "k", Equivalence.UNDECIDED),
        (["pi * (beta_symbol - alpha_symbol)**2"], "\\pi(\\beta-\\alpha)^2", Equivalence.SAME),
        (["M_n_plus_1 - p_prime"], "M_{n+1} - p'", Equivalence.SAME),
        (["Rational(1, 2) * binomial(2*j, j)"], "\\frac12\\binom{2j}{j}", Equivalence.SAME),
        (["Sum(a**i, (i, 0, 3))"], "1+a+a^2+a^3", Equivalence.SAME),
        (["1/(2*LambertW(exp(-1)))"], "1.795560726", Equivalence.DIFFERENT),
        (["FiniteSet(I, -I)"], "\\pm i", Equivalence.SAME),
        (["Tuple(3, 2)"], "(3, 2)", Equivalence.SAME),
        (["Ge(x, 2)"], "x \\ge 2", Equivalence.SAME),
        (["1 <= x < 2"], "2 > x \\ge 1", Equivalence.SAME),
        (["Eq(v_k, 0)"], "v_k = 0", Equivalence.SAME),
        (["1", "2"], "1, 2", Equivalence.SAME),
        (["1", "2"], "2, 1", Equivalence.DIFFERENT),
        (["Tuple(1, 1)", "Tuple(1, -1)"], "(1, \\pm 1)", Equivalence.SAME),
        (["Piecewise((2, d > 3), (1, True))"], "2", Equivalence.UNDECIDED),
        (["__import__('os').system('true')"], "0", Equivalence.UNDECIDED),
        (["(lambda: 0)()"], "0", Equivalence.UNDECIDED),
        (["1 ++"], "1", Equivalence.UNDECIDED),
        (["(" * 500 + "1" + ")" * 500], "1", Equivalence.UNDECIDED),
        (["1" + "+1" * 2000], "1", Equivalence.UNDECIDED),
        (["sqrt(x=1)"], "1", Equivalence.UNDECIDED),
        (["'1'"], "1", Equivalence.UNDECIDED),
    ],
)
def test_a_machine_readable_gold_decides_where_a_sentence_cannot(
    text: list[str], answer: str, decision: Equivalence
) -> None:
    assert decide("It has exactly one, as was shown.", answer, machine(*text)).equivalence is decision


def test_either_form_of_the_gold_makes_an_answer_right_and_both_are_needed_to_make_it_wrong() -> None:
    assert decide("$M_{n-1}$", "M_{n-1}", machine("M_n_minus_2")).equivalence is Equivalence.SAME
    assert decide("$n$", "2n", machine("2*n")).equivalence is Equivalence.SAME
    assert decide("$n$", "3n", machine("2*n")).equivalence is Equivalence.DIFFERENT
    assert len(readings("$n$", machine("2*n"))) == 2


def test_the_decision_depends_on_the_texts_alone() -> None:
    pairs = [("$\\sin x$", "\\cos x"), ("$\\binom{n}{k}$", "\\binom{n}{n-k}"), ("$n$", "m")]
    assert [decide(*pair) for pair in pairs] == [decide(*pair) for pair in pairs]
    assert decide(*pairs[1]).equivalence is Equivalence.SAME


@pytest.mark.slow
@pytest.mark.paper("section 4, RealMath, the metric")
@pytest.mark.parametrize(
    "answer",
    ["9^{9^{9^{9^{9}}}}", "(10^{999})!", "\\sum_{a=1}^{499}\\sum_{b=1}^{499}\\sum_{c=1}^{499} abc",
     "\\prod_{i=1}^{499} i^{i^{i}}", "((((n!)!)!)!)!", "\\zeta(\\zeta(\\zeta(1.0001)))", "\\binom{10^{50}}{10^{25}}",
     "2^{2^{2^{n}}}", "\\pm\\pm\\pm\\pm\\pm\\pm 1", ",".join("1" * 300), "\\sum_{n=1}^{499}\\zeta(2+n/7)",
     "\\sum_{n=1}^{499}\\sin(n)^{n}", "\\{" + ",".join([_DOUBLE] * 16) + "\\}"],
)  # fmt: skip
def test_an_answer_made_to_cost_much_costs_few_calls(answer: str) -> None:
    for gold in ("$n^{n} + \\sum_{i=1}^{n} i!$", "$\\{" + ",".join([_DOUBLE + "+ 1"] * 16) + "\\}$"):
        assert calls_of(lambda gold=gold: decide(gold, answer)) < 30 * MOST_WORK


@pytest.mark.parametrize(
    ("gold", "answer", "why"),
    [
        ("$n$", "about n", "unreadable answer: there are words in it"),
        ("It exists.", "$n$", "unreadable gold"),
        ("$n$", "f(n)", "not told by values"),
    ],
)
def test_what_is_undecided_has_a_reason(gold: str, answer: str, why: str) -> None:
    assert decide(gold, answer).why == why


@given(st.text(), st.text())
@settings(max_examples=150, deadline=None)
def test_no_pair_of_texts_makes_it_raise(gold: str, answer: str) -> None:
    assert decide(gold, answer).equivalence in Equivalence
    assert decide(gold, gold).equivalence in (Equivalence.SAME, Equivalence.DIFFERENT)


@given(st.text())
@settings(max_examples=150, deadline=None)
def test_no_machine_readable_text_makes_it_raise(text: str) -> None:
    readings("$1$", MachineAnswer("single", text))


def test_a_machine_readable_gold_survives_its_json() -> None:
    import msgspec

    answer = msgspec.json.decode(json.dumps({"answer_kind": "multi", "sympy_answer": ["1", "2"]}), type=MachineAnswer)
    assert answer == machine("1", "2")
