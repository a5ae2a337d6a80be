"""Task types about work, supplies and saving: joint, supply, saving."""

from __future__ import annotations

from mage_es.engine.benchmarks.wordmath.form import TaskType, family, variant

JOINT = TaskType(
    "joint",
    numbers={"fast": range(4, 31), "slow": range(3, 25), "hours": range(2, 13)},
    variants={
        "made": variant("both = fast + slow: Both in one unit of time", "made = both * hours: In the whole time"),
        "time": variant(
            "both = fast + slow: Both in one unit of time", "needed = goal / both: Time that both need",
            goal=lambda n: (n["fast"] + n["slow"]) * n["hours"],
        ),
    },
    families=(
        family(
            "painters",
            ["* {who} paints {fast} {xs} an hour.", "* {other} paints {slow} {xs} an hour."],
            made="How many {xs} do they paint in {hours} hours if both work?",
            time="How many hours do they need for {goal} {xs} if both work?",
            x="craft",
        ),
        family(
            "machines",
            ["In a factory in {town}, one machine [turns out|produces] {fast} {xs} per minute and another one {slow}."],
            made="Both machines run for {hours} minutes. What is the output?",
            time="An order is for {goal} {xs}. After how many minutes have the two machines finished it?",
            x="device",
        ),
        family(
            "taps",
            ["A bath is filled from two taps at once, {fast} litres a minute from the first "
             "and {slow} litres a minute from the second."],
            made="What volume of water, in litres, has come out after {hours} minutes?",
            time="The bath takes {goal} litres. How many minutes does it take until it is full?",
        ),
        family(
            "typists",
            ["Typing {fast} pages a day, {who} is helped by {other}, who types {slow} pages a day."],
            made="What number of pages do they complete together within {hours} days?",
            time="Their manuscript has {goal} pages. Within what number of days do they complete it together?",
        ),
        family(
            "stamps",
            ["Every week {who} collects {fast} {xs} and {whose} cousin collects {slow}; they keep them in one box."],
            made="How many {xs} will be in the box, empty at the start, after {hours} weeks?",
            time="After how many weeks will the box, empty at the start, contain {goal} {xs}?",
            x="toy",
        ),
        family(
            "bakers",
            ["Two ovens are on.", "* The old oven finishes {slow} {xs} in a quarter of an hour.",
             "* The new oven finishes {fast} {xs} in a quarter of an hour."],
            made="How many {xs} come out of the ovens in {hours} quarters of an hour?",
            time="How many quarters of an hour pass until {goal} {xs} have come out?",
            x="baked",
        ),
        family(
            "miners",
            ["From the north, {fast} metres of a tunnel are dug each month, and from the south {slow} metres."],
            made="By how much does the tunnel near {town} grow over {hours} months?",
            time="The tunnel near {town} is to be {goal} metres long. Over how many months must both sides dig?",
            held_out=True,
        ),
        family(
            "gardeners",
            ["{third} can plant {fast} {xs} in an hour whereas {other} can plant {slow}."],
            made="Work out what the pair plants in {hours} hours side by side.",
            time="Work out the hours that the pair, side by side, spends on a bed of {goal} {xs}.",
            x="flower", held_out=True,
        ),
    ),
)  # fmt: skip

SUPPLY = TaskType(
    "supply",
    numbers={"bags": range(2, 16), "days": range(3, 31)},
    variants={
        "daily": variant(
            "stock = bags * per: Whole supply", "lasts = stock / use: How long it lasts",
            use=range(2, 25), per=lambda n: n["use"] * n["days"] // n["bags"],
        ),
        "group": variant(
            "stock = bags * per: Whole supply", "use = eaters * portion: Amount for all of them each time",
            "lasts = stock / use: How long it lasts",
            eaters=range(3, 15), portion=range(2, 9),
            per=lambda n: n["eaters"] * n["portion"] * n["days"] // n["bags"],
        ),
    },
    families=(
        family(
            "stable",
            ["There are {bags} sacks of feed in the barn, and a sack weighs {per} kilograms."],
            daily="The animals get {use} kilograms a day. How many days does the feed last?",
            group="Each of the {eaters} {xs} gets {portion} kilograms a day. How many days does the feed last?",
            x="animal",
        ),
        family(
            "expedition",
            ["* An expedition takes along {bags} barrels of water.", "* A barrel holds {per} litres."],
            daily="With {use} litres used up every day, after how many days is the water gone?",
            group="With {eaters} people who drink {portion} litres each every day, after how many days is the water "
                  "gone?",
        ),
        family(
            "paper",
            ["{who} orders {bags} packs of paper with {per} sheets in each for the office in {town}."],
            daily="For how many days is that enough if {use} sheets are printed a day?",
            group="For how many days is that enough if each of {eaters} clerks prints {portion} sheets a day?",
        ),
        family(
            "snacks",
            ["How long will the {xs} last?", "{who} has bought {bags} {ys} of them, {per} in each."],
            daily="{use} {xs} are eaten per evening. Give the number of evenings.",
            group="Per evening, {portion} {xs} are eaten by each of {eaters} guests. Give the number of evenings.",
            x="baked", y="container",
        ),
        family(
            "stove",
            ["{who} stacks firewood in {bags} piles of {per} logs before the winter."],
            daily="A cold day uses up {use} logs, so for how many cold days has {who} got wood?",
            group="On a cold day each of the {eaters} stoves in the house burns {portion} logs, so for how many cold "
                  "days "
                  "has {who} got wood?",
        ),
        family(
            "bandage",
            ["A clinic keeps {bags} cartons of gloves, each carton with {per} pairs."],
            daily="Every shift needs {use} pairs. How many shifts can be worked before a new delivery?",
            group="In every shift there are {eaters} nurses who need {portion} pairs each. How many shifts can be "
                  "worked "
                  "before a new delivery?",
        ),
        family(
            "fuel",
            ["The generator of a village near {town} is run from {bags} drums holding {per} litres of diesel apiece."],
            daily="The consumption of the generator is {use} litres an hour; find the hours of electricity.",
            group="The generator has {eaters} engines with a consumption of {portion} litres an hour each; "
                  "find the hours of electricity.",
            held_out=True,
        ),
        family(
            "seeds",
            ["{other} looks after birds, and {bags} tins of seed with {per} spoonfuls apiece stand ready."],
            daily="The birds finish {use} spoonfuls in a day. When, in days from now, will the tins be empty?",
            group="There are {eaters} birds, and a bird finishes {portion} spoonfuls in a day. "
                  "When, in days from now, will the tins be empty?",
            held_out=True,
        ),
    ),
)  # fmt: skip

