"""Task types about dividing things up: leftover, share, ratio, fraction."""

from __future__ import annotations

from mage_es.engine.benchmarks.wordmath.form import TaskType, family, variant

LEFTOVER = TaskType(
    "leftover",
    numbers={"packs": range(3, 15), "per": range(4, 19), "moved": range(5, 61)},
    variants={
        "less": variant("packed = packs * per: Number at the start", "left = packed - moved: Number that remains"),
        "more": variant("packed = packs * per: Number at the start", "now = packed + moved: Number in the end"),
    },
    families=(
        family(
            "market",
            ["{who} brings {packs} {ys} of {xs} to the market, with {per} {xs} in every {y}."],
            less=["By noon {moved} {xs} have been sold.", "How many {xs} are still [unsold|waiting for a buyer]?"],
            more=["A neighbour adds {moved} loose {xs} to the stall.", "How many {xs} are on the stall now?"],
            x="fruit", y="container",
        ),
        family(
            "shelf",
            ["* A cupboard in the school office has {packs} shelves.", "* Each shelf holds {per} {xs}."],
            less="If the teachers take {moved} {xs} out, how many stay in the cupboard?",
            more="If {moved} more {xs} are squeezed in, how many does the cupboard hold altogether?",
            x="stationery",
        ),
        family(
            "album",
            ["{who} has filled {packs} pages of an album and put {per} stickers on each of them."],
            less=["[Later|The next day] {who} peels off {moved} stickers to trade.",
                  "What number of stickers is left in the album?"],
            more=["Besides these, {who} keeps {moved} stickers in a drawer.",
                  "What number of stickers does {who} own?"],
        ),
        family(
            "rows",
            ["In the hall of the theatre in {town} the seats stand in {packs} rows of {per}."],
            less=["Tonight {moved} seats are taken.", "How many seats are free?"],
            more=["The balcony has another {moved} seats.", "How many people can sit down?"],
        ),
        family(
            "baking",
            ["For the fair, {who} bakes {xs} on {packs} trays, {per} to a tray."],
            less=["{moved} of the {xs} come out burnt and are thrown away.", "How many good {xs} does {who} have?"],
            more=["{whose} brother brings {moved} {xs} that he baked at home.",
                  "Counting both kinds, how many {xs} can be offered?"],
            x="baked",
        ),
        family(
            "question_first",
            ["The delivery was made up of {packs} crates with {per} bottles apiece."],
            less=["[On the way|During unloading] {moved} bottles broke.",
                  "Find the number of bottles that reached the cafe in {town} in one piece."],
            more=["There were {moved} bottles in the cellar already.",
                  "Find the number of bottles that the cafe in {town} has after a delivery."],
            ask_first=True,
        ),
        family(
            "parking",
            ["A car park in {town} has {packs} floors, and {per} cars fit on every floor."],
            less="At the moment {moved} cars are parked there, so how many places are empty?",
            more="Outside there is room for {moved} further cars; how many can park there in all?",
            held_out=True,
        ),
        family(
            "threads",
            ["{who} buys {xs} for a craft evening: {packs} bags, each containing {per} {xs}."],
            less=["After the evening {moved} {xs} have been used up.", "What remains of the {xs}, as a number?"],
            more=["From last year {who} still owns {moved} {xs}.", "What does {whose} supply come to, as a number?"],
            x="toy", held_out=True,
        ),
    ),
)  # fmt: skip

