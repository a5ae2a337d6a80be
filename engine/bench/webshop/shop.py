"""The shop's rules: which page an action leads to, and what a purchase is worth.

Rules
    - A search works from every page and starts afresh: no product, no options. So does going back from a product to its
      results, which lists them again; only choosing another product keeps the options. Back to Search clears
      everything.
    - Each option name has one value, the last one clicked.
    - An impossible action changes nothing, and no action is possible after the purchase.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.bench.webshop import pages
from mage_es.engine.bench.webshop.catalogue import Catalogue, Product
from mage_es.engine.bench.webshop.goals import Goal
from mage_es.engine.bench.webshop.nouns import NounFinder
from mage_es.engine.bench.webshop.pages import PagePiece, ShopPage
from mage_es.engine.bench.webshop.reward import Reward, purchase_reward
from mage_es.engine.bench.webshop.search import SearchEngine


class Action(NamedTuple):
    name: str
    argument: str

    def __str__(self) -> str:
        return f"{self.name}[{self.argument}]"


class Store(NamedTuple):
    catalogue: Catalogue
    by_asin: Mapping[str, Product]
    engine: SearchEngine
    nouns: NounFinder

    def search(self, query: str) -> tuple[Product, ...]:
        return tuple(self.by_asin[asin] for asin in self.engine.search(query) if asin in self.by_asin)


def open_store(catalogue: Catalogue, *, nouns: NounFinder) -> Store:
    by_asin = {product.asin: product for product in catalogue.products}
    return Store(catalogue, by_asin, SearchEngine(catalogue.indexed), nouns)


def parse_action(text: str) -> Action | None:
    """Upstream matches `(.+)[(.+)]` from the start; a search from the end finds the same in linear time."""
    line = text.partition("\n")[0]
    end = line.rfind("]")
    start = line.rfind("[", 1, max(end - 1, 0))
    return Action(line[:start], line[start + 1 : end].lower()) if start > 0 else None


class Visit:
    """One visit to the shop with one goal.

    `most` limits the products on a page of results (None: all ten). With `strict` the reward is exactly upstream's.

    [section 4, WebShop, the shop] Pages, buttons and grammar to the letter, without a server. An impossible action
    costs its step; at most 15 steps.
    """

    def __init__(self, store: Store, goal: Goal, *, most: int | None = None, strict: bool = False) -> None:
        self._store, self._goal, self._most, self._strict = store, goal, most, strict
        self.hits: Sequence[Product] = ()
        self.number = 1
        self._sub_page = ""
        self._is_index = True
        self.product: Product | None = None
        self.visited: set[str] = set()
        self.chosen: dict[str, str] = {}
        """Option name to value."""
        self.bought: Reward | None = None
        self.page = self._rendered()

    def can_do(self, action: Action) -> bool:
        if self.bought is not None:
            return False
        if action.name == "search":
            return bool(action.argument)
        return action.name == "click" and action.argument != "search" and action.argument in self.page.clickables()

    def do(self, action: Action) -> bool:
        if not self.can_do(action):
            return False
        if action.name == "search":
            self._list(self._store.search(action.argument), 1)
        else:
            self._click(action.argument, self.page.clickables()[action.argument])
        self.page = self._rendered()
        return True

    def _click(self, name: str, piece: PagePiece) -> None:
        """Follow a click: as upstream does, first by its text, and only then by what was clicked."""
        if name == pages.BUY.lower():
            self._buy()
        elif name == pages.BACK.lower():
            self._list((), 1)
            self._is_index = True
            self.visited.clear()
        elif name == pages.NEXT.lower() and self.product is None:
            self._list(self.hits, self.number + 1)
        elif name == pages.PREVIOUS.lower():
            self._go_back()
        elif name in pages.SUB_PAGES and piece.kind != "product":
            self._sub_page = pages.SUB_PAGES[name]
        elif piece.kind == "product":
            self.product = self._store.by_asin[piece.text]
            self.visited.add(piece.text)
        else:
            self.chosen[piece.option] = name

    def _go_back(self) -> None:
        if self._sub_page:
            self._sub_page = ""
        else:
            self._list(self.hits, self.number - (self.product is None))

    def _list(self, hits: Sequence[Product], number: int) -> None:
        self.hits, self.number = hits, number
        self._is_index, self._sub_page, self.product = False, "", None
        self.chosen.clear()

    def _buy(self) -> None:
        assert self.product is not None  # only a product's page has the button
        price = self._store.catalogue.prices[self.product.asin]
        self.bought = purchase_reward(
            self.product, self._goal, price=price, options=self.chosen, nouns=self._store.nouns, strict=self._strict
        )

    def _rendered(self) -> ShopPage:
        text = self._goal.text
        if self.bought is not None:
            return pages.done_page(self.bought.value)
        if self._is_index:
            return pages.search_page(text)
        if self.product is None:
            return pages.results_page(text, self.hits, number=self.number, most=self._most)
        if self._sub_page:
            return pages.sub_page(text, self.product, self._sub_page)
        return pages.item_page(text, self.product)
