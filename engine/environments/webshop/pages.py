"""The pages of the shop as pieces of text and things to click, and the three ways in which they are shown.

Rules
    - A piece is one visible text; what can be clicked is read off the pieces, in the order of the page: buttons and
      products, then options.
    - Modes: `text` joins the pieces by " [SEP] " and shows no choice; `rich` has a line for each and marks what can be
      clicked and what was; `react` does the same with plain brackets, double ones for what was clicked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from mage_es.engine.environments.webshop.catalogue import Product

Mode = Literal["text", "rich", "react"]
PieceKind = Literal["text", "button", "product", "option"]

PAGE_SIZE = 10
"""Products on a page of results."""
SEARCH, BACK, PREVIOUS, NEXT, BUY = "Search", "Back to Search", "< Prev", "Next >", "Buy Now"
DESCRIPTION, FEATURES, REVIEWS, ATTRIBUTES = "Description", "Features", "Reviews", "Attributes"
SUB_PAGES = {name.lower(): name for name in (DESCRIPTION, FEATURES, REVIEWS, ATTRIBUTES)}
RATING = "N.A."
"""Reviews are no part of the data."""


class Piece(NamedTuple):
    """A visible text. `option` is the name of the option that it is a value of."""

    text: str
    kind: PieceKind = "text"
    option: str = ""


class Page(NamedTuple):
    """What is shown at one moment."""

    pieces: tuple[Piece, ...]
    has_search_bar: bool = False

    def clickables(self) -> dict[str, Piece]:
        """Return what can be clicked, by its text in lower case. Of equal values of two options the last counts."""
        found = {piece.text.lower(): piece for piece in self.pieces if piece.kind in ("button", "product")}
        found.update({piece.text: piece for piece in self.pieces if piece.kind == "option" and piece.text})
        return found


def search_page(instruction: str) -> Page:
    """Return the page with the search bar."""
    pieces = (Piece("WebShop"), *_instruction(instruction), Piece(SEARCH, "button"))
    return Page(pieces, has_search_bar=True)


def results_page(instruction: str, hits: Sequence[Product], *, number: int, most: int | None = None) -> Page:
    """Return a page of results, numbered from 1; one past the end is empty. At most `most` products are shown."""
    shown = hits[(number - 1) * PAGE_SIZE : number * PAGE_SIZE][:most]
    turning = [*([Piece(PREVIOUS, "button")] if number > 1 else []), Piece(NEXT, "button")]
    pieces = [*_head(instruction), Piece(f"Page {number} (Total results: {len(hits)})"), *turning]
    for product in shown:
        pieces += [Piece(product.asin, "product"), Piece(product.title), Piece(product.price_tag)]
    return Page(tuple(pieces))


def item_page(instruction: str, product: Product, *, has_attributes: bool = False) -> Page:
    """Return a product's page; with `has_attributes` it has a button for them, too."""
    pieces = [*_head(instruction), Piece(PREVIOUS, "button")]
    for name, values in product.options.items():
        pieces += [Piece(name), *(Piece(value, "option", name) for value in values)]
    pieces += [Piece(product.title), Piece(f"Price: {product.price_tag}"), Piece(f"Rating: {RATING}")]
    names = [DESCRIPTION, FEATURES, REVIEWS, *([ATTRIBUTES] if has_attributes else []), BUY]
    return Page((*pieces, *(Piece(name, "button") for name in names)))


def sub_page(instruction: str, product: Product, name: str) -> Page:
    """Return one of the pages about a product."""
    contents: dict[str, Sequence[str]] = {
        DESCRIPTION: [product.description],
        FEATURES: product.bullet_points,
        REVIEWS: [],
        ATTRIBUTES: [*product.attributes, product.category, product.query, product.product_category],
    }
    return Page((*_head(instruction), Piece(PREVIOUS, "button"), *map(Piece, contents[name])))


def done_page(reward: float) -> Page:
    """Return the page after a purchase."""
    return Page((Piece("Thank you for shopping with us!"), Piece("Your score (min 0.0, max 1.0)"), Piece(str(reward))))


def shown(page: Page, mode: Mode, *, visited: AbstractSet[str], chosen: Mapping[str, str]) -> str:
    """Return the observation of a page in a mode; `visited` products and `chosen` options are marked, but in `text`."""
    pieces = [piece for piece in page.pieces if piece.text.strip()]
    if mode == "text":
        return " [SEP] ".join(piece.text.strip() for piece in pieces)
    clicked = {piece for piece in pieces if _is_clicked(piece, visited, chosen)}
    lines = [_line(piece, mode, is_clicked=piece in clicked) for piece in pieces]
    if mode == "rich":
        said = [f"You have clicked {piece.text}." for piece in pieces if piece in clicked and piece.kind == "option"]
        lines = [*reversed(said), *lines]
    return "\n".join(lines)


def _instruction(text: str) -> tuple[Piece, Piece]:
    return Piece("Instruction:"), Piece(text)


def _head(instruction: str) -> list[Piece]:
    return [*_instruction(instruction), Piece(BACK, "button")]


def _is_clicked(piece: Piece, visited: AbstractSet[str], chosen: Mapping[str, str]) -> bool:
    if piece.kind == "option":
        return piece.text in chosen.values()
    return piece.kind == "product" and piece.text in visited


def _line(piece: Piece, mode: Mode, *, is_clicked: bool) -> str:
    text = piece.text.strip()
    if piece.kind == "text":
        return text
    if mode == "react":
        return f"[[{text}]]" if is_clicked else f"[{text}]"
    return f"[clicked button] {text} [clicked button_]" if is_clicked else f"[button] {text} [button_]"
