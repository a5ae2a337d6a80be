"""The metric of cases: what those of one answer differ in does not count, where that finds more right answers."""

from itertools import product

import msgspec
import numpy as np
import pytest

from mage_es.engine.config import Config, configured
from mage_es.engine.rules.metric import FittedMetrics, Placed, learn_metrics, metric_of, outvoted
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.engine.rules.setting import Setting
from mage_es.events.vocabulary import MemoryAppended, MemoryQuarantined
from mage_es.projections.memory import Memory
from tests.engine.rules.test_retrieval import memory_of, remembered, unit

TERMS = Terms(bundle=1, long_context=500, strategy_floor=0.0, exclude_self=True, is_measured=True)
WORDINGS, TOPICS = 6, 4


def text(wording: int, topic: int, draw: np.random.Generator) -> np.ndarray:
    """Return the vector of a text that is mostly its wording, a little its topic, and some chance."""
    vector = draw.normal(scale=0.02, size=WORDINGS + TOPICS)
    vector[wording] += 1.0
    vector[WORDINGS + topic] += 0.3
    return unit(*vector)


def paired(wording: int, topic: int) -> int:
    """Return an answer that follows from both together, and of which neither says anything."""
    return (wording + topic) % 2


def cases(count: int = 60, *, are_paired: bool = False) -> list[MemoryAppended]:
    """Return cases of both indexes whose answer is their topic; or follows from wording and topic together."""
    draw = np.random.default_rng(7)
    places = list(product(range(WORDINGS), range(TOPICS)))
    draw.shuffle(places)
    found = []
    for at in range(count):
        wording, topic = places[at % len(places)]
        answer = paired(wording, topic) if are_paired else topic
        outcome = {"outcome": "failure_memory", "kind": "case"} if at % 2 else {}
        vector = text(wording, topic, draw)
        found.append(
            remembered(f"{at:03}", vector, ordinal=at, question=f"case {at}", answer=f"team {answer}", **outcome)
        )
    return found


def few(*, are_paired: bool = False) -> Memory:
    """Return cases so few that most texts have no case of their own wording and topic."""
    return memory_of(*(case for case in cases(are_paired=are_paired) if int(case.memory_id) % 5 < 3))


def answers(memory: Memory, terms: Terms = TERMS, *, are_paired: bool = False, step: int = 0) -> list[bool]:
    """Return for new texts of every wording and topic whether the nearest case has the right answer, which is that of
    the topic so many places on."""
    draw, right = np.random.default_rng(8), []
    for wording, topic in product(range(WORDINGS), range(TOPICS)):
        asked = Query(text(wording, topic, draw), "t", "asked", "What is asked?", 0)
        bundle = retrieve("nearest", asked, memory, terms)
        [hit] = (*bundle.success, *bundle.failure)
        answer = paired(wording, topic) if are_paired else (topic + step) % TOPICS
        right.append(memory.row(hit.memory_id).answer == f"team {answer}")
    return right


def test_cases_are_near_by_what_tells_their_answers_and_not_by_their_wording() -> None:
    assert all(answers(few()))
    assert not all(answers(few(), TERMS._replace(is_measured=False)))


def test_an_answer_that_follows_from_two_things_together_is_found() -> None:
    memory = few(are_paired=True)
    assert all(answers(memory, are_paired=True))
    assert not all(answers(memory, TERMS._replace(is_measured=False), are_paired=True))


def test_the_cosine_stays_where_nothing_that_a_text_has_tells_the_answer() -> None:
    draw = np.random.default_rng(14)
    drawn = [Placed("t", text(at % WORDINGS, at % TOPICS, draw), str(draw.integers(3))) for at in range(90)]
    assert learn_metrics(drawn) == FittedMetrics({})


def test_there_is_no_metric_of_too_few_cases_of_one_answer_or_of_none() -> None:
    assert metric_of(memory_of(), "t") is None
    assert metric_of(memory_of(*cases(4)), "t") is None
    same = [remembered(f"{at}", unit(1, at), ordinal=at, question=f"case {at}") for at in range(40)]
    assert metric_of(memory_of(*same), "t") is None


