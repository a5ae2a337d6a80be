"""Task types that compare: comparison, average, age."""

from __future__ import annotations

from mage_es.engine.benchmarks.wordmath.form import TaskType, family, variant

COMPARISON = TaskType(
    "comparison",
    numbers={"first": range(12, 81), "gap": range(4, 31), "times": range(2, 6)},
    variants={
        "more": variant("second = first + gap: Number of the second", "sum = first + second: Both together"),
        "fewer": variant("second = first - gap: Number of the second", "sum = first + second: Both together"),
        "three": variant(
            "second = first + gap: Number of the second", "last = second * times: Number of the third",
            "two = first + second: First and second together", "sum = two + last: All three together",
        ),
    },
    families=(
        family(
            "collectors",
            ["{who} owns {first} {xs}."],
            more=["{other} owns {gap} more than {who}.", "How many {xs} do the two own together?"],
            fewer=["{other} owns {gap} fewer than {who}.", "How many {xs} do the two own together?"],
            three=["{other} owns {gap} more than {who}, and {third} owns {times:times} as many as {other}.",
                   "How many {xs} do the three own together?"],
            x="toy",
        ),
        family(
            "schools",
            ["Last year {first} pupils joined the school in {town}."],
            more="This year {gap} more joined than last year. What is the sum for the two years?",
            fewer="This year {gap} fewer joined than last year. What is the sum for the two years?",
            three="This year {gap} more joined than last year, and next year {times:times} as many as this year "
                  "are expected. What is the sum for the three years?",
        ),
        family(
            "pickers",
            ["In the orchard {who} picked {first} {xs}, and {other} picked some as well."],
            more="The basket of {other} had {gap} more in it. How many were picked in total?",
            fewer="The basket of {other} had {gap} fewer in it. How many were picked in total?",
            three="The basket of {other} had {gap} more in it. {third} picked {times:times} as many as {other}. "
                  "How many were picked in total?",
            x="fruit",
        ),
        family(
            "weekdays",
            ["A bakery counts what it sells: on Friday {first} {xs}."],
            more="Saturday beats Friday by {gap}. How many {xs} were sold on the two days?",
            fewer="Saturday stays {gap} below Friday. How many {xs} were sold on the two days?",
            three="Saturday beats Friday by {gap}, and Sunday brings {times:times} the number of Saturday. "
                  "How many {xs} were sold on the three days?",
            x="baked",
        ),
        family(
            "towers",
            ["Imagine the towers of {town} standing on top of each other.", "The church tower is {first} metres high."],
            more=["The tower of the town hall exceeds the church tower by {gap} metres.",
                  "To what height in metres do these two reach?"],
            fewer=["The tower of the town hall falls short of the church tower by {gap} metres.",
                   "To what height in metres do these two reach?"],
            three=["The tower of the town hall exceeds the church tower by {gap} metres, and the television tower is "
                   "{times:times} "
                   "as high as the one of the town hall.", "To what height in metres do these three reach?"],
        ),
        family(
            "farm",
            ["On a farm near {town} live {first} {xs}."],
            more="If there are {gap} more {ys} than {xs}, how many {xs} and {ys} are there in all?",
            fewer="If there are {gap} fewer {ys} than {xs}, how many {xs} and {ys} are there in all?",
            three="If there are {gap} more {ys} than {xs} and {times:times} as many hens as {ys}, "
                  "how many of these animals are there in all?",
            x="animal", y="animal",
        ),
        family(
            "savings",
            ["{first:money} is what {who} has saved."],
            more="{other} has put aside {gap:money} more than {whom}. What would they have if they pooled their money?",
            fewer="{other} has put aside {gap:money} less than {whom}. What would they have if they pooled their "
                  "money?",
            three="{other} has put aside {gap:money} more than {whom}, and {third} {times:times} as much as {other}. "
                  "What would the three have if they pooled their money?",
            held_out=True,
        ),
        family(
            "parcels",
            ["Two vans deliver parcels.", "The white van starts with {first} parcels."],
            more="Into the grey van go {gap} parcels more than into the white one. Find the number in both vans.",
            fewer="Into the grey van go {gap} parcels less than into the white one. Find the number in both vans.",
            three="Into the grey van go {gap} parcels more than into the white one. Meanwhile a ship carries "
                  "{times:times} as many as the grey van. Find the number in the vans and on the ship together.",
            held_out=True,
        ),
    ),
)  # fmt: skip

