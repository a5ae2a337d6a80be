"""The three splits are disjoint by text, seeded, and committed to."""

import hashlib
from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.rules.leaks import Guarded, packed
from mage_es.engine.rules.near_duplicates import normalise, question_hash, shingle_run
from mage_es.engine.rules.splits import Sides, Splits, make_splits, recorded_splits
from mage_es.engine.seams.benchmark import Question


def ask(name: str, text: str, split: Literal["evolution", "test"] = "evolution") -> Question:
    return Question(id=name, benchmark="b", split=split, task_type="t", question=text, gold="1")


def pool(count: int, split: Literal["evolution", "test"]) -> list[Question]:
    return [ask(f"{split}-{n}", f"{split} question number {n} asks about item {n * 7}?", split) for n in range(count)]


EVOLUTION, TEST = pool(200, "evolution"), pool(80, "test")


def split(
    evolution: list[Question] = EVOLUTION, test: list[Question] = TEST, *, seed: int = 42, anchors: int = 20
) -> Splits:
    return make_splits(evolution, test, seed=seed, anchors=anchors, held_out=30)


def test_the_splits_share_no_question_and_have_the_wanted_sizes() -> None:
    found = split()
    assert (len(found.evolution), len(found.anchors), len(found.held_out)) == (180, 20, 30)
    assert not set(found.evolution) & set(found.anchors)
    assert all(name.startswith("test") for name in found.held_out)


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    assert split() == split()
    assert split().held_out != split(seed=43).held_out
    assert split().evolution != split(seed=43).evolution


def test_evolution_comes_in_shuffled_order() -> None:
    found = split()
    assert list(found.evolution) != sorted(found.evolution, key=lambda name: int(name.split("-")[1]))


def test_the_anchor_set_is_at_most_fifteen_percent() -> None:
    assert len(split(anchors=1000).anchors) == 30
    assert len(split(pool(10, "evolution"), anchors=100).anchors) == 1


def test_a_small_test_split_gives_a_small_exam() -> None:
    assert len(split(test=TEST[:5]).held_out) == 5


def test_a_duplicate_of_a_held_out_question_is_dropped_from_evolution_and_counted() -> None:
    copies = [ask(f"copy-{n}", f"  {q.question.upper()} !", "evolution") for n, q in enumerate(TEST)]
    found = split([*EVOLUTION, *copies], anchors=0)
    held = {normalise(q.question) for q in TEST if q.id in found.held_out}
    kept = {q.id for q in copies if normalise(q.question) not in held}
    assert sorted(map(str, found.repeats)) == sorted(
        f"{q.id.replace('test', 'copy')} repeats {q.id}" for q in TEST if q.id in found.held_out
    )
    assert {name for name in found.evolution if name.startswith("copy")} == kept


def test_a_duplicate_of_an_anchor_is_dropped_from_evolution() -> None:
    twins = [ask(f"twin-{q.id}", q.question) for q in EVOLUTION]
    found = split([*EVOLUTION, *twins])
    texts = {q.id: q.question for q in [*EVOLUTION, *twins]}
    assert not {texts[name] for name in found.anchors} & {texts[name] for name in found.evolution}
    assert len(found.repeats) == len(found.anchors) == 20


def test_a_near_duplicate_of_a_held_out_question_is_dropped() -> None:
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    held = [ask("test-0", f"{long} eighteen nineteen twenty", "test")]
    near = ask("near", f"{long} eighteen nineteen TWENTY-ONE")
    far = ask("far", f"{long[:60]} and then something altogether different happens to her")
    found = make_splits([near, far], held, seed=1, anchors=0, held_out=1)
    assert found.evolution == ("far",)
    assert list(map(str, found.repeats)) == ["near nearly repeats test-0"]


def test_a_run_that_goes_on_examines_nothing_near_what_was_learned_before() -> None:
    long = " ".join(f"word{n}" for n in range(30))
    learned = [*pool(40, "evolution"), ask("learned", long)]
    exam = [
        ask("near", f"{long} and more", "test"),
        ask("far", "word1 word2 word3 at a distance from all of them", "test"),
    ]
    past = Sides(evolution=frozenset(question.id for question in learned))
    found = make_splits(learned, exam, seed=1, anchors=0, held_out=2, past=past)
    assert found.held_out == ("far",)
    assert "near nearly repeats learned" in map(str, found.repeats)


def test_the_exam_asks_no_text_twice() -> None:
    found = make_splits(EVOLUTION, [*TEST[:3], *(ask(f"x{q.id}", q.question, "test") for q in TEST[:3])],
                        seed=1, anchors=0, held_out=6)  # fmt: skip
    assert len(found.held_out) == 3


