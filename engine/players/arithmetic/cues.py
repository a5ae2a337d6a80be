"""A small lexicon of school arithmetic: which words hint at giving, getting, sharing, comparing, rates, money, time."""

from mage_es.engine.players.arithmetic.words import stem

_LEXICON = {
    "loss": (
        "give lose sell spend eat use donate remove break throw discard drop ship lend burn spill pay drink "
        "consume return melt die subtract deduct withdraw hand cancel waste rotten rot spoil wilt leak escape "
        "wither steal borrow damage tear crack destroy leave quit exit depart peel unload sink fall without "
        "missing lack draw bruise squash faulty defective bad empty sort trade swap post mail evaporate cut "
        "away off out reject retire"
    ),
    "gain": (
        "buy get receive find add earn collect gain gather win join arrive bring deliver restock purchase "
        "harvest deposit acquire inherit come catch grow plus save bake make pick supply contribute enter "
        "discover besides refill hire adopt board produce load fetch obtain fresh new further extra"
    ),
    "rest": (
        "left remain remaining still rest leftover unsold unused unread unpaid keep missing yet ahead spare "
        "change balance"
    ),
    "more": (
        "more additional extra another longer older taller heavier increase raise further exceed farther "
        "above beat ahead higher elder over top besides rise faster bigger larger surcharge tip tax bonus"
    ),
    "less": (
        "less fewer shorter younger cheaper discount off decrease reduce below lower minus short rebate "
        "coupon behind beneath under fall lighter smaller slower"
    ),
    "times": "times twice double triple thrice quadruple",
    "each": "each every per apiece individual",
    "share": "split share divide equally evenly distribute among group",
    "pack": "pack hold contain fill carry fit box bag load include consist",
    "total": "total altogether all combined together sum overall whole entire both",
    "cost": "cost price charge worth sell value fee fare ticket rent wage salary bill expense",
    "money": "dollar cent money cash profit revenue budget coin euro pound buck",
    "start": "first begin start originally initially already previously open own have",
    "time": "second minute hour day week month year morning afternoon evening night weekend",
    "time2": "today yesterday tomorrow later earlier ago",
    "distance": "mile kilometer km meter metre foot inch yard centimeter distance away",
    "motion": "run walk drive travel ride fly swim jog cycle hike go speed",
    "mass": "pound ounce gram kilogram kg ton liter litre gallon milliliter ml cup",
    "part": "half third quarter fifth percent fraction portion",
    "mean": "average mean",
    "age": "age old born birthday",
    "work": "work job shift task overtime",
    "row": "row column shelf page floor side layer table line",
    "need": "need require want must goal order plan target",
    "same": "same equal identical",
    "two legs": "bird chicken hen rooster goose duck turkey swan ostrich pigeon parrot penguin person man woman child",
    "four legs": (
        "dog cat cow goat sheep horse pig donkey pony ox llama alpaca rabbit chair lion tiger zebra camel deer"
    ),
    "two wheels": "bicycle bike motorcycle scooter",
    "three wheels": "tricycle",
    "four wheels": "car truck van wagon",
    "six legs": "insect ant bee beetle butterfly",
    "eight legs": "spider octopus",
    "than": "than",
    "as": "as",
    "from": "from",
    "to": "to",
    "of": "of",
    "for": "for",
    "with": "with",
    "in": "in into inside",
    "at": "at",
    "by": "by",
    "if": "if",
    "after": "after then",
    "before": "before",
}

CLASSES: dict[str, tuple[str, ...]] = {}
"""Stem of a word -> its classes, which are hints for heuristics and context features for analogies."""
for _name, _words in _LEXICON.items():
    for _word in _words.split():
        _root = stem(_word)
        if _name not in CLASSES.get(_root, ()):
            CLASSES[_root] = (*CLASSES.get(_root, ()), _name)

_FUNCTION_WORDS = """
a an the of in on at to for from by with and or but if then than that this these those there their his her its my our
your he she it they we you i him them us me who which what how many much when where while so as be is are was were been
do does did have has had will would can could each every per apiece not no all both more less fewer after before during
into onto out up down over under about between among only just also too very still left total altogether times twice
some any other another same such one per because since until
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that are never the noun of a quantity."""
