"""Seconds of CPU that scorers take for degenerate replies of 200,000 characters, and for costly answers.

python tests/bench/scorers.py
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from mage_es.engine.benchmarks.finqa.equality import is_same_program
from mage_es.engine.benchmarks.finqa.program import tokens_of
from tests.engine.benchmarks.hostile import READERS, VERDICTS

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
    ("crafter", "`<|ACTION|>`", "<|ACTION|>"),
    ("webshop", "`click[`", "click["),
)
_DOUBLE = "\\sum_{i=1}^{99}\\sum_{j=1}^{99} \\frac{1}{i+j}"
ANSWERS = (
    ("realmath", "a zeta value far up", "$\\zeta(\\frac12+100000 i)$"),
    ("realmath", "a sum of 499 zeta values", "$\\sum_{n=1}^{499}\\zeta(2+n/7)$"),
    ("realmath, a set", "a set of 16 double sums", "$\\{" + ",".join([_DOUBLE] * 16) + "\\}$"),
)
_GOLD = "add(1, 2), divide(1, 2), exp(#0, #1)"
_TOWER = ", ".join(f"exp(#{k}, #1), exp(#{k + 1}, #{k})" for k in range(2, 8, 2))


class Late(BaseException):
    """It took longer than `MOST`."""


def seconds(function: Callable[[], object]) -> str:
    def end(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST)
    begun = time.process_time()
    try:
        function()
    except Late:
        return f"over {MOST}"
    except Exception:
        return "raises"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return f"{time.process_time() - begun:.2f}"


if __name__ == "__main__":
    print("| scorer | reply | CPU, s |\n|---|---|---|")
    known = {**VERDICTS, **READERS}
    for name, words, unit in REPLIES:
        reply = (unit * (SIZE // len(unit) + 1))[:SIZE]
        print(f"| {name} | {words} | {seconds(lambda name=name, reply=reply: known[name](reply))} |", flush=True)
    for name, words, reply in ANSWERS:
        print(f"| {name} | {words} | {seconds(lambda name=name, reply=reply: known[name](reply))} |", flush=True)
    programs = tokens_of(_GOLD), tokens_of(f"{_GOLD}, {_TOWER}")
    print(f"| finqa | a tower of powers, no probe | {seconds(lambda: is_same_program(*programs))} |", flush=True)
