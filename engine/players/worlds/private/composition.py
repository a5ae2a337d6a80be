"""Two rules and their composition: where a product is kept, who serves that depot, and hence who brings the product.

Evolution asks for depots, for carriers, and who brings one half of the products; the test split asks about the others.
So each held-out answer follows from two rules that can be learned, and not from a question like it.
"""

from mage_es.engine.benchmarks.tasks.scorers import scorer_of
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import TEAMS, circumstances, coined, several, with_asides
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split

_PARTS = ("keeping", "keeping", "serving", "bringing", "bringing")
"""The kinds of questions in evolution; all entries are equally likely."""
PHASES = ("keeping", "serving", "bringing")
_ASKS = {
    "keeping": "which depot keeps the {of}",
    "serving": "which carrier serves the depot {of}",
    "bringing": "which carrier brings the {of}",
}
_FRAMES = (
    "Request {number} of {person} in {town}: {ask}?",
    "{person} calls from {town} about request {number} and wants to know {ask}.",
    "For request {number}: {ask}, asks {person} of {town}.",
    "Dear all, this is request {number} of {person} in {town}: can you say {ask}?",
    "Note of {person} on request {number}, {town}: please find out {ask}.",
    "Do you know, for request {number} of {person} in {town}, {ask}?",
)


class CompositionRule:
    task = "Answer with the name of the depot or the carrier."

    def __init__(self, dice: Dice, options: Options) -> None:
        self._options, count = options, options["depots"]
        names = dice.shuffled(TEAMS)
        depots, carriers = names[:count], names[count : 2 * count]
        self.labels = tuple(sorted((*depots, *carriers)))
        self.carrier = dict(zip(depots, carriers, strict=True))
        half = count * options["products"]
        products = several(coined(dice), 2 * half)
        self.depot = dict(zip(products, (*depots, *depots) * options["products"], strict=True))
        self.products: dict[Split, tuple[str, ...]] = {"evolution": products[:half], "test": products[half:]}
        """The products whose composition each split asks for, equally many from each depot."""
        self.scorer = scorer_of("choice", self.labels)

    def ask(self, dice: Dice, split: Split) -> Posed:
        part = dice.pick(_PARTS) if split == "evolution" else "bringing"
        product = dice.pick(self.products[split] if part == "bringing" else tuple(self.depot))
        depot = dice.pick(tuple(self.carrier)) if part == "serving" else self.depot[product]
        of = depot if part == "serving" else product
        frame = dice.pick(_FRAMES[: self._options["wordings"]])
        text = frame.format(ask=_ASKS[part].format(of=of), **circumstances(dice))
        text = with_asides(dice, self._options, text, [other for other in self.depot if other != product])
        kept, served = f"The {product} is kept in {depot}.", f"{self.carrier[depot]} serves {depot}."
        worked = {"keeping": kept, "serving": served, "bringing": f"{kept} {served}"}[part]
        gold = depot if part == "keeping" else self.carrier[depot]
        return Posed(text, gold, worked, part, PHASES.index(part))


KIND = SetKind(
    CompositionRule,
    {"depots": SetOption(range(2, 9), (4, 6, 6)), "products": SetOption(range(1, 4), (1, 1, 2))},
    is_type_asked=True,
)