def test_a_type_learns_from_another_that_two_things_are_alike() -> None:
    # Who keeps a thing is told of four, who brings it of the first two: the others are kept as those are.
    draw, things = np.random.default_rng(12), {0: "Alder", 1: "Tundra", 2: "Alder", 3: "Tundra"}
    kept = [Placed("keeping", text(at % WORDINGS, thing, draw), things[thing]) for thing in things for at in range(12)]
    brought = [
        Placed("bringing", text(at % WORDINGS, thing, draw), f"Carrier {thing}") for thing in (0, 1) for at in range(12)
    ]
    metric = learn_metrics([*kept, *brought]).metrics["bringing"]
    known = metric.moved(np.array([case.vector for case in brought]))
    known /= np.linalg.norm(known, axis=1)[:, None]
    for thing, like in ((2, "Carrier 0"), (3, "Carrier 1")):
        for wording in range(WORDINGS):
            place = (known @ metric.moved(text(wording, thing, draw))).argmax()
            assert brought[place].answer == like


def test_a_type_for_which_the_cosine_is_better_keeps_it() -> None:
    draw = np.random.default_rng(13)
    told = [
        Placed("told", text(wording, topic, draw), f"T{topic}")
        for wording, topic in product(range(WORDINGS), range(TOPICS))
    ]
    worded = [
        Placed("worded", text(wording, topic, draw), f"W{wording}") for wording, topic in product(range(4), range(2))
    ]
    assert set(learn_metrics([*told, *worded]).metrics) == {"told"}


def test_a_single_case_of_another_type_is_no_obstacle() -> None:
    draw, places = np.random.default_rng(15), [*product(range(WORDINGS), range(TOPICS))] * 3
    both = [Placed("both", text(*place, draw), f"P{paired(*place)}") for place in places]
    assert "both" in learn_metrics([Placed("lone", text(0, 0, draw), "alone"), *both]).metrics


def test_for_anchors_it_is_learned_without_cases_of_anchors_and_they_are_shown_none() -> None:
    known = cases()
    others, anchors = known[:40], [msgspec.structs.replace(case, phase="snapshot") for case in known[40:]]
    memory, asked = (
        memory_of(*others, *anchors),
        Query(np.frombuffer(known[40].embedding, np.float32), "t", "asked", "What is asked?", 0),
    )
    told, for_all, for_anchors = (
        metric_of(each, "t", for_anchors=is_for)
        for each, is_for in ((memory_of(*others), False), (memory, False), (memory, True))
    )
    assert told is not None and for_all is not None and for_anchors is not None
    assert np.array_equal(told.axes, for_anchors.axes) and not np.array_equal(told.mean, for_all.mean)
    found = [retrieve("nearest", asked._replace(is_anchor=is_anchor), memory, TERMS) for is_anchor in (False, True)]
    of_anchors = {case.memory_id for case in anchors}
    assert [bool(bundle.ids & of_anchors) for bundle in found] == [True, False]


def test_a_metric_is_learned_once_and_again_after_a_change_of_either_index() -> None:
    memory = few()
    first = metric_of(memory, "t")
    assert first is not None
    assert metric_of(memory, "t") is first
    seen = [first]
    for name in ("000", "001"):  # one that was right, and one that was missed
        memory.apply(MemoryQuarantined(memory_id=name, reason="", by=""))
        seen.append(metric_of(memory, "t"))
        assert metric_of(memory, "t") is seen[-1]
    assert len({id(each) for each in seen}) == 3


def test_the_similarity_is_the_cosine_of_what_the_metric_moves() -> None:
    memory = few()
    metric, rows = metric_of(memory, "t"), memory.slice("success", "t")
    assert metric is not None
    asked = text(2, 3, np.random.default_rng(9))
    moved, own = metric.moved(rows.vectors), metric.moved(asked)
    cosines = moved @ own / np.linalg.norm(moved, axis=1) / np.linalg.norm(own)
    np.testing.assert_allclose(metric.similarity(rows, asked), cosines, atol=1e-5)


