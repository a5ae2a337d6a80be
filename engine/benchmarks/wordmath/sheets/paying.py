"""Task types about money: discount, basket, profit."""

from __future__ import annotations

from mage_es.engine.benchmarks.wordmath.form import TaskType, family, variant

_RATES = (5, 10, 15, 20, 25, 30, 40, 50)
_NOTES = (50, 100, 200, 500)

DISCOUNT = TaskType(
    "discount",
    numbers={
        "price": range(20, 401, 10), "rate_row": range(2, 9), "rate": lambda n: _RATES[n["rate_row"] - 1],
        "note_row": range(2, 6), "note": lambda n: _NOTES[n["note_row"] - 2], "count": range(2, 9),
    },
    variants={
        "change": variant(
            "scaled = price * rate: Price times percentage", "off = scaled / 100: Reduction",
            "pay = price - off: Reduced price", "change = note - pay: Money returned",
        ),
        "several": variant(
            "scaled = price * rate: Price times percentage", "off = scaled / 100: Reduction",
            "pay = price - off: Reduced price", "sum = pay * count: Price of all pieces",
        ),
    },
    families=(
        family(
            "sale",
            ["* {a x} [normally costs|is usually priced at] {price:money}.", "* In the sale it is {rate:percent} "
                                                                             "cheaper."],
            change="{who} buys {a x} in the sale and hands over {note:money}; how much change does {who} get?",
            several="{who} buys {count} {xs} in the sale; how much does {who} pay?",
            x="clothes",
        ),
        family(
            "coupon",
            ["{who} has a coupon that takes {rate:percent} off the price of any {x}.",
             "The one that {who} likes has a price tag of {price:money}."],
            change=["{who} pays with a note of {note:money}.", "What does the cashier give back?"],
            several=["The coupon is good for any number of pieces, and {who} takes {count} of this kind.",
                     "What does the cashier ask for?"],
            x="device",
        ),
        family(
            "member",
            ["Members of the club in {town} get {rate:percent} off at the sports shop."],
            change="A member pays for a racket that is marked {price:money} with {note:money}. "
                   "What sum is returned to the member?",
            several="For members of the club, what is the bill for {count} rackets that are marked {price:money} each?",
        ),
        family(
            "theatre",
            ["A ticket for the circus costs {price:money} on weekends, but on Mondays there is "
             "a reduction of {rate:percent}."],
            change="On a Monday {who} puts {note:money} on the counter for one ticket. How much comes back?",
            several="What do {count} tickets cost on a Monday?",
            numbers={"price": range(20, 101, 10)},
        ),
        family(
            "damaged",
            ["Because of a scratch, the shop lowers the price of {a x} by {rate:percent}.",
             "Without the scratch it would be {price:money}."],
            change="How much change is due to {who}, who buys the scratched {x} with {note:money}?",
            several="A hotel takes {count} {xs}, all scratched in this way; what does the hotel pay for them?",
            x="device",
        ),
        family(
            "online",
            ["{who} orders online, where {a x} is listed at {price:money} before "
             "a new-customer discount of {rate:percent}."],
            change=["{whose} account has a balance of {note:money}.",
                    "What is the balance after {who} has ordered one as a new customer?"],
            several=["As a new customer {who} orders {count}.", "What is the total of the order?"],
            x="craft",
        ),
        family(
            "season",
            ["At the end of winter every {x} in the store in {town} is reduced by {rate:percent}; "
             "before, each had been {price:money}."],
            change="{who} takes {a x} to the till and gives {note:money}. Work out what {who} receives back.",
            several="{who} takes {count} {xs} to the till. Work out what {who} owes.",
            x="clothes", held_out=True,
        ),
        family(
            "hotel",
            ["A night at the lakeside inn is {price:money}, and guests who book early save {rate:percent} of that."],
            change="{other} booked one night early and gives the clerk {note:money}; what does the clerk return?",
            several="{other} booked {count} nights early; what will the stay cost?",
            numbers={"price": range(40, 201, 10)}, held_out=True,
        ),
    ),
)  # fmt: skip

BASKET = TaskType(
    "basket",
    numbers={
        "many": range(2, 13), "cost": range(2, 16), "few": range(2, 13), "fee": range(2, 16),
        "note_row": range(2, 6), "note": lambda n: _NOTES[n["note_row"] - 2],
    },
    variants={
        "total": variant(
            "first = many * cost: Price of the first kind", "second = few * fee: Price of the second kind",
            "sum = first + second: Price of everything",
        ),
        "change": variant(
            "first = many * cost: Price of the first kind", "second = few * fee: Price of the second kind",
            "sum = first + second: Price of everything", "change = note - sum: Money that is left",
        ),
    },
    families=(
        family(
            "stationer",
            ["* {a x} costs {cost:money}.", "* {a y} costs {fee:money}."],
            total="How much does {who} pay for {many} {xs} and {few} {ys}?",
            change="{who} buys {many} {xs} and {few} {ys} and pays with {note:money}. How much change is there?",
            x="stationery", y="stationery",
        ),
        family(
            "wardrobe",
            ["{who} picks out {many} {xs} at {cost:money} each and {few} {ys} at {fee:money} each."],
            total="What does the whole purchase come to?",
            change=["{whose} budget is {note:money}.", "What remains of it after the purchase?"],
            x="clothes", y="clothes",
        ),
        family(
            "zoo",
            ["At the zoo in {town} adults pay {cost:money} and children pay {fee:money} to get in."],
            total="What is the entrance for a group of {many} adults and {few} children?",
            change="A group of {many} adults and {few} children brings {note:money} for the entrance. "
                   "What is left for ice cream?",
        ),
        family(
            "seller",
            ["{who} sells {xs} for {cost:money} and {ys} for {fee:money} apiece.",
             "* Today {many} customers want {a x}.", "* Today {few} customers want {a y}."],
            total="If nobody buys anything else, how much money does {who} take in?",
            change="{who} needs {note:money} for the rent of the stall and has nothing but these takings, "
                   "so how much is missing?",
            x="craft", y="craft",
        ),
        family(
            "rental",
            ["Renting a boat costs {cost:money} an hour, and renting a fishing rod costs {fee:money} an hour.",
             "The boat is kept for {many} hours, the rod for {few} hours."],
            total="What has {who} to pay for the two?",
            change="From {note:money} that {who} has saved for this outing, what is left after paying for the two?",
        ),
        family(
            "question_first",
            ["* There are {many} {xs} on the list, which cost {cost:money} each.",
             "* There are {few} {ys} on the list, which cost {fee:money} each."],
            total="What will {who} spend when buying all that is on the shopping list?",
            change="What will {who} have left of {note:money} after buying all that is on the shopping list?",
            x="fruit", y="baked", ask_first=True,
        ),
        family(
            "library",
            ["A school replaces {many} atlases for {cost:money} apiece, and for {few} dictionaries "
             "the price is {fee:money} apiece."],
            total="Work out the bill.",
            change="The parents have donated {note:money} for this. Work out how much of the donation is not used.",
            held_out=True,
        ),
        family(
            "work_hours",
            ["For mowing lawns {who} earns {cost:money} an hour, for walking dogs {fee:money} an hour.",
             "Last week {who} mowed for {many} hours and walked dogs for {few} hours."],
            total="How much did {who} earn?",
            change="The new phone that {who} would like costs {note:money}. How much is lacking after last week?",
            held_out=True,
        ),
    ),
)  # fmt: skip

