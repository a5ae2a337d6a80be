"""How often prompts showed a memory, and what became of them."""

from __future__ import annotations

from mage_es.engine.rules.effect import coin_of
from mage_es.engine.run.memories import Uses
from mage_es.events.vocabulary import BundleTrimmed
from tests.engine.rules.test_effect import found, plan, verdict


def test_what_did_not_fit_was_not_shown_but_stays_on_the_side_to_which_the_coin_put_it() -> None:
    cut = BundleTrimmed(
        iteration=0, purpose="fresh", question_id="cut", about="cut", request_sha256="", memory_id="a", problem=""
    )
    kept, trimmed, left = (
        plan("kept", "a", coin=0.5),
        plan("cut", "a", coin=0.5),
        plan("left", left="a", coin=0.5),
    )
    events = [kept, verdict(kept, right=True), trimmed, cut, verdict(trimmed, right=False), left]
    events.append(verdict(left, right=False))
    uses, numbers = Uses(), {"kept": 0, "cut": 1, "left": 2}
    for event in events:
        uses.take(numbers[event.question_id], event)
    use = uses.of("a")
    assert use.shown == [0] and use.right == (1, 1)
    assert (use.coin, use.left) == ((1, 2), (0, 1))
    coin = coin_of(found(*events), frozenset("a"))
    assert (coin.with_memory, coin.held_back) == (use.coin[1], use.left[1])
