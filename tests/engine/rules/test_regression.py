"""The regression of answers on words: it ranks cases where single words tell the answer, and says how sure it is."""

from collections.abc import Sequence

import numpy as np

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.metric import Placed, features, learn_metrics, regression_for
from mage_es.engine.rules.regression import PENALTIES, Regression, regression_of, words_of
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.projections.memory import Memory
from tests.engine.rules.test_retrieval import memory_of, remembered

TERMS = Terms(bundle=1, long_context=500, strategy_floor=0.0, exclude_self=True, is_measured=True)
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


def parcels(seed: int, count: int) -> list[tuple[str, str]]:
    """Return texts with several numbers, and their lanes, which one of these tells."""
    draw, found = np.random.default_rng(seed), []
    for form, town in zip(draw.choice(PARCELS, count), draw.choice(TOWNS, count), strict=True):
        weight, length, pieces = (int(2 ** draw.uniform(0, 8)) + 1 for _ in range(3))
        lane = next(lane for most, lane in LANES.items() if weight <= most or most == max(LANES))
        found.append((form.format(weight, town, length, pieces), lane))
    return found


def learned(cases: Sequence[tuple[str, str]]) -> Memory:
    vectors = EMBEDDER.encode([question for question, _ in cases])
    return memory_of(
        *(
            remembered(f"{at:03}", vector, ordinal=at, question=question, answer=answer)
            for at, (vector, (question, answer)) in enumerate(zip(vectors, cases, strict=True))
        )
    )


def asked(question: str) -> Query:
    return Query(EMBEDDER.encode([question])[0], "t", "asked", question, 0)


def nearest(memory: Memory, query: Query) -> str:
    [hit] = retrieve("nearest", query, memory, TERMS).success
    return memory.row(hit.memory_id).answer


TAUGHT, LATER = parcels(3, 40), parcels(4, 100)


def test_where_each_word_speaks_for_an_answer_by_itself_more_is_found_than_by_what_is_near() -> None:
    memory = learned(TAUGHT)
    right = np.mean([nearest(memory, asked(question)) == answer for question, answer in LATER])
    # With a context the text is not all that a question is, so its vector alone tells what is near.
    near = np.mean([nearest(memory, asked(question)._replace(question="")) == answer for question, answer in LATER])
    assert right > near + 0.05 > 0.9


def test_cases_are_left_to_the_metric_where_an_answer_follows_from_two_things_together() -> None:
    sizes, colours = enumerate(("big", "flat", "odd")), [*enumerate(("red", "blue", "green", "grey"))]
    both = [
        (f"{size} parcel of one that is {colour}", f"L{(s + c) % 2}") for s, size in sizes for c, colour in colours
    ] * 8
    numbered = [(f"{text} number {10_000 + at}", answer) for at, (text, answer) in enumerate(both)]
    assert not regression_for(learned(numbered), "t")


def test_none_is_outvoted_where_words_rank_since_a_slip_among_many_weighs_little() -> None:
    slips = [(question, answer if at % 12 else "Heron") for at, (question, answer) in enumerate(parcels(6, 120))]
    vectors = EMBEDDER.encode([question for question, _ in slips])
    worded = [Placed("t", v, answer, question=text) for v, (text, answer) in zip(vectors, slips, strict=True)]
    assert not learn_metrics(worded).outvoted
    assert learn_metrics([case._replace(question="") for case in worded]).outvoted


def test_beside_cases_of_other_types_a_regression_must_win() -> None:
    vectors = EMBEDDER.encode(["who brings alum", "who brings tar", "where is salt kept"])
    told = [
        ("brings", "Moor", "who brings alum"),
        ("brings", "Lark", "who brings tar"),
        ("kept", "North", "where is salt kept"),
    ]
    placed = [Placed(name, v, answer, question=text) for v, (name, answer, text) in zip(vectors, told, strict=True)] * 8
    assert learn_metrics(placed[::3] + placed[1::3]).regressions.keys() == {"brings"}
    assert not learn_metrics(placed).regressions


def test_a_question_that_taught_the_regression_is_not_ranked_by_it() -> None:
    memory, five = learned(TAUGHT), TERMS._replace(bundle=5)
    assert regression_for(memory, "t")
    for at, (question, _) in enumerate(TAUGHT):
        by_metric = asked(question)._replace(question="", apart=frozenset([f"{at:03}"]))
        assert retrieve("nearest", asked(question), memory, five) == retrieve("nearest", by_metric, memory, five)


