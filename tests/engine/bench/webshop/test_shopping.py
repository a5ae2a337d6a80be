"""An episode: what a reply is read as, what a step says, and when it ends."""

import pytest

from mage_es.engine.bench.webshop.pages import Mode
from mage_es.engine.bench.webshop.shopping import ALL_BOUGHT, INVALID, OK, Shopping
from mage_es.engine.seams.playing import play_actions
from tests.engine.bench.webshop.small import goal, store

BOUGHT = ("search[cotton shirt]", "click[b000000001]", "click[red]", "click[s | m]", "click[buy now]")


def episode(*, mode: Mode = "text", steps: int = 15) -> Shopping:
    made = Shopping(store(), goal(), mode=mode, steps=steps)
    made.reset()
    return made


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("I search first.\nAction: search[Cotton Shirt]", "search[cotton shirt]"),
        ("click[Buy Now].", "click[buy now]"),
        ("**Action:** `click[< Prev]`", "click[< prev]"),
        ("click[nothing like this]", "click[nothing like this]"),
        ("Action: Search[shirt]", None),
        ("Action: think[hm]", None),
        ("Action: search[]", None),
        ("<think>click[red]", None),
        ("", None),
    ],
)
def test_a_reply_is_an_action_by_its_form_alone(reply: str, action: str | None) -> None:
    assert episode().parse(reply) == action


def test_the_offered_actions_begin_with_the_search_where_there_is_a_bar() -> None:
    played = episode()
    assert played.valid_actions() == ("search[words of your own]", "click[search]")
    played.step("search[silk]")
    assert played.valid_actions() == ("click[back to search]", "click[next >]", "click[b000000002]")


def test_buying_all_that_was_asked_for_is_an_achievement_and_every_step_says_what_it_led_to() -> None:
    played = episode()
    outcomes = [played.step(action) for action in BOUGHT]
    assert [outcome.effect for outcome in outcomes] == [
        "Page 1 (Total results: 2)", "Cotton Shirt, $10.0 to $30.0", "You have clicked red.",
        "You have clicked s | m.", "Your score: 1",
    ]  # fmt: skip
    assert [outcome.reward for outcome in outcomes] == [0, 0, 0, 0, 1]
    assert [outcome.achievements for outcome in outcomes][-2:] == [(), (ALL_BOUGHT,)]
    assert [outcome.done for outcome in outcomes] == [False] * 4 + [True]
    assert played.result() == "B000000001 with color: red, size: s | m"


def test_a_purchase_of_a_part_has_its_reward_but_is_no_success() -> None:
    verdict = play_actions(episode(), "\n".join(action for action in BOUGHT if "red" not in action))
    assert verdict.score == 0.75 and not verdict.correct and not verdict.strict
    assert verdict.answer == "B000000001 with size: s | m"
    whole = play_actions(episode(), "\n".join(BOUGHT))
    assert whole.score == 1.0 and whole.correct and whole.strict


@pytest.mark.paper("section 4, WebShop, the shop")
@pytest.mark.parametrize("action", [None, "click[nowhere]", "click[search]", "click[red]"])
def test_what_cannot_be_done_costs_its_step_and_shows_the_same_page(action: str | None) -> None:
    played = episode(steps=2)
    before = Shopping(store(), goal()).reset()
    outcome = played.step(action)
    assert (outcome.observation, outcome.effect, outcome.reward, outcome.done) == (before, INVALID, 0.0, False)
    assert played.step(action).done


def test_the_last_step_without_a_purchase_ends_the_episode_with_nothing() -> None:
    played = episode(steps=4)
    outcomes = [played.step(action) for action in BOUGHT[:4]]
    assert outcomes[-1].done and played.score() == 0.0 and played.result() == "bought nothing"
    late = played.step("click[buy now]")
    assert late.done and late.reward == 0.0 and played.score() == 0.0


def test_a_step_after_the_purchase_does_nothing() -> None:
    played = episode()
    for action in BOUGHT:
        played.step(action)
    after = played.step("search[lamp]")
    assert after.done and after.reward == 0.0 and not after.achievements and played.score() == 1.0


def test_fifteen_steps_are_the_limit() -> None:
    played = Shopping(store(), goal())
    played.reset()
    assert [played.step(None).done for _ in range(15)] == [False] * 14 + [True]


def test_rich_mode_shows_what_was_chosen() -> None:
    played = episode(mode="rich")
    for action in BOUGHT[:3]:
        seen = played.step(action).observation.text
    assert seen.startswith("You have clicked red.\nInstruction:")


def test_react_mode_shows_three_products_answers_thoughts_and_says_what_is_invalid() -> None:
    played = episode(mode="react")
    played.step("search[plain lamp]")
    assert len([action for action in played.valid_actions() if "b00" in action]) == 3
    outcome = played.step(played.parse("think[The first one?]"))
    assert (outcome.observation.text, outcome.effect) == (OK, OK)
    outcome = played.step("click[b000000105]")
    assert (outcome.observation.text, outcome.effect) == (INVALID, INVALID)
    assert played.step("click[b000000100]").effect == "Plain Lamp 0, $12.5"


def test_an_effect_holds_no_bracket_so_that_a_transcript_plays_as_it_was_played() -> None:
    titled = store().by_asin["B000000001"]._replace(title="[2 Pack] Shirt [new]")
    shop = store()._replace(by_asin={**store().by_asin, titled.asin: titled})
    played = Shopping(shop, goal())
    played.reset()
    lines = [f"{action}: {played.step(action).effect}" for action in BOUGHT]
    assert lines[1] == "click[b000000001]: (2 Pack) Shirt (new), $10.0 to $30.0"
    assert play_actions(Shopping(shop, goal()), "\n".join(lines)).strict


def test_a_product_and_what_it_offers_are_told_to_the_graph() -> None:
    played = episode()
    played.step("search[cotton shirt]")
    seen = played.step("click[b000000001]").observation
    assert [entity.name for entity in seen.entities] == ["B000000001", "option color", "option size"]
    assert seen.relations[0] == ("B000000001", "offers", "option color")
