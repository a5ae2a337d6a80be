"""An episode of WebShop: actions as text, observations in one of three modes, at most fifteen steps, one purchase.

Rules
    - A reply is an action if it has the grammar's form; an impossible one costs its step and changes nothing.
    - An episode's score is its reward. It is a success only if the reward is 1, as in the official success rate.
    - In the mode `react` a page of results shows three products, `think[...]` is an action that is answered "OK.", and
      an impossible action is answered "Invalid action!".
    - A transcript has one line for a step, free of brackets, so that it never reads as another action.
"""

from collections.abc import Iterable

from mage_es.engine.bench.webshop.catalogue import Product
from mage_es.engine.bench.webshop.goals import Goal
from mage_es.engine.bench.webshop.pages import Mode, shown
from mage_es.engine.bench.webshop.reward import Reward
from mage_es.engine.bench.webshop.shop import Action, Store, Visit, parse_action
from mage_es.engine.seams.environment import Entity, Observation, Relation, StepOutcome
from mage_es.engine.seams.playing import named_action

SEARCH_PAGE = "The search page"
_BRACKETS = str.maketrans("[]", "()")


def results_words(number: int, total: int) -> str:
    return f"Page {number} (Total results: {total})"


def product_words(product: Product) -> str:
    return _line(f"{product.title}, {product.price_tag}")


def chosen_words(value: str) -> str:
    return _line(f"You have clicked {value}.")


def bought_words(reward: float) -> str:
    return f"Your score: {reward:.3g}"


def purchase(asin: str, options: Iterable[tuple[str, str]]) -> str:
    """Such as `B01N7PR1LL with color: red, size: small`; people's options have no name."""
    named = ", ".join(f"{name}: {value}" if name else value for name, value in options)
    return f"{asin}{' with ' if named else ''}{named}"


def _line(text: str) -> str:
    return " ".join(text.translate(_BRACKETS).split())


STEPS = 15
"""Step limit of ReAct and of RetroAgent."""
REACT_PRODUCTS = 3
"""How many products ReAct's rendering shows on a page of results."""
OK, INVALID = "OK.", "Invalid action!"
ALL_BOUGHT = "bought all that was asked for"
"""The achievement of a purchase with reward 1."""
_NAMES = ("search", "click")


class Shopping:
    passing = 1.0
    """Only the whole goal counts as success (strict success); everything else shows only in the mean score."""

    def __init__(
        self, store: Store, goal: Goal, *, mode: Mode = "text", steps: int = STEPS, strict: bool = False
    ) -> None:
        self._mode, self._left = mode, steps
        self._visit = Visit(store, goal, most=REACT_PRODUCTS if mode == "react" else None, strict=strict)

    def reset(self) -> Observation:
        return self._observation()

    def valid_actions(self) -> tuple[str, ...]:
        page = self._visit.page
        clicks = tuple(f"click[{name}]" for name in page.clickables())
        return ("search[words of your own]", *clicks) if page.has_search_bar else clicks

    def parse(self, reply: str) -> str | None:
        action = parse_action(named_action(reply))
        names = (*_NAMES, "think") if self._mode == "react" else _NAMES
        return str(action) if action and action.name in names else None

    def step(self, action: str | None) -> StepOutcome:
        """A purchase or the last step ends the episode. A step after the end does nothing."""
        is_over = self._visit.bought is not None or self._left == 0
        self._left -= not is_over
        read = None if action is None or is_over else parse_action(action)
        thought = self._mode == "react" and read is not None and read.name == "think"
        done = read is not None and self._visit.do(read)
        effect = OK if thought else self._effect(read) if read and done else INVALID
        answered = effect if self._mode == "react" and not done else ""
        reward = self.score() if done else 0.0
        return StepOutcome(
            observation=self._observation(answered),
            effect=effect,
            reward=reward,
            achievements=(ALL_BOUGHT,) if done and reward == 1.0 else (),
            done=self._visit.bought is not None or self._left == 0,
        )

    def score(self) -> float:
        return self._visit.bought.value if self._visit.bought else 0.0

    def result(self) -> str:
        visit = self._visit
        if visit.bought is None or visit.product is None:
            return "bought nothing"
        return purchase(visit.product.asin, visit.chosen.items())

    @property
    def reward(self) -> Reward | None:
        """The reward with upstream's info fields; None before the purchase."""
        return self._visit.bought

    def _effect(self, action: Action) -> str:
        visit = self._visit
        if visit.bought is not None:
            return bought_words(visit.bought.value)
        if action.argument in visit.chosen.values():
            return chosen_words(action.argument)
        if visit.product is not None:
            return product_words(visit.product)
        return SEARCH_PAGE if visit.page.has_search_bar else results_words(visit.number, len(visit.hits))

    def _observation(self, answered: str = "") -> Observation:
        visit = self._visit
        text = answered or shown(visit.page, self._mode, visited=visit.visited, chosen=visit.chosen)
        product = visit.product
        if product is None:
            return Observation(text=text)
        entity = Entity(product.asin, "product")
        options = [Entity(f"option {name}", "option") for name in product.options]
        relations = tuple(Relation(product.asin, "offers", option.name) for option in options)
        return Observation(text=text, entities=(entity, *options), relations=relations)
