"""What the reference guidance tier writes about shopping that went wrong."""

import pytest

from mage_es.engine.briefs import FailureBrief, FailureCase, PrinciplesBrief
from mage_es.engine.players.reference.authors import author_failures, author_principles
from mage_es.engine.players.reference.purchases import Purchase, read_purchase

RIGHT = """\
search[shirts with color: red]: Page 1 (Total results: 3)
click[next >]: Page 2 (Total results: 3)
click[b000000001]: Shirt, $5
click[red]: You have clicked red.
click[l]: You have clicked l.
click[buy now]: Your score: 1"""
UNCHOSEN = RIGHT.replace("click[red]: You have clicked red.\n", "").replace("click[l]: You have clicked l.\n", "")
OTHER = """\
search[find me shirts with color: red, and price lower than 40.00 dollars]: Page 1 (Total results: 3)
click[b000000002]: Blouse, $5
click[buy now]: Your score: 0.2"""
UNBOUGHT = "search[shirts]: Page 1\n(no action): Invalid action!\nclick[b000000001]: Shirt, $5"


def case(wrong: str, number: int = 1) -> FailureCase:
    return FailureCase(
        question_id=f"q{number}",
        question="Find me shirts with color: red, and size: l, and price lower than 40.00 dollars",
        context="",
        answer="B000000001 with color: red, size: l",
        solution=RIGHT,
        wrong_answer="B000000001",
        wrong_reasoning=wrong,
    )


def failures(*wrong: str) -> FailureBrief:
    cases = tuple(case(text, number) for number, text in enumerate(wrong))
    return FailureBrief(task_type="t", skill="s", cases=cases, wants_strategy=False, limit=3)


def test_an_account_is_read_as_searches_a_product_and_options() -> None:
    assert read_purchase(RIGHT) == Purchase(("shirts with color: red",), "b000000001", ("red", "l"))
    assert read_purchase(UNBOUGHT) == Purchase(("shirts",), "", ())
    assert read_purchase("collect wood: You collect wood.") is None and read_purchase("") is None


def test_going_back_and_what_could_not_be_clicked_are_no_part_of_the_purchase() -> None:
    account = (
        "search[a]\nclick[b1]\nclick[red]\nclick[features]\nclick[< prev]\nclick[b2]\nclick[blue]: Invalid action!\n"
        "click[l]: You have clicked l.\nclick[buy now]"
    )
    assert read_purchase(account) == Purchase(("a",), "b2", ("l",))


@pytest.mark.paper("section 3.3, failure memories of WebShop")
def test_a_correction_says_what_was_not_clicked_and_what_else_was_bought_before_the_right_way() -> None:
    first, second, third = author_failures(failures(UNCHOSEN, OTHER, UNBOUGHT)).memories
    assert first.reasoning.startswith("Not clicked: red, l.\nThis buys all that is asked for:\nsearch[shirts")
    assert second.reasoning.startswith(
        "Another product was bought, B000000002, and not B000000001.\nNot clicked: red, l."
    )
    assert third.reasoning.startswith("Nothing was bought.\nThis buys")
    assert all(memory.reasoning.endswith("click[buy now]: Your score: 1") for memory in (first, second, third))


def advice(*cases: FailureCase, existing: tuple[str, ...] = (), limit: int = 9) -> list[str]:
    brief = PrinciplesBrief(task_type="t", skill="s", cases=cases, existing=existing, limit=limit)
    return [each.do for each in author_principles(brief).principles]


@pytest.mark.paper("section 3.3, failure memories of WebShop")
def test_a_principle_advises_against_what_at_least_two_failures_share_and_names_no_product() -> None:
    said = advice(case(UNCHOSEN), case(UNCHOSEN, 2), case(OTHER, 3))
    assert said == ["Click every option that the instruction names before you buy."]
    assert advice(case(UNCHOSEN), case(UNBOUGHT)) == []


def test_advice_comes_by_how_many_failures_need_it_and_once() -> None:
    cases = [case(OTHER), case(OTHER), case(UNCHOSEN), case(UNBOUGHT), case(UNBOUGHT)]
    said = advice(*cases)
    assert [sentence.split()[0] for sentence in said] == ["Click", "Go", "Search", "Buy"]
    assert advice(*cases, existing=tuple(said[:2])) == said[2:] and advice(*cases, limit=1) == said[:1]
