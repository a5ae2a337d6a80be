"""The hash embedder: unit vectors, the same everywhere, near for texts that share words."""

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from unicodedata import normalize

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.embedders.hash import HashEmbedder

EMBEDDER = HashEmbedder()


def cosine(left: str, right: str) -> float:
    first, second = EMBEDDER.encode([left, right])
    return float(first @ second)


def test_vectors_are_unit_length_and_float32() -> None:
    vectors = EMBEDDER.encode(["Ana has 4 apples.", "x"])
    assert vectors.shape == (2, 128)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_without_words_gives_zeros() -> None:
    assert not EMBEDDER.encode(["", " ?! --"]).any()
    assert EMBEDDER.encode([]).shape == (0, 128)


def test_in_scripts_without_spaces_each_letter_counts_to_the_end() -> None:
    refund, repair = (
        f"我上周在你们的网店买了一台新的洗衣机但是昨天开始它突然坏了{end}" for end in ("我想要退款", "请派人来修")
    )
    assert 0.5 < cosine(refund, repair) < 0.95
    assert cosine("退款多久能到", "退款什么时候到") > cosine("退款多久能到", "洗衣机坏了怎么办")


def test_accents_count_alike_however_they_are_encoded() -> None:
    assert cosine("Où est mon café ?", normalize("NFD", "Où est mon café ?")) > 0.999999


@given(st.lists(st.text(max_size=60), max_size=40))
def test_a_vector_depends_on_its_own_text_only(texts: list[str]) -> None:
    alone = [HashEmbedder().encode([text])[0] for text in texts]
    assert all((vector == row).all() for vector, row in zip(alone, EMBEDDER.encode(texts), strict=True))


def test_the_bytes_are_pinned_for_every_machine() -> None:
    vector = EMBEDDER.encode(["Ana packs 4 boxes with 6 jars each; how many jars does she pack? Ana's jars, naïve."])
    assert hashlib.sha256(vector.astype("<f4").tobytes()).hexdigest()[:16] == "e73622e7d2424658"
    odd = ["word " * 300 + "end", f"{'x' * 40} {'x' * 24} {'x' * 30}", "²x 3² x², ǅ İ", "", "a"]
    assert hashlib.sha256(EMBEDDER.encode(odd).astype("<f4").tobytes()).hexdigest()[:16] == "7d46d3622bc5b435"


def test_numbers_of_about_the_same_size_are_the_same_word() -> None:
    first, second = EMBEDDER.encode(["Ana has 5 apples and $1,200.50", "Ana has 8 apples and $1500"])
    assert (first == second).all()


def test_the_larger_the_difference_of_two_numbers_the_farther_are_their_texts() -> None:
    four, eight, hundred, thousands = EMBEDDER.encode([f"a parcel of {size} kg" for size in ("4.5", "8.5", 100, 4000)])
    assert four @ eight > four @ hundred > 0.7
    assert hundred @ thousands < eight @ four
    assert abs(four @ hundred - four @ thousands) < 0.05, "far is far"


def test_a_size_belongs_to_the_word_that_follows() -> None:
    first, near, swapped = EMBEDDER.encode(["5 kg in 900 pieces", "8 kg in 800 pieces", "900 kg in 5 pieces"])
    assert first @ near > first @ swapped + 0.1


def test_a_number_is_read_as_it_is_written() -> None:
    for alike in (("2.4", "2,4", "2.40"), ("1,200", "1200", "1.200,00", "1,200.00"), ("0.125", "0,125"), ("٣", "3")):
        vectors = EMBEDDER.encode([f"{number} kg" for number in alike])
        assert (vectors == vectors[0]).all(), alike
    apart = EMBEDDER.encode(["2.4 kg", "2,400 kg", "2,400,000 kg"])
    assert len({vector.tobytes() for vector in apart}) == len(apart)


def test_names_made_of_digits_have_no_size() -> None:
    for name in ("48213", "90017", "1" * 6_000 + ".5"):
        assert (EMBEDDER.encode([f"order {name}"]) == EMBEDDER.encode(["order 12345"])).all(), name[:20]
    for other in ("10:30", "3/4", "3.10.2024", "1.2.3", "1,23,4"):
        assert (EMBEDDER.encode([f"order {other}"]) == EMBEDDER.encode(["order 12345"])).all(), other
    assert (EMBEDDER.encode(["order 1234"]) != EMBEDDER.encode(["order 12345"])).any()


def test_a_paraphrase_is_nearer_than_another_topic() -> None:
    question = "How many apples does Ana have left after selling some at the market?"
    assert cosine(question, "After Ana sold some apples at the market, how many are left?") > 0.5
    assert cosine(question, "A train runs at constant speed towards the harbour.") < 0.25


def test_inflected_words_stay_near() -> None:
    assert cosine("sharpener", "sharpeners") > 0.25
    assert abs(cosine("sharpener", "violin")) < 0.1


def test_repeating_a_word_counts_with_its_logarithm() -> None:
    assert cosine("apple pear", "apple apple pear") > cosine("apple pear", "apple apple apple apple apple pear") > 0.6


def test_a_full_cache_of_words_changes_nothing() -> None:
    small = HashEmbedder()
    before = small.encode(["one two three"])
    small.encode([" ".join(f"word{''.join(chr(97 + int(c)) for c in str(n))}" for n in range(70_000))])
    assert (small.encode(["one two three"]) == before).all()


def test_threads_that_meet_the_same_words_first_get_the_same_vectors() -> None:
    letters = "abcdefghijklmnop"
    texts = [" ".join(f"{one}{two}{three}" for two in letters for three in letters) for one in letters]
    expected = HashEmbedder().encode(texts)
    shared, interval = HashEmbedder(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: shared.encode(texts), range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert all((vectors == expected).all() for vectors in found)
