"""The regression of answers on words: it ranks cases where single words tell the answer, and says how sure it is."""

from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np
import pytest

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.metric import (
    FEWEST,
    FOLDS,
    FittedMetrics,
    Placed,
    features,
    learn_metrics,
    outvoted,
    regression_for,
)
from mage_es.engine.rules.regression import BUCKETS, PENALTIES, TIE, answers_of, regression_of, words_of
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.projections.memory import Memory
from tests.engine.rules.test_retrieval import memory_of, remembered

TERMS = Terms(bundle=1, long_context=500, strategy_floor=0.0, exclude_self=True, is_measured=True)
FIVE = TERMS._replace(bundle=5)
EMBEDDER = HashEmbedder()
LANES = {4: "Wren", 16: "Finch", 64: "Crane", 256: "Heron"}
"""The lane that parcels up to so many kg take."""
PARCELS = (
    "A parcel of {0} kg for {1}, {2} cm long, in {3} pieces.",
    "{3} pieces to {1}: {0} kg together, none over {2} cm.",
    "From {1} on day {3}, {2} cm by {3} cm, {0} kg.",
    "{1} sends {0} kg again, as on day {2}; {3} boxes.",
)
TOWNS = ("Arden", "Bexley", "Corby", "Dunmow", "Esher", "Frome", "Goole", "Hythe")
SENDERS = ("Ann", "Bea", "Cy", "Dot", "Eli", "Fay", "Gus", "Hal")


def parcels(seed: int, count: int) -> list[tuple[str, str]]:
    """Return texts with several numbers, and their lanes, which one of these tells."""
    draw, found = np.random.default_rng(seed), []
    for form, town in zip(draw.choice(PARCELS, count), draw.choice(TOWNS, count), strict=True):
        weight, length, pieces = (int(2 ** draw.uniform(0, 8)) + 1 for _ in range(3))
        lane = next(lane for most, lane in LANES.items() if weight <= most or most == max(LANES))
        found.append((form.format(weight, town, length, pieces), lane))
    return found


def learned(cases: Sequence[tuple[str, str]], outcomes: Sequence[str] = ("success_memory",)) -> Memory:
    """Return a memory of these cases, with the outcomes by turns."""
    vectors = EMBEDDER.encode([question for question, _ in cases])
    turns = (outcomes[at % len(outcomes)] for at in range(len(cases)))
    return memory_of(
        *(
            remembered(f"{at:03}", vector, ordinal=at, question=question, answer=answer, outcome=outcome)
            for at, (vector, (question, answer), outcome) in enumerate(zip(vectors, cases, turns, strict=True))
        )
    )


def asked(question: str) -> Query:
    return Query(EMBEDDER.encode([question])[0], "t", "asked", question, 0)


def nearest(memory: Memory, query: Query) -> str:
    [hit] = retrieve("nearest", query, memory, TERMS).success
    return memory.row(hit.memory_id).answer


def shown(memory: Memory, query: Query, terms: Terms = FIVE) -> list[str]:
    """Return the cases that a question is shown, nearest first."""
    bundle = retrieve("nearest", query, memory, terms)
    return [hit.memory_id for hit in sorted((*bundle.success, *bundle.failure), key=lambda hit: -hit.similarity)]


def answers(memory: Memory, query: Query, terms: Terms = FIVE) -> list[str]:
    return [memory.row(name).answer for name in shown(memory, query, terms)]


TAUGHT, LATER = parcels(3, 40), parcels(4, 100)


def test_where_each_word_speaks_for_an_answer_by_itself_more_is_found_than_by_what_is_near() -> None:
    memory = learned(TAUGHT)
    right = np.mean([nearest(memory, asked(question)) == answer for question, answer in LATER])
    # With a context the text is not all that a question is, so its vector alone tells what is near.
    near = np.mean([nearest(memory, asked(question)._replace(question="")) == answer for question, answer in LATER])
    assert right > near + 0.05 > 0.9