PROFIT = TaskType(
    "profit",
    numbers={"buy": range(3, 41), "count": range(5, 41), "fee": range(5, 81), "margin": range(2, 31),
             "sell": lambda n: n["buy"] + n["margin"]},
    variants={
        "each": variant(
            "gain = sell - buy: Gain on each piece", "all = gain * count: Gain on all pieces",
            "profit = all - fee: What remains after the fee",
        ),
        "batch": variant(
            "income = count * sell: Income", "rest = income - cost: Income less the first cost",
            "profit = rest - fee: Income less both costs",
            cost=range(20, 301),
        ),
    },
    families=(
        family(
            "flea_market",
            ["{who} has a table at the flea market, for which {who} pays {fee:money}."],
            each=["There {who} sells {count} {xs} at {sell:money} each, which had been bought at {buy:money} each.",
                  "What profit does {who} make?"],
            batch=["There {who} sells {count} {xs} at {sell:money} each; {who} had spent {cost:money} on all of them.",
                   "What profit does {who} make?"],
            x="craft",
        ),
        family(
            "resale",
            ["A dealer in {town} sold {count} {xs} last month and charged {sell:money} for every one."],
            each=["To the dealer, every one had cost {buy:money}.", "Advertising came to {fee:money}.",
                  "How much did the dealer gain in the end?"],
            batch=["* Buying them had cost the dealer {cost:money} altogether.", "* Advertising came to {fee:money}.",
                   "How much did the dealer gain in the end?"],
            x="device",
        ),
        family(
            "bakery",
            ["For a charity, the pupils sell {xs}.", "* The price of one is {sell:money}.", "* They sell {count}."],
            each=["The ingredients for one cost {buy:money}, and the stand costs {fee:money} to rent.",
                  "How much money goes to the charity?"],
            batch=["The ingredients for all of them cost {cost:money}, and the stand costs {fee:money} to rent.",
                   "How much money goes to the charity?"],
            x="baked", numbers={"cost": range(10, 61), "buy": range(2, 9), "margin": range(2, 9)},
        ),
        family(
            "knitting",
            ["{who} knits {xs} and lets a shop sell them for {sell:money} apiece; the shop keeps "
             "a single fee of {fee:money}."],
            each="If the wool for one costs {buy:money} and {count} are sold, how much does {who} earn?",
            batch="If {who} spent {cost:money} on wool and {count} are sold, how much does {who} earn?",
            x="clothes",
        ),
        family(
            "concert",
            ["The band from {town} gives a concert, and {count} people come at {sell:money} a ticket."],
            each=["The hall takes {buy:money} of every ticket, and the sound engineer gets {fee:money}.",
                  "What is left for the band?"],
            batch=["* The hall costs {cost:money}.", "* The sound engineer gets {fee:money}.",
                   "What is left for the band?"],
        ),
        family(
            "orchard",
            ["{who} grows {xs} and has a contract to sell {count} crates at {sell:money} a crate."],
            each="Picking costs {buy:money} a crate and the lorry {fee:money} for the trip. What will be earned?",
            batch="Picking costs {cost:money} in total and the lorry {fee:money} for the trip. What will be earned?",
            x="fruit",
        ),
        family(
            "tour",
            ["A guide takes {count} tourists through {town}, and everybody pays {sell:money}."],
            each="For each tourist the guide has to buy a museum ticket of {buy:money}; the permit for the day is "
                 "{fee:money}. Calculate the guide's net income.",
            batch="The guide has to hire a bus for {cost:money}, and the permit for the day is {fee:money}. "
                  "Calculate the guide's net income.",
            held_out=True,
        ),
        family(
            "import",
            ["{other} imports {xs}: {count} pieces, sold on at {sell:money} a piece."],
            each=["The maker abroad wants {buy:money} a piece.", "Customs demand {fee:money} for the lot.",
                  "What does {other} earn?"],
            batch=["The maker abroad wants {cost:money} for the lot.", "Customs demand another {fee:money}.",
                   "What does {other} earn?"],
            x="wish", held_out=True,
        ),
    ),
)  # fmt: skip
