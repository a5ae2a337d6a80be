"""The shopper's choices: a simple one where its prompt tells nothing, better ones where it does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from mage_es.engine.models.registry import open_model
from mage_es.engine.players.shopper.model import reply as reply_to
from mage_es.engine.seams.model import Request

WANTED = "Find me shirts with cotton with color: red, and size: l, and price lower than 40.00 dollars"
OPTIONS = "Click every option that the instruction names before you buy."
FURTHER = "Go back and open another product where the page lacks an option that is named."
PRICE = "Search with the words of the instruction, without the price."
START = ["search[words of your own]", "click[search]"]
RESULTS = ["click[back to search]", "click[next >]", "click[b000000001]", "click[b000000002]"]
ITEM = ["click[back to search]", "click[< prev]", "click[description]", "click[buy now]"]


def reply(prompt: str, temperature: float = 0.0) -> str:
    return reply_to(Request(prompt=prompt, temperature=temperature))


def chosen(actions: Sequence[str], *advice: str, done: Sequence[str] = (), temperature: float = 0.0) -> str:
    told = "".join(f"## Principles\n\n> - {sentence}\n\n" for sentence in advice)
    so_far = "\n".join(f"> {number}. {action}" for number, action in enumerate(done, start=1))
    listed = "\n".join(f"- {action}" for action in actions)
    text = f"{told}## Task\n\n{WANTED}\n\n## Episode so far\n\n{so_far}\n\n## Valid actions\n\n{listed}"
    return reply(text, temperature=temperature).splitlines()[-1].removeprefix("Action: ")


def test_without_advice_it_searches_for_everything_and_buys_the_first_product_as_it_is() -> None:
    assert chosen(START) == f"search[{WANTED.lower()}]"
    assert chosen(RESULTS) == "click[b000000001]"
    assert chosen([*ITEM, "click[red]", "click[l]"]) == "click[buy now]"


def test_advice_takes_the_price_out_of_the_query() -> None:
    assert chosen(START, PRICE) == "search[shirts with cotton with color: red, and size: l]"


def test_advice_makes_it_choose_the_options_one_after_another() -> None:
    item = [*ITEM, "click[blue]", "click[red]", "click[l]"]
    first = ["search[x]", "click[b000000001]"]
    assert chosen(item, OPTIONS, done=first) == "click[red]"
    assert chosen(item, OPTIONS, done=[*first, "click[red]"]) == "click[l]"
    assert chosen(item, OPTIONS, done=[*first, "click[red]", "click[l]"]) == "click[buy now]"
    assert chosen([*ITEM, "click[l]"], OPTIONS, done=first) == "click[l]"
    assert chosen(ITEM, OPTIONS, done=first) == "click[buy now]"


def test_options_that_were_chosen_on_another_product_are_chosen_anew() -> None:
    done = ["search[x]", "click[b000000001]", "click[red]", "click[< prev]", "click[b000000002]"]
    assert chosen([*ITEM, "click[red]"], OPTIONS, done=done) == "click[red]"


def test_advice_makes_it_look_at_other_products_but_not_for_ever() -> None:
    done = ["search[x]", "click[b000000001]"]
    assert chosen([*ITEM, "click[red]"], FURTHER, done=done) == "click[< prev]"
    assert chosen([*ITEM, "click[red]", "click[l]"], FURTHER, done=done) == "click[buy now]"
    assert chosen(RESULTS, FURTHER, done=[*done, "click[< prev]"]) == "click[b000000002]"
    assert chosen([*ITEM, "click[red]"], FURTHER, done=[*done, *["click[< prev]"] * 9]) == "click[buy now]"


@pytest.mark.parametrize(
    ("actions", "action"),
    [
        (["click[back to search]", "click[next >]"], "click[back to search]"),
        (["click[back to search]", "click[< prev]"], "click[< prev]"),
    ],
)
def test_where_there_is_nothing_to_buy_it_goes_back(actions: list[str], action: str) -> None:
    assert chosen(actions) == action


def test_at_a_temperature_some_actions_are_tried_out_what_the_instruction_mentions_first() -> None:
    tried = {
        chosen([*ITEM, "click[red]", "click[blue]"], done=[f"search[{number}]"], temperature=0.5)
        for number in range(40)
    }
    assert tried == {"click[buy now]", "click[red]"}


def test_its_reply_is_a_function_of_the_request_and_never_raises() -> None:
    model = open_model("builtin/shopper", "execution")
    for prompt in ("", "## Valid actions\n\n- click[x]", "Hello?"):
        request = Request(prompt=prompt, temperature=0.3, max_tokens=99)
        replies = {asyncio.run(model.complete(request)).text for _ in range(3)}
        assert len(replies) == 1


def test_a_direct_prompt_gets_the_action_alone() -> None:
    text = f"## Task\n\n{WANTED}\n\n## Valid actions\n\n- click[buy now]"
    assert reply_to(Request(system="Write nothing else: no reasoning.", prompt=text)) == "Action: click[buy now]"
