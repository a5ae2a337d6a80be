"""Task types about progress, distance and units: progress, legs, units."""

from __future__ import annotations

from mage_es.engine.benchmarks.wordmath.form import TaskType, family, variant

PROGRESS = TaskType(
    "progress",
    numbers={
        "rate": range(6, 31), "days": range(3, 10), "pace": range(5, 31), "more": range(3, 10),
        "goal": lambda n: n["rate"] * n["days"] + n["pace"] * n["more"],
    },
    variants={
        "left": variant("done = rate * days: What is done so far", "left = goal - done: What remains to be done"),
        "time": variant(
            "done = rate * days: What is done so far", "left = goal - done: What remains to be done",
            "more_days = left / pace: Time that the rest takes",
        ),
    },
    families=(
        family(
            "novel",
            ["* {whose} novel has {goal} pages.", "* {who} has been reading {rate} pages a day for {days} days."],
            left="How many pages has {who} not read yet?",
            time="If {who} reads {pace} pages a day from now on, how many more days does {who} need?",
        ),
        family(
            "wall",
            ["A bricklayer is to lay {goal} bricks in a garden in {town}.",
             "In the first {days} hours the bricklayer manages {rate} bricks an hour."],
            left="What number of bricks is still to be laid?",
            time="Working with {pace} bricks an hour after that, how many further hours are necessary?",
        ),
        family(
            "letters",
            ["{who} must address {goal} envelopes for the town council."],
            left=["{who} writes {rate} addresses every evening.",
                  "How many envelopes have no address after {days} evenings?"],
            time=["For {days} evenings {who} writes {rate} addresses each, then {pace} every evening.",
                  "How many evenings does the second stage last?"],
        ),
        family(
            "hike",
            ["The long trail measures {goal} kilometres.",
             "For {days} days {who} walks {rate} kilometres per day on it."],
            left="What distance is there still to go?",
            time="What number of days will the rest of the trail take {whom} at {pace} kilometres per day?",
        ),
        family(
            "pool",
            ["A pool takes {goal} litres, and a pump fills it at {rate} litres a minute."],
            left="How many litres are missing after {days} minutes?",
            time="After {days} minutes the pump is replaced by another one that delivers {pace} litres a minute. "
                 "How many minutes does the other one run until the pool is full?",
        ),
        family(
            "vocabulary",
            ["Having learned {rate} words in each of {days} weeks, {who} looks at the list of {goal} words for the "
             "exam."],
            left="How many words on the list are new to {whom}?",
            time="With {pace} words in each coming week, how many weeks does {who} need for the others?",
        ),
        family(
            "harvest",
            ["In an orchard near {town} {goal} trees have to be harvested.",
             "A team harvested {rate} trees on each of the past {days} days."],
            left="Determine the number of trees that have not been harvested.",
            time="From tomorrow the team will do {pace} trees daily. Determine the number of days that it has to go "
                 "on.",
            held_out=True,
        ),
        family(
            "scanning",
            ["An archive of {goal} photographs is being scanned."],
            left="At {rate} photographs an hour, what is left to scan after {days} hours?",
            time="For {days} hours the work went at {rate} photographs an hour; since then it goes at {pace} an hour. "
                 "How long, in hours, does the remainder take?",
            held_out=True,
        ),
    ),
)  # fmt: skip

LEGS = TaskType(
    "legs",
    numbers={"slow": range(4, 41), "faster": range(5, 51), "speed": lambda n: n["slow"] + n["faster"],
             "hours": range(2, 8), "later": range(2, 8),
             "spare": range(10, 200), "whole": lambda n: n["speed"] * n["hours"] + n["slow"] * n["later"] + n["spare"]},
    variants={
        "total": variant(
            "first = speed * hours: Length of the first stretch", "second = slow * later: Length of the second stretch",
            "way = first + second: Length of both together",
        ),
        "rest": variant(
            "first = speed * hours: Length of the first stretch", "second = slow * later: Length of the second stretch",
            "way = first + second: Length of both together", "rest = whole - way: What is still missing",
        ),
    },
    families=(
        family(
            "train",
            ["{who} sits in a train for {hours} hours at {speed} kilometres per hour and then in a bus "
             "for {later} hours at {slow} kilometres per hour."],
            total="How far does {who} travel?",
            rest=["The whole journey is {whole} kilometres long.", "How far is it from the last stop of the bus?"],
        ),
        family(
            "cyclist",
            ["{who} rides a bicycle.", "* On the plain {who} covers {speed} kilometres every hour.",
             "* In the mountains {who} covers {slow} kilometres every hour."],
            total="What distance does {who} cover in {hours} hours on the plain and {later} hours in the mountains?",
            rest="A tour to {town} is {whole} kilometres. What part of it, in kilometres, remains after {hours} hours "
                 "on the plain and {later} hours in the mountains?",
            numbers={"speed": range(18, 36), "slow": range(6, 18)},
        ),
        family(
            "lorry",
            ["A lorry on its way to {town} keeps up {speed} kilometres per hour for {hours} hours.",
             "Snow sets in, and for the next {later} hours it only makes {slow} kilometres per hour."],
            total="How many kilometres does the lorry drive in this time?",
            rest="How many kilometres lie ahead of it if the way to {town} is {whole} kilometres long?",
        ),
        family(
            "swim_run",
            ["In training {who} runs {hours} laps of {speed} metres and then walks {later} laps of {slow} metres."],
            total="How many metres is that altogether?",
            rest="The goal for today is {whole} metres. How many metres does {who} have yet to do?",
            numbers={"speed": range(100, 401, 10), "slow": range(40, 101, 5), "spare": range(50, 500)},
        ),
        family(
            "ship",
            ["The ferry has two engines.", "* With both it goes {speed} miles an hour.",
             "* With one it goes {slow} miles an hour."],
            total="Yesterday both worked for {hours} hours and then only one for {later} hours. How many miles was it?",
            rest="Of the {whole} miles to the island, how many are left once both have worked for {hours} hours "
                 "and then only one for {later} hours?",
            numbers={"speed": range(18, 40), "slow": range(6, 18)},
        ),
        family(
            "drone",
            ["{whose} drone flew at {speed} metres a second for {hours} seconds before the wind slowed it down "
             "to {slow} metres a second for {later} seconds."],
            total="What stretch did the drone fly?",
            rest="{who} had planned a flight of {whole} metres; what stretch is missing?",
            numbers={"speed": range(12, 31), "hours": range(5, 30), "slow": range(4, 12), "later": range(5, 30)},
        ),
        family(
            "caravan",
            ["A caravan crosses the desert: {hours} days of {speed} kilometres, followed by {later} days "
             "of {slow} kilometres."],
            total="Calculate the length of this crossing.",
            rest="The oasis is {whole} kilometres from the start. Calculate how far the caravan is away from it.",
            held_out=True,
        ),
        family(
            "pipe",
            ["Two crews lay a water pipe one after the other.",
             "* The first crew works for {hours} days and lays {speed} metres a day.",
             "* The second crew works for {later} days and lays {slow} metres a day."],
            total="What length of pipe is in the ground afterwards?",
            rest="The pipe to {town} must become {whole} metres long, so what length is not in the ground afterwards?",
            held_out=True,
        ),
    ),
)  # fmt: skip

