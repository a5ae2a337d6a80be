"""Tools run; attacks come to a problem, and the sandbox serves the next call."""

import gc
import os
import signal
import sys
import threading
import time

import pytest

from mage_es.engine.sandbox.limits import ToolLimits
from mage_es.engine.sandbox.sandbox import Sandbox, ToolResult

pytestmark = pytest.mark.slow

TRIPLE = "def run(number):\n    return number * 3"


def body(*lines: str) -> str:
    return "def run():\n" + "\n".join("    " + line for line in lines)


@pytest.mark.parametrize(
    ("source", "arguments", "result"),
    [
        (TRIPLE, '{"number": 14}', "42"),
        (TRIPLE, '{"number": 0.5}', "1.5"),
        (TRIPLE, '{"number": "ab"}', "ababab"),
        ("def run(a: int, b = 2) -> int:\n    return a // b", '{"a": 9}', "4"),
        ("RATE = 4\ndef part(n):\n    return n / RATE\ndef run(n):\n    return part(n)", '{"n": 10}', "2.5"),
        (body("return round(2.345, 2)"), "{}", "2.35"),
        (body("return round(-2.5) + sum([1, 2])"), "{}", "0"),
        (body("return [n * n for n in range(4) if n]"), "{}", "[1, 4, 9]"),
    ],
)
def test_a_tool_comes_to_its_result(sandbox: Sandbox, source: str, arguments: str, result: str) -> None:
    assert sandbox.run(source, arguments) == ToolResult(result, "")


ATTACKS = {
    "an endless loop": (body("x = 0", "for i in range(1 << 30):", "    x += i", "return x"), "1000000 steps"),
    "loops in one another": (
        body("for a in range(9999):", "  for b in range(9999):", "    for c in range(9999):", "      pass"),
        "1000000 steps",
    ),
    "endless recursion": (body("return run()"), "24 deep"),
    "recursion through a function value": (
        "def again(f):\n    return f(f)\ndef run():\n    return again(again)",
        "",  # it breaks the interpreter, by memory or by stack
    ),
    "a list that doubles": (body("x = [1]", "for i in range(64):", "    x = x + x", "return len(x)"), "256 MiB"),
    "a text that doubles": (body('x = "a"', "for i in range(64):", "    x += x", "return len(x)"), "256 MiB"),
    "a list out of one call": (body("return len([[i] for i in range(1 << 30)])"), "steps"),
    "a giant range made real": (body("return len(list(range(1 << 30)))"), "256 MiB"),
    "a giant repetition": (body('return len("a" * (1 << 30))'), "256 MiB"),
    "a giant integer": (body("x = 7", "for i in range(15):", "    x *= x", "return x"), "too large"),
    "a giant shift": (body("return 1 << 100000000"), "shift"),
    "a giant result": (body('return "a" * 100000'), "2000 characters"),
    "a flood of results": (body('return ["a" * 1000 for i in range(10000)]'), "2000 characters"),
    "a result inside itself": (body("x = []", "x.append(x)", "return x"), "ycle"),
    "a deep result": (body("x = []", "for i in range(90000):", "    x = [x]", "return x"), "depth"),
    "a file": (body('return open("/etc/passwd")'), "`open` not found"),
    "a network": (body('return socket.socket("x")'), "`socket` not found"),
    "an import": ("import os\n" + TRIPLE, "reserved keyword `import`"),
    "a load": ('load("os", "system")\n' + TRIPLE, "`load` is not allowed"),
    "an import by function": (body('return __import__("os")'), "`__import__` not found"),
    "an evaluation": (body('return eval("1")'), "`eval` not found"),
    "output": (body('print("a" * 10000)', "return 1"), "`print` not found"),
    "a way up the classes": (body('return "".__class__.__mro__'), "__class__"),
    "a way up by name": (body('return getattr(run, "__globals__")'), "__globals__"),
    "a way up by format": (body('return "{0.__class__}".format(run)'), ""),
    "a function as result": (body("return run"), ""),
    "no source": ("", "no symbol `run`"),
    "no function": ("run = 1", ""),
    "bad syntax": ("def run(:\n", "Parse error"),
    "a failure of its own": (body('fail("I will not")'), "I will not"),
    "nothing": (body("pass"), "returned nothing"),
    "no number": (body("return 1e308 * 10"), "a number that is not finite"),
    "a text that is no text": ("def run():\n    return '\ud800'", "not"),
    "a source too long": ("#" * 10000, "8000 characters"),
}


