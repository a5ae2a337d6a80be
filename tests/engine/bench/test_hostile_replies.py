"""Hostile and degenerate replies: every scorer comes to a verdict, in time linear in the reply."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.seams.benchmark import scored
from tests.counting import calls_of
from tests.engine.bench.hostile import ASKED, NASTY, READERS, VERDICTS, measured

LONG = 80_000
ENOUGH = 10
"""Seconds of CPU after which a scorer hangs: a hundred times what it takes."""
COSTLY = [
    ("medqa", "answer is" + " " * 40_000),
    ("medqa", "\\boxed{" + " " * 40_000),
    ("realmath", "\\text{"),
    ("realmath", "\\["),
    ("realmath", "\\("),
    ("realmath", "\\boxed{"),
    ("realmath", "[FINAL ANSWER]"),
    ("hotpotqa, a list", "-1"),
    ("webqa", "1,"),
    ("gsm8k", "*"),
    ("gsm8k", "\n-"),
    ("finqa", "the answer for a "),
    ("crafter", "<|ACTION|>"),
    ("webshop", "click["),
    ("own, regex", "a"),
    ("own, json", "["),
    ("own, json", "{"),
    ("own, json", '{"a":'),
    ("own, json", "```"),
    ("own, json", "1"),
]


class Hanging(BaseException):
    """No scorer may catch it."""


@contextmanager
def ending() -> Iterator[None]:
    """End what hangs: a quadratic rule takes minutes for a long reply. Not a measurement; those are in tests/bench."""

    def end(*_: object) -> None:
        raise Hanging

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENOUGH)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@st.composite
def replies(draw: st.DrawFn) -> str:
    """Something, then a few nasty pieces again and again, then something."""
    some = st.lists(st.sampled_from(NASTY), max_size=3).map("".join)
    unit = draw(st.lists(st.sampled_from(NASTY), min_size=1, max_size=4).map("".join))
    return draw(some) + unit * draw(st.integers(1, 2_000 // len(unit))) + draw(some)


class Benchmark:
    """What of a benchmark `scored` needs."""

    def __init__(self, name: str) -> None:
        self.score = lambda question, reply: VERDICTS[name](reply)


@given(name=st.sampled_from(sorted(VERDICTS)), reply=replies())
@settings(max_examples=100, deadline=None)
def test_every_scorer_comes_to_a_verdict_on_nasty_repetition(name: str, reply: str) -> None:
    with ending():
        verdict = scored(Benchmark(name), ASKED["gsm8k"][1], reply)  # type: ignore[arg-type]
        assert name == "own, a function" or not verdict.why.startswith("scorer failed"), verdict.why
        assert not (verdict.undecided and verdict.score)
        for strict in (False, True) if name in ASKED else ():
            measured(name, reply, strict=strict)


@pytest.mark.parametrize(("name", "unit"), COSTLY)
def test_a_repetition_that_was_quadratic_ends(name: str, unit: str) -> None:
    with ending():
        (VERDICTS | READERS)[name](unit * (LONG // len(unit)))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["1,", "\\[a\n", "Answer:\\[\na\n"])
def test_eight_times_the_reply_takes_no_more_than_some_eight_times_the_calls(unit: str) -> None:
    short, long = (unit * (size // len(unit)) for size in (1_000, 8_000))
    for read in VERDICTS.values():
        once = calls_of(lambda read=read: read(short))
        assert calls_of(lambda read=read: read(long)) <= 12 * once + 2_000
