"""Scoring replies that end with a number: the official rule to the letter, and the numeric one beside it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.benchmarks.numbers import INVALID, official_answer, read_number, score_number


@pytest.mark.parametrize(
    ("reply", "extracted"),
    [
        ("#### 18", "18"),
        ("Therefore:\n#### 18\n", "18"),
        ("#### 18.0", "18.0"),
        ("#### 18.", "18."),
        ("#### 018", "018"),
        ("#### 70,000", "70000"),
        ("#### -5", "-5"),
        ("#### $18", INVALID),
        ("####18", INVALID),
        ("####  18", INVALID),
        ("#### - 5", INVALID),
        ("#### +5", INVALID),
        ("#### .", "."),
        ("#### 18 dollars", "18"),
        ("#### 18%", "18"),
        ("##### 18", "18"),
        ("#### 18\n#### 20", "18"),
        ("#### \u22125", INVALID),
        ("####\u00a018", INVALID),
        ("#### \uff11\uff18", INVALID),
        ("#### ,", ""),
        ("", INVALID),
        ("18", INVALID),
    ],
)
def test_the_official_extraction_is_reproduced(reply: str, extracted: str) -> None:
    assert official_answer(reply) == extracted


@pytest.mark.parametrize(
    ("reply", "gold", "strict", "correct"),
    [
        ("#### 18", "18", True, True),
        ("#### 18.0", "18", False, True),
        ("#### 18.", "18", False, True),
        ("#### 018", "18", False, True),
        ("#### 70,000", "70000", True, True),
        ("#### $18", "18", False, True),
        ("####18", "18", False, True),
        ("####  18", "18", False, True),
        ("#### - 5", "-5", False, True),
        ("#### +5", "5", False, True),
        ("#### \u22125", "-5", False, True),
        ("#### .", "5", False, False),
        ("#### ,", "5", False, False),
        ("#### 18 dollars", "18", True, True),
        ("#### 18%", "18", True, True),
        ("##### 18", "18", True, True),
        ("#### 18\n#### 20", "20", False, True),
        ("#### 18\n#### 20", "18", True, True),
        ("Answer: 18 apples.", "18", False, True),
        ("**Final answer:** $1,200.00", "1200", False, True),
        (r"so it is \boxed{42}", "42", False, True),
        (r"thus \boxed{$42$}", "42", False, True),
        ("4 * 6 = 24\n24", "24", False, True),
        ("It is 24 because 4 * 6 = 24", "24", False, True),
        ("<think>#### 7</think>\n#### 8", "8", False, True),
        ("<think>it may be 18", "18", False, False),
        ("", "18", False, False),
        ("#### 18.0000001", "18", False, True),
        ("#### 18.0001", "18", False, False),
        ("#### 1000000.5", "1000000", False, True),
        ("#### 5-6", "5", True, True),
    ],
)
def test_a_reply_is_right_when_strictly_right_or_numerically_equal(
    reply: str, gold: str, strict: bool, correct: bool
) -> None:
    verdict = score_number(gold, reply)
    assert (verdict.strict, verdict.correct) == (strict, correct)


@pytest.mark.parametrize(
    "reply",
    ["The answer is 18.", "#### **18**", "Therefore, she makes $18", "#### 9*2 = 18", "####18", "#### $18",
     "#### 18 dollars",
     "#### 1. First\n16 - 7 = 9\n#### 2. Then\n9 * 2\n#### 18", "#### 1. First, the eggs\nShe makes $18 per day.",
     "#### Step 1: 9 eggs\nSo she makes 18 dollars.",
     "#### Cost of 3 eggs\nSo she makes 18 dollars.", "**Answer:** $18.00", "Answer: 18 dollars, since 9 * 2 is that",
     "Answer: She sells 16 - 7 = 9 eggs and makes 9 * 2 = $18 a day", "She makes **$18** for 9 eggs.", "A: 18",
     r"\boxed{18}", r"$\boxed{18\text{ dollars}}$", r"The answer is \(\boxed{18}\).", "\\[ 9 \\times 2 = 18 \\]",
     '{"reasoning": "9 * 2", "answer": "18"}', '{"answer": 18}', "<answer>18</answer>", "<answer>18", "18", "$18.",
     "She makes 9 * 2 = 18 dollars every day.", "So 18 dollars.", "Die Antwort ist 18.",
     "Antwort: 18,00 €", "答案是 18",
     "答案：18", "La réponse est 18.", "#### 18\n\nQuestion: And 7 eggs?\nAnswer: #### 14",
     "The answer is 18.</s></s>7",
     "<think>#### 20</think>#### 18", "#### 20\nNo: 9 * 2 is less.\n#### 18",
     "The answer is 20. Wait.\nThe answer is 18.",
     "x = 18", "approximately 18.0", "Finish[18]", "The final answer is: **18**", "36/2", r"Answer: $\frac{36}{2}$",
     "18 or 18.00", "It is 18, not 20.\nAnswer: 18", "She makes 18.\nThat is all.", "18 = 9 * 2", "9 * 2 is 18",
     "The answer is 20.\n#### Therefore 18"],
)  # fmt: skip
def test_eighteen_is_read_however_it_is_written(reply: str) -> None:
    assert score_number("18", reply).correct


@pytest.mark.parametrize(
    "reply",
    ["Answer: 18 or 20", "The answer is 16 or 18.", "#### 18 or 20", "It is either 18 or 20", "Answer: 18-20",
     "<answer>18, 20</answer>", r"\boxed{18} or \boxed{20}", "Answer: between 16 and 18", "#### 20\nShe has 18 eggs.",
     "The answer is 20, for 18 eggs.", "I cannot determine this from 18 eggs.", "Answer: unknown\n\n", "<think>18",
     "18 eggs were laid.\nAnswer: 20", "Answer: -18", "Answer: 1.8", "Answer: 18:30", "",
     "There is not enough information about the 18 eggs.", "The answer is 18.\nAnswer: unknown", "Answer: 18/0"],
)  # fmt: skip
def test_two_numbers_another_number_and_a_refusal_are_not_eighteen(reply: str) -> None:
    verdict = score_number("18", reply)
    assert verdict.strict or not verdict.correct


@pytest.mark.parametrize(
    "reply",
    ["13 #### <number>", "2 * 6 + 1 = 13\n\n#### <number>", "#### <number>\n13", "So 13.\n#### [your answer]",
     "#### {answer}\n\n13", "13 #### [answer]\n\nI hope this helps.", "13\n#### number", "13\n#### your answer here",
     "x = 13\n#### \\boxed{X}", "It is 13.\n\\boxed{x}", "The answer is 13.\n#### ...", "#### <13>", "#### [13]",
     "<number>13</number>", "Answer: 13 <number>", r"\boxed{15 + 45 - 47} = 13", r"\boxed{3x+2} = 13",
     r"\(\boxed{6 + 7} = 13\)", r"$\boxed{6+7}=13$ dollars.", r"\boxed{\frac{26}{2}} = 13", r"\boxed{x} = 13",
     r"\boxed{x = 13}", r"\boxed{\text{Total}} = \$13", r"\boxed{26 \div 2} \approx 13.0", r"\boxed{13} = 26 / 2",
     r"\boxed{13 \text{ apples}}", r"\boxed{13} dollars = 6 + 7", r"\boxed{20} is too much, \boxed{6 + 7} = 13"],
)  # fmt: skip
def test_thirteen_is_read_beside_a_placeholder_and_behind_what_a_box_equals(reply: str) -> None:
    assert score_number("13", reply).correct


@pytest.mark.parametrize(
    "reply", [r"\boxed{15 + 13}", "#### 26 * 13", r"Answer: $2 \times 13$", "The answer is 26 - 13."]
)
def test_what_is_still_to_be_reckoned_is_no_answer(reply: str) -> None:
    assert score_number("13", reply).answer == ""


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("Answer: twelve", "twelve"), ("5 and 7 make it.\nAnswer: twelve", "twelve"), ("Twelve.", "Twelve"),
     ("Answer:", ""),
     ("The answer is below.\n\n12 eggs", "12 eggs"), ("I cannot determine this.", ""), ("Answer: 12 or 13", "")],
)  # fmt: skip
def test_a_final_answer_without_a_number_is_kept_as_text(reply: str, answer: str) -> None:
    assert score_number("5", reply).answer == answer


@pytest.mark.parametrize(
    ("gold", "reply"),
    [("2500000", "Answer: $2.5 million"), ("2.5", "Answer: $2.5 million"), ("1234567", "Answer: 1\u202f234\u202f567"),
     ("18.5", "Antwort: 18,50 €"), ("0.75", "Answer: 3/4"), ("-5", "The temperature is -5 degrees."), ("3000",
     '"answer": "3,000"')],
)  # fmt: skip
def test_scales_fractions_and_separators_are_read(gold: str, reply: str) -> None:
    assert score_number(gold, reply).correct


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18", "18"), ("$18", "18"), ("-$18", "-18"), ("$-18", "-18"), ("18 €", "18"), ("18%", "18"),
        ("1,234,567.5 km", "1234567.5"), (".5", "0.5"), ("$12.50$", "12.50"), ("18 eggs per day", "18"),
        ("#### 18", "18"), ("\u22123", "-3"),
        (r"\$18", "18"), (r"18\%", "18"), (r"\boxed{18}", "18"), (r"$\boxed{18 \text{ dollars}}$", "18"),
        (r"18\ \mathrm{cm}", "18"), (r"1{,}000", "1000"), (r"\(18\)", "18"), (r"-\$18", "-18"),
    ],
)  # fmt: skip
def test_a_number_is_read_through_currency_commas_and_units(text: str, number: str) -> None:
    assert read_number(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    ["", "eighteen", "x = 18", "18 or 19", "3/4", "--5", "-$-5", "1e5", "18 = 18", ".", ",", "1.2.3", "9" * 100,
     "\uff11\uff18"],
)  # fmt: skip
def test_anything_but_one_number_is_no_number(text: str) -> None:
    assert read_number(text) is None


@given(st.text())
def test_scoring_never_raises(reply: str) -> None:
    assert score_number("18", reply).score in (0.0, 1.0)
    assert score_number("18", f"#### {reply}").score in (0.0, 1.0)


@given(st.integers(-(10**12), 10**12))
def test_a_number_written_with_commas_is_read_back(number: int) -> None:
    assert read_number(f"{number:,}") == number
    assert score_number(str(number), f"#### {number:,}").strict


@given(st.text(max_size=60), st.integers(0, 10**6))
def test_strict_is_upstreams_rule_whatever_is_read_leniently(text: str, number: int) -> None:
    for reply in (text, f"{text}#### {number}", f"#### {number}{text}", f"#### {number}\n#### 7\n{text}"):
        assert score_number(str(number), reply).strict == (official_answer(reply) == str(number))
