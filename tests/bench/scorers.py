"""Seconds of CPU that scorers take for degenerate replies of 200,000 characters, and for costly answers.

python -m tests.bench.scorers
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mage_es.engine.bench.finqa.equality import is_same_program
from mage_es.engine.bench.finqa.program import tokens_of
from tests.engine.bench.hostile import READERS, VERDICTS

SIZE, MOST = 200_000, 60
REPLIES = (
    ("medqa", "`answer is` and 40,000 blanks", "answer is" + " " * 40_000),
    ("medqa", "`\\boxed{` and 200,000 blanks", "\\boxed{" + " " * SIZE),
    ("realmath", "`\\boxed{`", "\\boxed{"),
    ("realmath", "`\\text{`", "\\text{"),
    ("realmath", "`\\[`", "\\["),
    ("realmath", "`\\(`", "\\("),
    ("realmath", "`[FINAL ANSWER]`", "[FINAL ANSWER]"),
    ("hotpotqa, a list", "`-1`", "-1"),
    ("webqa", "`1,`", "1,"),
    ("gsm8k", "`*`", "*"),
    ("gsm8k", "empty bullets", "\n-"),
    ("finqa", "`the answer for a`", "the answer for a "),
    ("stbench, an option", "`*`", "*"),
    ("own, labels", "`\\boxed{`", "\\boxed{"),
    ("own, regex", "`a`, against `(a\\|a)*b`", "a"),
    ("own, json", "`[`", "["),
    ("own, json", "`{`", "{"),
    ("own, json", '`{"a":`', '{"a":'),
    ("own, json", "`1`", "1"),
    ("own, json", "three backticks", "```"),
    ("crafter", "`<|ACTION|>`", "<|ACTION|>"),
    ("webshop", "`click[`", "click["),
)
_DOUBLE = "\\sum_{i=1}^{99}\\sum_{j=1}^{99} \\frac{1}{i+j}"
ANSWERS = (
    ("realmath", "a zeta value far up", "$\\zeta(\\frac12+100000 i)$"),
    ("realmath", "a sum of 499 zeta values", "$\\sum_{n=1}^{499}\\zeta(2+n/7)$"),
    *(
        ("own, sql", words, f"```sql\n{query}\n```")
        for words, query in (
            ("a cross join of cross joins", "select * from t a, t b, t c, t d, t e"),
            (
                "a recursion without end",
                "with recursive r as (select 1 n union all select n + 1 from r) select * from r",
            ),
            ("49,000 columns", "select " + "a," * 49_000 + "a from t"),
            ("40,000 open brackets", "select " + "(" * 40_000),
            ("100 million rows", "select unnest(range(100000000))"),
            ("a list of 100 million", "select list(x) from range(100000000) r(x)"),
        )
    ),
    *(
        ("own, python", words, f"```python\n{program}\n```")
        for words, program in (
            ("a loop without end", "while True: pass"),
            ("prints without end", "while True: print('x' * 1000)"),
            ("a text of 1 GB", "print('x' * 10**9)"),
            ("a list without end", "x = []\nwhile True: x.append([0] * 1000)"),
            ("a power", "x = 10**10**8"),
            ("50,000 open brackets", "(" * 50_000),
        )
    ),
    ("realmath, a set", "a set of 16 double sums", "$\\{" + ",".join([_DOUBLE] * 16) + "\\}$"),
)
_GOLD = "add(1, 2), divide(1, 2), exp(#0, #1)"
_TOWER = ", ".join(f"exp(#{k}, #1), exp(#{k + 1}, #{k})" for k in range(2, 8, 2))


def processor_seconds() -> float:
    """Return what this process and the sandboxes below it have used; a sandbox is asked of the system."""
    tree, used = {os.getpid()}, time.process_time()
    for path in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) in tree:
                tree.add(int(path.parent.name))
                used += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return used


class Late(BaseException):
    """It took longer than `MOST`."""


def seconds(function: Callable[[], object]) -> str:
    def end(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST)
    begun = processor_seconds()
    try:
        function()
    except Late:
        return f"over {MOST}"
    except Exception:
        return "raises"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return f"{processor_seconds() - begun:.2f}"


if __name__ == "__main__":
    print("| scorer | reply | CPU, s |\n|---|---|---|")
    known = {**VERDICTS, **READERS}
    for name in ("own, sql", "own, python"):
        known[name]("```\nselect 1\n```")  # the sandboxes start
    for name, words, unit in REPLIES:
        reply = (unit * (SIZE // len(unit) + 1))[:SIZE]
        print(f"| {name} | {words} | {seconds(lambda name=name, reply=reply: known[name](reply))} |", flush=True)
    for name, words, reply in ANSWERS:
        print(f"| {name} | {words} | {seconds(lambda name=name, reply=reply: known[name](reply))} |", flush=True)
    programs = tokens_of(_GOLD), tokens_of(f"{_GOLD}, {_TOWER}")
    print(f"| finqa | a tower of powers, no probe | {seconds(lambda: is_same_program(*programs))} |", flush=True)