def test_a_number_that_comes_again_is_a_name_even_among_numbers_of_its_size() -> None:
    draw = np.random.default_rng(9)
    desks = {4_100 + 37 * at: ("Finch", "Heron", "Stork")[at % 3] for at in range(18)}
    booked = [
        (f"{who} books {amount}.50 on account {account}.", desks[int(account)])
        for who, amount, account in zip(
            draw.choice(SENDERS, 200), draw.integers(100, 999, 200), draw.choice([*desks], 200), strict=True
        )
    ]
    memory = learned(booked[:120])
    assert np.mean([nearest(memory, asked(question)) == desk for question, desk in booked[120:]]) > 0.95


def test_letters_and_numbers_of_a_mark_are_learned_apart() -> None:
    # Twelve marks of two parts: the town says the zone, whatever the weight, and the weight the letter.
    draw, zones = np.random.default_rng(5), {"Graz": 1, "Lyon": 4, "Oslo": 6, "Porto": 9, "Turin": 3, "Ghent": 7}
    parcels = zip(*(draw.choice([*each], 220) for each in (SENDERS, zones, range(1, 31))), strict=True)
    marked = [(f"{kg} kg by {who} to {to}.", f"Z{zones[to]}{'H' if kg > 12 else 'L'}") for who, to, kg in parcels]
    memory = learned(marked[:120])
    assert regression_for(memory, "t")
    assert np.mean([nearest(memory, asked(question)) == answer for question, answer in marked[120:]]) > 0.95


def test_of_answers_that_are_each_new_letters_beside_digits_are_no_parts() -> None:
    # A reference is copied from its question but for the last letter, which the series says.
    told = [(f"2{at:03} / {'ABCD'[at % 4]} / no. {at * 7}", f"{at * 7}/{at % 100}{'zyxw'[at % 4]}") for at in range(60)]
    assert regression_for(learned(told), "t") is None


def test_answers_of_the_same_words_are_different_answers() -> None:
    for one, other in (("1.5", "5.1"), ("C", "C++"), ("a > b", "b > a")):
        assert features("t", one, is_label=True) != features("t", other, is_label=True)


def test_where_answers_may_be_calculated_the_cosine_stays_unless_more_is_found_beyond_chance() -> None:
    draw, plans = np.random.default_rng(7), (("gold", 5), ("silver", 8), ("basic", 20))
    drawn = zip(draw.choice(SENDERS, 120), draw.integers(1, 9, 120), draw.integers(3, size=120), strict=True)
    costs = [
        (f"{who} sends {items} items with the {plans[at][0]} plan.", plans[at][1] + 3 * items)
        for who, items, at in drawn
    ]
    numbers, codes = (placed([(asks, f"{form}{cost}") for asks, cost in costs]) for form in ("", "F"))
    first, coded, every = (learn_metrics(cases) for cases in (numbers[:40], codes[:40], numbers))
    assert coded != FittedMetrics({}) and every.metrics
    assert first == FittedMetrics({})


def test_cases_are_left_to_the_metric_where_an_answer_follows_from_two_things_together() -> None:
    sizes, colours = enumerate(("big", "flat", "odd")), [*enumerate(("red", "blue", "green", "grey"))]
    both = [
        (f"{size} parcel of one that is {colour}", f"L{(s + c) % 2}") for s, size in sizes for c, colour in colours
    ] * 8
    numbered = [(f"{text} number {10_000 + at}", answer) for at, (text, answer) in enumerate(both)]
    assert not regression_for(learned(numbered), "t")


def test_where_words_rank_none_is_left_out_as_outvoted_since_a_slip_among_many_weighs_little() -> None:
    slips = [(question, answer if at % 12 else "Heron") for at, (question, answer) in enumerate(parcels(6, 120))]
    memory = learned(slips)
    left_out = outvoted(memory)
    assert left_out and regression_for(memory, "t")
    by_words = {name for question, _ in LATER for name in shown(memory, asked(question))}
    by_vector = {name for question, _ in LATER for name in shown(memory, asked(question)._replace(question=""))}
    assert left_out & by_words and not left_out & by_vector


def placed(cases: Sequence[tuple[str, str]], task_type: str = "t") -> list[Placed]:
    vectors = EMBEDDER.encode([question for question, _ in cases])
    return [
        Placed(task_type, vector, answer, question=question)
        for vector, (question, answer) in zip(vectors, cases, strict=True)
    ]