def expecting(**shares: float) -> Regression:
    """Return a regression that expects these parts of an answer whatever is asked."""
    places = {part: place for place, part in enumerate(shares)}
    return Regression(np.zeros(1), np.zeros((1, len(shares))), np.array([*shares.values()]), places, frozenset())


def test_an_answer_has_about_as_many_of_the_cases_shown_as_it_is_likely() -> None:
    regression = expecting(a=0.6, b=0.35, c=0.05)
    answers = regression.answers([frozenset(part) for part in "cabcabcabcab"])
    cosine = np.linspace(0.1, 0.9, 12, dtype=np.float32)
    order = (-regression.closeness(np.zeros(1), answers, cosine)).argsort(kind="stable")
    assert "".join("cab"[place % 3] for place in order[:5]) == "abaab"
    assert [*order[:3]] == [10, 11, 7], "of those with the same answer the nearest by the cosine first"
    level = regression.closeness(np.zeros(1), answers, np.ones(12, dtype=np.float32))
    assert [*(-level).argsort(kind="stable")[:2]] == [10, 11], "and the newest of those that are equally near"
    unlikely = expecting(a=0.0, b=-0.1, c=0.0).closeness(np.zeros(1), answers, cosine)
    assert [*(-unlikely).argsort()] == [*reversed(range(12))], "and where none is likely, of all"


def test_an_answer_that_shares_parts_with_what_is_expected_is_worth_these() -> None:
    regression = expecting(north=0.9, dry=0.5)
    shared = [frozenset(parts) for parts in (("north", "dry"), ("north", "wet"), ("south", "dry"), ("south", "wet"))]
    near = regression.closeness(np.zeros(1), regression.answers(shared), np.zeros(4, dtype=np.float32))
    assert np.allclose(near, [0.7, 0.45, 0.25, 0.0])


def test_the_penalty_is_the_one_with_which_each_case_is_best_told_from_all_others() -> None:
    # With some answers at random, so that the least penalty is not the best.
    cases = [(question, answer if at % 3 else "Wren") for at, (question, answer) in enumerate(parcels(5, 40))]
    words, answers = words_of([question for question, _ in cases]), [features("t", answer) for _, answer in cases]
    made = regression_of(words, answers)
    assert made

    def fitted(kept: np.ndarray, penalty: float) -> np.ndarray:
        """Return what a regression with that penalty expects of every case."""
        centre, share = words[kept].mean(axis=0), has[kept].mean(axis=0)
        moved = words[kept] - centre
        inner = np.linalg.solve(moved @ moved.T + penalty * np.eye(len(kept)), has[kept] - share)
        return (words - centre) @ moved.T @ inner + share

    has = np.array([[part in own for part in made.places] for own in answers], dtype=float)
    everything = np.arange(len(cases))

    def error(penalty: float) -> float:
        each = (fitted(np.delete(everything, at), penalty)[at] - has[at] for at in everything)
        return float(sum((one**2).sum() for one in each))

    best = min(PENALTIES, key=error)
    assert np.allclose((words - made.mean) @ made.weights + made.shares, fitted(everything, best))


def test_there_is_no_regression_of_one_answer_or_without_words() -> None:
    assert regression_of(words_of(["one", "two"]), [features("t", "same")] * 2) is None
    assert regression_of(words_of(["?", ""]), [features("t", "a"), features("t", "b")]) is None
    assert regression_for(memory_of(), "t") is None


def test_what_cases_out_of_date_said_does_not_speak_for_an_answer_of_today() -> None:
    vectors = EMBEDDER.encode([question for question, _ in TAUGHT])
    lanes = [*LANES.values()]
    turned = dict(zip(lanes, lanes[1:] + lanes[:1], strict=True))
    placed = [*zip(vectors, TAUGHT, strict=True)]
    old = [Placed("t", vector, answer, is_old=True, question=question) for vector, (question, answer) in placed]
    new = [Placed("t", vector, turned[answer], question=question) for vector, (question, answer) in placed]
    regression = learn_metrics([*old, *new]).regressions["t"]
    answers = regression.answers(features("t", team) for team in turned)
    right = 0
    for question, answer in LATER:
        near = regression.closeness(words_of([question])[0], answers, np.zeros(4, dtype=np.float32))
        right += [*turned][near.argmax()] == turned[answer]
    assert right > 0.8 * len(LATER)
