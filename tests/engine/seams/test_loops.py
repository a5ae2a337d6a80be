"""Loops: an end that repeats itself word for word, and what only looks like it."""

import gzip
import json
import os
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.seams.loops import is_looping

REPLIES = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[4] / "shared" / "data")) / "replies"
LOOPS = {
    "gsm8k": {10, 178, 233, 237, 238, 239, 242, 244, 245, 246, 251, 257, 259},
    "medqa": {103, 156, 277},
    "realmath": {40, 42, 44, 70},
}
"""Real replies that repeat themselves to their end, or once for a while (the last), as a reader sees."""


def lines(form: str, count: int = 80) -> str:
    return "\n".join(form.format(n=number, m=number + 1, k=number * 7) for number in range(1, count))


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 5. " * 60,
        "Wait, is it 3?\n" * 60,
        "So far so good.\n" + "- aspirin\n" * 200,
        lines("{n}. The patient has a fever."),
        lines("{n}) **Add the costs**: 3 + 4 = 7"),
        lines("Step {n}: Add the costs of the pens."),
        "\n\n".join(["\\[\nx = \\tfrac{1}{2}\n\\]"] * 40),
        "= 8! / (5! 3! 2!) " * 60,
        "The sum is 10800.\n" + "#### 10800\n" * 40,
        "We know that a = b. Then, with b = c, we get a = c, and so c = a. " * 12,
        "哈哈，你好吗？我很好。" * 60,
        "0" * 20_000,
        "\n!" * 4000,
        "na " * 300,
    ],
)
def test_the_same_over_and_over_is_a_loop_wherever_it_is_cut(text: str) -> None:
    assert is_looping(text) and is_looping(f"First of all, {text}") and is_looping(text[:-5])
    assert not is_looping(f"{text}\nThen x = 3, and that is it.")


@pytest.mark.parametrize("blank", ["\n", " ", "\r\n", "\t"])
def test_an_ending_of_blanks_alone_is_a_loop(blank: str) -> None:
    assert is_looping('{"score": 1,' + blank * 400) and not is_looping('{"score": 1,' + blank * 40)
    assert not is_looping('{"score": 1,' + blank * 400 + '"reason": ')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The answer is 5. " * 3,
        ", ".join(map(str, range(1, 900))),
        "1 + " * 300,
        f"[{'0, ' * 400}",
        "[" + '"X", ' * 200,
        f"[{'[0, 0, 0, 0, 0, 0, 0, 0],' * 24}",
        "".join(f'{{"id": {n}, "ok": true, "name": "a"}},\n' for n in range(200)),
        lines("| {n} | {m} | {k} | yes |", 300),
        lines("{n} x 7 = {k}", 300),
        lines("{n}. After day {n} there are {k} eggs in the basket."),
        lines("x{n} = x{m} + 1  # the next one"),
        lines("    total += prices[{n}]"),
        "\n".join(f"| {' | '.join('TF'[bit] for bit in row)} |" for row in product((0, 1), repeat=7)),
        "\n".join(" ".join(map(str, row)) for row in product((0, 1), repeat=8)),
        "You can sing it again.\n" * 8 + "And then the second verse begins with other words, and goes on like that.",
    ],
)
def test_tables_sums_lists_and_code_are_none(text: str) -> None:
    assert not is_looping(text)


@pytest.mark.slow
def test_of_real_replies_those_that_loop_are_found_and_no_other_however_it_is_cut() -> None:
    if not REPLIES.is_dir():
        pytest.skip(f"no {REPLIES}; set MAGE_ES_DATA")
    found: dict[str, set[int]] = {}
    for path in sorted(REPLIES.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as records:
            for record in map(json.loads, records):
                text = record["reply"]
                if any(is_looping(text[: len(text) * part // 8]) for part in range(1, 9)):
                    found.setdefault(record["benchmark"], set()).add(int(record["id"].rpartition("-")[2]))
    assert found == LOOPS


@given(st.text(max_size=60), st.text(alphabet=st.characters(categories=("L",)), min_size=2, max_size=30))
def test_what_is_before_a_loop_changes_nothing(before: str, word: str) -> None:
    assert is_looping(f"{before}\n{f'{word} it is, ' * 400}")
