"""Servers that misbehave or stay away, in short; tests/bench/faults.py has the long form."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import Config
from tests.bench.faults import HOUR_S, LASTING, PASSING, misbehaved, outage

pytestmark = pytest.mark.slow

SMALL = Config(benchmark="wordmath", seed=7, iterations=1, pool=80, held_out=20, anchors=12)


def test_with_every_kind_of_fault_all_questions_are_settled_and_the_ledger_is_the_servers_own_count(
    tmp_path: Path,
) -> None:
    account = misbehaved(tmp_path, SMALL, workers=16, timeout_s=60.0, treat=every_fourth)
    assert set(account.faults) == {*PASSING, *LASTING}
    assert account.failures > account.calls // 4 and account.unanswered > 3


def every_fourth(number: int) -> str:
    """Treat every fourth request badly, in each way in turn."""
    kinds = (*PASSING, *LASTING)
    return kinds[number // 4 % len(kinds)] if number % 4 == 3 else ""


@pytest.mark.paper("beyond the paper, outages")
def test_an_hour_without_the_server_loses_nothing_and_ends_in_the_same_state(tmp_path: Path) -> None:
    few = msgspec.structs.replace(SMALL, pool=24)
    away = outage(tmp_path, few, workers=16, after=40, again_s=HOUR_S / 2)
    assert away.seconds > HOUR_S
    assert away.gave_up == 2  # after every attempt of the policy, and when it was resumed in vain
    assert any("failed 12 times in a row" in words for words in away.said)
    assert any("cannot be reached yet" in words for words in away.said)
    assert away.made_twice == 0
    assert away.digests == away.undisturbed
