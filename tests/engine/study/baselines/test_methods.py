"""The plain methods: which cases each shows for a question, in which form, and which replies they have."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from mage_es.engine.courses import Ask, Finish, advance, begin
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.study.baselines.entries import METHODS
from mage_es.engine.study.baselines.method import Method, PreparedTask, RunView, Searching, blind, taught
from mage_es.engine.study.baselines.table import is_method
from mage_es.engine.study.baselines.trial import asked_by
from mage_es.events.vocabulary import BundleTrimmed
from tests.engine.study.baselines.driving import attempt, called

FORM = 'Finish with a line such as "Answer: <Oslo>".'


def place(texts: Sequence[str]) -> np.ndarray:
    """Turn "q30" into the unit vector at 30 degrees."""
    angles = np.radians([float(text.removeprefix("q")) for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def question(at: int, *, gold: str = "", solution: str = "", name: str = "") -> Question:
    asked = Question(
        id=name or f"id{at}", benchmark="b", split="evolution", task_type="t", question=f"q{at}", gold=gold
    )
    return msgspec.structs.replace(asked, solution=solution)


def method(name: str, *, is_reasoned: bool = False, sees_gold: bool = True) -> Method:
    made = METHODS[name](RunView(place, FORM, is_reasoned, sees_gold))
    assert not isinstance(made, Searching)
    return made


def after(name: str, angles: Sequence[int]) -> Method:
    made = method(name)
    for at in angles:
        made.observe(question(at, gold=f"gold{at}"), "", None)
    return made


def shown(prepared: PreparedTask) -> list[str]:
    return [case.question.question for case in prepared.cases]


def verdict(*, right: bool) -> Verdict:
    return Verdict(answer="x", score=float(right), strict=right)


def test_the_five_nearest_cases_are_shown_the_nearest_one_next_to_the_question() -> None:
    made = after("knn", [70, 10, 20, 40, 30, 60, 50])
    assert shown(made.prepare(question(31))) == ["q10", "q50", "q20", "q40", "q30"]


def test_a_question_is_never_among_its_own_cases_by_id_or_by_text() -> None:
    made = after("knn", [10, 30])
    assert shown(made.prepare(question(30))) == ["q10"]
    assert shown(made.prepare(question(30, name="another"))) == ["q10"]
    assert made.prepare(question(10, name="id10")).cases[0].reply == "Answer: gold30"


def test_a_full_history_shows_the_newest_forty_in_their_order() -> None:
    made = after("full_history", range(1, 46))
    assert shown(made.prepare(question(99))) == [f"q{at}" for at in range(6, 46)]


def test_the_nearest_label_is_a_reply_without_a_call() -> None:
    made = after("nearest_label", [10, 80])
    prepared = made.prepare(question(70))
    assert prepared.reply == "Answer: gold80" and not made.is_asking
    assert isinstance(finish := begin(asked_by(attempt(), prepared, is_reasoned=False)), Finish)
    assert finish.reply == "Answer: gold80"


def test_a_linear_svm_weighs_the_words_of_all_cases_and_asks_no_model() -> None:
    pytest.importorskip("sklearn", reason="python -m pip install 'mage-es[classifier]'")
    made = method("linear_svm")
    assert made.prepare(ticket("a", "Where is my parcel?")) == PreparedTask()
    told = [("refund the chair", "billing"), ("a lamp is late", "delivery"), ("refund that lamp", "billing")]
    for name, (text, team) in enumerate(told):
        made.observe(ticket(f"{name}", text, team), "", None)
    # Two of three words are of the case about delivery.
    assert made.prepare(ticket("b", "refund a lamp")).reply == "Answer: billing"
    assert made.prepare(ticket("c", "the chair is late")).reply == "Answer: delivery"
    # Without the case of its own text, whose answer would show.
    assert made.prepare(ticket("d", "A lamp is late")).reply == "Answer: billing"
    assert not made.is_asking


def ticket(name: str, text: str, team: str = "") -> Question:
    return Question(id=name, benchmark="b", split="evolution", task_type="t", question=text, gold=team)


def test_zero_shot_learns_nothing() -> None:
    assert after("zero_shot", [10, 20]).prepare(question(10, name="other")) == PreparedTask()


def test_reasoned_cases_show_the_learners_own_right_words_and_none_of_its_wrong_ones() -> None:
    made = method("knn", is_reasoned=True)
    assert made.is_asking
    made.observe(question(10, gold="4"), "Two and two.\nAnswer: 4", verdict(right=True))
    made.observe(question(20, gold="9"), "Eight or so.\nAnswer: 8", verdict(right=False))
    made.observe(question(30, gold="6", solution="Thrice two."), "Five.", verdict(right=False))
    replies = [case.reply for case in made.prepare(question(5)).cases]
    assert sorted(replies) == ["Answer: 9", "Thrice two.\nAnswer: 6", "Two and two.\nAnswer: 4"]


def test_where_right_answers_may_not_be_seen_only_what_was_right_is_a_case() -> None:
    made = method("knn", sees_gold=False)
    assert made.is_asking
    made.observe(question(10), "Answer: 4", verdict(right=True))
    made.observe(question(20), "Answer: 8", verdict(right=False))
    assert [case.reply for case in made.prepare(question(5)).cases] == ["Answer: 4"]


def test_a_teacher_sees_what_the_setting_says_and_a_learner_nothing() -> None:
    asked = msgspec.structs.replace(question(1, gold="g", solution="s"), meta={"options": "{}"})
    seen = {sees: taught(asked, sees) for sees in ("errors", "answers", "solutions")}
    assert [(each.gold, each.solution) for each in seen.values()] == [("", ""), ("g", ""), ("g", "s")]
    assert (blind(asked).gold, blind(asked).solution, blind(asked).meta) == ("", "", {})


def first_ask(prepared: PreparedTask) -> Ask:
    move = begin(asked_by(attempt(), prepared, is_reasoned=False))
    assert isinstance(move, Ask)
    return move


def test_cases_are_turns_of_a_chat_and_the_bare_question_is_the_last() -> None:
    prepared = after("knn", [10, 20]).prepare(question(12))
    asked = attempt().question
    assert first_ask(prepared).request.messages == ["q20", "Answer: gold20", "q10", "Answer: gold10", asked.question]
    assert [span.source for span in first_ask(prepared).spans] == ["case/id20", "case/id10"]


def test_cases_as_lines_are_one_message() -> None:
    prepared = after("knn_lines", [10]).prepare(question(12))
    assert first_ask(prepared).request.messages == [f"Q: q10\n\nA: Answer: gold10\n\nQ: {attempt().question.question}"]


def test_without_a_case_lines_and_turns_ask_the_same() -> None:
    assert first_ask(method("knn_lines").prepare(question(1))) == first_ask(method("zero_shot").prepare(question(1)))


def test_a_prompt_that_does_not_fit_goes_without_its_first_case() -> None:
    course = asked_by(attempt(), after("knn", [10, 20]).prepare(question(12)), is_reasoned=False)
    move = begin(course)
    assert isinstance(move, Ask) and move.droppable == ("case/id20", "case/id10")
    trimmed = BundleTrimmed(
        iteration=-1, purpose="exam", question_id=attempt().question.id, about=move.about,
        request_sha256=move.request.sha256, memory_id=move.droppable[0], problem="too long",
    )  # fmt: skip
    shorter = advance(course, trimmed)
    assert isinstance(shorter, Ask) and shorter.request.messages[:-1] == ["q10", "Answer: gold10"]
    assert isinstance(advance(course, called(shorter, "Answer: 1")), Finish)


@pytest.mark.parametrize("name", sorted({*METHODS} - {"gepa"}))  # which learns from trials, and not in this order
def test_a_method_made_anew_of_the_same_observations_prepares_the_same(name: str) -> None:
    assert is_method(name)
    assert after(name, [10, 50, 30]).prepare(question(33)) == after(name, [10, 50, 30]).prepare(question(33))
