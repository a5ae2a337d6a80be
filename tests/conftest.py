"""What holds for every test: nothing hangs on the machine's pace or on dice.

Properties are tried on the same examples each time; `python -m pytest --hypothesis-profile search` looks for new ones.
"""

from __future__ import annotations

import random
from importlib.util import find_spec

import pytest

if find_spec("hypothesis"):  # the suites with environments of their own, such as tests/vllm, do without it
    from hypothesis import HealthCheck, settings

    # Not what a variable named CI says, as it would be without these.
    settings.register_profile(
        "search",
        settings.get_profile("default"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
    settings.register_profile("repeatable", settings.get_profile("search"), derandomize=True, database=None)
    settings.load_profile("repeatable")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test the same dice each time, so that what waits a random while waits as long as ever."""
    random.seed(item.nodeid)