def test_where_the_cosine_finds_what_is_right_words_do_not_rank() -> None:
    # An embedder that knows what is meant, and words that seldom come twice.
    draw, topics = np.random.default_rng(2), np.eye(4, dtype=np.float32)
    for count, teams in ((4, 2), (8, 2), (8, 4), (16, 4), (60, 4)):
        said = [" ".join(draw.choice([*TOWNS, *SENDERS], 3)) for _ in range(count)]
        told = [Placed("t", topics[at % teams], f"team {at % teams}", question=text) for at, text in enumerate(said)]
        assert not learn_metrics(told).regressions


def test_a_regression_need_not_win_over_a_metric_unless_there_are_cases_of_other_types() -> None:
    texts = ("{0} asks who takes the {1} today.", "On the {1}, says {0}: it is late again.", "{1} for {0}?")
    asks = [
        (text.format(who, what), team)
        for who, text, (what, team) in product(SENDERS, texts, (("lamp", "North"), ("fan", "West"), ("pump", "East")))
    ]
    alone, other = placed(asks), placed([(f"Where is {town}?", town) for town in TOWNS] * 2, "u")
    assert learn_metrics(alone).metrics.keys() == learn_metrics(alone).regressions.keys() == {"t"}
    assert "t" in learn_metrics([*alone, *other]).metrics
    assert not learn_metrics([*alone, *other]).regressions


def test_a_question_that_is_there_twice_teaches_once_and_does_not_find_itself() -> None:
    once = [case._replace(question_id=f"q{at}") for at, case in enumerate(placed(TAUGHT))]
    # The second of each would be in another fold than the first.
    fitted, doubled = learn_metrics(once), learn_metrics([*once, *once[1:], once[0]])
    assert np.array_equal(fitted.regressions["t"].weights, doubled.regressions["t"].weights)
    by_lot = [case._replace(answer=str(at % 3)) for at, case in enumerate(once)]
    assert not learn_metrics([*by_lot, *by_lot[1:], by_lot[0]]).metrics


def test_types_that_take_turns_have_cases_in_every_fold() -> None:
    names = [f"t{number}" for number in range(FOLDS)]
    in_turn = [case for group in zip(*(placed(TAUGHT, name) for name in names), strict=True) for case in group]
    one_by_one = [case for name in names for case in placed(TAUGHT, name)]
    assert learn_metrics(in_turn).regressions.keys() == learn_metrics(one_by_one).regressions.keys() == {*names}


def test_a_question_that_taught_the_regression_is_not_ranked_by_it() -> None:
    memory = learned(TAUGHT)
    assert regression_for(memory, "t")
    for at, (question, _) in enumerate(TAUGHT):
        by_metric = asked(question)._replace(question="", apart=frozenset([f"{at:03}"]))
        assert shown(memory, asked(question)) == shown(memory, by_metric)
        edited = asked(f"{question} Thanks.")._replace(question_id=f"q-{at:03}")
        assert shown(memory, edited) == shown(memory, edited._replace(question=""))


def test_the_answer_of_an_anchor_itself_changes_nothing_that_it_is_shown() -> None:
    draw = np.random.default_rng(9)
    noisy = [
        (text, answer if draw.random() > 0.3 else str(draw.choice([*LANES.values()])))
        for text, answer in parcels(7, 100)
    ]
    vectors = EMBEDDER.encode([text for text, _ in noisy])
    events = [
        remembered(f"{at:03}", vector, ordinal=at, question=text, answer=answer)
        for at, (vector, (text, answer)) in enumerate(zip(vectors, noisy, strict=True))
    ]
    for text, _ in LATER[:4]:
        anchor = asked(text)._replace(question_id="q-100", is_anchor=True)
        own = msgspec.structs.replace(remembered("100", anchor.vector, ordinal=100, question=text), phase="snapshot")
        assert regression_for(memory_of(*events, own), "t", for_anchors=True)
        assert {
            tuple(shown(memory_of(*events, msgspec.structs.replace(own, answer=lane)), anchor))
            for lane in LANES.values()
        } == {tuple(shown(memory_of(*events), anchor))}


