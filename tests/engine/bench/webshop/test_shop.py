"""The shop's rules: what leads where, what is kept and what is cleared."""

import pytest

from mage_es.engine.bench.webshop.shop import Action, Visit, parse_action
from tests.engine.bench.webshop.small import goal, store


def after(*actions: str) -> Visit:
    """A visit after some actions, each of which must do something."""
    visit = Visit(store(), goal())
    for action in actions:
        read = parse_action(action)
        assert read and visit.do(read), action
    return visit


def does(visit: Visit, action: str) -> bool:
    read = parse_action(action)
    return read is not None and visit.can_do(read)


@pytest.mark.paper("section 4, WebShop, the shop")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("search[Red Shirt]", ("search", "red shirt")),
        ("click[Buy Now]", ("click", "buy now")),
        ("click[a] and click[b]", ("click[a] and click", "b")),
        ("click[7] please", ("click", "7")),
        ("click[size [eu] 7]", ("click[size ", "eu] 7")),
        ("Search[x]", ("Search", "x")),
        (" click[x]", (" click", "x")),
        ("search[]", None),
        ("[x]", None),
        ("click", None),
        ("click[a\nb]", None),
        ("", None),
    ],
)
def test_an_action_is_read_greedily_from_the_start(text: str, read: tuple[str, str] | None) -> None:
    assert parse_action(text) == (Action(*read) if read else None)


PLACES = {
    "index": (),
    "results": ("search[plain lamp]",),
    "item": ("search[cotton shirt]", "click[b000000001]"),
    "sub-page": ("search[cotton shirt]", "click[b000000001]", "click[features]"),
}


@pytest.mark.paper("section 4, WebShop, the shop")
@pytest.mark.parametrize("place", PLACES)
def test_a_search_works_from_every_page_and_forgets_product_and_options(place: str) -> None:
    visit = after(*PLACES[place])
    visit.chosen["color"] = "red"
    assert visit.do(Action("search", "silk"))
    assert visit.product is None and visit.chosen == {} and visit.number == 1
    assert [product.asin for product in visit.hits] == ["B000000002"]


def test_results_are_turned_forwards_past_the_end_and_back() -> None:
    visit = after("search[plain lamp]", "click[next >]", "click[next >]", "click[next >]")
    assert (visit.number, len(visit.hits)) == (4, 25)
    assert not any(piece.kind == "product" for piece in visit.page.pieces)
    assert visit.do(Action("click", "< prev")) and visit.number == 3
    assert not does(after("search[plain lamp]"), "click[< prev]")


def test_an_option_is_set_on_the_same_page_and_the_last_of_a_name_wins() -> None:
    visit = after(*PLACES["item"], "click[red]", "click[l]", "click[Dark Blue]")
    assert visit.chosen == {"color": "dark blue", "size": "l"} and visit.product is not None


def test_a_page_about_the_product_leads_back_to_it_with_its_options() -> None:
    visit = after(*PLACES["item"], "click[red]", "click[description]")
    assert "A thing." in [piece.text for piece in visit.page.pieces]
    assert not does(visit, "click[buy now]")
    assert visit.do(Action("click", "< prev"))
    assert visit.chosen == {"color": "red"} and does(visit, "click[buy now]")


def test_going_back_from_a_product_lists_the_same_page_of_results_without_options() -> None:
    visit = after("search[plain lamp]", "click[next >]", "click[b000000112]", "click[< prev]")
    assert visit.number == 2 and visit.product is None and visit.chosen == {}
    visit = after(*PLACES["item"], "click[red]", "click[< prev]")
    assert visit.chosen == {} and visit.visited == {"B000000001"}


def test_back_to_search_clears_everything() -> None:
    visit = after(*PLACES["sub-page"], "click[back to search]")
    assert visit.page.has_search_bar and visit.product is None and not visit.visited and not visit.hits


@pytest.mark.parametrize("place", PLACES)
def test_what_cannot_be_done_changes_nothing(place: str) -> None:
    visit = after(*PLACES[place])
    before = visit.page
    for action in ("click[search]", "click[nowhere]", "Click[buy now]", "think[hm]", "search[ ]x["):
        read = parse_action(action)
        assert read is None or read.argument == " " or not visit.do(read)
    assert visit.page == before and visit.bought is None


def test_buying_ends_the_visit_with_the_reward_of_the_product_and_its_options() -> None:
    visit = after(*PLACES["item"], "click[red]", "click[s | m]", "click[buy now]")
    assert visit.bought is not None and visit.bought.value == 1.0
    assert not does(visit, "search[lamp]") and not does(visit, "click[buy now]")


def test_an_option_worded_like_a_button_is_followed_as_the_button() -> None:
    product = store().by_asin["B000000001"]._replace(options={"kind": ("buy now",)})
    shop = store()._replace(by_asin={**store().by_asin, product.asin: product})
    visit = Visit(shop, goal())
    for action in ("search[cotton shirt]", "click[b000000001]", "click[buy now]"):
        assert visit.do(parse_action(action) or Action("", ""))
    assert visit.bought is not None and visit.chosen == {}