def test_an_answer_that_shares_a_part_is_nearer_than_one_that_shares_none() -> None:
    draw = np.random.default_rng(11)
    unseen = [(wording, wording % TOPICS) for wording in range(WORDINGS)]
    places = sorted({*product(range(WORDINGS), range(TOPICS))} - {*unseen})
    codes = [f"{draw.integers(1000, 9999)}/T{topic}" for _, topic in places]
    vectors = np.array([text(*place, draw) for place in places])
    metric = learn_metrics([Placed("t", *case) for case in zip(vectors, codes, strict=True)]).metrics["t"]
    asked = np.array([text(*place, draw) for place in unseen])

    def parts(sought: np.ndarray, known: np.ndarray) -> list[str]:
        known = known / np.linalg.norm(known, axis=1)[:, None]
        return [codes[place].partition("/")[2] for place in (sought @ known.T).argmax(axis=1)]

    assert parts(metric.moved(asked), metric.moved(vectors)) == [f"T{topic}" for _, topic in unseen]
    assert parts(asked, vectors) != [f"T{topic}" for _, topic in unseen]
    assert not learn_metrics([Placed("t", vector, str(number)) for number, vector in enumerate(vectors)]).metrics


@pytest.mark.parametrize("has_parts", [False, True], ids=["one place", "parts of the answer repeat"])
def test_where_all_answers_are_copied_from_one_place_the_cosine_stays(*, has_parts: bool) -> None:
    draw = np.random.default_rng(11)
    placed = [
        (text(wording, topic, draw), f"{draw.integers(1000, 9999)}" + f"/T{topic}" * has_parts)
        for wording, topic in product(range(WORDINGS), range(TOPICS))
    ]
    cases = [Placed("t", vector, answer, question=f"Where is parcel {answer[:4]}?") for vector, answer in placed]
    assert learn_metrics(cases) == FittedMetrics({})


def test_where_answers_are_copied_the_metric_finds_cases_that_copy_from_the_same_place() -> None:
    draw = np.random.default_rng(12)
    placed = [(text(wording, topic, draw), topic % 2) for wording, topic in product(range(WORDINGS), range(TOPICS))]

    def case(vector: np.ndarray, place: int) -> Placed:
        net, gross = map(str, draw.integers(1000, 9999, size=2))
        return Placed("t", vector, (net, gross)[place], question=f"It costs {net} net, {gross} in all.")

    metric = learn_metrics([case(*each) for each in placed]).metrics["t"]
    asked, known = (
        metric.moved(np.array(vectors))
        for vectors in (
            [text(wording, topic, draw) for wording, topic in product(range(WORDINGS), range(TOPICS))],
            [vector for vector, _ in placed],
        )
    )
    nearest = (asked @ (known / np.linalg.norm(known, axis=1)[:, None]).T).argmax(axis=1)
    assert [placed[at][1] for at in nearest] == [place for _, place in placed]


def changed(later: int) -> Memory:
    """Return many cases, and some of another day, when every topic has the answer of the next."""
    found = cases(100 + later)
    for place in range(100, 100 + later):
        team = (int(found[place].answer[-1]) + 1) % TOPICS
        found[place] = msgspec.structs.replace(found[place], iteration=1, answer=f"team {team}")
    return memory_of(*found)


def test_after_a_change_a_few_cases_find_their_answers_by_what_told_them_apart_before() -> None:
    assert all(answers(changed(10), step=1))
    assert sum(answers(memory_of(*cases(110)[100:]))) < 12


def test_where_other_things_matter_after_a_change_the_metric_is_that_of_the_cases_since() -> None:
    draw = np.random.default_rng(16)

    def drawn(count: int, part: int, *, is_old: bool = False) -> list[Placed]:
        """Return cases whose answer is a part of their places: wording, topic, and another topic."""
        places = draw.integers((WORDINGS, TOPICS, TOPICS), size=(count, 3))
        vectors = [[*text(*place[:2], draw), *0.3 * np.eye(TOPICS)[place[2]]] for place in places]
        return [
            Placed("t", unit(*at), f"team {place[part]}", is_old) for at, place in zip(vectors, places, strict=True)
        ]

    late = drawn(30, part=2)
    metric = learn_metrics([*drawn(100, part=1, is_old=True), *late]).metrics["t"]
    known = metric.moved(np.array([case.vector for case in late]))
    known /= np.linalg.norm(known, axis=1)[:, None]
    asked = drawn(60, part=2)
    found = [late[(known @ metric.moved(case.vector)).argmax()].answer == case.answer for case in asked]
    assert np.mean(found) > 0.9