@pytest.mark.paper("section 3.3, dynamic tools")
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_comes_to_a_problem_and_the_next_call_is_served(sandbox: Sandbox, attack: str) -> None:
    source, reason = ATTACKS[attack]
    first = sandbox.run(source, "{}")
    assert first.problem and not first.result
    assert reason in first.problem
    worker = sandbox.process_id
    assert sandbox.run(source, "{}") == first
    assert sandbox.run(TRIPLE, '{"number": 14}').result == "42"
    assert sandbox.process_id == worker


@pytest.mark.parametrize(
    "arguments", ["", "[1]", "number: 3", '{"number": NaN}', "[" * 100_000, '{"number": "' + "9" * 5000 + '"}', "7"]
)
def test_arguments_that_are_no_small_json_object_are_refused(sandbox: Sandbox, arguments: str) -> None:
    assert sandbox.run(TRIPLE, arguments).problem.startswith("the arguments are")


@pytest.mark.parametrize("arguments", ["{}", '{"number": 1, "other": 2}', '{"number": null}', '{"number": {"a": 1}}'])
def test_arguments_that_do_not_fit_the_tool_come_to_a_problem(sandbox: Sandbox, arguments: str) -> None:
    assert sandbox.run(TRIPLE, arguments).problem


BUSY = body("x = 3", "for i in range(60):", "    x = x * x", "return x % 7")
"""Few steps, each of which takes longer than the one before."""


def test_one_operation_that_never_ends_is_ended_by_its_processor_time() -> None:
    sandbox = Sandbox(ToolLimits(cpu_seconds=1))
    assert sandbox.run(BUSY, "{}").problem == "it took more than 1 s of processor time"
    assert sandbox.run(TRIPLE, '{"number": 14}').result == "42"
    sandbox.close()


def test_one_operation_that_never_ends_is_ended_by_the_clock() -> None:
    sandbox = Sandbox(ToolLimits(cpu_seconds=60, wall_seconds=0.3))
    assert sandbox.run(BUSY, "{}").problem == "it took more than 0.3 s"
    worker = sandbox.process_id
    assert sandbox.run(BUSY, "{}").problem == "it took more than 0.3 s"
    assert sandbox.process_id == worker
    sandbox.close()


def test_a_worker_killed_between_two_calls_is_replaced(sandbox: Sandbox) -> None:
    sandbox.run(TRIPLE, '{"number": 1}')
    worker = sandbox.process_id
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    assert sandbox.run(TRIPLE, '{"number": 14}').result == "42"
    assert sandbox.process_id != worker


def test_a_worker_killed_in_the_middle_is_replaced_and_the_call_is_made_again() -> None:
    sandbox = Sandbox(ToolLimits(cpu_seconds=1))
    sandbox.run(TRIPLE, '{"number": 1}')
    worker = sandbox.process_id
    assert worker is not None
    outcomes: list[ToolResult] = []
    caller = threading.Thread(target=lambda: outcomes.append(sandbox.run(BUSY, "{}")))
    os.kill(worker, signal.SIGSTOP)  # so that it cannot be done before it is killed
    caller.start()
    time.sleep(0.3)
    os.kill(worker, signal.SIGKILL)
    caller.join()
    assert outcomes == [ToolResult("", "it took more than 1 s of processor time")]
    assert sandbox.process_id != worker
    sandbox.close()


def test_calls_from_many_threads_get_their_own_results(sandbox: Sandbox) -> None:
    results: dict[int, str] = {}

    def call(number: int) -> None:
        results[number] = sandbox.run(TRIPLE, f'{{"number": {number}}}').result

    threads = [threading.Thread(target=call, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: str(3 * number) for number in range(40)}


def test_a_tool_knows_nothing_of_a_run_before_it(sandbox: Sandbox) -> None:
    counting = "seen = []\ndef run():\n    return len(seen)"
    assert [sandbox.run(counting, "{}").result for _ in range(3)] == ["0", "0", "0"]
    assert sandbox.run("def run():\n    return seen", "{}").problem


def test_a_sandbox_that_nobody_holds_ends_its_worker() -> None:
    sandbox = Sandbox()
    sandbox.run(TRIPLE, '{"number": 1}')
    worker = sandbox.process_id
    assert worker is not None
    del sandbox
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_language_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from mage_es.events.errors import PrerequisiteError

    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(PrerequisiteError, match="pip install starlark-pyo3"):
        Sandbox().run(TRIPLE, '{"number": 1}')