SHARE = TaskType(
    "share",
    numbers={"groups": range(3, 13), "each": range(4, 26), "change": range(2, 31)},
    variants={
        "loss": variant(
            "kept = start - change: Number to be divided", "share = kept / groups: Number in each part",
            start=lambda n: n["groups"] * n["each"] + n["change"],
        ),
        "gain": variant(
            "all = start + change: Number to be divided", "share = all / groups: Number in each part",
            start=lambda n: n["groups"] * n["each"] - n["change"],
        ),
    },
    families=(
        family(
            "children",
            ["{who} picks {start} {xs} in the garden."],
            loss=["{change} of them turn out to be rotten.", "{who} divides the good ones equally among {groups} "
                                                             "children.",
                  "How many {xs} does each child get?"],
            gain=["{other} gives {whom} {change} more.", "All of them are divided equally among {groups} children.",
                  "How many {xs} does each child get?"],
            x="fruit",
        ),
        family(
            "teams",
            ["For the sports day in {town}, {start} pupils signed up."],
            loss=["On the day itself {change} pupils are ill.",
                  "The others form {groups} teams of the same size; how many pupils are in a team?"],
            gain=["On the day itself {change} pupils come without having signed up, and they may take part.",
                  "Everybody is put into one of {groups} teams of the same size; how many pupils are in a team?"],
        ),
        family(
            "vases",
            ["* The florist has {start} {xs} in the cold room.", "* There are {groups} vases to fill."],
            loss="If {change} {xs} have wilted and every vase must get the same number of fresh ones, "
                 "how many go into one vase?",
            gain="If {change} {xs} are delivered on top of that and every vase must get the same number, "
                 "how many go into one vase?",
            x="flower",
        ),
        family(
            "prize",
            ["A choir of {groups} singers wins a prize of {start:money}."],
            loss=["From this the choir first pays {change:money} for the hall.",
                  "What sum does every singer receive when the rest is split evenly?"],
            gain=["A fan adds {change:money} to the prize.",
                  "What sum does every singer receive when the money is split evenly?"],
        ),
        family(
            "library",
            ["{who} works in a library and has to put {start} books onto {groups} shelves, the same number on each."],
            loss=["Before {who} starts, readers borrow {change} of the books.",
                  "How many books end up on a shelf?"],
            gain=["Before {who} starts, readers bring back another {change} books.",
                  "How many books end up on a shelf?"],
        ),
        family(
            "classroom",
            ["Share out the {xs}: that is the task of {who}, who counts {start} of them for {groups} tables."],
            loss=["{who} puts {change} {xs} aside for the teacher.",
                  "With the others shared evenly, how many {xs} lie on each table?"],
            gain=["In the cupboard {who} discovers a box with {change} further {xs}.",
                  "With all of them shared evenly, how many {xs} lie on each table?"],
            x="stationery",
        ),
        family(
            "flock",
            ["The shepherd drives {start} {xs} up to the hills, where {groups} equally large pens are ready."],
            loss="On the way {change} {xs} run off, so how many stand in each pen when the rest is spread evenly?",
            gain="On the way {change} stray {xs} join them, so how many stand in each pen when all are spread evenly?",
            x="animal", held_out=True, numbers={"change": range(2, 15)},
        ),
        family(
            "water",
            ["A tank in the allotment in {town} contains {start} litres of water for {groups} garden plots."],
            loss=["Through a crack {change} litres seep away.",
                  "Each plot is to receive an equal amount of what remains; how many litres is that?"],
            gain=["A shower of rain fills in {change} additional litres.",
                  "Each plot is to receive an equal amount of the water; how many litres is that?"],
            held_out=True,
        ),
    ),
)  # fmt: skip

RATIO = TaskType(
    "ratio",
    numbers={
        "small": range(2, 7), "wider": range(2, 6), "large": lambda n: n["small"] + n["wider"], "unit": range(3, 31),
        "total": lambda n: (n["small"] + n["large"]) * n["unit"],
    },
    variants={
        "share": variant(
            "parts = small + large: Number of parts", "one = total / parts: Size of one part",
            "answer = one * large: Size of the larger share",
        ),
        "difference": variant(
            "parts = small + large: Number of parts", "one = total / parts: Size of one part",
            "extra = large - small: Parts that one side has more", "answer = one * extra: Difference of the shares",
        ),
    },
    families=(
        family(
            "coins",
            ["{who} and {other} split {total:money} in the ratio {small} to {large}, "
             "and {who} gets the smaller share."],
            share="How much money does {other} get?",
            difference="How much more money does {other} get than {who}?",
        ),
        family(
            "paint",
            ["* To mix a certain green, {small} parts of yellow go with {large} parts of blue.",
             "* The painter needs {total} litres of this green."],
            share="How many litres of blue are needed?",
            difference="By how many litres does the blue exceed the yellow?",
        ),
        family(
            "hall",
            ["In a choir of {total} people there are {small} men for every {large} women."],
            share="How many women sing in the choir?",
            difference="How many more women than men sing in the choir?",
        ),
        family(
            "vote",
            ["At the meeting in {town}, {total} people voted, and nobody abstained.",
             "For every {small} votes against the plan there were {large} votes in favour."],
            share="How many votes did the plan receive?",
            difference="By how many votes did the plan win?",
        ),
        family(
            "garden",
            ["{who} plants {total} {xs} and {ys} altogether, "
             "always {small} {xs} for each {large} {ys}."],
            share="What is the number of {ys}?",
            difference="How many {ys} are there beyond the number of {xs}?",
            x="flower", y="flower",
        ),
        family(
            "concrete",
            ["Cement and sand are stirred together so that {small} buckets of cement come to {large} buckets of sand."],
            share="If there are {total} buckets of the mixture, how many of them were sand?",
            difference="If there are {total} buckets of the mixture, how many more were sand than cement?",
        ),
        family(
            "inherit",
            ["An aunt leaves {total} {xs} to {who} and {other}.",
             "Her will says that {other} shall have {large} for every {small} that {who} has."],
            share="How many {xs} does {other} inherit?",
            difference="How many {xs} does {other} inherit beyond what {who} does?",
            x="device", held_out=True,
        ),
        family(
            "traffic",
            ["A counter on the bridge in {town} registered bicycles and cars, {total} vehicles together, "
             "at a rate of {small} bicycles per {large} cars."],
            share="What number of cars crossed the bridge?",
            difference="What is the difference between the number of cars and the number of bicycles?",
            held_out=True,
        ),
    ),
)  # fmt: skip