def slips(share: int) -> Memory:
    """Return many cases, of which one in `share` has the answer of the next topic."""
    found = cases(120)
    for place in range(0, len(found), share):
        team = (int(found[place].answer[-1]) + 1) % TOPICS
        found[place] = msgspec.structs.replace(found[place], answer=f"team {team}")
    return memory_of(*found)


def test_a_wrong_case_that_its_like_outvote_is_shown_with_no_question() -> None:
    memory = slips(11)
    assert outvoted(memory) == {f"{at:03}" for at in range(0, 120, 11)}
    assert all(answers(memory))
    assert not all(answers(memory, TERMS._replace(is_measured=False)))


def test_no_case_is_outvoted_where_such_votes_are_often_wrong_or_none_is_wrong() -> None:
    assert outvoted(slips(2)) == outvoted(memory_of(*cases(120))) == frozenset()


def test_a_floor_is_of_the_nearest_case_and_the_metric_chooses_from_all() -> None:
    memory, draw = few(), np.random.default_rng(8)
    for wording, topic in product(range(WORDINGS), range(TOPICS)):
        asked = Query(text(wording, topic, draw), "t", "asked", "What is asked?", 0)
        cosines = [memory.slice(index, "t").vectors @ asked.vector for index in ("success", "failure")]
        near = float(max(each.max() for each in cosines)) - 1e-6
        served = retrieve("nearest", asked, memory, TERMS._replace(bundle=5, floor=near))
        assert served == retrieve("nearest", asked, memory, TERMS._replace(bundle=5)) and len(served.ids) == 5
        assert not any(retrieve("nearest", asked, memory, TERMS._replace(bundle=5, floor=near + 0.01)))


def test_a_case_that_the_metric_ranks_far_behind_lets_its_question_in() -> None:
    wordings, draw = 24, np.random.default_rng(7)

    def worded(wording: int, topic: int) -> np.ndarray:
        vector = draw.normal(scale=0.1, size=wordings + TOPICS)
        vector[wording] += 1.0
        vector[wordings + topic % TOPICS] += 0.5
        return unit(*vector)

    # Each wording has cases of all topics but one.
    places = [(wording, wording + step) for step in range(TOPICS - 1) for wording in range(wordings)]
    memory = memory_of(
        *(
            remembered(f"{at:03}", worded(*place), ordinal=at, question=f"case {at}", answer=f"{place[1] % TOPICS}")
            for at, place in enumerate(places)
        )
    )
    for wording in range(wordings):
        asked = Query(worded(wording, wording - 1), "t", "asked", "What is asked?", 0)
        near = float((memory.slice("success", "t").vectors @ asked.vector).max()) - 1e-6
        served = retrieve("nearest", asked, memory, TERMS._replace(floor=near))
        assert served.ids and served == retrieve("nearest", asked, memory, TERMS)
        assert not any(retrieve("nearest", asked, memory, TERMS._replace(floor=near + 0.01)))


def test_only_labels_and_short_answers_have_a_metric_and_not_where_the_cosine_or_quotas_are_asked_for() -> None:
    def is_measured(config: Config, **changes: bool) -> bool:
        return Setting(config, (), (), (), ("t",), "", **changes).terms.is_measured

    default = configured("default", benchmark="wordmath")
    assert is_measured(default, is_labelled=True) and is_measured(default, is_short=True)
    assert not is_measured(default)
    assert not is_measured(configured("paper", benchmark="wordmath"), is_labelled=True)
    assert not is_measured(configured("default", benchmark="wordmath", retrieval="cosine"), is_labelled=True)
