"""Names, nouns and distractor sentences that the generator fills its tables with."""

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


def _nouns(listed: str) -> tuple[tuple[str, str], ...]:
    """Read singulars, each with its plural after a slash where that is not a plain `s`."""
    pairs = (noun.partition("/") for noun in listed.split(", "))
    return tuple((one, many or f"{one}s") for one, _, many in pairs)


_LISTED = {
    "fruit": "apple, apricot, fig, kiwi, lemon, mango/mangoes, orange, peach/peaches, pear, plum",
    "baked": "bagel, biscuit, brownie, bun, cookie, croissant, muffin, pretzel, scone, waffle",
    "toy": "balloon, bead, domino/dominoes, kite, marble, puppet, seashell, sticker, toy car, yo-yo",
    "stationery": "crayon, envelope, eraser, folder, marker, notebook, pencil, postcard, ruler, stamp",
    "flower": "aster, carnation, daisy/daisies, iris/irises, lily/lilies, orchid, peony/peonies, poppy/poppies, rose, "
    "tulip",
    "clothes": "apron, belt, cap, hat, jacket, scarf/scarves, shirt, sweater, tie, umbrella",
    "device": "amplifier, blender, camera, clock, fan, heater, keyboard, lamp, radio, toaster",
    "craft": "basket, bowl, bracelet, candle, mug, necklace, ornament, plate, tile, vase",
    "animal": "alpaca, cow, donkey, goat, horse, llama, ox/oxen, pony/ponies, sheep/sheep, turkey",
    "container": "bag, basket, box/boxes, bucket, carton, case, crate, packet, tin, tray",
    "wish": "bicycle, canoe, drum kit, guitar, microscope, sewing machine, skateboard, telescope, tent, violin",
}
NOUNS: dict[str, tuple[tuple[str, str], ...]] = {topic: _nouns(listed) for topic, listed in _LISTED.items()}
"""Topic -> singular and plural of its nouns."""

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
