"""The word lists are free of slips that would break grammar or variation."""

from mage_es.engine.players.worlds.wordmath.words import DISTRACTORS, MEN, NOUNS, TOWNS, WOMEN


def test_names_and_towns_are_unique_and_in_one_list_only() -> None:
    everyone = [*WOMEN, *MEN, *TOWNS]
    assert len(everyone) == len(set(everyone))
    assert min(len(WOMEN), len(MEN)) >= 40


def test_every_noun_class_offers_choice_without_repeats() -> None:
    for nouns in NOUNS.values():
        assert len({singular for singular, _ in nouns}) == len({plural for _, plural in nouns}) == len(nouns) >= 8


def test_every_distractor_has_exactly_one_number() -> None:
    assert all(line.count("{d}") == 1 for lines in DISTRACTORS.values() for line in lines)
