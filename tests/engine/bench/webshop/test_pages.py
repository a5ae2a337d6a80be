"""What the pages show in each mode, and what can be clicked on them."""

from mage_es.engine.bench.webshop import pages
from mage_es.engine.bench.webshop.pages import PagePiece, ShopPage, shown
from tests.engine.bench.webshop.small import catalogue

SHIRT, *OTHERS = catalogue().products
NOTHING: dict[str, str] = {}


def text(page: ShopPage) -> str:
    return shown(page, "text", visited=set(), chosen=NOTHING)


def test_the_search_page_begins_with_the_shops_name_and_ends_with_its_button() -> None:
    page = pages.search_page("Find me shirts")
    assert text(page) == "WebShop [SEP] Instruction: [SEP] Find me shirts [SEP] Search"
    assert page.has_search_bar and list(page.clickables()) == ["search"]


def test_a_page_of_results_shows_number_title_and_price_of_ten_products() -> None:
    first = pages.results_page("Find", [SHIRT, *OTHERS], number=1)
    assert text(first).startswith(
        "Instruction: [SEP] Find [SEP] Back to Search [SEP] Page 1 (Total results: 28) [SEP] Next > [SEP] "
        "B000000001 [SEP] Cotton Shirt [SEP] $10.0 to $30.0 [SEP] B000000002 [SEP] Silk Shirt [SEP] $12.5 [SEP] "
    )
    assert len(first.clickables()) == 12
    second = pages.results_page("Find", [SHIRT, *OTHERS], number=2)
    assert list(second.clickables())[:3] == ["back to search", "< prev", "next >"]
    third = pages.results_page("Find", [SHIRT, *OTHERS], number=3)
    assert list(third.clickables())[:4] == ["back to search", "< prev", "next >", "b000000117"]
    assert len(third.clickables()) == 11


def test_a_page_past_the_end_is_empty_with_the_same_total_and_can_be_turned_further() -> None:
    page = pages.results_page("Find", OTHERS[:3], number=9)
    assert "Page 9 (Total results: 3)" in text(page)
    assert list(page.clickables()) == ["back to search", "< prev", "next >"]


def test_a_product_shows_options_then_title_price_and_its_pages() -> None:
    page = pages.item_page("Find", SHIRT)
    assert text(page) == (
        "Instruction: [SEP] Find [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP] dark blue [SEP] "
        "size [SEP] s | m [SEP] l [SEP] Cotton Shirt [SEP] Price: $10.0 to $30.0 [SEP] Rating: N.A. [SEP] "
        "Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
    )
    assert list(page.clickables()) == [
        "back to search", "< prev", "description", "features", "reviews", "buy now", "red", "dark blue", "s | m", "l",
    ]  # fmt: skip


def test_pages_about_a_product_show_its_texts() -> None:
    head = "Instruction: [SEP] Find [SEP] Back to Search [SEP] < Prev"
    assert text(pages.sub_page("Find", SHIRT, pages.DESCRIPTION)) == f"{head} [SEP] A thing."
    assert text(pages.sub_page("Find", SHIRT, pages.FEATURES)) == f"{head} [SEP] first point [SEP] second point"
    assert text(pages.sub_page("Find", SHIRT, pages.REVIEWS)) == head


def test_of_equal_values_of_two_options_the_last_one_counts() -> None:
    page = pages.item_page("Find", SHIRT._replace(options={"top": ("m", "l"), "bottom": ("m",)}))
    assert page.clickables()["m"] == PagePiece("m", "option", "bottom")


def test_an_option_worded_like_a_button_takes_its_place_and_an_empty_one_cannot_be_clicked() -> None:
    page = pages.item_page("Find", SHIRT._replace(options={"kind": ("reviews", "")}))
    assert page.clickables()["reviews"].kind == "option" and "" not in page.clickables()


def test_rich_mode_marks_what_can_be_clicked_and_what_was_the_last_option_first() -> None:
    lines = shown(pages.item_page("Find", SHIRT), "rich", visited=set(), chosen={"color": "red", "size": "l"})
    assert lines.splitlines()[:6] == [
        "You have clicked l.", "You have clicked red.", "Instruction:", "Find", "[button] Back to Search [button_]",
        "[button] < Prev [button_]",
    ]  # fmt: skip
    assert "\n  [clicked button] red [clicked button_]\n  [button] dark blue [button_]\n" in lines
    assert lines.endswith("[button] Buy Now [button_]\n")
    results = shown(pages.results_page("F", [SHIRT, *OTHERS], number=1), "rich", visited={SHIRT.asin}, chosen=NOTHING)
    assert (
        "\n\n[clicked button] B000000001 [clicked button_]\nCotton Shirt\n$10.0 to $30.0\n\n[button] B000000002"
        in results
    )


def test_react_mode_has_plain_brackets() -> None:
    lines = shown(pages.item_page("Find", SHIRT), "react", visited=set(), chosen={"color": "red"}).splitlines()
    assert "[[red]]" in lines and "[dark blue]" in lines and "[Buy Now]" in lines and "Cotton Shirt" in lines


def test_after_a_purchase_the_score_is_shown() -> None:
    assert text(pages.done_page(0.75)).endswith("Your score (min 0.0, max 1.0) [SEP] 0.75")
