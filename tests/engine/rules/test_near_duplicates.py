"""Whether a text is, or quotes, a near-duplicate."""

import gc
import unicodedata
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.rules.near_duplicates import (
    NEAR_DUPLICATE,
    ExactIndex,
    common_shingles,
    near_groups,
    normalise,
    passage_similarity,
    shingle_run,
)

RUNS = st.lists(st.integers(0, 12), max_size=14)


def by_definition(run: list[int], question: frozenset[int]) -> float:
    """Return the same by looking at every passage."""
    passages = [set(run[a:b]) for a in range(len(run)) for b in range(a + 1, len(run) + 1)]
    return max((len(passage & question) / len(passage | question) for passage in passages), default=0.0)


@given(RUNS, st.frozensets(st.integers(0, 12), min_size=1, max_size=8))
def test_the_similarity_of_the_best_passage_is_that_of_all_passages(run: list[int], question: frozenset[int]) -> None:
    assert passage_similarity(run, question) == by_definition(run, question)


@given(RUNS, st.lists(st.frozensets(st.integers(0, 12), min_size=1, max_size=8), max_size=5))
def test_the_index_finds_the_nearest_question_and_every_near_one(
    run: list[int], questions: list[frozenset[int]]
) -> None:
    index: ExactIndex[int] = ExactIndex()
    for question in questions:
        index.add(question)
    wanted = [by_definition(run, question) for question in questions]

    assert index.nearest(run).similarity == max([0.0, *wanted])
    assert sorted(index.near(run)) == [k for k, similarity in enumerate(wanted) if similarity >= NEAR_DUPLICATE]
    above = index.nearest(run, above=0.5)
    assert above.similarity == max([0.5, *wanted])
    assert above.place == -1 or wanted[above.place] == above.similarity > 0.5


def sentence(random: Random, words: int = 30) -> list[str]:
    return [random.choice(WORDS) for _ in range(words)]


WORDS = [f"word{number}" for number in range(400)]


@pytest.mark.slow
def test_no_planted_duplicate_is_lost_and_nothing_else_is_found() -> None:
    """One word in 30 changed leaves 21 to 25 of 26 shingles: Jaccard 0.68 to 0.93, of which those from 0.8 count."""
    index: ExactIndex[str] = ExactIndex()
    random = Random(7)
    questions = [sentence(random) for _ in range(3_000)]
    for words in questions:
        index.add(shingle_run(" ".join(words)))
    near = far = 0
    for place, words in enumerate(questions):
        at = random.randrange(30)
        changed = shingle_run(" ".join([*words[:at], "another", *words[at + 1 :]]))
        is_near = passage_similarity(changed, frozenset(shingle_run(" ".join(words)))) >= NEAR_DUPLICATE
        assert (place in index.near(changed)) == is_near
        near, far = near + is_near, far + (not is_near)
    assert near > 500 and far > 500
    assert not any(list(index.near(shingle_run(" ".join(sentence(random))))) for _ in range(500))


def test_a_quote_in_a_longer_text_is_near_and_a_question_of_the_same_form_is_not() -> None:
    index: ExactIndex[str] = ExactIndex()
    index.add(shingle_run("Three parcels weigh 93, 35 and 53 kilograms. What do they weigh together?"))

    quote = "Remember this one: three parcels weigh 93, 35, and 53 kilograms! What do they weigh together? It was 181."
    assert list(index.near(shingle_run(quote))) == [0]
    other = "Three parcels weigh 31, 52 and 53 kilograms. What do they weigh together?"
    assert not list(index.near(shingle_run(other)))


def test_texts_are_in_a_group_where_one_quotes_the_other_or_a_third_connects_them() -> None:
    words = [f"word{k}" for k in range(60)]
    sliding = [" ".join(words[at : at + 40]) for at in (0, 6, 12)]
    texts = ["A text of its own", *sliding, "a  TEXT of its own!", f"It asked: {sliding[0]}? Why?"]
    assert near_groups(texts, frozenset()) == [[0, 4], [1, 2, 3, 5]]
    assert not list(_index(texts[3]).near(shingle_run(texts[1])))


def _index(*texts: str) -> ExactIndex[str]:
    index: ExactIndex[str] = ExactIndex()
    for text in texts:
        index.add(shingle_run(text))
    return index


FORM = "Below is a trajectory of a taxi, and each point of it is a tuple. Answer whether it is normal or anomalous:"


@pytest.mark.paper("section 4.1, near-duplicates")
def test_the_form_of_a_type_is_what_half_of_its_questions_have_if_that_is_most_of_them() -> None:
    formed = [f"{FORM} ({n}.1,{n}.2),({n}.3,{n}.4)" for n in range(30)]
    free = [f"What did number {n} of {n * 7} people have to say about {n * n} others?" for n in range(30)]
    found = common_shingles([formed, free])
    assert found == set(shingle_run(FORM))
    assert common_shingles([formed[:19]]) == common_shingles([free]) == common_shingles([]) == frozenset()


def test_what_is_in_common_is_no_form_where_the_rest_of_the_questions_is_longer() -> None:
    tail = " ".join("{0}" + str(k) for k in range(40))
    assert common_shingles([[f"{FORM} {tail.format(n)}" for n in range(30)]]) == frozenset()


def test_two_forms_that_share_a_type_evenly_are_both_its_form() -> None:
    other = FORM.replace("taxi", "bus").replace("Answer whether", "Say if")
    found = common_shingles([[f"{form} {n},{n}" for n in range(20) for form in (FORM, other)]])
    assert found == {*shingle_run(FORM), *shingle_run(other)}


def test_words_that_no_two_texts_share_cost_no_list_each() -> None:
    texts = [" ".join(f"{place}x{word}" for word in range(200)) for place in range(50)]
    index: ExactIndex[str] = ExactIndex()
    before = len(gc.get_objects())
    for text in texts:
        index.add(shingle_run(text))
    assert len(gc.get_objects()) - before < 50 * 200 / 2
    assert index.nearest(shingle_run(texts[7])) == (1.0, 7)


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: " ".join(f"{word[:1]}\u200b{word[1:]}" for word in text.split()),
        lambda text: " ".join(f"{word[:2]}\u00ad{word[2:]}" for word in text.split()),
        lambda text: "".join(chr(ord(each) + 0xFEE0) if "a" <= each <= "z" else each for each in text),
        lambda text: text.replace(" ", "\u00a0").replace("ff", "\ufb00"),
    ],
    ids=["decomposed", "zero-width", "soft hyphens", "full-width", "ligature"],
)
def test_a_question_in_other_characters_that_look_the_same_is_the_same(rewritten: Callable[[str], str]) -> None:
    text = (
        "Welche Abteilung prüft den Kaffeeautomaten, den die Müllers am Dienstag ohne Schlüssel zurückgeschickt haben?"
    )
    assert normalise(rewritten(text)) == normalise(text)
    assert near_groups([text, f"Dazu noch: {rewritten(text)}"], ()) == [[0, 1]]
