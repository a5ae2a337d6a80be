"""Which prompts showed a memory, and what became of them, counted by columns and event by event."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.askings.columns import AskedFacts, Quoted, Uses
from mage_es.engine.rules.probation import tosses_of
from mage_es.engine.worth.effect import coin_of
from mage_es.events import vocabulary as v
from mage_es.events.segments.batches import batches_of
from mage_es.projections.scores import Score
from tests.engine.worth.test_effect import found, plan, verdict


def recorded(events: Iterable[v.Event]) -> list[v.Record]:
    about = {"event_id": b"", "ts_us": 0, "run": "r", "iteration": 0, "phase": "evaluate", "ordinal": 0}
    return [
        v.Record(seq=seq, commit=seq, causation=0, correlation="", event=event, **about)  # type: ignore[arg-type]
        for seq, event in enumerate(events, 1)
    ]


def uses(events: Sequence[v.Event], names: str = "ab", *, cut: int = 0) -> Uses:
    """Count by columns, in two stretches."""
    asked, log = AskedFacts({name: row for row, name in enumerate(names)}), recorded(events)
    for stretch in (log[:cut], log[cut:]):
        asked.take(batches_of(stretch, AskedFacts.reads, ()))
    asked.joined()
    return asked.uses


def used(events: Iterable[v.Event], name: str) -> Quoted:
    """Count event by event. An asking is numbered by its first plan or verdict."""
    asking, askings = dict[tuple[int, str, str], int](), 0
    sides: list[dict[int, None]] = [{}, {}, {}]
    right, carried = dict[int, bool](), set[int]()
    for event in events:
        about: Any = event
        question = event.episode_id if isinstance(event, v.EpisodeStepped) else about.question_id
        key = (about.iteration, "anchor" if isinstance(event, v.AnswerCarried) else about.purpose, question)
        is_verdict = isinstance(event, v.AnswerJudged | v.AnswerCarried)
        if isinstance(event, v.QuestionPlanned) or (is_verdict and key not in asking):
            asking[key], askings = askings, askings + 1
        if key not in asking:
            continue
        row = asking[key]
        match event:
            case v.QuestionPlanned():
                others = (*event.principles, *event.action_recipes, event.tool_id, event.recipe_id)
                tosses = [(is_out, hit.memory_id) for is_out, hit in tosses_of(event)]
                shown = (*(hit.memory_id for hit in event.memories), *others)
                left = [hit.memory_id for hit in event.left_out]
                for side, names in zip(sides, (shown, [each for out, each in tosses if not out], left), strict=True):
                    side.update({row: None} if name in names else {})
            case v.EpisodeStepped():
                sides[0].update({row: None} if name in event.memories else {})
            case v.BundleTrimmed() if event.memory_id == name:
                sides[0].pop(row, None)
            case v.AnswerJudged():
                right[row] = event.correct
            case v.AnswerCarried():
                carried.add(row)
    kept = [sorted(row for row in side if row not in carried) for side in sides]
    scores = [Score(sum(right.get(row, False) for row in side), sum(row in right for row in side)) for side in kept]
    return Quoted(kept[0], *scores)


def step(question: str, shown: str = "", number: int = 0) -> v.EpisodeStepped:
    happened = {"action": "", "parsed": True, "observation": "", "reward_micro": 0, "achievements": (), "done": False}
    about = {"iteration": 0, "purpose": "fresh", "episode_id": question, "step": number}
    return v.EpisodeStepped(**about, **happened, memories=tuple(shown))  # type: ignore[arg-type]


def trim(question: str, name: str) -> v.BundleTrimmed:
    about = {"iteration": 0, "purpose": "fresh", "question_id": question, "about": question}
    return v.BundleTrimmed(**about, request_sha256="", memory_id=name, problem="")  # type: ignore[arg-type]


def carry(question: str, *, right: bool) -> v.AnswerCarried:
    about = {name: "" for name in v.AnswerCarried.__struct_fields__}
    return v.AnswerCarried(**{**about, "iteration": 0, "question_id": question, "correct": right})  # type: ignore[arg-type]


NAMES = st.sampled_from(["", "a", "b", "ab"])
QUESTIONS = st.sampled_from(["q", "r"])
EVENTS = st.one_of(
    st.builds(
        lambda question, shown, left, coin, purpose: plan(question, shown, left=left, coin=coin, purpose=purpose),
        *(QUESTIONS, NAMES, NAMES, st.sampled_from([0.0, 0.5]), st.sampled_from(["fresh", "anchor"])),
    ),
    st.builds(step, QUESTIONS, NAMES),
    st.builds(trim, QUESTIONS, st.sampled_from("ab")),
    st.builds(lambda question, right: verdict(plan(question), right=right), QUESTIONS, st.booleans()),
    st.builds(lambda question, right: carry(question, right=right), QUESTIONS, st.booleans()),
)


@given(st.lists(EVENTS, max_size=16), st.integers(0, 16))
def test_what_is_counted_by_columns_is_what_is_counted_event_by_event(events: list[v.Event], cut: int) -> None:
    counted = uses(events, cut=cut)
    expected = [used(events, name) for name in "ab"]
    assert [counted.of(name) for name in "ab"] == expected
    assert counted.prompts().tolist() == [len(use.shown) for use in expected]
    assert counted.right().tolist() == [use.right.correct for use in expected]


@pytest.mark.parametrize("cut", [0, 3, 4])
def test_episodes_whose_steps_interleave_show_a_memory_once_each(cut: int) -> None:
    one, other = plan("one"), plan("other")
    steps = [step("one", "a", 0), step("other", "a", 0), step("one", "a", 1), step("other", "a", 1)]
    events = [one, other, *steps, verdict(one, right=True), verdict(other, right=False)]
    assert uses(events, cut=cut).of("a") == Quoted([0, 1], Score(1, 2), Score(0, 0), Score(0, 0))


def test_what_a_later_step_shows_again_was_shown_though_it_did_not_fit_before() -> None:
    assert uses(
        [plan("one"), step("one", "ab"), trim("one", "a"), trim("one", "b"), step("one", "a")]
    ).prompts().tolist() == [1, 0]


def test_what_did_not_fit_was_not_shown_but_stays_on_the_side_to_which_the_coin_put_it() -> None:
    kept, trimmed, left = (plan("kept", "a", coin=0.5), plan("cut", "a", coin=0.5), plan("left", left="a", coin=0.5))
    events = [kept, verdict(kept, right=True), trimmed, trim("cut", "a"), verdict(trimmed, right=False), left]
    events.append(verdict(left, right=False))
    use = uses(events).of("a")
    assert use.shown == [0] and use.right == (1, 1)
    assert (use.coin, use.left) == ((1, 2), (0, 1))
    coin = coin_of(found(*events), frozenset("a"))
    assert (coin.with_memory, coin.held_back) == (use.coin[1], use.left[1])