SAVING = TaskType(
    "saving",
    numbers={"have": range(10, 121), "weeks": range(3, 21)},
    variants={
        "plain": variant(
            "missing = goal - have: What is missing", "time = missing / save: How long that takes",
            save=range(4, 36), goal=lambda n: n["have"] + n["save"] * n["weeks"],
        ),
        "net": variant(
            "net = earn - spend: What is kept each time", "missing = goal - have: What is missing",
            "time = missing / net: How long that takes",
            spend=range(3, 31), keep=range(4, 31), earn=lambda n: n["spend"] + n["keep"],
            goal=lambda n: n["have"] + n["keep"] * n["weeks"],
        ),
    },
    families=(
        family(
            "wish",
            ["* {who} would like to buy {a x} for {goal:money}.", "* {who} has {have:money} so far."],
            plain="{who} saves {save:money} a week; how many weeks does it take until {who} can buy the {x}?",
            net="{who} earns {earn:money} a week and spends {spend:money} of it; how many weeks does it take until "
                "{who} "
                "can buy the {x}?",
            x="wish",
        ),
        family(
            "class_trip",
            ["The class trip costs {goal:money}, and {have:money} is in the class fund."],
            plain="Each month {save:money} is paid into the fund. For how many months must the class wait?",
            net="Each month {earn:money} is paid into the fund and {spend:money} is taken out. "
                "For how many months must the class wait?",
        ),
        family(
            "roof",
            ["To mend its roof, a club in {town} needs {goal:money}."],
            plain="The club owns {have:money} and takes in {save:money} at every party. How many parties does it "
                  "have to give?",
            net="The club owns {have:money}; a party brings in {earn:money} but costs {spend:money}. "
                "How many parties does it have to give?",
        ),
        family(
            "points",
            ["A reward in {whose} game is unlocked at {goal} points, and the counter stands at {have}."],
            plain="Every round adds {save} points. After how many rounds does {who} unlock the reward?",
            net="Every round adds {earn} points and then takes away {spend}. After how many full rounds does "
                "{who} unlock the reward?",
        ),
        family(
            "reservoir",
            ["A reservoir with {have} million litres in it is meant to rise to {goal} million litres."],
            plain="Rivers bring {save} million litres a day. How many days will it take?",
            net="Rivers bring {earn} million litres a day while {town} draws off {spend} million litres a day. "
                "How many days will it take?",
        ),
        family(
            "piggy",
            ["Since {whose} birthday there has been {have:money} in the money box, and the dream is {a x} "
             "at {goal:money}."],
            plain=["Pocket money allows {whom} to add {save:money} each week.", "For how many weeks does {who} have "
                                                                                "to be patient?"],
            net=["Pocket money is {earn:money} each week, of which {spend:money} goes on sweets and the rest into "
                 "the box.",
                 "For how many weeks does {who} have to be patient?"],
            x="wish",
        ),
        family(
            "membership",
            ["A choir of {have} singers wants to grow to {goal}."],
            plain="Suppose that {save} singers join every year and nobody leaves. In how many years will the choir "
                  "be so large?",
            net="Suppose that {earn} singers join and {spend} leave every year. In how many years will the choir be "
                "so large?",
            held_out=True,
        ),
        family(
            "plant_nursery",
            ["{other} wants {goal} young trees for a hillside and has grown {have}."],
            plain="Another {save} are ready each spring. How many springs must come first?",
            net="Each spring {earn} are ready, yet {spend} are eaten by deer. How many springs must come first?",
            held_out=True,
        ),
    ),
)  # fmt: skip
