"""Names, nouns and distractor sentences that the generator fills its tables with."""

from __future__ import annotations

WOMEN = (
    "Ada", "Aisha", "Amara", "Anita", "Astrid", "Beatriz", "Camila", "Chiara", "Dana", "Elif", "Emma", "Esther",
    "Fatima", "Freya", "Gabriela", "Greta", "Hana", "Ingrid", "Irina", "Ivy", "Jasmine", "Joanna", "Kavya", "Keiko",
    "Laila", "Leila", "Lena", "Lucia", "Maeve", "Malia", "Mei", "Mina", "Nadia", "Ngozi", "Nora", "Olga", "Paloma",
    "Priya", "Rosa", "Ruth", "Sana", "Selma", "Sofia", "Tamar", "Thandi", "Uma", "Vera", "Wanda", "Yara", "Zoe",
)  # fmt: skip
MEN = (
    "Abel", "Ahmed", "Akira", "Anton", "Arjun", "Bruno", "Carlos", "Cedric", "Dario", "David", "Diego", "Emil",
    "Farid", "Felix", "Gianni", "Goran", "Hassan", "Hugo", "Igor", "Ivan", "Jamal", "Jonas", "Jorge", "Kofi", "Kwame",
    "Lars", "Leo", "Luca", "Marek", "Mateo", "Milan", "Nils", "Noah", "Omar", "Oscar", "Pablo", "Pavel", "Rafael",
    "Ravi", "Samir", "Sven", "Tariq", "Theo", "Tomas", "Umar", "Victor", "Wei", "Xavier", "Yusuf", "Zoltan",
)  # fmt: skip
TOWNS = (
    "Ashford", "Birchdale", "Clearwater", "Dunmore", "Eastvale", "Fairhaven", "Glenbrook", "Harrowgate", "Ironbridge",
    "Kestrel", "Lakemont", "Marlow", "Northfield", "Oakridge", "Pinehurst", "Redcliff", "Silverton", "Thornbury",
    "Westmere", "Yarrow",
)  # fmt: skip

NOUNS: dict[str, tuple[tuple[str, str], ...]] = {
    "fruit": (
        ("apple", "apples"), ("apricot", "apricots"), ("fig", "figs"), ("kiwi", "kiwis"), ("lemon", "lemons"),
        ("mango", "mangoes"), ("orange", "oranges"), ("peach", "peaches"), ("pear", "pears"), ("plum", "plums"),
    ),
    "baked": (
        ("bagel", "bagels"), ("biscuit", "biscuits"), ("brownie", "brownies"), ("bun", "buns"),
        ("cookie", "cookies"), ("croissant", "croissants"), ("muffin", "muffins"), ("pretzel", "pretzels"),
        ("scone", "scones"), ("waffle", "waffles"),
    ),
    "toy": (
        ("balloon", "balloons"), ("bead", "beads"), ("domino", "dominoes"), ("kite", "kites"),
        ("marble", "marbles"), ("puppet", "puppets"), ("seashell", "seashells"), ("sticker", "stickers"),
        ("toy car", "toy cars"), ("yo-yo", "yo-yos"),
    ),
    "stationery": (
        ("crayon", "crayons"), ("envelope", "envelopes"), ("eraser", "erasers"), ("folder", "folders"),
        ("marker", "markers"), ("notebook", "notebooks"), ("pencil", "pencils"), ("postcard", "postcards"),
        ("ruler", "rulers"), ("stamp", "stamps"),
    ),
    "flower": (
        ("aster", "asters"), ("carnation", "carnations"), ("daisy", "daisies"), ("iris", "irises"),
        ("lily", "lilies"), ("orchid", "orchids"), ("peony", "peonies"), ("poppy", "poppies"), ("rose", "roses"),
        ("tulip", "tulips"),
    ),
    "clothes": (
        ("apron", "aprons"), ("belt", "belts"), ("cap", "caps"), ("hat", "hats"), ("jacket", "jackets"),
        ("scarf", "scarves"), ("shirt", "shirts"), ("sweater", "sweaters"), ("tie", "ties"),
        ("umbrella", "umbrellas"),
    ),
    "device": (
        ("amplifier", "amplifiers"), ("blender", "blenders"), ("camera", "cameras"), ("clock", "clocks"),
        ("fan", "fans"), ("heater", "heaters"), ("keyboard", "keyboards"), ("lamp", "lamps"), ("radio", "radios"),
        ("toaster", "toasters"),
    ),
    "craft": (
        ("basket", "baskets"), ("bowl", "bowls"), ("bracelet", "bracelets"), ("candle", "candles"), ("mug", "mugs"),
        ("necklace", "necklaces"), ("ornament", "ornaments"), ("plate", "plates"), ("tile", "tiles"),
        ("vase", "vases"),
    ),
    "animal": (
        ("alpaca", "alpacas"), ("cow", "cows"), ("donkey", "donkeys"), ("goat", "goats"), ("horse", "horses"),
        ("llama", "llamas"), ("ox", "oxen"), ("pony", "ponies"), ("sheep", "sheep"), ("turkey", "turkeys"),
    ),
    "container": (
        ("bag", "bags"), ("basket", "baskets"), ("box", "boxes"), ("bucket", "buckets"), ("carton", "cartons"),
        ("case", "cases"), ("crate", "crates"), ("packet", "packets"), ("tin", "tins"), ("tray", "trays"),
    ),
    "wish": (
        ("bicycle", "bicycles"), ("canoe", "canoes"), ("drum kit", "drum kits"), ("guitar", "guitars"),
        ("microscope", "microscopes"), ("sewing machine", "sewing machines"), ("skateboard", "skateboards"),
        ("telescope", "telescopes"), ("tent", "tents"), ("violin", "violins"),
    ),
}  # fmt: skip

DISTRACTORS: dict[str, tuple[str, ...]] = {
    "room": (
        "There are {d} chairs in the room.",
        "A calendar with {d} pictures hangs on the wall.",
        "The building has {d} windows on its front.",
        "The radio plays {d} songs in the meantime.",
    ),
    "weather": (
        "It is {d} degrees outside.",
        "It has rained on {d} afternoons this month.",
        "The weather report puts the chance of rain at {d} percent.",
    ),
    "age": ("{who} turned {d} last spring.", "{who} is {d} years old.", "The town hall nearby is {d} years old."),
    "person": (
        "{who} has {d} cousins.",
        "{who} lives at number {d} on the main street.",
        "{who} wears a jersey with the number {d} on it.",
    ),
    "town": (
        "Bus number {d} stops right outside.",
        "The library in {town} closes for {d} days in summer.",
        "About {d} people in {town} play chess.",
    ),
}
"""Sentences with a number `{d}` that no question is about, by topic."""
