"""Three task sets of private rules in which a number is a name or an answer, as files of lines.

`python -m tests.bench.strangers FOLDER [SEED]` writes `account_no.jsonl` (each of twenty accounts has a desk),
`note_json.jsonl` (a carrier's code and a quantity, as JSON) and `fee.jsonl` (a plan's base and so much per item).
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

ROWS = 210
NAMES = "Amira Bruno Chloe Dario Elin Farid Greta Hugo Ines Jonas Kaja Leon Mira Nils Olga Pavel Rosa Sami Tove Ugo"
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


SETS: Mapping[str, Callable[[Random], _Draw]] = {"account_no": account_no, "note_json": note_json, "fee": fee}


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
