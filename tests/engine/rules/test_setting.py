"""What rules read off a run's constants."""

from fractions import Fraction
from typing import Any

import pytest

from mage_es.engine.bench.crafter.benchmark import Crafter
from mage_es.engine.bench.stbench.benchmark import EXTENDED, MERGED, STBENCH
from mage_es.engine.benchmarks.numbers import INSTRUCTION
from mage_es.engine.config import Config
from mage_es.engine.players.worlds.wordmath.benchmark import WordMath
from mage_es.engine.rules.gold import are_copied, are_labels, are_short, copied_from, may_be_results
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import ContextRole, Question, Traits, traits_of
from tests.engine.rules.states import setting_of


def test_lambda_is_an_exact_fraction() -> None:
    assert setting_of(recency_weight="3/10").recency_weight == Fraction(3, 10)


@pytest.mark.parametrize(("keys", "arms", "warmup"), [(1, 6, 20), (16, 6, 10), (16, 7, 8), (100, 6, 2), (0, 6, 20)])
def test_the_automatic_warmup_is_a_quarter_of_a_keys_share_of_all_questions_over_the_arms_it_has_now(
    keys: int, arms: int, warmup: int
) -> None:
    assert setting_of(iterations=20, pool=200).warmup(keys=keys, arms=arms) == warmup


def test_a_configured_warmup_stands() -> None:
    assert setting_of(warmup=20).warmup(keys=100, arms=6) == 20


def test_a_memory_of_the_question_itself_is_left_out_unless_the_paper_is_followed() -> None:
    assert setting_of().terms.exclude_self
    assert not setting_of(revisit_self="include").terms.exclude_self


@pytest.mark.parametrize(("role", "length"), [("material", 7), ("question", 3), ("instruction", 0)])
def test_the_length_of_the_context_depends_on_what_the_benchmark_says_its_context_is(
    role: ContextRole, length: int
) -> None:
    question = Question(id="q", benchmark="b", split="test", task_type="t", question="???", context="7 chars", gold="x")
    assert setting_of()._replace(traits=Traits(context_role=role)).context_length(question) == length


def test_the_benchmarks_that_differ_from_the_usual_say_so_themselves() -> None:
    for definition in (STBENCH, MERGED, EXTENDED):
        assert definition.context_role == "question"
    assert traits_of(WordMath(1)) == Traits(instruction=INSTRUCTION)
    assert (Crafter.context_role, Crafter.is_open_ended) == ("instruction", True)


@pytest.mark.parametrize(
    ("golds", "labels"),
    [
        ([], False),
        (["billing", "delivery"] * 5, True),
        ([f"{material}-{product}" for material in range(6) for product in "abcdefghij"] * 2, True),
        (["billing", "delivery", "billing"], False),
        (["1", "2"] * 5, True),
        (["1", "2"] * 4, False),
        ([f"{price / 4:.2f}" for price in range(20)] * 5, True),
        ([str(number) for number in range(20)], False),
        ([str(number % 700) for number in range(7000)], False),
    ],
    ids=[
        "none",
        "two groups",
        "two of each code",
        "too few to tell",
        "grades",
        "few grades",
        "prices",
        "own",
        "results",
    ],
)
def test_right_answers_are_labels_where_many_questions_share_a_few(golds: list[str], *, labels: bool) -> None:
    assert are_labels(golds) is labels


@pytest.mark.parametrize(
    ("golds", "short", "calculated"),
    [
        ([], False, False),
        (["KX-17/B", "LM-3/C", "12"], True, False),
        (["12", "7.50", "-3", "KX-17/B"], True, True),
        (["4410", "6120", "5003"], True, False),
        (["44", "61", "50"], True, True),
        (["1", "2", "10"] * 5, True, False),
        ([f'{{"item": "KX-{n}", "pieces": {n}, "depot": "north"}}' for n in range(90, 99)], True, False),
        (["12.03.2024", "28.11.2025", "01.02.2023"], True, False),
        (["+49.15.850.929", "+31.71.935.890"], True, False),
        (["1,250.75", "7 1/2", "12 %"], True, True),
        (["KX-17/B", "It depends on what was ordered, and on when it was."], False, False),
    ],
    ids=[
        "none",
        "codes",
        "numbers",
        "accounts",
        "two digits",
        "grades",
        "a JSON",
        "dates",
        "telephones",
        "quantities",
        "a sentence",
    ],
)
def test_answers_are_short_where_each_is_a_few_words_and_may_be_calculated_where_most_are_numbers(
    golds: list[str], *, short: bool, calculated: bool
) -> None:
    assert (are_short(golds), may_be_results(golds)) == (short, calculated)


def plain(*, is_labelled: bool = False, is_served: bool = False, **changes: Any) -> Setting:
    config = Config(benchmark="wordmath", **changes)
    return Setting(config, (), (), (), ("t",), "", is_labelled=is_labelled, is_served=is_served)


@pytest.mark.parametrize("trait", ["is_short", "is_labelled"])
def test_short_answers_and_labels_are_asked_for_directly_unless_they_may_be_calculated(trait: str) -> None:
    short = plain()._replace(**{trait: True})
    assert (short.route, short._replace(is_calculated=True).route) == ("direct", "cot")


def test_labels_are_asked_for_directly_and_everything_else_is_reasoned_about_unless_the_route_is_set() -> None:
    assert (plain(is_labelled=True).route, plain().route) == ("direct", "cot")
    assert (plain(is_labelled=True, route="cot").route, plain(route="direct").route) == ("cot", "direct")


@pytest.mark.parametrize(
    ("question", "answer", "copied"),
    [
        ("Crate {n} of the zenith yard", "{n}/Z", True),
        ("Crate {n} of the zenith yard", "00{n}.Z", True),
        ("Crate {n} of the zenith yard", "zone {n}Q", True),
        ("Crate {n} of the zenith yard", "{other}.{other}.{n}", False),
        ("Crate of the zenith yard", "{n}", False),
        ("", "", False),
    ],
    ids=["a mark", "leading zeros", "what all say", "a code", "a number", "nothing"],
)
def test_answers_are_copied_where_their_questions_have_most_of_their_letters_and_digits(
    question: str, answer: str, *, copied: bool
) -> None:
    assert are_copied([(question.format(n=n), answer.format(n=n, other=7 * n)) for n in range(1001, 1040)]) is copied


@pytest.mark.parametrize(
    ("question", "answer", "places"),
    [
        ("Net 12.50, with tax 14.90, thanks", "14.90", {"tax _", "_ thanks"}),
        ("Sent 14.01.2025, due 15.09.2025", "14.01.2025", {"sent _", "_ due"}),
        ("Consignment 378, crate 23 of the zenith yard", "378/23", {"consignment _", "_ crate", "crate _", "_ of"}),
        ("Box 7 5 8", "5", {"0 _", "_ 0"}),
        ("Where is it?", "14.90", set()),
    ],
    ids=["an amount", "a date of the same year", "two places", "beside numbers", "not copied"],
)
def test_an_answer_is_copied_from_between_the_words_around_it(question: str, answer: str, places: set[str]) -> None:
    assert copied_from(question, answer) == places