def test_of_two_questions_with_one_text_the_recorded_splits_have_the_one_that_they_commit_to() -> None:
    twins = [ask("a", "What is said twice?", "test"), ask("b", "What is said twice?", "test")]
    learned = pool(40, "evolution")
    for held_out in (twins, twins[::-1]):
        made = make_splits(learned, held_out[:1], seed=1, anchors=3, held_out=1)
        assert recorded_splits(made.events, [*learned, *twins]).held_out == made.held_out == (held_out[0].id,)


def test_the_events_commit_to_sorted_ids_and_normalised_questions() -> None:
    found = split()
    event = next(event for event in found.events if event.split == "held_out")
    names = sorted(found.held_out)
    texts = [normalise(next(q.question for q in TEST if q.id == name)) for name in names]
    assert [event.split for event in found.events] == ["evolution", "anchors", "held_out"]
    assert event.size == 30
    assert event.ids_sha256 == hashlib.sha256("\n".join(names).encode()).hexdigest()
    assert event.questions_sha256 == hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert event.question_hashes == tuple(question_hash(text) for text in texts)


def test_the_commitment_does_not_depend_on_the_seeded_order() -> None:
    whole = make_splits(EVOLUTION, TEST, seed=1, anchors=0, held_out=80)
    other = make_splits(EVOLUTION, TEST, seed=2, anchors=0, held_out=80)
    assert whole.held_out != other.held_out
    assert whole.events == other.events


def undivided(questions: list[Question], *, seed: int = 1, anchors: int = 9) -> Splits:
    return make_splits(questions, [], seed=seed, anchors=anchors, held_out=200)


def sides(found: Splits) -> dict[str, str]:
    parts = {"evolution": found.evolution, "anchors": found.anchors, "held_out": found.held_out}
    return {name: side for side, names in parts.items() for name in names}


def test_without_a_test_split_near_duplicates_go_into_one_split_together_and_none_is_lost() -> None:
    long = [f"word{k}" for k in range(20)]
    alike = [
        [ask(f"g{group}-{k}", " ".join([f"{word}x{group}" for word in long] + [f"end{k}"])) for k in range(3)]
        for group in range(30)
    ]
    found = undivided([*EVOLUTION, *(question for group in alike for question in group)], anchors=30)
    side = sides(found)
    assert not found.repeats and len(side) == 290
    assert sorted(found.groups) == sorted(tuple(question.id for question in group) for group in alike)
    assert all(len({side[question.id] for question in group}) == 1 for group in alike)
    assert {side[group[0].id] for group in alike} == {"evolution", "anchors", "held_out"}
    assert 25 <= len(found.anchors) <= 30 and 55 < len(found.held_out) < 120


def test_a_test_split_that_is_made_stays_what_it_is_under_any_seed_and_as_questions_are_added() -> None:
    few, whole = undivided(EVOLUTION[:100]), undivided(EVOLUTION)
    assert set(few.held_out) < set(whole.held_out)
    assert set(undivided(EVOLUTION, seed=2).held_out) == set(whole.held_out)
    assert undivided(EVOLUTION, seed=2).anchors != whole.anchors


def test_a_group_that_is_most_of_the_questions_is_learned_from_and_the_smallest_is_examined() -> None:
    long = " ".join(f"word{k}" for k in range(20))
    alike, other = [ask(f"a{k}", f"{long} end{k}") for k in range(15)], ask("b", "Something else?")
    assert undivided([*alike, other]).held_out == ("b",)
    assert undivided(alike).evolution == ()


TABLE = "The table orders has the columns id, customer, city, country, product, price, quantity, ordered and shipped."


def test_templated_questions_over_one_table_are_divided_and_no_memory_of_one_is_a_leak_of_another() -> None:
    asking = (
        "Which customers ordered {0} in {1}?",
        "How many of {0} were shipped to {1} in the year before last?",
        "What did all the orders of {0} that were shipped to the city of {1} cost in total?",
    )
    things, cities = ("tea", "coffee", "salt", "sugar", "rice"), ("Ulm", "Kiel", "Bonn", "Jena")
    filled = [form.format(thing, city) for form in asking for thing in things for city in cities]
    questions = [ask(f"q{k}", f"{TABLE} Write one query in SQL. {text}") for k, text in enumerate(filled)]
    found, guarded = undivided(questions), Guarded(undivided(questions).events)
    texts = {question.id: question.question for question in questions}
    assert len(sides(found)) == 60 and not found.repeats
    assert len(found.held_out) >= 6 and len(found.evolution) >= 30 and found.anchors
    assert not any(guarded.likeness([f"Seen before: {texts[name]}"]).is_leak for name in found.evolution)
    assert all(guarded.likeness([f"Seen: {texts[name]}"]).is_leak for name in (*found.held_out, *found.anchors))


