"""Claims are found in any text that makes them, and accounts state what they should."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.players.worlds.truthworld.claims import (
    Claim,
    account,
    claims_in,
    false_account,
    is_true,
    true_account,
)
from mage_es.engine.players.worlds.truthworld.world import HiddenWorld, Rule

WORLD = HiddenWorld(42)
marks = st.permutations(sorted(WORLD.marks)).flatmap(lambda order: st.integers(2, 4).map(lambda n: tuple(order[:n])))
starts = st.integers(41, 99)


def test_a_claim_is_read_in_the_words_in_which_it_is_written() -> None:
    claims = {Claim("tarn", Rule("take away", 4)), Claim("osk", Rule("multiply by", 3))}
    assert claims_in(" and ".join(str(claim) for claim in claims)) == claims
    assert claims_in("tarn means nothing to me, osk means well") == frozenset()


@given(starts, marks)
def test_a_true_account_states_every_rule_rightly_and_nothing_else(start: int, named: tuple[str, ...]) -> None:
    found = claims_in(true_account(WORLD, start, named).text)
    assert {claim.mark for claim in found} == set(named)
    assert all(is_true(WORLD, claim) for claim in found)


@given(starts, marks, st.data())
def test_a_false_account_ends_in_the_right_answer_and_misstates_a_rule(
    start: int, named: tuple[str, ...], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(named) - 2))
    made = false_account(WORLD, start, named, at=at)
    wrong = {claim.mark for claim in claims_in(made.text) if not is_true(WORLD, claim)}
    assert made.result == true_account(WORLD, start, named).result
    assert named[at] in wrong <= {named[at], named[at + 1]}


@given(starts, marks)
def test_every_line_of_an_account_is_an_equation_that_holds(start: int, named: tuple[str, ...]) -> None:
    made = account(start, named, lambda mark: WORLD.marks[mark].decoy)
    for line in made.text.splitlines():
        left, right = line.partition(": ")[2].split(" = ")
        assert eval(left) == int(right)
    assert made.text.endswith(f"= {made.result}")