def test_an_answer_has_about_as_many_of_the_cases_shown_as_it_is_likely() -> None:
    # Two of three parcels to Arden go one way; nothing else tells which.
    ways = {"Arden": ("Wren", "Wren", "Crane"), "Bexley": ("Heron",) * 3, "Corby": ("Finch",) * 3}
    draw, kinds = np.random.default_rng(1), ("big", "flat", "odd")
    told = [
        (f"A {kind} parcel for {town} by {who}.", str(way))
        for who, town in product(SENDERS, ways)
        for kind, way in zip(kinds, draw.permutation(ways[town]), strict=True)
    ]
    memory = learned(told)
    assert regression_for(memory, "t")
    found = answers(memory, asked("A parcel for Arden by Zoe."))
    assert found[0] == "Wren" and sorted(found) == ["Crane", "Crane", "Wren", "Wren", "Wren"]
    assert answers(memory, asked("A parcel for Corby by Zoe.")) == ["Finch"] * 5


def test_of_a_handful_of_cases_no_regression_is_learned() -> None:
    told = parcels(9, FEWEST)
    assert regression_for(learned(told), "t") and not regression_for(learned(told[:-1]), "t")


def test_the_likeliest_of_many_labels_has_two_of_the_cases_shown() -> None:
    # Of eleven parcels to Arden three go one way, and two each of four others.
    kinds = ("big", "flat", "odd", "long", "soft", "round", "cold", "damp", "open", "old", "new")
    ways, draw = ("Wren",) * 3 + ("Crane", "Heron", "Finch", "Ibis") * 2, np.random.default_rng(1)
    told = list[tuple[str, str]]()
    for who in SENDERS:
        drawn = zip(kinds, map(str, draw.permutation(ways)), strict=True)
        told += [(f"A {kind} parcel for Arden by {who}.", way) for kind, way in drawn]
        others = product(kinds[:3], [("Bexley", "Heron"), ("Corby", "Finch"), ("Dale", "Crane")])
        told += [(f"A {kind} parcel for {town} by {who}.", way) for kind, (town, way) in others]
    memory = learned(told)
    assert regression_for(memory, "t")
    question = asked("A parcel for Arden by Zoe.")
    assert answers(memory, question, FIVE._replace(is_labelled=True))[:2] == ["Wren", "Wren"]
    assert answers(memory, question).count("Wren") == 1


def test_seats_are_shared_by_all_cases_of_an_answer_whatever_was_learned_from_them() -> None:
    one_index, both = (learned(TAUGHT, kinds) for kinds in (["success_memory"], ["success_memory", "failure_memory"]))
    assert all(shown(one_index, asked(text)) == shown(both, asked(text)) for text, _ in LATER)


def test_cases_that_a_question_may_not_get_take_no_seats() -> None:
    memory = learned(TAUGHT)
    for text, _ in LATER:
        [all_of_them] = retrieve("nearest", asked(text), memory, TERMS).success
        [others] = retrieve("nearest", asked(text)._replace(apart=frozenset(all_of_them[:1])), memory, TERMS).success
        assert others.memory_id != all_of_them.memory_id
        assert abs(others.similarity - all_of_them.similarity) <= 2 * TIE, "the next has the first seat, not half of it"


def test_words_shut_no_strategy_out_that_competes_by_its_cosine() -> None:
    query = asked(LATER[0][0])
    strategy = remembered("way", query.vector, ordinal=99, kind="type_strategy", outcome="failure_memory", answer="")
    memory = learned(TAUGHT)
    memory.apply(strategy)
    bundle = retrieve("nearest", query, memory, TERMS._replace(bundle=5, strategy_floor=0.55))
    assert regression_for(memory, "t") and [hit.memory_id for hit in bundle.failure] == ["way"]