FORM = (
    "There are two sequences and each is sampled from a trajectory. Each point is a tuple of longitude, latitude and "
    "time. First check whether both pass through the same places, then whether the times agree with each other, and "
    "finally answer whether both are sampled from the same trajectory. Please say yes or no without any other words:"
)


def formed(count: int, split: Literal["evolution", "test"]) -> list[Question]:
    """Return questions that are one form with one word of their own, and two of nearly the same words."""
    twin = [ask(f"{split}-twin", f"{FORM} [(1,1),(2,2)] [(1,3),(2,4)] [(5,5)] [(6,6)] now", split)]
    return [
        *(ask(f"{split}-{n}", f"{FORM} [({split}{n},{n})] [({n},{split})] at last", split) for n in range(count)),
        *twin,
    ]


@pytest.mark.paper("section 4.1, near-duplicates")
def test_questions_of_one_form_are_told_apart_by_the_rest() -> None:
    found = make_splits(formed(99, "evolution"), formed(40, "test"), seed=1, anchors=10, held_out=41)
    assert (len(found.held_out), len(found.anchors)) == (41, 10)
    assert list(map(str, found.repeats)) == ["evolution-twin repeats test-twin"]
    assert len(found.evolution) == 89


def test_a_near_duplicate_of_the_same_form_is_still_left_out() -> None:
    own = " ".join(f"word{n}" for n in range(30))
    near = ask("near", f"{FORM} {own} changed")
    held = ask("held", f"{FORM} {own}", "test")
    found = make_splits([*formed(40, "evolution"), near], [held], seed=1, anchors=0, held_out=1)
    assert list(map(str, found.repeats)) == ["near nearly repeats held"] and "near" not in found.evolution


def test_the_form_is_committed_to_with_the_evolution_split_and_told_without_the_test_questions() -> None:
    found = make_splits(formed(99, "evolution"), formed(40, "test"), seed=1, anchors=10, held_out=20)
    form = {event.split: event.common_shingles for event in found.events}
    assert form == {"evolution": packed(shingle_run(FORM)), "anchors": b"", "held_out": b""}
    assert all(len(packed_of) < len(FORM) for event in found.events for packed_of in event.shingles)
    unlike = make_splits(EVOLUTION[:30], formed(70, "test"), seed=1, anchors=0, held_out=20)
    assert unlike.events[0].common_shingles == b""
    assert all(event.common_shingles == b"" for event in split().events)


FAMILIES = (
    "after the market on monday closes at noon for everyone in town, how many apples has person",
    "if all others leave an hour later than usual, which train reaches the northern harbour first: the one of line",
    "when children pay half and students pay two thirds, what is the price of old theatre tickets in row",
    "after it stood still for one night and one day, at what time does the bell strike again in tower",
    "if each of them meets every other one exactly two times, who of the players wins against number",
    "once the dam in the valley has been opened by the engineers at last, where does the water go from lock",
)


@settings(deadline=None, max_examples=40)
@given(st.randoms(use_true_random=False), st.booleans())
def test_a_run_that_goes_on_learns_nothing_that_was_held_out_and_examines_nothing_that_was_learned(
    random: Random, has_test: bool
) -> None:
    questions = [ask(f"{family}-{n}", f"{text} {n}") for family, text in enumerate(FAMILIES) for n in range(4)]
    questions += pool(10, "evolution")
    test = pool(6, "test") if has_test else []
    drawn = {q.id: random.choice(["evolution", "anchors", "held_out", "", "", "resembling"]) for q in questions}
    past = Sides(*(frozenset(name for name, side in drawn.items() if side == split) for split in Sides._fields))
    found = make_splits(questions, test, seed=random.randrange(9), anchors=6, held_out=8, past=past)
    guarded = {*found.anchors, *found.held_out}
    assert not guarded & past.evolution and not past.kept & set(found.evolution)
    assert not past.resembling & {*guarded, *found.evolution}
    for family in range(len(FAMILIES)):  # near-duplicates of each other
        members = {question.id for question in questions if question.id.startswith(f"{family}-")} - past.resembling
        assert not (members & past.evolution and members & guarded)
        assert not (members & guarded and members & set(found.evolution))
        if not members & past.evolution and members & past.kept:
            assert not members & set(found.evolution)


def test_an_exam_begins_with_the_questions_that_the_parent_held_out() -> None:
    before = split()
    past = Sides(frozenset(before.evolution), frozenset(before.anchors), frozenset(before.held_out))
    other = make_splits(EVOLUTION, TEST, seed=43, anchors=20, held_out=40, past=past)
    assert set(before.held_out) < set(other.held_out) and len(other.held_out) == 40
    assert set(other.anchors) == set(before.anchors)
