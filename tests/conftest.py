"""What holds for every test: nothing hangs on the machine's pace or on dice.

Properties are tried on the same examples each time; `python -m pytest --hypothesis-profile search` looks for new ones.
"""

import gc
import os
import random
import signal
from collections import Counter
from importlib.util import find_spec
from typing import Any

import pytest

from tests.few_words import FEW, FEW_EPISODES

# For the small matrices of a test, threads of the linear algebra take most of the time with waiting for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if find_spec("mage_es.engine.players"):  # the kernel is tested without it, too (tests/wings.py)
    import tests.kit.truthworld  # noqa: F401  # its entry points
    from mage_es.engine.players.worlds.wordmath import benchmark as wordmath
    from mage_es.engine.players.worlds.workshop import benchmark as workshop

    WHOLE = [(world.SIZES, dict(world.SIZES)) for world in (wordmath, workshop)]
    # Opening a whole benchmark would take most of a small run's time.
    wordmath.SIZES.update(FEW)
    workshop.SIZES.update(FEW_EPISODES)

# A third of the time of collecting thousands of tests would be the search for garbage among them: there is none.
gc.disable()

# The power does not fail here, and what a killed process wrote the kernel keeps: a sync would only be waited for.
# The disk that loses what was not synced (tests/events/disks.py) is its own; commands in other processes do sync.
os.fsync = os.fdatasync = lambda fd: None

# A job in a shell's background ignores Ctrl-C, and so would each command that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

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
    settings.register_profile(
        "repeatable", settings.get_profile("search"), derandomize=True, database=None, max_examples=40
    )
    settings.load_profile("repeatable")


@pytest.fixture
def whole_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks as processes of their own have them, for tests that go on with the runs of such processes."""
    for sizes, whole in WHOLE:
        for split, size in whole.items():
            monkeypatch.setitem(sizes, split, size)


def pytest_collection_finish() -> None:
    """Look for garbage from here on, but seldom, and never again among the tests themselves."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a file to one process, so that the runs which its tests share are made once."""
    from xdist.scheduler import LoadFileScheduling

    if config.getoption("dist") != "load":
        return None
    config.option.loadscopereorder = False  # files come as `pytest_collection_modifyitems` puts them
    return LoadFileScheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let processes begin with the files of most slow tests, or one of them would end with these alone."""
    if hasattr(config, "workerinput"):
        slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
        items.sort(key=lambda item: -slow[item.path])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test the same dice each time, so that what waits a random while waits as long as ever."""
    random.seed(item.nodeid)
