"""Task sets of private rules whose answers are codes and numbers, as files of lines.

`python -m tests.bench.strangers FOLDER [SEED]` writes `account_no.jsonl` (each of twenty accounts has a desk),
`note_json.jsonl` (a carrier's code and a quantity, as JSON), `fee.jsonl` (a plan's base and so much per item),
`catalogue.jsonl` and `wide_catalogue.jsonl` (30 and 60 codes of two parts, of a material and a product) and
`shipping.jsonl` (a mark of zone and weight, as Z4H), `ledger.jsonl` (24 account numbers by what was bought),
`tariff.jsonl` (fifteen prices by zone and weight), `diagnosis.jsonl` (24 codes by complaint and duration),
`article.jsonl` (72 article codes by product, colour and size), `departure.jsonl` (one of three dates in a text),
`reference.jsonl` (two numbers of a text and an initial, as 609/22z), `amount.jsonl` (one of three amounts in a text, by
the kind of customer), `order_json.jsonl` (an article's code, a quantity, and a town's depot, as JSON) and `wish.jsonl`
(a query by region, state and age, as tKF[st=B;age>30]).
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

ROWS = 210
NAMES = "Amira Bruno Chloe Dario Elin Farid Greta Hugo Ines Jonas Kaja Leon Mira Nils Olga Pavel Rosa Sami Tove Ugo"
TOWNS = "Aarhus Bremen Como Delft Exeter Fulda Ghent Hull"
_Draw = Iterator[tuple[str, str]]


def account_no(r: Random) -> _Draw:
    accounts = [str(4000 + n) for n in r.sample(range(100, 900), 20)]
    desk = {account: ("Finch", "Heron", "Plover", "Stork")[at % 4] for at, account in enumerate(accounts)}
    asks = (
        "Booking of {x:.2f} EUR on account {a}, text: {g}.",
        "Invoice from {n} over {x:.2f} EUR, {g}, account {a}.",
        "{n} asks to move {x:.2f} EUR ({g}) to {a}.",
    )
    goods = ("paper", "coffee", "cleaning", "toner", "travel", "repairs")
    while True:
        a, ask = r.choice(accounts), r.choice(asks)
        yield ask.format(x=r.uniform(5, 2000), a=a, n=r.choice(NAMES.split()), g=r.choice(goods)), desk[a]


def note_json(r: Random) -> _Draw:
    carriers = ("Nordline", "Quickfreight", "Bluevan", "Hillpost")
    code = dict(zip(carriers, r.sample(["N7", "Q2", "B9", "H4", "X1"], 4), strict=True))
    goods = ("crates of apples", "boxes of tiles", "rolls of felt", "drums of paint", "pallets of bricks")
    while True:
        c, q, g = r.choice(carriers), r.randint(2, 60), r.choice(goods)
        hour, quarter, gates = r.randint(6, 18), r.choice(("00", "15", "30")), (r.randint(1, 9), r.randint(1, 9))
        asks = (
            f"{c} brought {q} {g} at {hour}:{quarter}, gate {gates[0]}.",
            f"Gate {gates[1]}: {q} {g} came with {c}, signed by {r.choice(NAMES.split())}.",
            f"Received from {c}: {q} {g}. Driver {r.choice(NAMES.split())}, seal {r.randint(1000, 9999)}.",
        )
        yield r.choice(asks), json.dumps({"carrier": code[c], "quantity": q})


def fee(r: Random) -> _Draw:
    base, per = dict(zip(("gold", "silver", "basic"), r.sample([5, 8, 12, 20], 3), strict=True)), r.choice((2, 3, 4))
    ways = ("to Spain", "by night mail", "on Friday", "with insurance", "from the depot", "for a friend")
    while True:
        p, n = r.choice(list(base)), r.randint(1, 9)
        sent = f"{r.choice(NAMES.split())} has the {p} plan and sends {n} item{'s' * (n > 1)} {r.choice(ways)}"
        yield f"{sent}, {r.choice(('wrapped', 'unwrapped', 'in one box'))}. What is the fee?", str(base[p] + per * n)


def catalogue(r: Random, products: int = 5) -> _Draw:
    made = ("shelf", "lamp", "bowl", "hook", "tray", "stool", "frame", "vase", "clock", "box")[:products]
    material = {name: f"{r.choice('KLMNPR')}{at}" for at, name in enumerate(("oak", "steel", "glass", "cotton"), 1)}
    material |= {name: f"{r.choice('KLMNPR')}{at}" for at, name in enumerate(("cork", "brass"), 5)}
    product = dict(zip(made, map(str, r.sample(range(10, 99), products)), strict=True))
    praise = ("Sturdy", "Timeless", "Handmade", "Slim", "Large", "Compact", "Bestselling", "Elegant")
    rooms = ("kitchen", "hall", "bathroom", "study", "garden", "nursery")
    ends = ("Easy to clean.", "Ships in two days.", "Two years of warranty.", "Designed in Lisbon.", "A perfect gift.")
    while True:
        m, p = r.choice([*material]), r.choice(made)
        size = f"{r.randint(10, 90)} x {r.randint(10, 60)} cm, pack of {r.choice((1, 2, 4, 6))}"
        text = f"{r.choice(praise)} {p} made of {m} for your {r.choice(rooms)}, {size}. {r.choice(ends)}"
        yield text, f"{material[m]}-{product[p]}"


def shipping(r: Random) -> _Draw:
    cities = ("Oslo", "Lyon", "Graz", "Porto", "Ghent", "Turin")
    zone, goods = dict(zip(cities, r.sample(range(1, 7), 6), strict=True)), ("fragile", "books", "clothes", "tools")
    while True:
        city, kg = r.choice(cities), r.randint(1, 30)
        text = f"Shipping mark: {kg} kg, from {r.choice(('Bern', 'Ulm', 'Brno'))} to {city}, {r.choice(goods)}."
        yield text, f"Z{zone[city]}{'H' if kg > 12 else 'L'}"


def ledger(r: Random) -> _Draw:
    bought = [
        *("toner", "printing paper", "envelopes", "coffee", "flowers", "catering", "train tickets", "hotel night"),
        *("taxi", "fuel", "parking", "car repair", "electricity", "water", "cleaning", "window repair", "phone bill"),
        *("hosting", "licences", "books", "training course", "legal advice", "insurance", "bank fees"),
    ]
    account = dict(zip(bought, map(str, r.sample(range(4100, 6900), len(bought))), strict=True))
    asks = ("{n} paid {x:.2f} EUR for {w}.", "Invoice {i}: {w}, {x:.2f} EUR.", "{w}, ordered by {n}, {x:.2f} EUR net.")
    while True:
        what, fields = r.choice(bought), {"n": r.choice(NAMES.split()), "x": r.uniform(5, 900)}
        text = r.choice(asks).format(w=what, i=r.randint(10000, 99999), **fields)
        yield text, account[what]


def tariff(r: Random) -> _Draw:
    zones = {city: at // 2 for at, city in enumerate(("Oslo", "Lyon", "Graz", "Porto", "Ghent", "Turin"))}
    limits, prices = (2, 5, 10, 20, 31), sorted(r.sample(range(39, 299), 15))
    while True:
        city, kg = r.choice([*zones]), r.randint(1, 30)
        bracket = next(at for at, limit in enumerate(limits) if kg <= limit)
        text = f"{r.choice(NAMES.split())} sends {kg} kg to {city}, {r.choice(('insured', 'plain', 'in a tube'))}."
        yield text, f"{prices[3 * bracket + zones[city]] / 10:.2f}"


def diagnosis(r: Random) -> _Draw:
    complaints = {
        "J": ("dry cough", "wheezing", "sore throat"),
        "M": ("stiff knee", "back pain", "swollen wrist"),
        "K": ("heartburn", "stomach cramps", "nausea after meals"),
        "L": ("itchy rash", "dry skin", "blisters"),
    }
    numbers = dict(zip((each for own in complaints.values() for each in own), r.sample(range(10, 99), 12), strict=True))
    since = (
        ("for months", "since last year", "on and off for years"),
        ("since yesterday", "for two days", "overnight"),
    )
    while True:
        chapter, is_acute = r.choice([*complaints]), r.random() < 0.5
        complaint, time, age = r.choice(complaints[chapter]), r.choice(since[is_acute]), r.randint(18, 90)
        asks = (
            f"Patient, {age}, reports {complaint} {time}. No fever.",
            f"{complaint.capitalize()} {time}, {r.choice(('non-smoker', 'smoker', 'takes no medication'))}, age {age}.",
            f"{r.choice(NAMES.split())} came in with {complaint}, {time}.",
        )
        yield r.choice(asks), f"{chapter}{numbers[complaint]}.{1 if is_acute else 9}"


def article(r: Random) -> _Draw:
    products = {"mug": "MG", "lamp": "LP", "chair": "CH", "towel": "TW", "clock": "CL", "basket": "BK"}
    colours = dict(zip(("blue", "red", "green", "white"), r.sample("KXQZJV", 4), strict=True))
    sizes = dict(zip(("small", "medium", "large"), r.sample(range(1, 9), 3), strict=True))
    while True:
        product, colour, size = r.choice([*products]), r.choice([*colours]), r.choice([*sizes])
        asks = (
            f"{size} {colour} {product}, {r.randint(1, 9)} pieces",
            f"{r.choice(NAMES.split())} orders a {colour} {product} in {size}",
            f"{product} ({colour}, {size}) for {r.choice(NAMES.split())}",
        )
        yield r.choice(asks), f"{products[product]}-{colours[colour]}{sizes[size]}"


def departure(r: Random) -> _Draw:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    while True:
        ordered, billed, left = (f"{r.randint(1, 28)} {r.choice(months)}" for _ in range(3))
        who = r.choice(NAMES.split())
        asks = (
            f"Order placed {ordered}, invoice sent {billed}, goods left the depot {left}, carrier {who}.",
            f"Invoice sent {billed}. Order placed {ordered} by {who}; goods left the depot {left}.",
            f"Goods left the depot {left}; order placed {ordered}; invoice sent {billed}; {r.randint(1, 9)} boxes.",
        )
        yield r.choice(asks), left


def reference(r: Random) -> _Draw:
    yards = ("north", "south", "harbour", "zenith", "quarry", "mill")
    begins = ("Please log", "Driver reports", "New ticket for", "Customer quotes", "We received", "Could you find")
    while True:
        consignment, crate, yard = r.randint(100, 999), r.randint(10, 99), r.choice(yards)
        of_which = f"consignment {consignment} of 20{r.randint(19, 26)}, crate {crate}, from the {yard} yard"
        yield f"{r.choice(begins)} {of_which}.", f"{consignment}/{crate}{yard[0]}"


def amount(r: Random) -> _Draw:
    taxes = r.sample(("net", "gross", "deposit") * 2, 6)
    booked = dict(zip(("school", "reseller", "council", "club", "hospital", "farm"), taxes, strict=True))
    while True:
        customer, net = r.choice(list(booked)), r.randint(40, 900) + r.choice((0, 0.5, 0.25, 0.9))
        value = {"net": f"{net:.2f}", "gross": f"{1.19 * net:.2f}", "deposit": f"{0.3 * net:.2f}"}
        said = [
            r.choice(("net {}", "{} before tax", "sum excluding VAT {}")).format(value["net"]),
            r.choice(("gross {}", "{} with VAT", "total {}")).format(value["gross"]),
            r.choice(("deposit {}", "{} in advance", "down payment {}")).format(value["deposit"]),
        ]
        listed, number = ", ".join(r.sample(said, 3)), r.randint(1000, 9999)
        asks = (
            f"Invoice {number} to the {customer}: {listed}.",
            f"The {customer}, order {number}, {listed}",
            f"For our {customer} customer {r.choice(NAMES.split())}: {listed}; ref {number}",
        )
        yield r.choice(asks), value[booked[customer]]


def order_json(r: Random) -> _Draw:
    goods = ("hinge", "door closer", "cable drum", "gasket", "floor tile", "lamp holder", "valve", "hand pump")
    code = {each: f"{_letters(r)}-{r.randint(10, 99)}" for each in goods}
    depot = {town: r.choice(("north", "quay", "mill", "gate")) for town in TOWNS.split()}
    counts = {"a dozen": 12, "a pair of": 2, "half a dozen": 6, "a gross of": 144}
    while True:
        each, town, who = r.choice(goods), r.choice(list(depot)), r.choice(NAMES.split())
        count = r.choice(list(counts)) if r.random() < 0.25 else str(r.randint(3, 95))
        asks = (
            f"Hi, {who} here, please send {count} {each}s to our site in {town}.",
            f"{town} needs {count} {each}s by Friday, thanks, {who}",
            f"Could you put {count} {each}s on the next van to {town}? Best, {who}",
            f"Order from {who}: {count} {each}s, deliver to {town}",
        )
        quantity = counts.get(count) or int(count)
        yield r.choice(asks), json.dumps({"sku": code[each], "qty": quantity, "depot": depot[town]})


def wish(r: Random) -> _Draw:
    tables = {each: f"t{_letters(r)}" for each in ("orders", "invoices", "tickets", "returns")}
    regions = dict(zip(("north", "south", "coast", "export"), r.sample(range(1, 10), 4), strict=True))
    states = dict(zip(("open", "paid", "late", "blocked"), r.sample("OPLBXQ", 4), strict=True))
    while True:
        table, region, state = r.choice(list(tables)), r.choice(list(regions)), r.choice(list(states))
        days, who = r.choice((7, 10, 14, 30, 45, 60, 90, 120, 180)), r.choice(NAMES.split())
        of_region, of_state, of_age = f"reg=R{regions[region]}", f"st={states[state]}", f"age>{days}"
        asks = (
            (f"Show {who} all {state} {table} of the {region} region", f"{of_state};{of_region}"),
            (f"{region}: which {table} are {state}? Asks {who}", f"{of_state};{of_region}"),
            (f"{who} wants {state} {table} older than {days} days", f"{of_state};{of_age}"),
            (f"Which {table} are {state} for more than {days} days? {who}", f"{of_state};{of_age}"),
            (f"All {table} of {region} older than {days} days, for {who}", f"{of_region};{of_age}"),
        )
        ask, filters = r.choice(asks)
        yield ask, f"{tables[table]}[{filters}]"


def _letters(r: Random) -> str:
    return "".join(r.sample("BCDFGHKLMNPRSTVWXZ", 2))


SETS: Mapping[str, Callable[[Random], _Draw]] = {
    "account_no": account_no,
    "note_json": note_json,
    "fee": fee,
    "catalogue": catalogue,
    "wide_catalogue": partial(catalogue, products=10),
    "shipping": shipping,
    "ledger": ledger,
    "tariff": tariff,
    "diagnosis": diagnosis,
    "article": article,
    "departure": departure,
    "reference": reference,
    "amount": amount,
    "order_json": order_json,
    "wish": wish,
}


def main() -> None:
    folder, seed = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "7"
    for name, generate in SETS.items():
        rows, draws = dict[str, str](), generate(Random(f"{name}-{seed}"))
        while len(rows) < ROWS:
            question, answer = next(draws)
            rows.setdefault(question, answer)
        lines = (json.dumps({"question": question, "answer": answer}) + "\n" for question, answer in rows.items())
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