AVERAGE = TaskType(
    "average",
    numbers={"mean": range(15, 91), "one": range(12, 96), "two": range(12, 96)},
    variants={
        "mean": variant(
            "pair = one + two: First and second together", "sum = pair + three: All together",
            "average = sum / 3: Average of the three",
            three=lambda n: 3 * n["mean"] - n["one"] - n["two"],
        ),
        "missing": variant(
            "needed = mean * 4: Sum that the average asks for", "pair = one + two: First and second together",
            "sum = pair + three: Sum so far", "last = needed - sum: What the last one has to be",
            three=range(12, 96),
        ),
    },
    avoid=("weather",),
    families=(
        family(
            "tests",
            ["In three tests {who} scored {one}, {two} and {three} points."],
            mean="What is {whose} average score?",
            missing="How many points does {who} need in the fourth test to have an average of {mean} points over all "
                    "four?",
        ),
        family(
            "visitors",
            ["The museum in {town} counts its visitors.", "* On Monday there were {one}.", "* On Tuesday there were "
                                                                                           "{two}.",
             "* On Wednesday there were {three}."],
            mean="How many visitors came per day on average over the three days?",
            missing="How many must come on Thursday so that the four days average {mean} visitors?",
        ),
        family(
            "weights",
            ["Three parcels weigh {one}, {two} and {three} kilograms."],
            mean="Find the mean weight of a parcel in kilograms.",
            missing="A fourth one is added, and the mean weight of the four is {mean} kilograms. "
                    "Find the weight of the fourth.",
        ),
        family(
            "rain",
            ["A gauge measures the rain in millimetres: {one} in April, {two} in May and {three} in June."],
            mean="How much rain fell in a typical month, taking the mean of the three?",
            missing="With July included, the mean of the four months was {mean}. How much rain fell in July?",
        ),
        family(
            "runs",
            ["{who} has recorded the length of three runs.", "* The first took {one} minutes.",
             "* The second took {two} minutes.", "* The third took {three} minutes."],
            mean="If all three had been equally long with the same total, how many minutes would each have taken?",
            missing="How long must a fourth run be to bring the average of the four to {mean} minutes?",
        ),
        family(
            "hens",
            ["The {ys} of three fields were weighed, in kilograms: {one}, {two} and {three}."],
            mean="The farmer wants to note the average yield of the three fields. What number is written down?",
            missing="With a fourth field the average yield was {mean} kilograms. What did the fourth field give?",
            y="fruit",
        ),
        family(
            "clubs",
            ["The chess club of {town} has {one} members, the rowing club {two} and the drama club {three}."],
            mean="Calculate the average number of members of these three clubs.",
            missing="Together with the garden club, the average of the four clubs is {mean}. "
                    "Calculate the number of members of the garden club.",
            held_out=True,
        ),
        family(
            "bills",
            ["{whose} electricity bills for the first three quarters were {one:money}, {two:money} and {three:money}."],
            mean="What did {who} pay per quarter on average in these three quarters?",
            missing="Over all four quarters of the year {who} paid {mean:money} on average. "
                    "What was the bill of the last quarter?",
            held_out=True,
        ),
    ),
)  # fmt: skip

AGE = TaskType(
    "age",
    numbers={"young": range(4, 41), "gap": range(2, 31), "years": range(2, 16)},
    variants={
        "sum": variant(
            "old = young + gap: Age of the older one today", "then = young + years: Age of the younger one then",
            "after = old + years: Age of the older one then", "both = then + after: Both ages then",
        ),
        "elder": variant("old = young + gap: Age of the older one today", "after = old + years: Age then"),
    },
    avoid=("age", "person"),
    families=(
        family(
            "siblings",
            ["* {who} is {young} years old.", "* {other} is {gap} years older than {whom}."],
            sum="What will be the sum of their ages in {years} years?",
            elder="How old will {other} be in {years} years?",
        ),
        family(
            "born",
            ["{other} was already {gap} when {who} was born.", "Now {who} is {young}."],
            sum="In {years} years, what will their two ages add up to?",
            elder="In {years} years, what age will {other} have reached?",
        ),
        family(
            "trees",
            ["The {young}-year-old oak in {town} has a neighbour, a lime tree that was planted {gap} years before it."],
            sum="When {years} more years have gone by, how many years will the two trees count together?",
            elder="When {years} more years have gone by, how old will the lime tree be?",
        ),
        family(
            "question_first",
            ["Today {who} is {young}, and {other} has lived {gap} years longer."],
            sum="How many years old will {who} and {other} be together, {years} years from now?",
            elder="How many years old will {other} be, {years} years from now?",
            ask_first=True,
        ),
        family(
            "houses",
            ["A mill was built {gap} years earlier than the bridge beside it, and the bridge has stood for {young} "
             "years."],
            sum="{years} years from today, what will the ages of mill and bridge amount to?",
            elder="For how many years will the mill have stood {years} years from today?",
        ),
        family(
            "cousins",
            ["{who} turned {young} this week; {whose} cousin {other} is ahead of {whom} by {gap} years."],
            sum="The two will celebrate together {years} years later. How many candles do they need, one for each year "
                "of both?",
            elder="{other} will have a party {years} years later. How many candles, one for each year, will be on "
                  "the cake?",
        ),
        family(
            "tortoise",
            ["At the zoo in {town} a tortoise has its birthday: it is {gap} years older than the parrot, "
             "whose age is {young}."],
            sum="Let {years} years pass. What do you get when you add the ages of both animals?",
            elder="Let {years} years pass. What is the age of the tortoise?",
            held_out=True,
        ),
        family(
            "companies",
            ["A brewery had existed for {gap} years when a dairy opened across the road, and that was {young} years "
             "ago."],
            sum="How many years of history will the two businesses have between them after {years} more years?",
            elder="How many years of history will the brewery have after {years} more years?",
            held_out=True,
        ),
    ),
)  # fmt: skip