@pytest.mark.parametrize("padding", [0, 40])
def test_penalty_and_weight_of_words_are_those_with_which_each_case_is_best_told_from_all_others(padding: int) -> None:
    # With some answers at random, so that the least penalty is not the best.
    draw = np.random.default_rng(5)
    said = [" ".join(draw.choice(["the", "and", "of", *TOWNS, *SENDERS], padding)) for _ in range(40)]
    cases = [
        (f"{text} {more}", answer if at % 3 else "Wren")
        for at, ((text, answer), more) in enumerate(zip(parcels(5, 40), said, strict=True))
    ]
    words, told = (
        words_of([question for question, _ in cases]),
        [features("t", answer, is_label=True) for _, answer in cases],
    )
    made, _ = regression_of(words, told, np.arange(40) % FOLDS) or pytest.fail("nothing was learned")
    has = np.array([[part in own for part in made.parts] for own in told], dtype=float)
    everything = np.arange(len(cases))

    def fitted(kept: np.ndarray, scale: np.ndarray, penalty: float) -> np.ndarray:
        """Return what a regression with that penalty expects of every case."""
        scaled = (words * scale)[:, words.any(axis=0)]
        scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
        centre, share = scaled[kept].mean(axis=0), has[kept].mean(axis=0)
        moved = scaled[kept] - centre
        inner = np.linalg.solve(moved @ moved.T + penalty * np.eye(len(kept)), has[kept] - share)
        return (scaled - centre) @ moved.T @ inner + share

    def error(way: tuple[bool, bool, float]) -> float:
        each = (fitted(np.delete(everything, at), scales[way[:2]], way[2])[at] - has[at] for at in everything)
        return float(sum((one**2).sum() for one in each))

    count = (words != 0).sum(axis=0)
    are_used = {False: np.arange(len(count)) < BUCKETS, True: (np.arange(len(count)) < BUCKETS) | (count > 1)}
    scales = {
        (names, rarity): used * (np.log(41 / (1 + count)) if rarity else 1.0)
        for names, used in are_used.items()
        for rarity in (False, True)
    }
    by_names, by_rarity, penalty = min(product((False, True), (False, True), PENALTIES), key=error)
    assert (by_names, by_rarity) == (False, bool(padding))
    expected = np.array([made.expected(row) for row in words])
    assert np.allclose(expected, fitted(everything, scales[by_names, by_rarity], penalty))


def test_there_is_no_regression_of_one_answer_or_without_words() -> None:
    folds = np.arange(4) % FOLDS
    assert regression_of(words_of(["one", "two"] * 2), [features("t", "same", is_label=True)] * 4, folds) is None
    assert (
        regression_of(
            words_of(["?", ""] * 2), [features("t", "a", is_label=True), features("t", "b", is_label=True)] * 2, folds
        )
        is None
    )
    each_its_own = [features("t", f"code {at}", is_label=True) for at in range(4)]
    assert regression_of(words_of(["one", "two", "three", "four"]), each_its_own, folds) is None
    assert regression_for(memory_of(), "t") is None


def test_an_answer_is_worth_the_geometric_mean_of_its_parts() -> None:
    pairs = [("north", "dry"), ("north", "wet"), ("south", "dry"), ("south", "wet"), ("east", "dry")]
    answers = answers_of([frozenset({"", *pair}) for pair in pairs], ["north", "dry", "east"], 0.04)
    worth = answers.worth(np.array([0.9, 0.5, -0.1]))
    assert np.allclose(worth**2, [0.9 * 0.5, 0.9 * 0.04, 0.5 * 0.04, 0.0, 0.5 * 0.04])


def test_what_cases_out_of_date_said_does_not_speak_for_an_answer_of_today() -> None:
    lanes = [*LANES.values()]
    turned = dict(zip(lanes, lanes[1:] + lanes[:1], strict=True))
    old = [case._replace(is_old=True) for case in placed(TAUGHT)]
    new = [case._replace(answer=turned[case.answer]) for case in placed(TAUGHT)]
    regression = learn_metrics([*old, *new]).regressions["t"]
    known = answers_of([features("t", lane, is_label=True) for lane in turned], regression.parts, regression.rare)
    right = 0
    for question, answer in LATER:
        worth = known.worth(regression.expected(words_of([question])[0]))
        right += [*turned][worth.argmax()] == turned[answer]
    assert right > 0.8 * len(LATER)
