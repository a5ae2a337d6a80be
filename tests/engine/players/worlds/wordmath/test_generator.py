"""Generated questions: right, readable, reproducible, and in one split only."""

import re
from collections import Counter

import pytest

from mage_es.engine.players.worlds.generated import distinct
from mage_es.engine.players.worlds.wordmath.generator import generate, split_of
from mage_es.engine.players.worlds.wordmath.parts import TASK_TYPES
from mage_es.engine.rules.near_duplicates import normalise
from mage_es.engine.seams.benchmark import Question

EVOLUTION, TEST = distinct(generate, 42, "evolution", 6_000), distinct(generate, 42, "test", 1_000)
BOTH = (*EVOLUTION, *TEST)

WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
NATURAL = {"hours": 60, "metres": 100, "litres": 100, "kilograms": 1000, "weeks": 7, "dozen": 12}
SPOKEN = {
    "twice": 2,
    "half": 2,
    "third": 3,
    "quarter": 4,
    "fifth": 5,
    "fourth": 4,
    "quarters": 4,
    "thursday": 4,
    "july": 4,
}


def stated(text: str) -> set[int]:
    """The numbers that a reader finds in a question: digits, words, and what units and fractions stand for."""
    lowered = text.lower().replace(",", "")
    found = {int(digits) for digits in re.findall(r"\d+", lowered)}
    for word in re.findall(r"[a-z]+", lowered):
        if word in WORDS:
            found.add(WORDS.index(word))
        found |= {table[word] for table in (NATURAL, SPOKEN) if word in table}
    if "%" in text or "percent" in lowered:
        found.add(100)
    return found


def equations(question: Question) -> list[tuple[int, str, int, int]]:
    lines = question.solution.splitlines()[:-1]
    found = [re.fullmatch(r"[A-Z][\w ]+: (\d+) ([-+*/]) (\d+) = (\d+)", line) for line in lines]
    assert all(found), question.solution
    return [(int(m[1]), m[2], int(m[3]), int(m[4])) for m in found if m]


def test_every_equation_holds_and_the_last_result_is_the_gold_answer() -> None:
    compute = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    for question in BOTH:
        steps = equations(question)
        for left, operator, right, result in steps:
            if operator == "/":
                assert left == right * result, question.solution
            else:
                assert compute[operator](left, right) == result, question.solution
            assert result > 0
        assert question.solution.splitlines()[-1] == f"#### {question.gold}" == f"#### {steps[-1][3]}"


def test_a_chain_uses_only_numbers_of_the_question_earlier_results_and_units() -> None:
    for question in BOTH:
        known = stated(question.question)
        for left, _, right, result in equations(question):
            assert {left, right} <= known, (question.question, question.solution)
            known.add(result)


def test_every_result_but_the_last_is_used() -> None:
    for question in BOTH:
        steps = equations(question)
        for place, (_, _, _, result) in enumerate(steps[:-1]):
            assert any(result in (left, right) for left, _, right, _ in steps[place + 1 :]), question.solution


def test_the_same_arguments_give_the_same_question() -> None:
    assert generate(42, "test", 5) == generate(42, "test", 5)
    assert tuple(generate(42, "test", index) for index in range(50)) == TEST[:50]
    assert generate(43, "test", 5) != generate(42, "test", 5)


def test_a_question_is_pinned_for_this_version_of_the_generator() -> None:
    assert generate(42, "evolution", 0).question == (
        "At the meeting in Clearwater, 242 people voted, and nobody abstained. For every 3 votes against the plan "
        "there were 8 votes in favour. By how many votes did the plan win?"
    )


def test_no_text_stands_in_both_splits_of_any_two_seeds() -> None:
    other, held_out = distinct(generate, 7, "evolution", 6_000), distinct(generate, 7, "test", 1_000)
    evolution = {normalise(q.question) for q in (*EVOLUTION, *other)}
    test = {normalise(q.question) for q in (*TEST, *held_out)}
    assert not evolution & test


def test_no_text_occurs_twice_in_a_split() -> None:
    assert len({q.question for q in EVOLUTION}) == len({q.id for q in EVOLUTION}) == len(EVOLUTION) == 6000
    assert len({q.question for q in TEST}) == len({q.id for q in TEST}) == len(TEST) == 1000


def test_a_split_is_decided_by_the_text_whatever_its_case_and_spacing() -> None:
    assert all(split_of(q.question) == q.split == split_of(f"  {q.question.upper()}\n") for q in BOTH[::50])


def test_held_out_families_never_occur_in_evolution_and_make_a_quarter_of_the_test() -> None:
    held_out = {f"{t.name}/{family.name}" for t in TASK_TYPES for family in t.families if family.held_out}
    assert not held_out & {q.family for q in EVOLUTION}
    assert held_out <= {q.family for q in TEST}
    assert 0.2 < sum(q.family in held_out for q in TEST) / len(TEST) < 0.3


def test_every_type_variant_and_familiar_family_occurs_often_enough_to_learn_from() -> None:
    types = Counter(q.task_type for q in EVOLUTION)
    assert set(types) == {f"wordmath_{task_type.name}" for task_type in TASK_TYPES}
    assert min(types.values()) > 250
    assert min(Counter((q.family, q.meta["variant"]) for q in EVOLUTION).values()) >= 8


def test_about_a_third_of_the_questions_takes_two_steps() -> None:
    lengths = Counter(len(equations(q)) for q in BOTH)
    assert set(lengths) <= {2, 3, 4, 5}
    assert 0.28 < lengths[2] / len(BOTH) < 0.45


@pytest.mark.parametrize(
    "slip",
    [
        r"[{}\[\]|]",
        r"  ",
        r"\ba [aeiou](?!ne|ni|u)",
        r"\ban (?!hour)[^aeiou\W]",
        r"\b1 \w+s\b",
        r"\b(\w+) \1\b",
        r" [.,?]",
        r"[.?] [a-z]",
        r"^[a-z]",
        r"\bS?he's\b",
    ],
)
def test_no_question_has_a_slip_of_grammar(slip: str) -> None:
    found = [q.question for q in BOTH if re.search(slip, q.question)]
    assert not found, found[:3]


def test_every_question_asks_or_tells_what_to_find() -> None:
    asks = re.compile(r"\?|\b(Find|Work out|Calculate|Determine|Give)\b|; find ")
    assert all(asks.search(q.question) for q in BOTH)


def test_distractors_carry_numbers_that_no_chain_needs() -> None:
    lines = re.compile(r"(\d+|[a-z]+) (?:chairs in the room|degrees outside|people in \w+ play chess)")
    checked = 0
    for question in BOTH:
        for match in lines.finditer(question.question):
            number = int(match[1]) if match[1].isdigit() else WORDS.index(match[1].lower())
            rest = question.question.replace(match[0], "")
            checked += 1
            assert number not in stated(rest) or number in NATURAL.values(), question.question
    assert checked > 200