FRACTION = TaskType(
    "fraction",
    numbers={"part": range(2, 6), "unit": range(8, 61), "start": lambda n: n["part"] * n["unit"],
             "change": range(3, 41)},
    variants={
        "down": variant(
            "gone = start / part: The part that goes first", "rest = start - gone: What remains then",
            "left = rest - change: What remains in the end",
        ),
        "up": variant(
            "gone = start / part: The part that goes first", "rest = start - gone: What remains then",
            "now = rest + change: What there is in the end",
        ),
    },
    families=(
        family(
            "stall",
            ["{who} starts the day with {start} {xs} and sells {part:part} of them before lunch."],
            down=["In the afternoon {who} sells {change} more.", "How many {xs} does {who} take home?"],
            up=["At lunchtime a van brings {change} fresh ones.", "How many {xs} does {who} have then?"],
            x="baked",
        ),
        family(
            "bus",
            ["A coach leaves {town} with {start} passengers on board.", "At the first stop {part:part} of the "
                                                                        "passengers get off."],
            down="At the second stop {change} get off and nobody gets on; how many ride on?",
            up="At the second stop {change} get on and nobody gets off; how many ride on?",
            numbers={"unit": range(8, 25)},
        ),
        family(
            "purse",
            ["With {start:money} in {whose} purse, {who} goes into town, where {part:part} of it is spent on shoes."],
            down=["Then {who} pays {change:money} for lunch.", "What sum is still in the purse?"],
            up=["Then {who} gets back {change:money} that {other} owed {whom}.", "What sum is in the purse now?"],
        ),
        family(
            "tank",
            ["The rain barrel held {start} litres in the morning.", "{part:part} of the water was used for the beans."],
            down=["Afterwards {change} litres went onto the lettuce.", "How many litres does the barrel hold now?"],
            up=["Afterwards a storm put {change} litres into the barrel.", "How many litres does the barrel hold now?"],
        ),
        family(
            "collection",
            ["How {whose} collection of {start} {xs} changed: first {who} gave {part:part} of it to {other}."],
            down="After that {change} {xs} got lost; what size is the collection now?",
            up="After that {who} found {change} {xs} in the attic; what size is the collection now?",
            x="toy",
        ),
        family(
            "orders",
            ["A workshop has to repair {start} {xs} this month.", "By the tenth, {part:part} of the {xs} are done."],
            down="During the following week the workshop manages {change}, so how many repairs are open?",
            up="During the following week none are done and {change} more come in, so how many repairs are open?",
            x="device",
        ),
        family(
            "ship",
            ["{start} containers stand on the deck of a freighter; in {town} the crane unloads {part:part} of them."],
            down="If {change} containers are taken off in the next harbour, how many travel on?",
            up="If {change} containers are taken on in the next harbour, how many travel on?",
            held_out=True,
        ),
        family(
            "flour",
            ["A bakery stores {start} kilograms of flour and needs {part:part} of that for rye bread."],
            down=["The rolls take {change} kilograms.", "What weight of flour has not been touched?"],
            up=["The mill supplies {change} kilograms.", "What weight of flour is in the store after that?"],
            held_out=True,
        ),
    ),
)  # fmt: skip