UNITS = TaskType(
    "units",
    numbers={
        "amount": range(2, 10), "unit": 60, "size": range(4, 31), "wasted": range(2, 5), "value": range(3, 16),
        "used": lambda n: n["amount"] * n["unit"] % n["size"] + n["size"] * (n["wasted"] - 1),
    },
    variants={
        "rest": variant(
            "small = amount * unit: Amount in the smaller unit", "free = small - used: What can be used of it",
            "count = free / size: How many that makes",
        ),
        "worth": variant(
            "small = amount * unit: Amount in the smaller unit", "count = small / size: How many that makes",
            "sum = count * value: What they make together",
            used=2,
        ),
    },
    families=(
        family(
            "potter",
            ["* {who} spends {amount} hours in the pottery.", "* One {x} takes {whom} {size} minutes."],
            rest="If {used} minutes go into cleaning up, how many {xs} can {who} make?",
            worth="If each is sold for {value:money} and {who} works without a break, how much are the {xs} worth?",
            x="craft",
        ),
        family(
            "ribbon",
            ["From a roll of ribbon {amount} metres long, pieces of {size} centimetres are cut."],
            rest=["The first {used} centimetres are dirty and are thrown away.", "How many pieces are there?"],
            worth=["A piece sells for {value:money}.", "What do all the pieces bring in?"],
            numbers={"unit": 100, "size": range(10, 51, 5)},
        ),
        family(
            "dozen",
            ["A farmer near {town} sends {amount} dozen eggs to the hotel, where every cake needs {size} eggs."],
            rest="The cook boils {used} of the eggs for breakfast. How many cakes can be baked with the others?",
            worth="A cake gives {value} slices. How many slices can the hotel serve?",
            numbers={"unit": 12, "size": range(2, 7), "amount": range(3, 16)},
        ),
        family(
            "spice",
            ["{who} fills small bags with {size} grams of tea each, out of a sack of {amount} kilograms."],
            rest="But first {who} keeps {used} grams for the family. How many bags are filled?",
            worth="A bag brings in {value:money}. What does the sack bring in?",
            numbers={"unit": 1000, "size": range(50, 251, 25)},
        ),
        family(
            "weeks",
            ["A stay of {amount} weeks is planned for the research ship, with a sample of the sea water "
             "taken once every {size} days."],
            rest="On {used} of the days the storm will forbid any work; they do not count. How many samples are taken?",
            worth="A sample fills {value} flasks. How many flasks are filled?",
            numbers={"unit": 7, "size": range(2, 7), "amount": range(4, 21)},
        ),
        family(
            "cinema",
            ["The projector in {town} runs for {amount} hours a day, and a short film lasts {size} minutes."],
            rest="Advertising fills {used} minutes of the day. How many times is the short film shown?",
            worth="Every showing has {value} visitors and there is no pause. How many visitors does that make a day?",
        ),
        family(
            "juice",
            ["Out of a barrel with {amount} litres of juice the waiter pours glasses of {size} centilitres."],
            rest="What number of glasses can be poured if {used} centilitres are spilled?",
            worth="What does the barrel earn if a glass is paid with {value:money} and nothing is spilled?",
            numbers={"unit": 100, "size": range(10, 51, 5)}, held_out=True,
        ),
        family(
            "doctor",
            ["{other} is a doctor who sees patients for {amount} hours, {size} minutes for each patient."],
            rest="An emergency costs {used} of the minutes. How many patients can be seen?",
            worth="There is no emergency, and for each patient {value} lines of notes are written. "
                  "How many lines will that be?",
            held_out=True,
        ),
    ),
)  # fmt: skip
