"""The pages of the shop as pieces of text and things to click, and the three ways in which they are shown.

Modes: `text` joins the pieces by " [SEP] " and shows no choice; `rich` has a line for each, with upstream's white space
(a blank line before a product, options indented), and marks what can be clicked and what has been; `react` puts plain
brackets around what can be clicked.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from mage_es.engine.bench.webshop.catalogue import Product

Mode = Literal["text", "rich", "react"]
PieceKind = Literal["text", "button", "product", "option"]

PAGE_SIZE = 10
"""Products on a page of results."""
SEARCH, BACK, PREVIOUS, NEXT, BUY = "Search", "Back to Search", "< Prev", "Next >", "Buy Now"
DESCRIPTION, FEATURES, REVIEWS = "Description", "Features", "Reviews"
SUB_PAGES = {name.lower(): name for name in (DESCRIPTION, FEATURES, REVIEWS)}
RATING = "N.A."
"""Reviews are not part of the data."""


_INDENTED: Mapping[PieceKind, str] = {"option": "  ", "product": "\n"}
"""What upstream's rich mode puts in front of a line."""


class PagePiece(NamedTuple):
    """`option` names the option of which it is a value."""

    text: str
    kind: PieceKind = "text"
    option: str = ""


class ShopPage(NamedTuple):
    pieces: tuple[PagePiece, ...]
    has_search_bar: bool = False

    def clickables(self) -> dict[str, PagePiece]:
        """By the text in lower case; if two options share a value, the last one counts."""
        found = {piece.text.lower(): piece for piece in self.pieces if piece.kind in ("button", "product")}
        found.update({piece.text: piece for piece in self.pieces if piece.kind == "option" and piece.text})
        return found


def search_page(instruction: str) -> ShopPage:
    pieces = (PagePiece("WebShop"), *_instruction(instruction), PagePiece(SEARCH, "button"))
    return ShopPage(pieces, has_search_bar=True)


def results_page(instruction: str, hits: Sequence[Product], *, number: int, most: int | None = None) -> ShopPage:
    """Pages are numbered from 1; one past the end is empty."""
    shown = hits[(number - 1) * PAGE_SIZE : number * PAGE_SIZE][:most]
    turning = [*([PagePiece(PREVIOUS, "button")] if number > 1 else []), PagePiece(NEXT, "button")]
    pieces = [*_head(instruction), PagePiece(f"Page {number} (Total results: {len(hits)})"), *turning]
    for product in shown:
        pieces += [PagePiece(product.asin, "product"), PagePiece(product.title), PagePiece(product.price_tag)]
    return ShopPage(tuple(pieces))


def item_page(instruction: str, product: Product) -> ShopPage:
    pieces = [*_head(instruction), PagePiece(PREVIOUS, "button")]
    for name, values in product.options.items():
        pieces += [PagePiece(name), *(PagePiece(value, "option", name) for value in values)]
    pieces += [PagePiece(product.title), PagePiece(f"Price: {product.price_tag}"), PagePiece(f"Rating: {RATING}")]
    buttons = (PagePiece(name, "button") for name in (DESCRIPTION, FEATURES, REVIEWS, BUY))
    return ShopPage((*pieces, *buttons))


def sub_page(instruction: str, product: Product, name: str) -> ShopPage:
    contents: dict[str, Sequence[str]] = {
        DESCRIPTION: [product.description],
        FEATURES: product.bullet_points,
        REVIEWS: [],
    }
    return ShopPage((*_head(instruction), PagePiece(PREVIOUS, "button"), *map(PagePiece, contents[name])))


def done_page(reward: float) -> ShopPage:
    return ShopPage(
        (
            PagePiece("Thank you for shopping with us!"),
            PagePiece("Your score (min 0.0, max 1.0)"),
            PagePiece(str(reward)),
        )
    )


def shown(page: ShopPage, mode: Mode, *, visited: AbstractSet[str], chosen: Mapping[str, str]) -> str:
    pieces = [piece for piece in page.pieces if piece.text.strip()]
    if mode == "text":
        return " [SEP] ".join(piece.text.strip() for piece in pieces)
    clicked = {piece for piece in pieces if _is_clicked(piece, visited, chosen)}
    lines = [_line(piece, mode, is_clicked=piece in clicked) for piece in pieces]
    if mode == "rich":
        said = [f"You have clicked {piece.text}." for piece in pieces if piece in clicked and piece.kind == "option"]
        lines = [*reversed(said), *lines, ""]
    return "\n".join(lines)


def _instruction(text: str) -> tuple[PagePiece, PagePiece]:
    return PagePiece("Instruction:"), PagePiece(text)


def _head(instruction: str) -> list[PagePiece]:
    return [*_instruction(instruction), PagePiece(BACK, "button")]


def _is_clicked(piece: PagePiece, visited: AbstractSet[str], chosen: Mapping[str, str]) -> bool:
    if piece.kind == "option":
        return piece.text in chosen.values()
    return piece.kind == "product" and piece.text in visited


def _line(piece: PagePiece, mode: Mode, *, is_clicked: bool) -> str:
    if mode == "react":
        text = piece.text.strip()
        return text if piece.kind == "text" else f"[[{text}]]" if is_clicked else f"[{text}]"
    if piece.kind == "text":
        return piece.text
    shown = f"[clicked button] {piece.text} [clicked button_]" if is_clicked else f"[button] {piece.text} [button_]"
    return _INDENTED.get(piece.kind, "") + shown
