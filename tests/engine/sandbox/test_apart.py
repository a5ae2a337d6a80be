"""A function of a user's may do what it likes: the caller gets its value, or one line that says why there is none."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.sandbox.apart import Apart, Unreturned, _Here

HANG_S = 0.3


def do(what: str, value: Any = None) -> Any:
    match what:
        case "return":
            return value
        case "where":
            return os.getpid()
        case "raise":
            raise ValueError("first\nlast") if value else ZeroDivisionError("division by zero")
        case "hang":
            time.sleep(600)
        case "leave":
            sys.exit(3)
        case "exit":
            os._exit(3)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "eat":
            bytearray(2**62)
        case "print":
            print("on its standard output")
            return sys.stdin.read()
        case "unpicklable":
            return lambda: None
        case "spawn":
            return subprocess.Popen(["sleep", "600"]).pid


@pytest.fixture(params=["fresh", "forked"])
def apart(request: pytest.FixtureRequest) -> Iterator[Apart]:
    is_importable = request.param == "fresh"
    if sys.platform == "darwin" and not is_importable:
        pytest.skip("a function that cannot be imported runs in a thread on macOS")
    here = do
    made = Apart(do if is_importable else lambda *values: here(*values), 30.0, is_importable=is_importable)
    yield made
    made.close()


def is_gone(process_id: int) -> bool:
    for _ in range(15_000):
        try:
            os.kill(process_id, 0)
            if Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # of a parent that does not look
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_one_process_that_is_not_this_one_is_kept_for_all_calls(apart: Apart) -> None:
    assert [apart("return", value) for value in (1, None, "x")] == [1, None, "x"]
    assert len({apart("where") for _ in range(3)} | {os.getpid()}) == 2


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("raise",), "ZeroDivisionError: division by zero"),
        (("leave",), "SystemExit: 3"),
        (("exit",), "its process exited with code 3"),
        (("die",), "its process was ended by signal 9, as the system does where memory is short"),
        (("eat",), "MemoryError"),
        (("unpicklable",), "Can't pickle"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_gives_no_value_says_why_in_a_line_and_the_next_call_works(
    apart: Apart, values: tuple[str, ...], why: str
) -> None:
    with pytest.raises(Unreturned) as told:
        apart(*values)
    assert why in str(told.value)
    assert apart("return", 7) == 7


def test_what_hangs_is_ended_with_what_it_started_and_the_next_call_gets_another_process(apart: Apart) -> None:
    before, started = apart("where"), apart("spawn")
    apart.seconds = HANG_S
    with pytest.raises(Unreturned, match=f"nothing was returned within {HANG_S} s"):
        apart("hang")
    assert is_gone(before) and is_gone(started)
    apart.seconds = 30.0
    assert apart("where") != before


def test_what_it_prints_is_not_on_our_standard_output_and_it_has_no_input(
    apart: Apart, capfd: pytest.CaptureFixture[str]
) -> None:
    assert apart("print") == ""
    apart.close()
    assert "on its standard output" not in capfd.readouterr().out


def test_calls_of_many_threads_share_a_few_processes(apart: Apart) -> None:
    with ThreadPoolExecutor(16) as threads:
        where = set(threads.map(lambda _: apart("where"), range(64)))
    assert 1 <= len(where) <= (os.cpu_count() or 1)
    apart.close()
    assert all(map(is_gone, where))


def test_a_signal_from_the_terminal_is_not_for_it(apart: Apart) -> None:
    process_id = apart("where")
    os.kill(process_id, signal.SIGINT)
    assert apart("where") == process_id


@pytest.mark.slow
@pytest.mark.parametrize("way", ["True", "False"], ids=["fresh", "forked"])
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit()"], ids=["killed", "ended"])
def test_no_process_outlives_the_one_that_it_works_for(way: str, end: str) -> None:
    script = (
        "import os, sys, threading, time\n"
        "from mage_es.engine.sandbox.apart import Apart\n"
        "from tests.engine.sandbox.test_apart import do\n"
        f"apart = Apart(do, 60.0, is_importable={way})\n"
        "print(apart('where'), flush=True)\n"
        "threading.Thread(target=lambda: apart('hang'), daemon=True).start()\n"
        f"time.sleep(0.5)\n{end}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert is_gone(int(done.stdout)), done.stderr


def test_a_thread_takes_the_place_of_a_fork_where_none_is_safe() -> None:
    here: Callable[..., Any] = do
    place = _Here(here)
    assert place.ask(("return", 1), 30.0) == (1, "")
    assert place.ask(("raise",), 30.0).problem == "ZeroDivisionError: division by zero"
    with pytest.raises(Unreturned, match="nothing was returned within"):
        place.ask(("hang",), HANG_S)
