"""Whether two short answers are the same: as a person who marks them would say, and by no sign that is dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.benchmarks.tasks.sameness import holds, is_same, share

SAME = """
75 | $75
75 | 75 kg
75kg | 75 kg
75 kg | 75 kgs
33.0 | $33
90.0 | #### 90
1,234 | 1234
1,234.50 | 1234.5
-5 °C | -5°C
−5 | -5
12.5% | 12.5 %
12.5 | 12.5%
\\boxed{18} | 18
"75" | 75.
3/4 | 3/4
10:30 | 10:30.
v1.2 | V1.2
C++ | c++.
C# | `C#`
A- | **A-**
<5 | < 5
The Beatles | beatles
A plan | plan
Plan A | plan a
e-mail | email
Smith's | smith’s
co-op | coop
U.S. | US
late_delivery | late delivery
late-delivery | Late Delivery
(north) | north
Paris, France | paris france
"billing" | billing
*billing* | billing
- billing | billing
naïve | naïve
0010.PX | 0010.px
A-1 | a-1
007 | 007
2024-05-01 | 2024-05-01
退款 | 退款
👍 | 👍
+ | +
yes! | yes
$75 | 75 dollars
12.5% | 12.5 percent
-5 | minus 5
75 | ７５
AT&T | AT & T
3/4 | 3 / 4
x=5 | x = 5
≥5 | >= 5
10:30 am | 10:30AM
B12 | B 12
Paris,France | Paris, France
1881-1945 | 1881 - 1945
75 kilograms | 75 kg
10 kilometres | 10 km
3 hours | 3 h
5 KW | 5 kW
1.234,56 € | 1234.56 EUR
1e-05 | 0.00001
2.5e3 | 2,500
# Paris | Paris
"""
DIFFERENT = """
75 | -$7.5
75 | 7.5
-5 °C | 5 °C
75 kg | 75 g
75 kg | $75
$75 | €75
12.5% | 125%
12.5% | 0.125
3/4 | 34
10:30 | 1030
v1.2 | v12
<5 | >5
192.168.1.1 | 19216811
C | C#
C | C++
C# | C++
A | A-
A+ | A-
0010.PX | 001.0PX
0010.PX | 10.PX
A-1 | A1
007 | 7
3D | 3
2.5 million | 2.5
1 2 | 12
2024-05-01 | 20240501
5-6 | 56
+ | -
Plan A | Plan B
Plan A | Plan
Vitamin A | Vitamin
billing | billing team
yes | no
1e5 | 15
x^2 | x2
a=b | ab
退款 | 退货
👍 | 👎
A | the
=5 | 5 or 6
5 | 5 or more
5 | 5 dozen
5 km | 5 km/h
7 Wonders | 7
1,2,3 | 123
A-B | AB
A* | A
A B | B
A 5 | 5
5'10" | 510
5 mW | 5 MW
3 hours | 3 minutes
1.234 | 1234
192.168.100,1 | 1921681001
"""


def pairs(table: str) -> list[tuple[str, str]]:
    rows = [row.partition(" | ") for row in table.strip("\n").split("\n")]
    return [(one.strip(), other.strip()) for one, _, other in rows]


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_the_same_answer_written_in_another_way_is_the_same(one: str, other: str) -> None:
    assert is_same(one, other) and is_same(other, one)
    assert holds(one, other) and share(one, other) == 1


@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_a_sign_a_unit_or_a_point_makes_another_answer(one: str, other: str) -> None:
    assert not is_same(one, other) and not is_same(other, one)
    assert share(one, other) < 1


@given(st.text(max_size=40))
def test_an_answer_is_the_same_as_itself(text: str) -> None:
    assert is_same(text, text) == bool(text.strip())


@pytest.mark.parametrize(
    ("answer", "right", "is_held"),
    [
        ("It is 5.", "5", True),
        ("It is 15.", "5", False),
        ("It is 1.5.", "5", False),
        ("It is -5", "5", False),
        ("about 75 kg in all", "75 kg", True),
        ("about 75 g in all", "75 kg", False),
        ("We use C++ here", "C", False),
        ("We use C++ here", "C++", True),
        ("a non-smoker", "smoker", False),
        ("the North depot, as always", "north depot", True),
        ("", "north", False),
    ],
)
def test_an_answer_holds_the_right_one_word_for_word(answer: str, right: str, is_held: bool) -> None:
    assert holds(answer, right) == is_held


def test_nothing_is_the_same_as_nothing() -> None:
    assert not any(is_same(one, other) for one, other in (("north", ""), ("", "north"), ("", ""), (" ", "")))


def test_words_in_common_count_by_their_share_and_another_amount_or_a_no_counts_nothing() -> None:
    assert share("the north depot", "north gate") == 0.5
    assert share("7", "8") == share("no way", "no") == share("yes", "no") == 0
