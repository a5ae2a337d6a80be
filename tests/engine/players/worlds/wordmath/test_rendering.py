"""Sentences are filled with correct English."""

import pytest

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.wordmath.parts import Family, family
from mage_es.engine.players.worlds.wordmath.rendering import Storyteller, has_person
from mage_es.engine.players.worlds.wordmath.words import MEN, NOUNS, TOWNS, WOMEN


def story(found: Family, label: str = "x", **values: int) -> Storyteller:
    return Storyteller(found, values, Dice(label))


def told(template: str, *, x: str = "", **values: int) -> set[str]:
    found = family("f", [template], x=x, plain="How many?")
    return {story(found, str(n), **values).tell(template) for n in range(300)}


def test_numbers_up_to_twenty_may_be_words_and_larger_ones_never_are() -> None:
    assert told("{n} eggs", n=12) == {"12 eggs", "Twelve eggs"}
    assert told("{n} eggs", n=21) == {"21 eggs"}


def test_money_is_written_in_one_currency() -> None:
    assert told("{n:money}", n=3) == {"$3", "3 dollars", "3 euros", "Three dollars", "Three euros"}
    found = family("f", ["{a:money} {b:money}"], plain="x")
    both = {story(found, str(n), a=30, b=40).tell("{a:money} {b:money}") for n in range(100)}
    assert both == {"$30 $40", "30 dollars 40 dollars", "30 euros 40 euros"}


def test_percentages_multiples_and_parts_have_their_words() -> None:
    assert told("{n:percent}", n=25) == {"25%", "25 percent"}
    assert told("{n:times} as many", n=2) == {"Twice as many", "2 times as many", "Two times as many"}
    assert told("{n:part} of it", n=3) == {"A third of it"}


def test_the_article_follows_the_sound_of_the_noun() -> None:
    sentences = told("{a x}", x="fruit")
    assert "An apple" in sentences
    assert "A pear" in sentences
    assert not any(text.startswith("A a") or text.startswith("A o") for text in sentences)


def test_no_noun_begins_with_a_letter_that_hides_its_sound() -> None:
    singulars = [singular for nouns in NOUNS.values() for singular, _ in nouns]
    assert not [noun for noun in singulars if noun.startswith(("uni", "eu", "hour", "hon"))]


def test_each_alternative_is_used() -> None:
    assert told("She [packs|fills] it") == {"She packs it", "She fills it"}


def test_a_person_is_named_before_any_pronoun_and_keeps_the_gender() -> None:
    found = family("f", ["{who} runs.", "{who} sees {whose} dog near {whom}."], plain="x")
    for n in range(200):
        teller = story(found, str(n))
        name = teller.tell("{who} runs.").removesuffix(" runs.")
        later = teller.tell("{who} sees {whose} dog near {whom}.")
        assert name in {*WOMEN, *MEN}
        wrong = {"He", "his", "him"} if name in WOMEN else {"She", "her"}
        assert not wrong & set(later.rstrip(".").split())


def test_two_people_differ_in_gender_and_three_have_no_pronouns() -> None:
    pair = family("f", ["{who} meets {other}."], plain="x")
    for n in range(100):
        first, _, second = story(pair, str(n)).tell("{who} meets {other}.").rstrip(".").partition(" meets ")
        assert (first in WOMEN) != (second in WOMEN)
    three = family("f", ["{who} meets {third}.", "{who} waves."], plain="x")
    for n in range(100):
        teller = story(three, str(n))
        name = teller.tell("{who} meets {third}.").split()[0]
        assert teller.tell("{who} waves.") == f"{name} waves."


def test_second_nouns_and_towns_are_filled() -> None:
    found = family("f", ["{xs} and {ys} in {town}"], x="fruit", y="fruit", plain="x")
    for n in range(100):
        text = story(found, str(n)).tell("{xs} and {ys} in {town}")
        first, _, rest = text.partition(" and ")
        second, _, town = rest.partition(" in ")
        assert first.lower() != second
        assert town in TOWNS


@pytest.mark.parametrize(("says", "expected"), [("{who} runs {n}", True), ("{whose} dog", True), ("{whole} km", False)])
def test_whether_a_family_tells_of_a_person(says: str, expected: bool) -> None:
    assert has_person(family("f", [says], plain="x")) is expected


def test_a_slot_that_nothing_fills_is_an_error() -> None:
    with pytest.raises(KeyError):
        story(family("f", ["{xs}"], plain="x")).tell("{xs}")
