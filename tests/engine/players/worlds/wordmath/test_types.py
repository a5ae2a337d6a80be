"""The tables: enough task types, enough families, and every family well formed."""

import re

from mage_es.engine.players.worlds.wordmath.parts import TASK_TYPES, Family
from mage_es.engine.players.worlds.wordmath.words import DISTRACTORS, NOUNS


def texts(family: Family, key: str) -> str:
    return " ".join((*family.says, *family.asks[key]))


def test_there_are_at_least_fourteen_types_with_names_of_their_own() -> None:
    assert len({task_type.name for task_type in TASK_TYPES}) == len(TASK_TYPES) >= 14


def test_no_two_variants_of_all_types_have_the_same_chain_but_the_price_and_the_way() -> None:
    chains: dict[tuple[str, ...], set[str]] = {}
    for task_type in TASK_TYPES:
        for variant in task_type.variants.values():
            place = {step.result: f"#{n}" for n, step in enumerate(variant.steps)}
            shape = tuple(f"{place.get(s.left, 'n')}{s.operator}{place.get(s.right, 'n')}" for s in variant.steps)
            chains.setdefault(shape, set()).add(task_type.name)
    shared = {names for names in map(frozenset, chains.values()) if len(names) > 1}
    assert all(len(names) <= 3 for names in shared)
    assert frozenset({"basket", "legs"}) in shared


def test_chains_have_two_to_five_steps_and_a_third_of_the_variants_two() -> None:
    lengths = [len(variant.steps) for task_type in TASK_TYPES for variant in task_type.variants.values()]
    assert set(lengths) <= {2, 3, 4, 5}
    assert 0.3 < lengths.count(2) / len(lengths) < 0.5


def test_a_type_has_eight_families_of_which_a_quarter_is_held_out() -> None:
    for task_type in TASK_TYPES:
        assert len({family.name for family in task_type.families}) == len(task_type.families) == 8, task_type.name
        assert sum(family.held_out for family in task_type.families) == 2, task_type.name


def test_families_ask_for_variants_that_exist_and_every_variant_is_asked_for() -> None:
    for task_type in TASK_TYPES:
        for family in task_type.families:
            assert set(family.asks) == set(task_type.variants), family.name


def test_a_text_holds_every_number_that_its_chain_needs_and_no_other_slot() -> None:
    for task_type in TASK_TYPES:
        fixed = {"who", "whose", "whom", "other", "third", "town", "x", "xs", "a x", "y", "ys", "a y"}
        for family in task_type.families:
            for key, variant in task_type.variants.items():
                rules = {**task_type.numbers, **variant.numbers, **family.numbers}
                text = texts(family, key)
                slots = {slot.partition(":")[0] for slot in re.findall(r"\{([^}]+)\}", text)}
                results = {step.result for step in variant.steps}
                needed = {name for step in variant.steps for name in (step.left, step.right)} - results
                constants = {name for name in needed if name.isdigit() or isinstance(rules.get(name), int)}
                assert needed - constants <= slots, (family.name, key)
                assert slots - fixed <= needed, (family.name, key)


def test_nouns_are_declared_where_they_are_used() -> None:
    for task_type in TASK_TYPES:
        for family in task_type.families:
            for key in family.asks:
                text = texts(family, key)
                assert not re.search(r"\{(a )?xs?\}", text) or family.x in NOUNS, family.name
                assert not re.search(r"\{(a )?ys?\}", text) or family.y in NOUNS, family.name


def test_sentences_end_and_questions_come_last() -> None:
    for task_type in TASK_TYPES:
        for family in task_type.families:
            for sentence in (*family.says, *(part for ask in family.asks.values() for part in ask)):
                assert sentence.rstrip().endswith((".", "?")), sentence
                assert "  " not in sentence, sentence


def runs(family: Family) -> set[str]:
    """All runs of six words of a family's sentences that hold at most one slot."""
    found: set[str] = set()
    for sentence in (*family.says, *(part for ask in family.asks.values() for part in ask)):
        words = re.findall(r"[a-z_]+", re.sub(r"\{[^}]+\}", "_", sentence.lower()))
        found |= {" ".join(words[at : at + 6]) for at in range(len(words) - 5) if words[at : at + 6].count("_") <= 1}
    return found


def test_no_two_families_of_a_type_share_a_run_of_six_words() -> None:
    for task_type in TASK_TYPES:
        seen: dict[str, str] = {}
        for family in task_type.families:
            for run in runs(family):
                assert seen.setdefault(run, family.name) == family.name, run


def test_topics_to_avoid_exist() -> None:
    for task_type in TASK_TYPES:
        assert set(task_type.avoid) <= set(DISTRACTORS), task_type.name
